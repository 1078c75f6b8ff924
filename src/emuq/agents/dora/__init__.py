"""DORA: exploration by counters that look ahead (a baseline)."""
