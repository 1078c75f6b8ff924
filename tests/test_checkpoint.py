"""Checkpoints: what was saved goes on, and whatever was altered is refused in one line."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import tracemalloc
import zipfile

import gymnasium as gym
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import emuq
import forging
from emuq import checkpoint
from emuq.agents.rffq import RFFQ
from emuq.agents.spaces import Spaces
from emuq.errors import InputError
from forging import KINDS, car, forge, header
from tabular_worlds import Corridor

pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in.*:RuntimeWarning")  # of forged options


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Of each kind an environment, an agent that has learned, and its file."""
    folder = tmp_path_factory.mktemp("originals")
    found = {}
    for kind, (make_env, make) in KINDS.items():
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
        forge(path, header, **arrays)
        message = None
        try:
            type(agent).load(path, env)
        except InputError as error:
            message = str(error)
        assert message is None or (str(path) in message and "\n" not in message)
        return message

    return refused


def state(agent):
    return checkpoint.flatten(agent._get_state())


# What comes back -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_goes_on_after_a_file_and_after_pickle(kind, originals):
    env, agent, path = originals[kind]
    whole, loaded, pickled = (
        copy.deepcopy(agent), type(agent).load(path, env), pickle.loads(pickle.dumps(agent))
    )  # fmt: skip
    assert pickled.env is None
    for other in (loaded, pickled):
        assert options(other) == options(agent)
        assert other.kappa == agent.kappa
    whole.learn(episodes=1, progress=False)
    loaded.learn(episodes=1, progress=False)
    pickled.learn(episodes=1, progress=False, env=env)
    for other in (loaded, pickled):
        assert other.history.to_dict() == whole.history.to_dict()
        for name, array in state(whole).items():
            np.testing.assert_array_equal(state(other)[name], array)


def options(agent):
    return getattr(agent, "settings", agent.options)


def test_a_copy_has_an_environment_and_arrays_of_its_own(originals):
    _, agent, _ = originals["emuq"]
    for copied in (copy.copy(agent), copy.deepcopy(agent)):
        before = copy.deepcopy(state(agent))
        copied.learn(episodes=1, progress=False)
        assert copied.env is not agent.env
        assert len(copied.history) == len(agent.history) + 1
        for name, array in state(agent).items():
            np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize(
    "given",
    [{"state_lengthscale": (0.3, 0.4)}, {"features": np.int64(20)}, {"state_lengthscale": np.float32(0.5)}],
    ids=str,
)
def test_tuples_and_numpys_numbers_among_the_options_are_saved(given, tmp_path):
    agent = emuq.EMUQ(car(), **({"features": 20, "capacity": 256} | given))
    agent.save(tmp_path / "agent.emuq")
    assert emuq.EMUQ.load(tmp_path / "agent.emuq", agent.env).settings == agent.settings


def test_options_within_options_are_saved(tmp_path):
    from emuq.agents.vime.core import Prior

    agent = emuq.VIME(car(), batch=50, pool=50, prior=Prior(samples=3))
    agent.save(tmp_path / "agent.emuq")
    again = emuq.VIME.load(tmp_path / "agent.emuq", agent.env)
    assert again.settings == agent.settings
    assert isinstance(again.settings.prior, Prior)


def test_a_loaded_agent_has_the_options_it_was_made_with_whatever_the_defaults_are_now(tmp_path):
    """The paper's depend on the domain, DORA's grid on it, and defaults on the version."""
    env = gym.make("emuq/SinglePendulum-v0")
    paper = emuq.EMUQ(env, preset="paper", features=20, capacity=256)
    dora = emuq.DORA(env, memory=1 << 10)
    for agent in (paper, dora):
        agent.save(tmp_path / agent.name)
    bare = Spaces(env.observation_space, env.action_space, env.unwrapped.normalisation)
    assert emuq.EMUQ.load(tmp_path / "emuq", bare).settings == paper.settings
    again = emuq.DORA.load(tmp_path / "dora", bare)
    np.testing.assert_array_equal(again.actions.candidates, dora.actions.candidates)


def test_an_exploration_reward_and_a_controller_of_ones_own_are_pickled():
    agent = emuq.ExplorationValues(Corridor(), exploration=Impatience(), kappa=Halve())
    agent.learn(episodes=3, progress=False)
    again = pickle.loads(pickle.dumps(agent))
    assert again.exploration == Impatience()
    assert again.kappa == agent.kappa < 1


