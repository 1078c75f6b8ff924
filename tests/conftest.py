"""Fixtures that all tests share, and the check of every array's shape and type while tests run."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from jaxtyping import install_import_hook

UNCHECKED = {"emuq.agents.rffq"}  # its class has to see bad options to refuse them


def annotated() -> list[str]:
    """The modules of emuq that state shapes, which is what they import jaxtyping for."""
    (root,) = importlib.util.find_spec("emuq").submodule_search_locations
    paths = [path for path in Path(root).rglob("*.py") if "from jaxtyping import" in path.read_text()]
    return [".".join(("emuq", *path.relative_to(root).with_suffix("").parts)) for path in sorted(paths)]


# Before anything of emuq is imported: from here on beartype checks these modules' annotations at every call.
CHECKED = [name for name in annotated() if name not in UNCHECKED]
install_import_hook(CHECKED, "beartype.beartype")

import jax  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

import forging  # noqa: E402
from emuq import cache  # noqa: E402
from emuq.agents.emuq import warming  # noqa: E402
from emuq.errors import InputError  # noqa: E402
from emuq.precision import double  # noqa: E402

# Tests are mostly compiling: what one process has compiled, the others read, their subprocesses and the next
# run, too. It lies in the environment, on whose versions it depends, without the thousands of tiny programs.
# Nothing is ever evicted: processes that disagree about that would break the cache for one another.
SECONDS, UNBOUNDED = 0.1, -1
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(cache.enable(Path(sys.prefix) / ".programs"))
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = str(SECONDS)
jax.config.update("jax_persistent_cache_min_compile_time_secs", SECONDS)
jax.config.update("jax_compilation_cache_max_size", UNBOUNDED)

# Agents of the tests make a few steps each: they compile what they call, when they call it.
warming.ENABLED = False


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def x64():
    """The test's own computations in double precision, as agents do theirs."""
    with double():
        yield


@pytest.fixture(scope="module", autouse=True)
def _room_for_programs():
    """A process may map 65,530 pieces of memory, and each compiled program takes some for good."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and len(maps.read_bytes().splitlines()) > 15_000:
        jax.clear_caches()


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Of each kind an environment, an agent that has learned, and its file."""
    folder = tmp_path_factory.mktemp("originals")
    found = {}
    for kind, (make_env, make) in forging.KINDS.items():
        env = make_env()
        agent = make(env)
        agent.learn(episodes=2, progress=False)
        agent.save(folder / kind)
        found[kind] = env, agent, folder / kind
    return found


@pytest.fixture
def forged(originals, tmp_path):
    """`forged(kind, header, **arrays)`: the error that a forged file is refused with, or None."""

    def refused(kind, header=None, **arrays):
        env, agent, original = originals[kind]
        path = tmp_path / "forged.emuq"
        path.write_bytes(original.read_bytes())
        forging.forge(path, header, **arrays)
        message = None
        try:
            type(agent).load(path, env)
        except InputError as error:
            message = str(error)
        assert message is None or (str(path) in message and "\n" not in message)
        return message

    return refused
