"""emuq: exploration as an objective of its own. Learn Q for the goal, U for exploration, act on Q + kappa U."""

from __future__ import annotations

__version__ = "0.1.0"
