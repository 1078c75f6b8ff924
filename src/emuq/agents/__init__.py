"""Agents: each a state, pure functions over it, and a thin class with the common surface."""
