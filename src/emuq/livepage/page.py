"""`emuq.live(agent)`: an agent that learns, and a page to watch and steer it."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from emuq.agents.base import Agent
from emuq.errors import InputError, MissingExtra, quoted
from emuq.livepage.guard import Guard
from emuq.livepage.hub import Hub
from emuq.livepage.learner import Learner, Order
from emuq.livepage.names import names_of

Answer = TypeVar("Answer")
OUT = Path("out/live")
LARGEST = 16384  # bytes of a message: a browser that sends more is cut off


def live(
    agent: Agent,
    *,
    names: Sequence[str] | None = None,
    out: str | os.PathLike = OUT,
    host: str = "127.0.0.1",
    port: int = 0,
    browser: bool = False,
    last: str | os.PathLike | None = None,
) -> Page:
    """Let `agent` learn in the background, watched and steered by a page at `page.url`.

    Until `page.close()`, only the learning thread may touch the agent: `page.do` calls a function there.

    Args:
        agent: The agent, made with an environment; `render_mode="rgb_array"` shows its picture.
        names: Words for the numbers of an observation.
        out: The folder that the page's Save writes to.
        host: Where to listen. Any but this machine's own (loopback) lets others in who have the address with
            its token; nothing is encrypted.
        port: The port to listen at; 0 takes any that is free.
        browser: Whether to open the page in a browser.
        last: A checkpoint to go back to before the first Save.

    Returns:
        The page: `url`, `do(function)`, `close()`; it is a context manager, too.

    Raises:
        InputError: If the agent has no environment, or the address cannot be listened at.
        MissingExtra: If the extra `live` is not installed.

    Examples:
        >>> agent = emuq.RandomAgent("emuq/MountainCar-v0")
        >>> with emuq.live(agent) as page:
        ...     kappa = page.do(lambda agent: agent.kappa)
        >>> kappa
        0.0
    """
    if not isinstance(agent, Agent):
        raise InputError(f"agent is {quoted(agent)}: expected an agent of emuq's, such as emuq.EMUQ(env)")
    if agent.env is None:
        raise InputError("the agent was made from spaces alone: make it with an environment to learn in")
    return Page(agent, names, Path(out), host, port, browser, None if last is None else Path(last))


class Page:
    """A learner and its server, each in a thread of its own."""

    def __init__(
        self, agent: Agent, names: Sequence[str] | None, out: Path, host: str, port: int,
        browser: bool, last: Path | None,
    ) -> None:  # fmt: skip
        try:
            import uvicorn
        except ImportError:
            raise MissingExtra("uvicorn", "live") from None
        from emuq.livepage.server import application

        self.agent, self._hub = agent, Hub()
        self._learner = Learner(agent, out, self._hub, last)
        env = agent.env
        title = env.spec.id if env is not None and env.spec is not None else type(env).__name__
        words = names_of(env, int(np.prod(agent.observation_space.shape or (0,))), names)
        token = secrets.token_urlsafe(16)
        self._socket = _listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        shown = f"[{host}]" if ":" in host else socket.gethostname() if host in ("0.0.0.0", "::") else host
        self.url = f"http://{shown}:{self.port}/?token={token}"
        app = Guard(application(self._learner, self._hub, title, words), host=host, token=token)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", ws_max_size=LARGEST, ws_max_queue=4,
            proxy_headers=False, server_header=False, timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="emuq-page", daemon=True
        )
        self._thread.start()
        self._learner.start()
        if browser:
            webbrowser.open(self.url)

    def do(self, function: Callable[[Agent], Answer]) -> Answer:
        """What `function` of the agent returns, called between two steps by the thread that learns."""
        answers: list[Answer] = []
        order = Order("do", lambda learner: answers.append(function(learner.agent)), quiet=True)
        self._learner.ask(order).result()
        return answers[0]

    def close(self) -> None:
        """Stop learning and serving."""
        self._learner.close()
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<live page of {self.agent!r}: {self.url}>"


def _listen(host: str, port: Any) -> socket.socket:
    """A socket at an address, or an error in words."""
    if not isinstance(port, int) or not 0 <= port < 65536:
        raise InputError(f"port is {quoted(port)}: expected a number from 0 to 65535")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()  # a browser that is quicker than the server's start waits
    except OSError as error:
        raise InputError(f"cannot listen at {host}, port {port} ({error.strerror}): choose another") from None
    return listening
