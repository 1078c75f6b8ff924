"""The page and its WebSocket. No address of it reads a file or runs what it is sent."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import html
import json
import logging
from importlib import resources
from typing import Any

from emuq.errors import InputError, MissingExtra
from emuq.livepage.hub import Hub
from emuq.livepage.learner import Learner
from emuq.livepage.orders import PROPOSED, parse

try:
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse
    from starlette.routing import Route, WebSocketRoute
    from starlette.websockets import WebSocket, WebSocketDisconnect
except ImportError:
    raise MissingExtra("starlette", "live") from None

LOG = logging.getLogger("emuq.live")
SCRIPTS = ("charts.js", "maps.js", "controls.js", "page.js")
MOST_VIEWERS = 32
MOST_BAD = 20  # messages of one viewer, until it is sent away


def application(learner: Learner, hub: Hub, title: str, names: list[str]) -> Starlette:
    """The page of one learner; `names` are those of the numbers of a state."""
    text, policy = document(title)
    headers = {
        "content-security-policy": policy,
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }
    dims = learner.samples.maps.size
    hello = json.dumps(
        {"kind": "hello", "title": title, "names": names, "dims": dims, "controllers": PROPOSED}
    )

    async def page(request: Any) -> HTMLResponse:
        return HTMLResponse(text, headers=headers)

    async def connect(socket: WebSocket) -> None:
        if len(hub) >= MOST_VIEWERS:
            LOG.warning("refused a viewer: %d watch already", MOST_VIEWERS)
            await socket.close(1013)
            return
        await socket.accept()
        await socket.send_text(hello)
        sending = asyncio.create_task(hub.watch(socket.send_text))
        learner.wake()
        try:
            await _listen(socket, learner)
        except WebSocketDisconnect:
            pass
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    return Starlette(routes=[Route("/", page), WebSocketRoute("/socket", connect)])


async def _listen(socket: WebSocket, learner: Learner) -> None:
    """Hand on what a viewer asks for; refuse and log what is no order."""
    bad = 0
    while bad < MOST_BAD:
        try:
            received = await socket.receive()
            if received["type"] == "websocket.disconnect":
                return
            text = received.get("text")
            if text is None:
                raise InputError("a message is bytes: expected text")
            learner.ask(parse(text))
        except InputError as error:
            bad += 1
            LOG.warning("refused a message: %s", error)
            await socket.send_text(json.dumps({"kind": "refused", "why": str(error)}))
    await socket.close(1008)


def document(title: str) -> tuple[str, str]:
    """The page as one text, and the policy by which a browser runs that text alone and loads nothing."""
    files = resources.files("emuq.livepage")
    css = files.joinpath("page.css").read_text()
    script = "\n".join(files.joinpath(name).read_text() for name in SCRIPTS)
    text = files.joinpath("page.html").read_text()
    text = (
        text.replace("/* css */", css).replace("/* script */", script).replace("{title}", html.escape(title))
    )
    # The hashes are of what the browser finds between the tags.
    css, script = (text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0] for tag in ("style", "script"))
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(css)}; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return text, policy


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
