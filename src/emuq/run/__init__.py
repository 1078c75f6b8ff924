"""Runs: what one is (spec), where its result is kept (store), and what carries it out (executors)."""