@dataclasses.dataclass(frozen=True)
class Impatience:
    initial: float = 0.0

    def reward(self, visits, state, action, next_state, terminated):
        return -1.0


@dataclasses.dataclass(frozen=True)
class Halve:
    test_episodes = 0

    def init(self):
        return np.float32(1.0)

    def value(self, state):
        return state

    def update(self, state, outcome):
        return np.float32(state / 2)


# Where it belongs ------------------------------------------------------------------------------------


def box(low, high):
    return gym.spaces.Box(np.array(low, np.float32), np.array(high, np.float32))


UNIT, DISCRETE = box([0, 0], [1, 1]), gym.spaces.Discrete(3)


@pytest.mark.parametrize(
    ("saved", "given", "message"),
    [
        (Spaces(UNIT, DISCRETE), Spaces(box([0, 0], [1, 2]), DISCRETE), r"dimension 1: high was 1, is 2"),
        (Spaces(UNIT, DISCRETE), Spaces(box([0, -1], [1, 1]), DISCRETE), r"dimension 1: low was 0, is -1"),
        (Spaces(UNIT, UNIT), Spaces(UNIT, box([0, 0], [3, 1])), r"action space differs in dimension 0"),
        (Spaces(UNIT, DISCRETE), Spaces(box([0] * 3, [1] * 3), DISCRETE), r"another shape: saved \[2\]"),
        (Spaces(UNIT, DISCRETE), Spaces(UNIT, gym.spaces.Discrete(3, start=1)), r"start was 0, is 1"),
        (Spaces(UNIT, DISCRETE), Spaces(UNIT, gym.spaces.Discrete(4)), r"n was 3, is 4"),
        (Spaces(UNIT, DISCRETE), Spaces(UNIT, UNIT), r"another kind: saved Discrete, given Box"),
        (Spaces(UNIT, DISCRETE), Spaces(UNIT, DISCRETE, ([0, 0], [2, 1])), r"scaling .* dimension 0: width"),
    ],
)  # fmt: skip
def test_other_spaces_are_refused_by_the_dimension_that_differs(saved, given, message, tmp_path):
    path = tmp_path / "agent.emuq"
    RFFQ(saved, features=20).save(path)
    with pytest.raises(InputError, match=message) as caught:
        RFFQ.load(path, given)
    assert "load it with the environment that it was trained on" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bounds_that_differ_by_rounding_are_the_same(tmp_path):
    low, high = [-1.2, -0.07], [0.6, 0.07]
    RFFQ(Spaces(box(low, high), DISCRETE), features=20).save(tmp_path / "agent.emuq")
    exact = gym.spaces.Box(np.array(low), np.array(high), dtype=np.float64)
    RFFQ.load(tmp_path / "agent.emuq", Spaces(exact, DISCRETE))


@pytest.mark.parametrize(
    ("space", "other"),
    [
        (gym.spaces.MultiDiscrete([3, 4]), gym.spaces.MultiDiscrete([4, 3])),
        (
            gym.spaces.Tuple([DISCRETE, DISCRETE]),
            gym.spaces.Tuple([DISCRETE, gym.spaces.Discrete(3, start=1)]),
        ),
        (gym.spaces.Box(-np.inf, np.inf, (2, 2)), gym.spaces.Box(-1, np.inf, (2, 2))),
    ],
)
def test_spaces_of_every_kind_are_told_apart(space, other, tmp_path):
    emuq.RandomAgent(Spaces(space, DISCRETE)).save(tmp_path / "agent.emuq")
    emuq.RandomAgent.load(tmp_path / "agent.emuq", Spaces(space, DISCRETE))
    with pytest.raises(InputError, match="the observation space"):
        emuq.RandomAgent.load(tmp_path / "agent.emuq", Spaces(other, DISCRETE))


# Numbers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_arrays_that_are_not_finite_are_refused_by_name(kind, bad, originals, forged):
    _, agent, _ = originals[kind]
    floats = {name: array for name, array in state(agent).items() if array.dtype.kind == "f"}
    assert floats or kind == "random"
    for name, array in floats.items():
        array = array.copy()
        array.flat[-1] = bad
        message = forged(kind, **{f"agent.{name}": array})
        if name.rpartition(".")[2] in agent.may_be_nan:
            assert message is None
        else:
            assert f"array 'agent.{name}' has {bad}" in message


