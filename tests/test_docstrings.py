"""The reference is whole: public things tell their arguments, and their examples do what they show."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import re
from pathlib import Path

import gymnasium as gym
import jax
import pytest

import emuq
from emuq import errors, exploration, kappa
from emuq.agents.base import Agent
from emuq.agents.emuq.options import DEFAULT, PRESETS
from emuq.agents.episodes import Event, Transition
from emuq.agents.policy import Policy
from emuq.agents.tabular.agent import TabularAgent
from emuq.history import Episode, History

API = Path(__file__).parents[1] / "docs" / "api"
# Reached from the public names; what else there is in these modules is no part of the surface.
REACHED = {
    **{f"emuq.{name}": getattr(emuq, name) for name in emuq._PUBLIC},
    **{f"emuq.kappa.{name}": kind for name, kind in kappa.CONTROLLERS.items()},
    "emuq.kappa.Controller": kappa.Controller,
    "emuq.kappa.Outcome": kappa.Outcome,
    **{f"emuq.exploration.{kind.__name__}": kind for kind in exploration.REWARDS.values()},
    "emuq.exploration.ExplorationReward": exploration.ExplorationReward,
    "emuq.callbacks.KeepBest": emuq.callbacks.KeepBest,
    "emuq.callbacks.Metrics": emuq.callbacks.Metrics,
    "emuq.callbacks.TensorBoard": emuq.callbacks.TensorBoard,
    "emuq.plot.value_map": emuq.plot.value_map,
    "emuq.plot.learning_curve": emuq.plot.learning_curve,
    "emuq.batch.run": emuq.batch.run,
    "emuq.batch.Runs": emuq.batch.Runs,
    "emuq.cache.enable": emuq.cache.enable,
    "emuq.dispatch.inline": emuq.dispatch.inline,
    "emuq.agents.base.Agent": Agent,
    "emuq.agents.episodes.Event": Event,
    "emuq.agents.episodes.Transition": Transition,
    "emuq.history.Episode": Episode,
    "emuq.history.History": History,
    "emuq.errors.InputError": errors.InputError,
}
METHODS = {
    f"{kind.__name__}.{name}": value.fget
    if isinstance(value, property)
    else getattr(value, "__func__", value)
    for kind in (Policy, Agent, emuq.EMUQ, TabularAgent)
    for name, value in vars(kind).items()
    if not name.startswith("_") and (callable(value) or isinstance(value, property | classmethod))
}


def told(thing) -> str:
    """A docstring; a class's with that of its making."""
    own = inspect.getdoc(thing) or ""
    made = inspect.isclass(thing) and vars(thing).get("__init__")
    return own + "\n\n" + ((made and inspect.getdoc(made)) or "")


def arguments(thing) -> list[str]:
    if inspect.isclass(thing) and (issubclass(thing, tuple) or thing in (Agent, kappa.Controller)):
        return []  # their fields are attributes, or nobody makes one
    if thing in (exploration.ExplorationReward, errors.InputError):
        return []
    given = inspect.signature(thing).parameters.values()
    return [f"{'**' * (p.kind is p.VAR_KEYWORD)}{p.name}" for p in given if p.name not in ("self", "cls")]


@pytest.mark.parametrize("name", [*REACHED, *METHODS])
def test_each_argument_is_told(name):
    thing = REACHED.get(name, METHODS.get(name))
    section = told(thing).partition("Args:\n")[2]
    for argument in arguments(thing):
        assert re.search(rf"^ +{re.escape(argument)}: \w?", section, re.MULTILINE), f"{name}: {argument}"


@pytest.mark.parametrize("name", REACHED)
def test_each_has_its_place_in_the_reference(name):
    pages = "\n".join(page.read_text() for page in API.glob("*.md"))
    assert re.search(rf"^::: {re.escape(name)}$", pages, re.MULTILINE)


@pytest.fixture(scope="module")
def small():
    """A smaller default agent, as pages' code has it in `test_pages`."""
    with pytest.MonkeyPatch.context() as patch:
        options = {"features": 60, "capacity": 1024}
        patch.setitem(PRESETS, "default", dataclasses.replace(DEFAULT, **options))
        yield


@pytest.fixture
def settings():
    """JAX's settings as they were: an example may change them."""
    names = ("jax_compilation_cache_dir", "jax_compilation_cache_max_size", "jax_cpu_enable_async_dispatch")
    names += ("jax_persistent_cache_min_compile_time_secs",)
    before = {name: jax.config.values[name] for name in names}
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    from jax.experimental.compilation_cache import compilation_cache

    compilation_cache.reset_cache()


@pytest.fixture
def trained(small):
    """What the examples of methods begin with."""
    env = gym.make("emuq/Chain-v0", observation="index")
    agent = emuq.ExplorationValues(env, seed=0)
    agent.learn(episodes=20, progress=False)
    return {"emuq": emuq, "env": env, "agent": agent}


@pytest.mark.parametrize("name", [*REACHED, *METHODS])
def test_each_example_does_what_it_shows(name, trained, settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    thing = REACHED.get(name, METHODS.get(name))
    if name.startswith("EMUQ."):
        trained["agent"] = emuq.EMUQ("emuq/MountainCar-v0", seed=0)
    if name == "Agent.load":
        trained["agent"].save("chain.emuq")
    text = told(thing)
    examples = doctest.DocTestParser().get_doctest(text, trained, name, None, 0)
    assert examples.examples or name in METHODS, f"{name} has no example"
    failures = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples, out=failures.append)
    assert not failures, "".join(failures)
