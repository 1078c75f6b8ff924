"""The address of a cluster: what is not Ray is found out at once, and said in one line."""

import contextlib
import socket
import threading

import pytest

from emuq.errors import InputError
from emuq.run import ray

ANSWERS = {
    "silence": None,
    "hanging up": b"",
    "HTTP/1.1": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "SSH": b"SSH-2.0-OpenSSH_9.6\r\n",
    "three bytes": b"abc",
}


@pytest.fixture
def listening():
    """`listening(answer)`: the address of a server that gives this answer to everyone (None: none at all)."""
    servers, kept = [], []

    def start(answer):
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def serve():
            with contextlib.suppress(OSError):  # the server is closed
                while True:
                    connection, _ = server.accept()
                    kept.append(connection)
                    if answer is not None:
                        connection.recv(len(ray.GREETING), socket.MSG_WAITALL)
                        connection.sendall(answer)
                        connection.close()

        threading.Thread(target=serve, daemon=True).start()
        return f"127.0.0.1:{server.getsockname()[1]}"

    yield start
    for one in (*servers, *kept):
        one.close()


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_what_is_not_ray_is_refused(kind, scheme, listening, monkeypatch):
    monkeypatch.setattr(ray, "CONNECT_SECONDS", 0.2)
    address = scheme + listening(ANSWERS[kind])
    with pytest.raises(InputError, match=f"no Ray cluster at {address}") as caught:
        ray.reach(address)
    assert "\n" not in str(caught.value)


def test_who_speaks_http2_is_let_through(listening):
    settings = bytes([0, 0, 6, ray.SETTINGS, 0, 0, 0, 0, 0]) + bytes(6)
    assert ray.reach(listening(settings)) is None


def test_an_address_in_the_environment_is_checked_too(listening, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_ADDRESS", address := listening(b"abc"))
    for given in (None, "auto"):
        with pytest.raises(InputError, match=f"no Ray cluster at {address}"):
            ray.Ray(given).slots()


@pytest.mark.parametrize(
    "address", ["127.0.0.1:99999", "a..b:80", "[::1]:1", f"{'x' * 70}:80", "host", ":1", "h:x"]
)
def test_addresses_that_are_none_are_refused(address):
    with pytest.raises(InputError):
        ray.reach(address)
