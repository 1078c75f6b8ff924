"""The experiments' own analysis, on rows made by hand, and a real run of the quickest."""

import numpy as np
import pytest

from emuq.experiments import fig5, fig6, fig7, goals, named, table3
from emuq.experiments.base import Row
from emuq.experiments.plan import plan
from emuq.run.devices import ON_GPU
from emuq.run.spec import RunSpec


def verdicts(claims):
    return {claim.claim: claim.verdict for claim in claims}


def chain(agent, steps):
    """Rows of fig6b whose steps are a function of the length."""
    return [
        Row(spec, {"goal_episode": 1, "goal_steps": n, "steps": n})
        for spec in fig6.specs_b(range(10))
        if spec.agent == agent
        for n in [int(steps(spec["length"], spec.seed))]
    ]


def test_fig6b_tells_linear_from_exponential_from_quadratic():
    claims = fig6.claims_b(
        chain("emuq", lambda n, s: 5 * n + s)
        + chain("epsilon-greedy", lambda n, s: n * n + s)
        + chain("epsilon-greedy-first", lambda n, s: 3 * 4**n + s)
    )
    assert [claim.verdict for claim in claims] == ["reproduced", "reproduced", "not reproduced", "reproduced"]
    curved = fig6.claims_b(chain("emuq", lambda n, s: 2 ** (n / 5) + s))
    assert [claim.verdict for claim in curved] == ["not reproduced", "not reproduced"]


def test_fig6c_compares_dense_with_goal_only():
    def rows(agent, slope):
        return [
            Row(
                spec,
                {
                    "goal_episode": 1,
                    "goal_steps": 1,
                    "steps": 20 + int(slope * spec["sparsity"]) + spec.seed % 3,
                },
            )
            for spec in fig6.specs_c(range(12))
            if spec.agent == agent
        ]

    found = verdicts(fig6.claims_c(rows("emuq", 5) + rows("epsilon-greedy-first", 900)))
    assert set(found.values()) == {"reproduced"}
    assert len(found) == 3
    degraded = verdicts(fig6.claims_c(rows("emuq", 500)))
    assert degraded["EMU-Q is unaffected by the density of rewards"] == "not reproduced"


def test_fig5_decides_by_returns_of_the_same_seeds():
    def row(spec):
        high = (spec["basis"] == "random") == (spec.domain != "DoublePendulum")
        noise = np.random.default_rng(spec.seed).normal(size=fig5.EPISODES)
        return Row(spec, {"returns": (100 * high + noise).tolist(), "goals": [high] * fig5.EPISODES})

    found = verdicts(fig5.claims([row(spec) for spec in fig5.specs(range(12))]))
    assert found["random Fourier features learn faster than the Fourier basis on MountainCar"] == "reproduced"
    assert (
        found["random Fourier features end higher than the Fourier basis on DoublePendulum"]
        == "not reproduced"
    )
    assert found["the Fourier basis does not solve DoublePendulum"] == "not reproduced"


def test_fig7_contrast_is_the_difference_between_unvisited_and_visited_cells():
    u = np.zeros((fig7.GRID, fig7.GRID))
    u[0, 0] = -10.0
    assert fig7._contrast(u.ravel(), [list(fig7.LOW)]) == 10.0


def first_goals(agent, domain, episodes):
    return [
        Row(spec, {"goal_episode": episodes, "goal_steps": episodes and 9 * episodes, "steps": 500}, 1.0)
        for spec in table3.specs(range(10))
        if spec.agent == agent and spec.domain == domain
    ]


def test_table3_compares_with_chance_and_with_the_paper():
    rows = [row for domain in table3.DOMAINS for row in first_goals("emuq", domain, 2)]
    rows += first_goals("random", "MountainCar", None) + first_goals("random", "Reacher", 1)
    found = verdicts(table3.claims(rows))
    fewer = "EMU-Q, default finds the goal of {} in fewer episodes than a random policy"
    assert found[fewer.format("MountainCar")] == "reproduced"
    assert found[fewer.format("Reacher")] == "not reproduced"
    assert "reproduced" in [verdict for claim, verdict in found.items() if "93%" in claim]
    (experiment,) = named(["table3"])
    success, censored = experiment.tables(rows)
    assert success.rows[1][:3] == ("MountainCar", "10/10, 2.00 (0.00)", "0/10")
    assert censored.rows[1][2] == "100.0 [100.0, 100.0]; no goal"


