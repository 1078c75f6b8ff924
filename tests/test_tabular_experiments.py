"""Figures 2 to 4 and table 1: specs cover every condition, few runs execute, claims follow the curves."""

import numpy as np
import pytest

from emuq.experiments import budget, cliff, cliff_rewards, decay, sensitivity, tabular_curves, target
from emuq.experiments.base import Row
from emuq.experiments.tabular_curves import ADDITIVE, EPSILON, METHODS, VALUES

EVERY = (
    *cliff.EXPERIMENTS,
    *cliff_rewards.EXPERIMENTS,
    *decay.EXPERIMENTS,
    *budget.EXPERIMENTS,
    *target.EXPERIMENTS,
    *sensitivity.EXPERIMENTS,
)
SEEDS = range(6)


def invented(experiment, give):
    """Rows with returns give(spec) + a little noise, as if all had run."""
    rows = []
    for spec in experiment.specs(SEEDS):
        noise = np.random.default_rng(spec.seed).normal(0, 0.01, spec["episodes"])
        result = {
            "returns": (give(spec) * spec["scale"] + noise).tolist(),
            "lengths": [10] * spec["episodes"],
        }
        if spec["control"][0] == "Target":
            result |= {"goal_episode": None, "goal_steps": None, "after": None}
        rows.append(Row(spec, result))
    return rows


def verdicts(experiment, give):
    return [claim.verdict for claim in experiment.claims(invented(experiment, give))]


def named(name):
    return next(experiment for experiment in EVERY if experiment.name == name)


@pytest.mark.parametrize("experiment", EVERY, ids=lambda experiment: experiment.name)
def test_specs_are_distinct_and_everything_stands_missing_runs(experiment):
    specs = experiment.specs(SEEDS)
    assert len({spec.key for spec in specs}) == len(specs)
    assert {spec.seed for spec in specs} == set(SEEDS)
    some = [
        row
        for row in invented(experiment, lambda spec: np.zeros(spec["episodes"]))
        if row.spec.agent == VALUES
    ]
    for rows in ([], some[:1], some):
        claims = experiment.claims(rows)
        assert all(claim.experiment == experiment.name for claim in claims)
        assert all(
            "\n" not in cell for table in experiment.tables(rows) for row in table.rows for cell in row
        )
    assert experiment.figure is None or experiment.figure(some) is not None


def test_a_group_is_one_compiled_program():
    for experiment in EVERY:
        groups = {}
        for spec in experiment.specs(SEEDS):
            groups.setdefault(experiment.group(spec), []).append(spec)
        for specs in groups.values():
            assert len({(spec.agent, spec.domain, spec["control"], spec["kappa"]) for spec in specs}) == 1


def test_verdicts_of_stopping_follow_the_curves():
    def as_claimed(spec):
        after = np.arange(spec["episodes"]) >= cliff.STOP_A
        return np.where(after, {VALUES: 1.0, ADDITIVE: -20.0, EPSILON: 0.5}[spec.agent], 0.0)

    assert verdicts(named("fig2a"), as_claimed) == ["reproduced"] * 3
    assert verdicts(named("fig2a"), lambda spec: -as_claimed(spec)) == ["not reproduced"] * 3


def test_verdicts_of_decay_follow_the_curves():
    def as_claimed(spec):
        c, t = spec["control"][1], np.arange(spec["episodes"]) / spec["episodes"]
        speed = {1e5: 30, 1.0: 20, 0.1: 8, 1e-3: 5}[c]
        best = {1e5: 0.5, 1.0: 0.7, 0.1: 0.9, 1e-3: 0.95}[c]
        return best * (1 - 3 * np.exp(-speed * t))

    assert verdicts(named("fig3a"), as_claimed) == ["reproduced"] * 4


def test_scaled_returns_are_compared_in_their_own_units():
    def same(spec):
        return np.full(spec["episodes"], 0.5)

    assert verdicts(named("fig2d"), same)[::2] == ["reproduced", "reproduced"]


def test_few_runs_execute_and_a_target_is_reported():
    specs = [
        tabular_curves.spec(
            "table1", VALUES, "Taxi", seed, episodes=120, control=("Target", 0.1, 2), horizon=200
        )
        for seed in (0, 1)
    ]
    for result in tabular_curves.execute(specs):
        assert len(result["returns"]) == len(result["lengths"]) == 120
        taken = result["goal_episode"]
        if taken is not None:
            assert result["goal_steps"] == sum(result["lengths"][:taken])
            assert taken == 120 or result["after"] == pytest.approx(
                np.mean(result["returns"][taken:]), abs=1e-3
            )


def test_the_claims_of_figure_2a_come_out_of_real_runs():
    """The paper's central claim in miniature: exploitation by Q alone is good the moment kappa is 0."""
    rows = []
    for method in METHODS[:2]:
        specs = [spec for spec in cliff.specs_a(range(10)) if spec.agent == method]
        rows += [Row(spec, result) for spec, result in zip(specs, tabular_curves.execute(specs), strict=True)]
    claims = cliff.claims_a(rows)
    assert claims[0].verdict == "reproduced"
    assert claims[2].statistic is not None
    assert claims[2].statistic > 0


def test_table_1_counts_runs_without_the_target_at_the_cap():
    rows = invented(named("table1"), lambda spec: np.zeros(spec["episodes"]))
    rows = [
        Row(row.spec, row.result | {"goal_episode": 100, "goal_steps": 9, "after": 1.0})
        if row.spec.agent == VALUES
        else row
        for row in rows
    ]
    claims = {claim.claim: claim for claim in target.claims(rows)}
    sooner = claims["exploration values reach the target in fewer episodes than additive rewards"]
    assert sooner.statistic == target.EPISODES - 100
    assert sooner.verdict == "reproduced"
    text = target.tables(rows)[0].rows
    assert [row[1] for row in text] == ["6/6", "0/6", "0/6"]
