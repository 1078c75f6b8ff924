"""Bellman targets and policy iteration over stored transitions."""
