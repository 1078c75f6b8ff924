"""Runs through executors and the command: nothing lost, nothing done twice, nothing hidden."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import toy
from emuq import cli, experiments
from emuq.errors import InputError
from emuq.experiments.plan import finished, plan
from emuq.run import local
from emuq.run.campaign import carry_out, remaining
from emuq.run.jobs import perform
from emuq.run.local import LocalProcesses
from emuq.run.progress import Tally
from emuq.run.store import Store

HERE = Path(__file__).parent


@pytest.fixture
def only_toy(monkeypatch):
    monkeypatch.setattr(experiments, "every", lambda: {"toy": toy.TOY})


def drive(*arguments, **environment):
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, HERE / "drive_toy.py", *map(str, arguments)],
        env=os.environ | {name: str(value) for name, value in environment.items()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def recorded(folder):
    """The keys of the toy's runs in a folder; none while the store is being made."""
    try:
        with Store(folder, create=False) as store:
            return store.done()
    except InputError:
        return set()


def wait_for(folder, number):
    """Until so many runs are recorded."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(recorded(folder)) < number:
        time.sleep(0.02)
    assert len(recorded(folder)) >= number


def test_runs_equal_those_done_by_hand_whatever_the_grouping(tmp_path):
    specs = toy.TOY.specs(range(3))
    expected = {spec.key: result for spec, result in zip(specs, toy.execute(specs), strict=True)}
    for experiment in (toy.TOY, toy.BATCHED):
        with Store(tmp_path / str(experiment is toy.TOY)) as store:
            jobs = plan([experiment], seeds=3)
            assert len(jobs) == (6 if experiment is toy.TOY else 2)
            summary = carry_out(jobs, store, LocalProcesses(2), 2)
            assert summary == (6, 0, 0)
            assert {record.key: record.result for record in store.records("toy")} == expected
            provenance = next(store.records("toy")).provenance
            assert provenance["versions"]["emuq"] == "0.1.0"
            assert {"python", "jax", "gymnasium"} <= set(provenance["versions"])
            assert remaining(jobs, store) == []
            assert carry_out(plan([experiment], seeds=4), store, LocalProcesses(2), 2) == (2, 0, 6)


def test_failing_and_dying_runs_are_recorded_and_stop_nobody(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_FAILS", "1")
    monkeypatch.setenv("TOY_DIES", "2")
    with Store(tmp_path) as store:
        jobs = plan([toy.TOY], seeds=4)
        assert carry_out(jobs, store, LocalProcesses(2), 2) == (4, 4, 0)
        rows, errors, _ = finished(toy.TOY, store)
        assert len(rows) == 4
        assert sum("the coin rolled under the table" in error for error in errors) == 2
        assert sum("killed by SIGKILL" in error for error in errors) == 2
        monkeypatch.delenv("TOY_FAILS")
        monkeypatch.delenv("TOY_DIES")
        assert carry_out(jobs, store, LocalProcesses(2), 2) == (4, 0, 4)


def test_a_process_that_ends_between_two_jobs_is_replaced(monkeypatch):
    class Ended:
        """Dead, but the system has not said so yet."""

        def is_alive(self):
            return True

    (ours, theirs), (new, inbox) = multiprocessing.Pipe(), multiprocessing.Pipe()
    theirs.close()
    old, started = local._Worker(Ended(), ours), local._Worker(Ended(), new)
    executor, workers = LocalProcesses(1), [old]
    monkeypatch.setattr(executor, "_start", lambda: started)
    (job, *_) = plan([toy.TOY], seeds=1)
    assert executor._give(job, old, workers) is started
    assert inbox.recv() == job
    assert workers == [started]


def test_a_campaign_may_run_in_any_thread(tmp_path):
    class Inline:
        def run(self, jobs):
            for job in jobs:
                yield job, perform(job)

    found = []

    def campaign():
        with Store(tmp_path) as store:
            found.append(carry_out(plan([toy.TOY], seeds=1), store, Inline(), 1))

    thread = threading.Thread(target=campaign)
    thread.start()
    thread.join()
    assert found == [(2, 0, 0)]


def test_kill_9_loses_only_runs_in_flight_and_none_is_done_twice(tmp_path):
    process = drive("reproduce", "--seeds", 20, "--workers", 2, "--out", tmp_path, TOY_SECONDS=0.05)
    try:
        wait_for(tmp_path, 6)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    before = recorded(tmp_path)
    assert 6 <= len(before) < 40
    with Store(tmp_path) as store:
        stamps = {record.key: record.finished for record in store.records("toy")}
    again = drive("reproduce", "--seeds", 20, "--out", tmp_path, "--json")
    out, _ = again.communicate(timeout=60)
    answer = json.loads(out)
    assert answer["kept"] == len(before)
    assert answer["done"] == 40 - len(before)
    with Store(tmp_path) as store:
        after = {record.key: record.finished for record in store.records("toy")}
    assert len(after) == 40
    assert stamps.items() <= after.items()


def test_no_worker_outlives_a_killed_parent(tmp_path):
    process = drive("reproduce", "--seeds", 4, "--workers", 2, "--out", tmp_path, TOY_SECONDS=30)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and len(children := _children(process.pid)) < 3:
        time.sleep(0.05)
    assert len(children) >= 2
    time.sleep(1.0)  # past the imports, into the job
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(_alive(child) for child in children):
        time.sleep(0.05)
    assert not any(_alive(child) for child in children)


def _children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _alive(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_cleanly_and_says_how_to_go_on(tmp_path, how):
    process = drive("reproduce", "--seeds", 20, "--workers", 2, "--out", tmp_path, TOY_SECONDS=0.2)
    wait_for(tmp_path, 1)
    os.killpg(process.pid, how) if how == signal.SIGINT else os.kill(process.pid, how)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130, error
    last = error.strip().splitlines()[-1]
    assert last.startswith("emuq: stopped;")
    assert f"Go on with: emuq reproduce --seeds 20 --workers 2 --out {tmp_path}" in last
    assert "Traceback" not in error
    assert 0 < len(recorded(tmp_path)) < 40


def test_progress_off_a_terminal_is_json_lines(tmp_path):
    process = drive("reproduce", "--seeds", 2, "--out", tmp_path, "--json")
    out, error = process.communicate(timeout=30)
    assert process.returncode == 0
    lines = [json.loads(line) for line in error.splitlines()]
    assert lines[-1] | {"seconds": 0, "seconds_left": 0} == {
        "experiment": "toy", "done": 4, "failed": 0, "total": 4,
        "all_done": 4, "all_failed": 0, "all_total": 4, "seconds": 0, "seconds_left": 0,
    }  # fmt: skip
    assert json.loads(out) == {"out": str(tmp_path), "done": 4, "failed": 0, "kept": 0}


def test_time_left_weighs_each_kind_of_run_by_its_own_seconds():
    from emuq.run.jobs import Outcome
    from emuq.run.spec import RunSpec

    slow = [RunSpec.of("a", "slow", "X", seed) for seed in range(3)]
    fast = [RunSpec.of("a", "fast", "X", seed) for seed in range(3)]
    tally = Tally(slow + fast, workers=2)
    assert tally.seconds_left() is None
    tally.count(slow[:1], Outcome([{}], None, 10.0, {}))
    assert tally.seconds_left() == pytest.approx(5 * 10 / 2)
    tally.count(fast[:1], Outcome([{}], None, 1.0, {}))
    assert tally.seconds_left() == pytest.approx((2 * 10 + 2 * 1) / 2)


@pytest.mark.usefixtures("only_toy")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tpy"], "no experiment 'tpy': did you mean toy?"),
        (["--seeds", "0"], "seeds is 0: expected a whole number from 1"),
        (["--agents", "loaded"], "--agents loaded: these experiments have only biased, fair"),
        (["--domains", "Dice"], "--domains Dice: these experiments have only Coin"),
        (["--workers", "0"], "workers is 0: expected a whole number from 1"),
        (["--address", "auto"], "--address is for --executor ray"),
        (["--executor", "ray", "--address", "127.0.0.1:1"], "no Ray cluster at 127.0.0.1:1"),
        (["--executor", "ray", "--address", "nowhere"], "expected host:port"),
        (["--out", "/dev/null/x"], "cannot make the folder"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments, message, capsys):
    assert cli.main(["reproduce", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.usefixtures("only_toy")
def test_agents_and_domains_narrow_the_runs(capsys):
    assert {spec.agent for job in plan([toy.TOY], agents=["fair"]) for spec in job.specs} == {"fair"}
    assert cli.main(["reproduce", "--list"]) == 0
    assert capsys.readouterr().out.split() == ["toy", "4", "runs", "Two", "coins"]
    assert cli.main(["reproduce", "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"name": "toy", "title": "Two coins", "runs": 4}]


def test_rows_of_another_version_are_recognised_and_not_mixed_in(tmp_path):
    from dataclasses import replace

    with Store(tmp_path) as store:
        carry_out(plan([toy.TOY], seeds=2), store, LocalProcesses(1), 1)
        newer = replace(toy.TOY, specs=lambda seeds: tuple(replace(s, revision=2) for s in toy.specs(seeds)))
        assert finished(newer, store) == ([], [], 4)
        assert len(remaining(plan([newer], seeds=2), store)) == 4


def test_an_unknown_experiment_is_an_input_error():
    with pytest.raises(InputError, match="no experiment 'fig99'"):
        experiments.named(["fig99"])
