"""Reports: every number in them is computed from rows whose answers are known."""

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

import toy
from emuq import cli, experiments
from emuq.errors import InputError
from emuq.experiments import cliff
from emuq.experiments.base import Claim, Experiment, Row
from emuq.experiments.plan import plan
from emuq.experiments.statistics import FEWEST
from emuq.report.markdown import BEGIN, END, code, pipe_table
from emuq.report.summary import summarise
from emuq.report.words import duration, measured, number
from emuq.run.jobs import perform
from emuq.run.spec import RunSpec
from emuq.run.store import FILE, Store


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A store with six seeds of the toy, one run failed and one of another version."""
    monkeypatch.setattr(experiments, "every", lambda: {"toy": toy.TOY})
    with Store(tmp_path) as store:
        for job in plan([toy.TOY], seeds=6):
            outcome = perform(job)
            store.write(job.specs, outcome.results, outcome.error, outcome.seconds, outcome.provenance)
        origin = outcome.provenance
        store.write([RunSpec.of("toy", "fair", "Coin", 6, tosses=200)], None, "Boom: <lost>", 0.1, origin)
        store.write([RunSpec.of("toy", "fair", "Coin", 0, tosses=7)], [{"heads": 3}], None, 0.1, origin)
    return tmp_path


def test_json_has_rows_and_claims(folder, capsys):
    assert cli.main(["report", str(folder), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(row["agent"], row["runs"]) for row in answer["rows"]] == [("fair", 6), ("biased", 6)]
    assert answer["failed"] == 1
    (claim,) = answer["claims"]
    assert claim["verdict"] == "reproduced"
    assert set(claim) >= {"experiment", "claim", "statistic", "interval", "verdict"}


def test_the_page_is_whole_offline_and_twice_the_same(folder):
    assert cli.main(["report", str(folder)]) == 0
    page = (folder / "report.html").read_text()
    assert not re.search(r'(src|href|srcset)="(?!data:|#)', page)
    assert page.count("data:image/svg+xml;base64,") == 2
    assert "the biased coin shows more heads" in page
    assert "Boom: &lt;lost&gt;" in page
    assert "1 stored runs belong to another version" in page
    text = (folder / "report.md").read_text()
    assert "✓ reproduced" in text
    assert "figures/toy-dark.svg" in text
    first = {path.name: path.read_bytes() for path in folder.rglob("*.*") if "sqlite" not in path.name}
    assert cli.main(["report", str(folder)]) == 0
    assert {
        path.name: path.read_bytes() for path in folder.rglob("*.*") if "sqlite" not in path.name
    } == first


def damage(folder, column: str, value: str) -> str:
    """Write over a column of one run; its key."""
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as database:
        (key,) = database.execute("SELECT min(key) FROM runs WHERE status = 'done'").fetchone()
        database.execute(f"UPDATE runs SET {column} = ? WHERE key = ?", (value, key))
    return key


@pytest.mark.parametrize("column", ["result", "provenance"])
@pytest.mark.parametrize("value", ['{"heads": 1', "[1, 2]", ""])
def test_a_damaged_row_is_one_line_that_names_it(folder, column, value, capsys):
    key = damage(folder, column, value)
    assert cli.main(["report", str(folder), "--json"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert key in line
    assert column in line


def test_a_store_that_cannot_be_written_beside_is_read(folder, tmp_path, capsys):
    # As on a read-only disk, SQLite cannot make the files that it keeps beside a store.
    (folder / f"{FILE}-shm").mkdir()
    assert cli.main(["report", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 12
    (folder / f"{FILE}-wal").write_bytes(b"rows that have not reached the store")
    assert cli.main(["report", str(folder), "--json"]) == 2
    assert "copy the folder" in capsys.readouterr().err


def test_reading_a_store_writes_nothing(folder):
    assert [path.name for path in folder.iterdir()] == [FILE]
    assert cli.main(["report", str(folder), "--json"]) == 0
    assert [path.name for path in folder.iterdir()] == [FILE]
    with Store(folder, create=False) as store, pytest.raises(InputError, match="readonly"):
        store.write([RunSpec.of("toy", "fair", "Coin", 9)], [{}], None, 0.1, {})


NASTY = "<b>big</b> | `x` [y](z)\n# Heading"


def test_text_from_the_store_stays_text(folder):
    origin = {"host": NASTY, "device": NASTY, "versions": {NASTY: NASTY}}
    with Store(folder) as store:
        store.write(
            [RunSpec.of("toy", "fair", "Coin", 7, tosses=200)], None, NASTY.replace("\n", " "), 0.1, origin
        )
        store.write([RunSpec.of(NASTY, "fair", "Coin", 7)], [{}], None, 0.1, origin)
    assert cli.main(["report", str(folder)]) == 0
    page, text = ((folder / name).read_text() for name in ("report.html", "report.md"))
    assert "<b>big" not in page
    assert page.count("&lt;b&gt;big&lt;/b&gt;") == 6
    assert text.count("&lt;b&gt;big&lt;/b&gt; &#124; \\`x\\` \\[y\\](z) # Heading") == 6
    assert "<b>big" not in text
    assert "\n# Heading" not in text
    assert pipe_table(["a|b"], [["c|d"]]) == ["| a\\|b |", "| --- |", "| c\\|d |"]
    assert code("a`` b") == "``` a`` b ```"


def test_again_repeats_the_options_that_were_used(folder, tmp_path, capsys):
    assert cli.main(["report", str(folder)]) == 0
    assert "Again: `emuq reproduce toy --seeds 6`" in (folder / "report.md").read_text()
    assert "<code>emuq reproduce toy --seeds 6</code>" in (folder / "report.html").read_text()
    some = tmp_path / "some"
    with Store(some) as store:
        for job in plan([toy.TOY], agents=["fair"]):
            outcome = perform(job)
            store.write(job.specs, outcome.results, outcome.error, outcome.seconds, outcome.provenance)
    assert cli.main(["report", str(some)]) == 0
    text = (some / "report.md").read_text()
    assert "Again: `emuq reproduce toy --agents fair`" in text  # of the paper's number of seeds
    assert "\n    emuq reproduce toy --agents fair --out results\n    emuq report results\n" in text


def test_few_seeds_decide_nothing_and_the_report_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, "every", lambda: {"toy": toy.TOY})
    with Store(tmp_path) as store:
        for job in plan([toy.TOY], seeds=2):
            outcome = perform(job)
            store.write(job.specs, outcome.results, outcome.error, outcome.seconds, outcome.provenance)
    assert cli.main(["report", str(tmp_path)]) == 0
    (claim,) = json.loads((tmp_path / "report.json").read_text())["claims"]
    assert (claim["verdict"], claim["runs"]) == ("undecided", 2)
    for name in ("report.md", "report.html"):
        assert f"Fewer than {FEWEST} runs decide nothing" in (tmp_path / name).read_text()


def test_the_legend_of_returns_lies_beside_the_data():
    rows = [Row(spec, {"returns": [-100.0] * 60, "lengths": [1] * 60}) for spec in cliff.specs_a([0])]
    figure = cliff.figure_a(rows)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    (axes,) = figure.axes
    assert axes.get_legend() is None
    assert not legend.get_window_extent().overlaps(axes.get_window_extent())


def goals(agent: str, episodes: list[int | None]) -> list[Row]:
    return [
        Row(
            RunSpec.of("table3", agent, "Car", seed, episodes=100),
            {"goal_episode": e, "goal_steps": None if e is None else 10 * e},
            2.0,
        )
        for seed, e in enumerate(episodes)
    ]


def specs(seeds):
    return tuple(
        RunSpec.of("table3", agent, "Car", s, episodes=100)
        for agent in ("emuq-paper", "random")
        for s in seeds
    )


TABLE = Experiment(
    "table3", "First goals", 20, specs, toy.execute, lambda rows: [],
    paper={("emuq-paper", "Car"): {"success": 1.0, "episodes_mean": 2.95, "episodes_std": 0.38}},
)  # fmt: skip


def test_summary_rows_count_runs_without_a_goal():
    ours, other = summarise(TABLE, goals("emuq-paper", [1, 2, None, 3]) + goals("random", [None, None]))
    assert (ours["runs"], ours["successes"]) == (4, 3)
    assert ours["episodes_mean"] == 2.0
    assert ours["episodes_std"] == 1.0
    assert ours["steps_median"] == 20
    assert ours["restricted_mean_episodes"] == pytest.approx((1 + 2 + 3 + 100) / 4)
    assert ours["success_ci"] == pytest.approx((0.30064, 0.95441), abs=1e-5)
    assert ours["paper_episodes_mean"] == 2.95
    assert (other["successes"], other["episodes_mean"], other["steps_median"]) == (0, None, None)
    assert other["restricted_mean_episodes"] == 100


def test_the_readme_table_is_written_between_its_markers(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(experiments, "every", lambda: {"table3": TABLE})
    with Store(tmp_path) as store:
        for row in goals("emuq-paper", [1, 2, 3]) + goals("random", [None, None, 50]):
            store.write(
                [row.spec], [row.result], None, row.seconds, {"host": "h", "device": "d", "versions": {}}
            )
    readme = tmp_path / "README.md"
    readme.write_text(f"# Title\n{BEGIN}\nold\n{END}\nrest\n")
    assert cli.main(["report", str(tmp_path), "--readme", str(readme)]) == 0
    text = readme.read_text()
    assert text.startswith("# Title\n")
    assert text.endswith("\nrest\n")
    assert "| Car | 3/3, 2 (1) | 1/3, 50 | 100%, 2.95 (0.38) |" in text
    # The same table comes from a committed report.json, without the store.
    assert cli.main(["report", str(tmp_path)]) == 0
    kept = tmp_path / "kept"
    kept.mkdir()
    (tmp_path / "report.json").rename(kept / "report.json")
    readme.write_text(f"{BEGIN}{END}")
    assert cli.main(["report", str(kept), "--readme", str(readme)]) == 0
    assert readme.read_text() in text
    readme.write_text("no markers")
    assert cli.main(["report", str(kept), "--readme", str(readme)]) == 2
    assert "lacks the markers" in capsys.readouterr().err


def test_bad_input_is_one_line_and_status_2(folder, tmp_path, capsys):
    assert cli.main(["report", str(tmp_path / "absent")]) == 2
    assert cli.main(["report", str(folder), "fig99"]) == 2
    (folder / "empty").mkdir()
    assert cli.main(["report", str(folder / "empty"), "--json"]) == 2
    assert cli.main(["report", str(folder), "--out", str(folder / "results.sqlite")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 4


def test_numbers_in_words():
    assert [number(x) for x in (0, 0.123456, 1.5, 12.345, 123.4, 12345.6, 1e7, None)] == [
        "0", "0.123", "1.5", "12.3", "123", "12,346", "1.00e+07", "\N{EN DASH}"
    ]  # fmt: skip
    assert number(-2.5) == "\N{MINUS SIGN}2.5"
    assert measured(Claim("e", "c", "m", 1.0, (0.5, 1.5), "undecided")) == "1 [0.5, 1.5]"
    assert [duration(s) for s in (5, 600, 7200)] == ["5 s", "10 min", "2.0 h"]


def test_an_experiment_that_reads_another_ones_runs_needs_none_of_its_own(folder, capsys, monkeypatch):
    reader = replace(toy.TOY, name="reader", source="toy")
    monkeypatch.setattr(experiments, "every", lambda: {"toy": toy.TOY, "reader": reader})
    assert cli.main(["report", str(folder), "reader", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 12