def test_what_was_lost_is_not_saved_over_what_was_not(originals, tmp_path):
    _, agent, original = originals["rffq"]
    path = tmp_path / "agent.emuq"
    path.write_bytes(original.read_bytes())
    lost = copy.deepcopy(agent)
    lost._state = lost._state._replace(weights=lost._state.weights * np.nan)
    with pytest.raises(InputError, match=r"array 'agent\.weights' has nan"):
        lost.save(path)
    assert path.read_bytes() == original.read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_counts_that_cannot_be_are_refused_by_name(kind, originals, forged):
    """Else a forged count would have room made for as many transitions, or sums go over them for ever."""
    _, agent, _ = originals[kind]
    for name, array in state(agent).items():
        if array.dtype.kind != "i":
            continue
        worst = np.iinfo(array.dtype)
        for bad in (-1, worst.min, *([worst.max] if kind == "emuq" and not array.ndim else [])):
            forgery = array.copy()
            forgery.flat[-1] = bad
            assert f"array 'agent.{name}'" in forged(kind, **{f"agent.{name}": forgery})


def test_a_batch_that_is_fuller_than_full_is_refused(forged):
    assert "filled is 200: expected less than the batch, 200" in forged(
        "vime", **{"agent.filled": np.array(200)}
    )


@pytest.mark.parametrize(
    "history",
    [
        {"steps": np.array([5, 5])},
        {"steps": np.array([5.0, 9.0])},
        {"length": np.array([0, 4])},
        {"length": np.array([5, 4, 3])},
        {"goal": None},
        {"return": np.array(["a", "b"])},
    ],
    ids=str,
)
def test_a_forged_history_is_refused(history, forged):
    assert forged("random", **{f"history.{name}": column for name, column in history.items()})


# Forgeries -------------------------------------------------------------------------------------------


def _deep(text: str) -> str:
    return text.replace('"@deep@"', forging.DEEP)


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(data=st.data())
def test_whatever_is_altered_an_input_error_is_all_that_comes(kind, originals, forged, data):
    whole = header(originals[kind][2])
    path = data.draw(st.sampled_from(list(forging.places(whole))))
    how = data.draw(st.sampled_from((*forging.REPLACEMENTS, "@deep@", "@nested@", "@drop@")))

    def change(parent, name):
        if how == "@drop@":
            del parent[name]
        else:
            parent[name] = forging.nested(300) if how == "@nested@" else how

    forged(kind, _deep(json.dumps(forging.altered(whole, path, change))))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '"emuq-checkpoint"', "[" * 100_000])
def test_headers_that_are_none_are_refused(text, forged):
    assert "checkpoint" in forged("random", text)


@pytest.mark.parametrize(
    ("version", "advice"),
    [
        (checkpoint.VERSION + 1, "use a newer emuq"),
        (8, "with the version of emuq that wrote it"),
        ("8", "wrote it"),
    ],
)
def test_files_of_other_versions_say_what_to_do(version, advice, originals, forged):
    message = forged("random", header(originals["random"][2]) | {"version": version})
    assert f"checkpoint version {version!r}, this emuq reads {checkpoint.VERSION}" in message
    assert advice in message


@pytest.mark.parametrize(
    ("kind", "option", "number"),
    [
        ("emuq", "features", 10**9), ("emuq", "features", 1000), ("emuq", "capacity", 10**12),
        ("rffq", "features", 10**9),
        ("rffq-fourier", "order", 10**6), ("dora", "memory", 10**12),
        ("dora", "actions_per_dimension", 10**9), ("vime", "pool", 10**12), ("vime", "batch", 10**12),
        ("vime", "hidden", 10**9), ("rnd", "features", 10**9), ("rnd", "capacity", 10**12),
        ("rnd", "hidden", 10**9), ("rnd", "outputs", 10**9),
    ],
)  # fmt: skip
def test_options_that_would_make_a_huge_agent_are_refused_before_it_is_made(
    kind, option, number, originals, forged, monkeypatch
):
    whole = header(originals[kind][2])
    whole["meta"]["options"][option] = number
    monkeypatch.setattr(type(originals[kind][1]), "__init__", None)  # so that making one is another error
    assert f"{option} is {number}, but no array in the file has more than" in forged(kind, whole)


def test_an_agent_too_large_for_the_machine_is_refused_before_it_is_made(forged, monkeypatch):
    monkeypatch.setattr("emuq.agents.sizes.memory", lambda: 64 * 300)
    assert "features is 20: too large an agent for this machine's memory" in forged("emuq")


