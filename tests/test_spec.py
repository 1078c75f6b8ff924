"""Specs are values with a key; experiments are found by name; verdicts follow intervals."""

import json

import pytest

import toy
from emuq import experiments
from emuq.errors import InputError
from emuq.experiments import statistics, table3
from emuq.experiments.base import Claim
from emuq.experiments.statistics import FEWEST, Estimate
from emuq.run.spec import RunSpec


def test_equal_specs_have_equal_keys_whatever_the_order_of_their_settings():
    one = RunSpec.of("fig", "emuq", "Chain", 3, length=10, sizes=[1, 2])
    other = RunSpec.of("fig", "emuq", "Chain", 3, sizes=(1, 2), length=10)
    assert one == other
    assert hash(one) == hash(other)
    assert one.key == other.key
    assert one.to_json() == other.to_json()
    assert json.loads(one.to_json()) == one.to_dict()  # all of it goes into a file
    assert one["sizes"] == (1, 2)
    assert one.get("absent") is None


@pytest.mark.parametrize(
    "change", [{"seed": 4}, {"agent": "random"}, {"domain": "Taxi"}, {"length": 11}, {"revision": 5}]
)
def test_every_field_changes_the_key(change):
    fields = {"experiment": "fig", "agent": "emuq", "domain": "Chain", "seed": 3, "length": 10}
    assert RunSpec.of(**fields).key != RunSpec.of(**(fields | change)).key


def test_the_key_is_the_same_in_every_process_and_year():
    assert (
        RunSpec.of("fig", "rffq", "Chain", 3, revision=1, length=10).key == "dddaa0c494352eb55078ae41ea7b64fd"
    )


def test_settings_that_are_not_json_are_refused():
    with pytest.raises(InputError, match="setting table is a dict"):
        RunSpec.of("fig", "emuq", "Chain", 3, table={})


def test_verdicts_follow_the_interval():
    def decided(kind, low, high, *threshold):
        return kind("e", "c", "m", Estimate((low + high) / 2, (low, high), FEWEST), *threshold).verdict

    assert decided(Claim.above, 0.1, 0.3) == "reproduced"
    assert decided(Claim.above, -0.3, -0.1) == "not reproduced"
    assert decided(Claim.above, -0.1, 0.1) == "undecided"
    assert Claim.above("e", "c", "m", Estimate(None, None)).verdict == "undecided"
    assert decided(Claim.below, 0.5, 1.5, 2.0) == "reproduced"
    assert decided(Claim.below, 2.5, 3.5, 2.0) == "not reproduced"
    assert decided(Claim.within, -0.5, 0.5, -1, 1) == "reproduced"
    assert decided(Claim.within, 1.5, 2.5, -1, 1) == "not reproduced"
    assert decided(Claim.within, 0.5, 1.5, -1, 1) == "undecided"
    # An interval that touches the threshold holds it, on either side, and all the more if it is nothing else.
    for low, high in ((0.0, 0.0), (0.0, 1.0), (-1.0, 0.0)):
        assert decided(Claim.above, low, high) == decided(Claim.below, low, high) == "undecided"
        assert decided(Claim.within, low, high, 0, 1) == "undecided"


def test_few_runs_decide_nothing_however_sure_they_look():
    for runs, expected in ((2, "undecided"), (FEWEST - 1, "undecided"), (FEWEST, "reproduced")):
        assert Claim.above("e", "c", "m", statistics.mean([99.0] * runs)).verdict == expected
        assert Claim.above("e", "c", "m", statistics.wilson(runs, runs), 0.3).verdict == expected
    # Of two seeds on many domains neither: domains are no seeds.
    rows = [
        experiments.Row(spec, {"goal_episode": 1 if spec.agent == "emuq" else 50})
        for spec in table3.specs(range(2))
    ]
    found = table3.claims([row for row in rows if row.spec.agent in ("emuq", "rffq")])
    assert found
    assert {claim.verdict for claim in found} == {"undecided"}


def test_experiments_have_distinct_names_and_specs_with_distinct_keys():
    for name, experiment in experiments.every().items():
        specs = experiment.specs(range(2))
        assert experiment.name == name
        assert len({spec.key for spec in specs}) == len(specs)
        assert {spec.experiment for spec in specs} == {experiment.runs_of}


def test_the_toy_runs_and_decides():
    specs = toy.TOY.specs(range(FEWEST))
    rows = [experiments.Row(spec, result) for spec, result in zip(specs, toy.execute(specs), strict=True)]
    (claim,) = toy.TOY.claims(rows)
    assert claim.verdict == "reproduced"
    assert toy.TOY.claims([])[0].verdict == "undecided"
