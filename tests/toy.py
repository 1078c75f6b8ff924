"""A tiny experiment, the model of a real one: two coins, one biased, and the claim that it is."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence

from emuq.experiments.base import Claim, Experiment, Result, Row, Table, paired, select
from emuq.experiments.statistics import Estimate
from emuq.run.spec import RunSpec

BIAS = {"fair": 0.5, "biased": 0.9}
TOSSES = 200


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    """The environment may slow runs down or make one fail: for the tests of executors alone."""
    return tuple(RunSpec.of("toy", coin, "Coin", seed, tosses=TOSSES) for coin in BIAS for seed in seeds)


def execute(specs: Sequence[RunSpec]) -> list[Result]:
    time.sleep(float(os.environ.get("TOY_SECONDS", "0")))
    return [_toss(spec) for spec in specs]


def _toss(spec: RunSpec) -> Result:
    if str(spec.seed) == os.environ.get("TOY_FAILS"):
        raise RuntimeError("the coin rolled under the table")
    if str(spec.seed) == os.environ.get("TOY_DIES"):
        os.kill(os.getpid(), 9)
    coin = random.Random(spec.seed)
    return {"heads": sum(coin.random() < BIAS[spec.agent] for _ in range(spec["tosses"]))}


def devices(specs: Sequence[RunSpec]) -> list[Result]:
    """What the process that has these runs may compute on."""
    names = ("CUDA_VISIBLE_DEVICES", "JAX_PLATFORMS", "XLA_PYTHON_CLIENT_PREALLOCATE")
    return [{name: os.environ.get(name) for name in names} for _ in specs]


def claims(rows: Sequence[Row]) -> list[Claim]:
    pairs = paired(select(rows, agent="biased"), select(rows, agent="fair"))
    differences = sorted(one.result["heads"] - other.result["heads"] for one, other in pairs)
    statistic = sum(differences) / len(differences) if differences else None
    interval = (float(differences[0]), float(differences[-1])) if differences else None
    estimate = Estimate(statistic, interval, len(differences))
    return [Claim.above("toy", "the biased coin shows more heads", "heads, biased - fair", estimate)]


def tables(rows: Sequence[Row]) -> list[Table]:
    body = tuple((coin, str(len(select(rows, agent=coin)))) for coin in BIAS)
    return [Table("Coins", ("coin", "runs"), body)]


def figure(rows: Sequence[Row]):
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(4, 3), layout="constrained")
    axes = drawing.subplots()
    for i, coin in enumerate(BIAS):
        heads = [row.result["heads"] for row in select(rows, agent=coin)]
        axes.plot(heads, "o", color=f"C{i}", label=coin)
    axes.legend()
    return drawing


def together(spec: RunSpec) -> str:
    """All seeds of a coin in one batch."""
    return spec.agent


TOY = Experiment("toy", "Two coins", 4, specs, execute, claims, tables=tables, figure=figure)
BATCHED = Experiment("toy", "Two coins", 4, specs, execute, claims, tables=tables, group=together)
EXPERIMENTS = (TOY,)