def _npy(descr: str, shape: str) -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x93NUMPY",
        _npy("'<f8'", "(1000000000000,)"),  # 8 TB declared, nothing there
        _npy("'<f8'", "(-1, -1)"),
        _npy("'<f8'", "(0.5,)"),
        _npy("'|O'", "(1,)") + bytes(8),
        _npy("'<U2'", "()") + bytes(8),
        _npy("[('a', '<f8')]", "()") + bytes(8),
        _npy("'|S8'", "()") + bytes(8),
        _npy("'<i8'", "()") + bytes(7),
        _npy("'<i8'", "()") + bytes(9),
        _npy("__import__('os')", "()") + bytes(8),
    ],
)
def test_arrays_that_are_not_what_they_say_are_refused(raw, forged):
    assert forged("random", **{"agent.learning": raw})


def test_a_pickled_array_is_never_unpickled(forged):
    assert "expected numbers" in forged("random", **{"agent.learning": np.array([Bomb()], dtype=object)})
    assert not Bomb.exploded


class Bomb:
    exploded = False

    def __reduce__(self):
        return Bomb.explode, ()

    @staticmethod
    def explode():
        Bomb.exploded = True


def test_a_truth_value_of_neither_kind_is_refused(forged):
    assert forged("emuq", **{"agent.core.converged": _npy("'|b1'", "(2,)") + b"\x01\x02"})


def test_a_zip_bomb_is_refused_before_it_unfolds(originals, tmp_path):
    size = 1 << 26
    bomb = _npy("'<i8'", f"({size // 8},)") + bytes(size)
    tracemalloc.start()
    try:
        env, agent, original = originals["random"]
        path = tmp_path / "bomb.emuq"
        path.write_bytes(original.read_bytes())
        forge(path, **{"agent.learning": bomb})
        assert path.stat().st_size < size / 500
        del bomb
        tracemalloc.clear_traces()
        tracemalloc.reset_peak()
        with pytest.raises(InputError, match=r"'agent\.learning' is int64\[8388608\], expected int64\[\]"):
            type(agent).load(path, env)
        assert tracemalloc.get_traced_memory()[1] < size / 4
        # The header is bounded, too.
        forge(path, json.dumps({"format": checkpoint.FORMAT, "spaces": " " * (checkpoint.HEADER_BYTES + 1)}))
        with pytest.raises(InputError, match=r"its header has .* bytes: expected at most"):
            type(agent).load(path, env)
    finally:
        tracemalloc.stop()


def test_sizes_that_only_the_directory_declares_are_refused(originals, tmp_path):
    """No file is packed by more than 1032 to 1; and none is larger than the machine."""
    env, agent, original = originals["random"]
    path = tmp_path / "forged.emuq"
    with zipfile.ZipFile(original) as source, zipfile.ZipFile(path, "w") as archive:
        for info in source.infolist():
            archive.writestr(info, source.read(info))
        archive.getinfo("agent.learning.npy").file_size = 10**12
    with pytest.raises(InputError, match=r"more than .* bytes can hold"):
        type(agent).load(path, env)


def test_arrays_larger_than_the_machine_are_refused(forged, monkeypatch):
    monkeypatch.setattr(checkpoint, "memory", lambda: 100)
    assert "this machine has 100 bytes of memory" in forged("random")


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_ways_of_packing_are_refused(method, originals, tmp_path):
    """They pack by far more than 1032 to 1."""
    env, agent, original = originals["random"]
    with zipfile.ZipFile(tmp_path / "forged.emuq", "w", method) as archive:
        for name, raw in forging.members(original).items():
            archive.writestr(name, raw)
    with pytest.raises(InputError, match="expected deflate"):
        type(agent).load(tmp_path / "forged.emuq", env)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(at=st.floats(0, 1), value=st.integers(1, 255), cut=st.booleans())
def test_any_byte_may_change_and_any_part_may_be_missing(tmp_path_factory, at, value, cut):
    path = tmp_path_factory.getbasetemp() / "bytes.emuq"
    env = Corridor()
    agent = emuq.ExplorationValues(env)
    agent.save(path)
    raw = bytearray(path.read_bytes())
    place = int(at * (len(raw) - 1))
    if cut:
        del raw[place:]
    else:
        raw[place] ^= value
    path.write_bytes(raw)
    try:
        again = emuq.ExplorationValues.load(path, env)
    except InputError:
        return
    for name, array in state(agent).items():  # a byte that nobody reads, such as a date
        np.testing.assert_array_equal(state(again)[name], array)
