"""VIME: exploration by information gained about the dynamics (a baseline)."""
