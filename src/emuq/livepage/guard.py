"""Who may see the page: three checks of every request, HTTP or WebSocket, before anything else sees it.

Host      an address of this machine: a foreign name that points here (DNS rebinding) is refused
Origin    where there is one, the page's own: another site's page cannot connect
token     a secret that only the printed address has
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import socket
from typing import Any
from urllib.parse import parse_qs

LOG = logging.getLogger("emuq.live")
HEADERS = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
REFUSED = b"Not for you: open the address that emuq live printed, token included.\n"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """An application behind the checks; `host` is the address it listens at."""

    def __init__(self, app: Any, *, host: str, token: str) -> None:
        self._app, self._host, self._token = app, host, token

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        reason = self._fault(scope) if scope["type"] in ("http", "websocket") else None
        if reason is None:
            await self._app(scope, receive, send)
            return
        client = scope.get("client") or ("an unknown address",)
        LOG.warning("refused a request from %s: %s", client[0], reason)
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": 403, "headers": HEADERS})
            await send({"type": "http.response.body", "body": REFUSED})

    def _fault(self, scope: dict[str, Any]) -> str | None:
        """What is wrong with a request, in words, or None."""
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in (b"host", b"origin") and name in headers:
                return f"two headers {name.decode()}"
            headers[name] = value
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if not self._is_ours(_name(host)):
            return f"Host {host!r}"
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() != f"http://{host}":
            return f"Origin {origin.decode('latin-1')!r}"
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if len(given) != 1 or not hmac.compare_digest(given[0].encode(), self._token.encode()):
            return "no token, or a wrong one"
        return None

    def _is_ours(self, name: str) -> bool:
        """A number cannot be pointed elsewhere, as a name can: of names only our own are taken."""
        if is_loopback(name) or name == self._host:
            return True
        if is_loopback(self._host):
            return False
        try:
            ipaddress.ip_address(name)
            return True
        except ValueError:
            return name in (socket.gethostname().lower(), socket.getfqdn().lower())


def _name(host: str) -> str:
    """`127.0.0.1:8000` and `[::1]:8000` without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
