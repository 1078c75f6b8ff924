"""Specs are values with a key; experiments are found by name; verdicts follow intervals."""

import json

import pytest

import toy
from emuq import experiments
from emuq.errors import InputError
from emuq.experiments.base import Claim, verdict
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
    assert RunSpec.of("fig", "rffq", "Chain", 3, length=10).key == "dddaa0c494352eb55078ae41ea7b64fd"


def test_settings_that_are_not_json_are_refused():
    with pytest.raises(InputError, match="setting table is a dict"):
        RunSpec.of("fig", "emuq", "Chain", 3, table={})


def test_verdicts_follow_the_interval():
    assert verdict((0.1, 0.3)) == "reproduced"
    assert verdict((-0.3, -0.1)) == "not reproduced"
    assert verdict((-0.1, 0.1)) == "undecided"
    assert verdict(None) == "undecided"
    assert Claim.below("e", "c", "m", 1.0, (0.5, 1.5), 2.0).verdict == "reproduced"
    assert Claim.below("e", "c", "m", 3.0, (2.5, 3.5), 2.0).verdict == "not reproduced"
    assert Claim.within("e", "c", "m", 0.0, (-0.5, 0.5), -1, 1).verdict == "reproduced"
    assert Claim.within("e", "c", "m", 2.0, (1.5, 2.5), -1, 1).verdict == "not reproduced"
    assert Claim.within("e", "c", "m", 1.0, (0.5, 1.5), -1, 1).verdict == "undecided"


def test_experiments_have_distinct_names_and_specs_with_distinct_keys():
    for name, experiment in experiments.every().items():
        specs = experiment.specs(range(2))
        assert experiment.name == name
        assert len({spec.key for spec in specs}) == len(specs)
        assert {spec.experiment for spec in specs} == {experiment.runs_of}


def test_the_toy_runs_and_decides():
    specs = toy.TOY.specs(range(3))
    rows = [experiments.Row(spec, result) for spec, result in zip(specs, toy.execute(specs), strict=True)]
    (claim,) = toy.TOY.claims(rows)
    assert claim.verdict == "reproduced"
    assert toy.TOY.claims([])[0].verdict == "undecided"
