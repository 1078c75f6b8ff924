"""One module a command: `register(subparsers)` declares it, `run(args)` returns the exit status."""
