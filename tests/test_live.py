"""The live page without a browser: who gets in, what is refused, what orders do to an agent that learns."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import queue
import re

import gymnasium as gym
import numpy as np
import pytest

import emuq
from emuq.errors import InputError
from emuq.history import Episode
from emuq.livepage.guard import Guard
from emuq.livepage.hub import Hub
from emuq.livepage.learner import Learner, Order
from emuq.livepage.names import names_of
from emuq.livepage.orders import parse
from emuq.livepage.pace import Pace
from emuq.livepage.pictures import panel, png, shrunk
from emuq.livepage.series import MOST, Series, episodes
from weigher import EXPLOIT, Walkway, Weigher

pytest.importorskip("starlette", reason="the extra live is not installed")
testclient = pytest.importorskip("starlette.testclient", reason="httpx is not installed")
from starlette.websockets import WebSocketDisconnect  # noqa: E402

from emuq.livepage.server import application, document  # noqa: E402

TOKEN = "a-secret"
OURS, SOCKET = "http://127.0.0.1:8000", "ws://127.0.0.1:8000/socket"


class Crowd:
    """Somebody who always watches, and keeps every sample of the state."""

    watching = True

    def __init__(self):
        self.states = queue.SimpleQueue()

    def publish(self, kind, sample):
        if kind == "state":
            self.states.put(sample)

    def wait_for(self, test):
        while not test(state := self.states.get(timeout=10)):
            pass
        return state


@pytest.fixture
def crowd():
    return Crowd()


@pytest.fixture
def learner(tmp_path, crowd):
    found = Learner(Weigher(Walkway()), tmp_path / "run", crowd)
    found.start()
    yield found
    found.close()


def ask(learner, **message):
    return learner.ask(parse(json.dumps(message))).result(timeout=10)


def count(learner):
    counts = []
    learner.ask(Order("count", lambda one: counts.append(one.agent.num_transitions), quiet=True)).result(
        timeout=10
    )
    return counts[0]


# Who gets in ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    hub = Hub()
    learner = Learner(Weigher(Walkway()), tmp_path_factory.mktemp("run"), hub)
    learner.start()
    ask(learner, do="pause")
    app = Guard(application(learner, hub, "A <walkway>", ["x", "y"]), host="127.0.0.1", token=TOKEN)
    with testclient.TestClient(app, base_url=OURS) as found:
        found.learner = learner
        yield found
    learner.close()


BAD = [
    ("", {}),
    ("?token=", {}),
    ("?token=a-secre", {}),
    (f"?token={TOKEN}&token=other", {}),
    (f"?token={TOKEN}", {"origin": "http://evil.example"}),
    (f"?token={TOKEN}", {"origin": "null"}),
    (f"?token={TOKEN}", {"origin": "http://127.0.0.1:9000"}),
    (f"?token={TOKEN}", {"host": "evil.example:8000"}),
    (f"?token={TOKEN}", {"host": "127.0.0.1.evil.example"}),
    (f"?token={TOKEN}", {"host": ""}),
    (f"?token={TOKEN}", {"host": "192.168.0.7:8000"}),
]


@pytest.mark.parametrize(("query", "headers"), BAD)
def test_a_stranger_gets_nothing(client, caplog, query, headers):
    answer = client.get(f"/{query}", headers=headers)
    assert answer.status_code == 403
    assert "walkway" not in answer.text
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(f"{SOCKET}{query}", headers=headers):
        pass
    assert caplog.text.count("refused a request") == 2
    assert TOKEN not in caplog.text + answer.text


@pytest.mark.parametrize("headers", [{}, {"origin": OURS}, {"host": "localhost:8000"}])
def test_the_printed_address_gets_the_page(client, headers):
    answer = client.get(f"/?token={TOKEN}", headers=headers)
    assert answer.status_code == 200
    assert "A &lt;walkway&gt;" in answer.text
    with client.websocket_connect(f"{SOCKET}?token={TOKEN}", headers=headers) as socket:
        assert socket.receive_json()["names"] == ["x", "y"]


def test_others_are_let_in_at_numbers_and_at_this_machines_name_only():
    guard = Guard(None, host="0.0.0.0", token=TOKEN)
    assert [guard._is_ours(name) for name in ("192.168.0.7", "fe80::1", "localhost")] == [True] * 3
    assert not guard._is_ours("evil.example")


def test_a_browser_runs_our_text_alone_and_loads_nothing():
    text, policy = document("title")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"(src|href)=\"(?!data:)", text)
    assert not re.search(r"https?://", text.replace("ws://", ""))
    assert "/* css */" not in text
    assert "/* script */" not in text


@pytest.mark.parametrize(
    "message",
    [
        "", "no JSON", "[]", "7", "{}", '{"do": "rm"}', '{"do": ["pause"]}', '{"do": "pause", "more": 1}',
        '{"do": "kappa"}', '{"do": "kappa", "kappa": -1}', '{"do": "kappa", "kappa": "1"}',
        '{"do": "kappa", "kappa": true}', '{"do": "kappa", "kappa": NaN}', '{"do": "kappa", "kappa": [1]}',
        '{"do": "test", "episodes": 101, "kappa": 0}', '{"do": "test", "episodes": 1.5, "kappa": 0}',
        '{"do": "speed", "steps": 0}', '{"do": "save", "path": "/etc/passwd"}',
        '{"do": "controller", "name": "Decay", "fields": {"c": -1}}',
        '{"do": "controller", "name": "Decay", "fields": {"c": {}}}',
        '{"do": "controller", "name": "os.system", "fields": {}}',
        '{"do": "kappa", "kappa": 1, "x": "' + 2000 * "x" + '"}', 900 * "[",
    ],
)  # fmt: skip
def test_a_bad_message_is_refused(message):
    with pytest.raises(InputError, match=r"expected|not a controller"):
        parse(message)


def test_a_refused_message_is_logged_and_a_viewer_who_sends_many_is_sent_away(client, caplog):
    with client.websocket_connect(f"{SOCKET}?token={TOKEN}") as socket:
        for _ in range(20):
            socket.send_text('{"do": "rm"}')
        kinds = list(heard(socket))
    assert kinds.count("refused") == caplog.text.count("refused a message") == 20


def heard(socket):
    """The kinds of messages until the socket is closed."""
    with contextlib.suppress(WebSocketDisconnect):
        while True:
            yield json.loads(socket.receive_text())["kind"]


# What orders do ---------------------------------------------------------------------------------------------


def test_kappa_changes_actions_and_the_history_shows_it(learner, crowd):
    ask(learner, do="kappa", kappa=0)
    state = crowd.wait_for(lambda state: state["history"]["kappa"][-2:] == [0, 0])
    assert state["kappas"][0][1] == "inf"
    assert state["kappas"][-1][1] == 0
    actions = learner.agent.env.actions[-10:]
    assert actions == [EXPLOIT] * len(actions)


def test_a_rule_can_set_kappa(learner):
    ask(learner, do="controller", name="Budget", fields={"episodes": 3, "kappa": "inf"})
    assert learner.agent.controller == emuq.kappa.Budget(3, float("inf"))


def test_pause_pauses_and_a_step_is_one_step(learner, crowd):
    ask(learner, do="pause")
    before = count(learner)
    ask(learner, do="step")
    crowd.wait_for(lambda state: state["steps"] == before + 1)
    assert count(learner) == before + 1
    ask(learner, do="go on")
    crowd.wait_for(lambda state: state["steps"] > before + 20)


def test_a_checkpoint_is_a_run_and_going_back_keeps_the_object(learner, crowd):
    agent = learner.agent
    with pytest.raises(InputError, match="no checkpoint"):
        ask(learner, do="load")
    ask(learner, do="save")
    loaded = Weigher.load(learner.folder / "agent.emuq", Walkway())
    episodes_saved = len(loaded.history)
    assert loaded.history.steps == 10 * episodes_saved
    assert json.loads((learner.folder / "history.json").read_text())["length"] == [10] * episodes_saved
    crowd.wait_for(lambda state: state["episodes"] > episodes_saved)
    assert ask(learner, do="load").endswith(f": {episodes_saved} episodes")
    assert ask(learner, do="reset").endswith(": 0 episodes")
    assert learner.agent is agent


def test_tests_are_not_learned_from_and_wait_for_the_end_of_the_episode(learner):
    said = ask(learner, do="test", episodes=3, kappa=0)
    assert said.startswith("Tests, exploiting only: 3 of 3 reached the goal in 10 steps")
    count(learner)
    assert len(learner.agent.env.actions) >= learner.agent.num_transitions + 30


def test_an_error_of_the_environment_pauses_and_is_told(learner, crowd, caplog):
    learner.ask(Order("break", lambda one: setattr(one.agent.env, "broken", True))).result(timeout=10)
    state = crowd.wait_for(lambda state: state["paused"])
    assert "a wheel came off" in state["notes"][-1]
    learner.agent.env.broken = False
    ask(learner, do="go on")
    crowd.wait_for(lambda later: later["steps"] > state["steps"])


def test_whoever_waits_when_the_page_closes_is_told(learner):
    ask(learner, do="pause")
    waiting = learner.ask(parse('{"do": "save"}'))
    learner.close()
    with pytest.raises(InputError, match="closed"):
        waiting.result(timeout=10)


# What viewers see -------------------------------------------------------------------------------------------


def test_a_viewer_who_is_stuck_holds_up_nobody():
    async def scene():
        hub, stuck, seen = Hub(), asyncio.Event(), asyncio.Queue()

        async def never(text):
            stuck.set()
            await asyncio.Event().wait()

        viewers = [asyncio.create_task(hub.watch(send)) for send in (never, seen.put)]
        await asyncio.sleep(0)
        found = []
        for number in range(5):
            hub.publish("state", {"number": number})
            found.append(json.loads(await seen.get())["number"])
        await stuck.wait()
        for viewer in viewers:
            viewer.cancel()
        await asyncio.gather(*viewers, return_exceptions=True)
        assert not hub.watching
        return found

    assert asyncio.run(scene()) == [0, 1, 2, 3, 4]


def test_samples_take_no_more_than_their_share():
    pace, clock, spent = Pace(5, 0.1), 0.0, 0.0
    while clock < 100:
        if pace.due(clock):
            pace.took(clock, clock + 0.2)
            clock, spent = clock + 0.2, spent + 0.2
        clock += 0.01
    assert 0.09 < spent / 100 < 0.105


def test_a_picture_is_a_png_that_others_can_read():
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    import io

    pixels = np.random.default_rng(0).integers(0, 255, (7, 5, 3)).astype(np.uint8)
    np.testing.assert_array_equal(np.asarray(image.open(io.BytesIO(png(pixels)))), pixels)
    assert shrunk(np.full((20, 1000, 4), 9, np.uint8)).shape == (6, 333, 3)


def test_a_map_keeps_its_scale_where_it_has_one():
    values = np.array([[-20.0, -5.0]])
    assert base64.b64decode(panel(values)["cells"]) == bytes([0, 255])
    assert base64.b64decode(panel(values, (-10.0, 0.0))["cells"]) == bytes([0, 128])


def test_nothing_is_drawn_before_the_first_reset(tmp_path, crowd):
    samples = Learner(Weigher(gym.wrappers.OrderEnforcing(Walkway())), tmp_path, crowd).samples
    samples.take(dict, now=True)
    assert samples.no_picture == ""


def test_long_histories_have_few_points():
    rows = [Episode(1.0, 10, i % 2 == 0, float("inf"), 10 * i) for i in range(10 * MOST)]
    columns = episodes(rows)
    assert columns["per"] == 10
    assert set(columns["goal"]) == {0.5}
    assert set(columns["kappa"]) == {"inf"}
    series = Series()
    for i in range(10 * MOST):
        series.add(i, float(i))
    assert len(series.points) <= 2 * MOST
    assert series.points[-1] == (10 * MOST - 1, 10 * MOST - 1.0)


def test_names_are_words_where_there_are_any():
    assert names_of(None, 2) == ["state[0]", "state[1]"]
    assert names_of(None, 2, ["x", "y"]) == ["x", "y"]
    with pytest.raises(InputError, match="expected 2 words"):
        names_of(None, 2, "xy")


def test_a_page_needs_an_agent_with_an_environment(tmp_path):
    with pytest.raises(InputError, match="expected an agent"):
        emuq.live("MountainCar", out=tmp_path)
    with pytest.raises(InputError, match="spaces alone"):
        emuq.live(Weigher(emuq.RandomAgent(Walkway()).spaces), out=tmp_path)