@pytest.mark.parametrize("name", ["fig5", "fig6b", "fig6c", "fig7", "table3"])
def test_analysis_stands_the_absence_of_all_runs_but_one(name):
    (experiment,) = named([name])
    assert experiment.claims([]) == []
    spec = experiment.specs([0])[0]
    result = {
        "goal_episode": None, "goal_steps": None, "steps": 9, "returns": [0.0] * 50, "goals": [False] * 50,
        "lengths": [500] * 10, "contrast": [1.0] * 3,
    }  # fmt: skip
    rows = [Row(spec, result, 1.0)]
    assert all(claim.verdict == "undecided" for claim in experiment.claims(rows))
    assert experiment.tables(rows)
    assert experiment.figure is not None
    assert experiment.figure(rows).axes


def test_seeds_of_a_condition_that_compiles_whole_go_as_one_batch():
    (experiment,) = named(["fig6b"])
    jobs = [
        job for job in plan([experiment], seeds=3, agents=["epsilon-greedy"]) if job.specs[0]["length"] == 5
    ]
    assert [len(job.specs) for job in jobs] == [3]
    results = goals.execute(jobs[0].specs)
    assert all(result["goal_episode"] == 1 and result["goal_steps"] >= 4 for result in results)
    assert len({result["goal_steps"] for result in results}) > 1


def test_seeds_of_the_default_go_in_batches_where_it_compiles_whole():
    (experiment,) = named(["ablation"])
    jobs = plan([experiment], seeds=50, domains=["MountainCar", "Hopper"])
    numbers = {(job.specs[0].domain, job.specs[0]["change"]): len(job.specs) for job in jobs}
    assert numbers["MountainCar", "default"] == numbers["MountainCar", "60 sweeps a plan"] == 10
    assert numbers["MountainCar", "plans at episode ends"] == numbers["Hopper", "default"] == 1
    seeds = [[spec.seed for spec in job.specs] for job in jobs if len(job.specs) > 1]
    assert seeds[:2] == [list(range(10)), list(range(10, 20))]
    jobs = plan([experiment], seeds=20, domains=["MountainCar"])
    assert {len(job.specs) for job in jobs} == {1}, "too few on a CPU"
    assert len(plan([experiment], seeds=20, domains=["MountainCar"], batches=ON_GPU)[0].specs) == 20


def test_a_batch_has_the_results_of_its_runs_one_by_one():
    """The same goal after the same steps, or none."""
    specs = [
        RunSpec.of(
            "table3", "emuq", "SinglePendulum", seed, episodes=2, horizon=40, reward="goal",
            options=(("features", 40), ("capacity", 256)),
        )
        for seed in range(3)
    ]  # fmt: skip
    found = goals.execute(specs)
    assert found == [goals._alone(spec) for spec in specs]
    assert [result["goal_episode"] for result in found] == [1, None, 2]


def test_a_run_through_gymnasium_counts_episodes_and_steps():
    spec = next(s for s in table3.specs([0]) if s.agent == "random" and s.domain == "Reacher")
    (result,) = goals.execute([spec])
    assert result["goal_episode"] >= 1
    assert result["goal_steps"] == result["steps"] <= 500 * result["goal_episode"]


def test_a_cost_of_one_a_step_replaces_mountain_cars_reward():
    import jax

    spec = next(s for s in table3.specs([0]) if s.agent == "rffq" and s.domain == "MountainCar")
    domain = goals.domain_of(spec)
    state = domain.reset(jax.random.key(0))
    step = domain.step(state, np.ones(1), jax.random.key(1))
    assert float(step.reward) == -1.0
    assert goals.domain_of(spec) is domain
