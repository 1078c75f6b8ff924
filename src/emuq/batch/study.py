"""Settings to try, chosen by Optuna: each after those before it are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emuq.errors import MissingExtra


class Study:
    """Least cost within the ranges of some axes. The same seed and the same costs ask for the same points."""

    def __init__(self, axes: dict[str, np.ndarray], seed: int) -> None:
        try:
            import optuna
        except ImportError:
            raise MissingExtra("optuna", "optuna") from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        self._ranges = {name: (float(values.min()), float(values.max())) for name, values in axes.items()}
        self._asked: list = []

    def ask(self, number: int) -> list[dict[str, float]]:
        """So many points that are to be tried side by side."""
        self._asked = [self._study.ask() for _ in range(number)]
        return [
            {name: trial.suggest_float(name, *ends) for name, ends in self._ranges.items()}
            for trial in self._asked
        ]

    def tell(self, costs: Sequence[float]) -> None:
        """What they cost."""
        for trial, cost in zip(self._asked, costs, strict=True):
            self._study.tell(trial, cost)
