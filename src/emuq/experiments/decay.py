"""Figure 3: kappa(t) = 1 / (1 + c t), on Cliff Walking and Taxi."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from emuq.experiments import tabular_curves as common
from emuq.experiments.base import Claim, Experiment, Row, Table, select
from emuq.experiments.tabular_curves import VALUES, above, difference, window
from emuq.run.spec import RunSpec

RUNS = 100
RATES = (1e5, 1.0, 0.1, 1e-3)
EPISODES = {"CliffWalking": 200, "Taxi": 500}
NAME = {"CliffWalking": "fig3a", "Taxi": "fig3b"}


def specs(domain: str, seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    # kappa never is 0 here, so that learning goes on throughout.
    make = partial(common.spec, NAME[domain], VALUES, domain, episodes=EPISODES[domain])
    return tuple(make(seed=seed, control=("Decay", c)) for c in RATES for seed in seeds)


def claims(domain: str, rows: Sequence[Row]) -> list[Claim]:
    name, episodes = NAME[domain], EPISODES[domain]
    spans = {"early": (episodes // 20, episodes // 4), "late": (episodes - episodes // 5, episodes)}

    def gap(one: float, other: float, when: str):
        first, second = (select(rows, control=("Decay", c)) for c in (one, other))
        return difference(window(first, *spans[when]), window(second, *spans[when]))

    early = "return in episodes {}-{}".format(spans["early"][0] + 1, spans["early"][1])
    late = "return in the last fifth of the episodes"
    return [
        above(
            name,
            "c = 1e5 converges fast: it is ahead of c = 0.1 at first",
            f"{early}, c = 1e5 minus c = 0.1",
            gap(1e5, 0.1, "early"),
        ),
        above(
            name,
            "c = 0.1 finds a better policy than c = 1e5 in the end",
            f"{late}, c = 0.1 minus c = 1e5",
            gap(0.1, 1e5, "late"),
        ),
        above(
            name,
            "c = 1e-3 is slower still than c = 0.1",
            f"{early}, c = 0.1 minus c = 1e-3",
            gap(0.1, 1e-3, "early"),
        ),
        above(
            name,
            "c = 1e-3 finds a better policy than c = 1e5 in the end",
            f"{late}, c = 1e-3 minus c = 1e5",
            gap(1e-3, 1e5, "late"),
        ),
    ]


def conditions(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    return [(f"c = {c:g}", select(rows, control=("Decay", c))) for c in RATES]


def tables(domain: str, rows: Sequence[Row]) -> list[Table]:
    n = EPISODES[domain]
    spans = {f"episodes {n // 20 + 1}-{n // 4}": (n // 20, n // 4), f"{n - n // 5 + 1}-{n}": (n - n // 5, n)}
    return [common.table(f"{NAME[domain]}: {domain}", conditions(rows), spans)]


def figure(domain: str, rows: Sequence[Row]):
    return common.draw(conditions(rows), low=-3.0 if domain == "CliffWalking" else -12.0)


EXPERIMENTS = tuple(
    Experiment(
        NAME[domain],
        f"{domain}: kappa decays as 1 / (1 + c t)",
        RUNS,
        partial(specs, domain),
        common.execute,
        partial(claims, domain),
        common.group,
        partial(tables, domain),
        partial(figure, domain),
        varies=("control",),
        notes=common.NOTES,
    )
    for domain in EPISODES
)
