"""Settings side by side: every combination, at random, by Optuna; each run once, one store, one picture."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from emuq import batch
from emuq.batch import api, sweep
from emuq.cli import main
from emuq.commands import campaigns
from emuq.run.jobs import perform
from emuq.run.spec import RunSpec
from emuq.run.store import Store


class Inline:
    """An executor in this very process."""

    def run(self, jobs):
        for job in jobs:
            yield job, perform(job)


@pytest.fixture
def told(monkeypatch):
    """Runs that need as many steps as 1,000 times their lengthscale; none finds the goal at kappa = 0.1."""
    made = []

    def run(domain, seeds, *, state_lengthscale, kappa, **given):
        made.extend(seeds)
        goals = (kappa > 0.5)[:, None]
        lengths = np.rint(1000 * state_lengthscale).astype(int)[:, None]
        return batch.Runs(np.asarray(seeds), goals * 1.0, lengths, goals, np.ones_like(goals, float))

    monkeypatch.setattr(api, "run", run)
    monkeypatch.setattr(campaigns, "executor", lambda args: (Inline(), 1))
    return made


AXES = ["state_lengthscale=0.1:0.3:3", "kappa=0.1,1"]


def swept(folder, *options):
    return main(["sweep", "MountainCar", "--grid", *AXES, "--runs", "4", "--out", str(folder), *options])


def test_a_sweep_has_every_combination_and_a_picture(told, tmp_path, capsys):
    assert swept(tmp_path, "--json") == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [tuple(cell["settings"].values()) for cell in cells] == [
        (pytest.approx(scale), kappa) for scale in (0.1, 0.2, 0.3) for kappa in (0.1, 1.0)
    ]
    assert [cell["success"] for cell in cells] == [0.0, 1.0] * 3
    assert [cell["steps"] for cell in cells] == [50_000, 100, 50_000, 200, 50_000, 300]
    assert cells[0]["episodes"] == 100, "a run without a goal counts with the cap"
    assert (tmp_path / "sweep.png").stat().st_size > 5_000


def test_a_sweep_stops_and_goes_on(told, tmp_path, capsys):
    assert swept(tmp_path) == 0
    assert len(told) == 6 * 4
    assert swept(tmp_path) == 0
    assert len(told) == 6 * 4, "no run is made twice"
    assert swept(tmp_path, "--runs", "5") == 0
    assert told[24:] == [104] * 6
    with Store(tmp_path, create=False) as store:
        assert len(store.done()) == 6 * 5


def test_points_at_random(told, tmp_path, capsys):
    assert swept(tmp_path, "--random", "5") == 0
    rows = capsys.readouterr().out.splitlines()[1:-1]
    assert len(rows) == 5
    assert all(0.1 <= float(row.split()[0]) <= 0.3 for row in rows)
    assert (tmp_path / "sweep.png").stat().st_size > 5_000


def test_points_that_optuna_chooses(told, tmp_path, capsys):
    pytest.importorskip("optuna", reason="the extra optuna is not installed")
    assert swept(tmp_path, "--optuna", "32", "--json") == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert len(cells) == 32
    late = [cell["mean_steps"] for cell in cells[20:]]
    assert np.mean(late) < np.mean([cell["mean_steps"] for cell in cells[:10]])
    assert swept(tmp_path, "--optuna", "32", "--json") == 0
    assert json.loads(capsys.readouterr().out)["cells"] == cells
    assert len(told) == 32 * 4, "the second time they are read from the store"


def test_where_optuna_is_missing_one_line_says_so(told, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert swept(tmp_path, "--optuna", "3") == 2
    assert capsys.readouterr().err == "emuq: optuna is not installed: pip install 'emuq[optuna]'\n"


def test_the_report_shows_a_sweep(told, tmp_path, capsys):
    assert swept(tmp_path) == 0
    assert main(["report", str(tmp_path)]) == 0
    text = (tmp_path / "report.md").read_text()
    assert "| 0.1 | 1 | 100% of 4 | 1 | 100 |" in text
    assert "| 0.1 | 0.1 | 0% of 4 | 100 | 50000 |" in text
    assert (
        "Again: `emuq sweep MountainCar --grid state_lengthscale=0.1,0.2,0.3 kappa=0.1,1.0 --runs 4" in text
    )
    assert (tmp_path / "figures" / "sweep-dark.svg").stat().st_size > 5_000
    assert swept(tmp_path, "--random", "3") == 0
    assert main(["report", str(tmp_path), "sweep"]) == 0
    assert "Again: `emuq sweep" not in (tmp_path / "report.md").read_text(), "points were drawn"


def test_kappa_may_be_infinite():
    (spec,) = sweep.specs("MountainCar", [{"kappa": float("inf")}], [3], 2, 60)
    assert sweep.point_of(spec) == {"kappa": float("inf")}
    assert RunSpec.from_json(spec.to_json()) == spec
    assert RunSpec.from_json(spec.to_json().replace('"seed"', '"seat"')) is None


def test_bad_settings_are_refused_before_anything_runs(told, tmp_path, capsys):
    assert main(["sweep", "MountainCar", "--grid", "kappa=-1,1", "--out", str(tmp_path)]) == 2
    assert "kappa has -1.0: expected numbers from 0" in capsys.readouterr().err
    assert told == []


@pytest.mark.parametrize("axis", ["features=1,2", "kappa", "kappa=", "kappa=0:1", "kappa=a,b"])
def test_a_bad_axis_is_one_line(axis, capsys):
    assert main(["sweep", "MountainCar", "--grid", axis]) == 2
    assert "expected NAME=0.1,0.5,1 or NAME=0.1:1:10" in capsys.readouterr().err
