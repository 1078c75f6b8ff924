"""`python drive_toy.py reproduce ...`: the command line with the toy as its only experiment."""

import sys

import toy
from emuq import cli, experiments

if __name__ == "__main__":
    experiments.every = lambda: {"toy": toy.TOY}
    sys.exit(cli.main())
