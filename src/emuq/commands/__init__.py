"""One module a command: `register(subparsers)` declares it, `run(args)` does it and returns the exit status."""
