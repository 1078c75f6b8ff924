"""`python drive_toy.py reproduce ...`: the command line with the toy as its only experiment."""

import signal
import sys

import toy
from emuq import cli, experiments

if __name__ == "__main__":
    # A shell that runs the tests in the background has its children ignore Ctrl-C; a user's does not.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    experiments.every = lambda: {"toy": toy.TOY}
    sys.exit(cli.main())
