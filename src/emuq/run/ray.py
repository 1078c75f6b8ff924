"""Jobs on a Ray cluster. A job whose node is lost runs again elsewhere; the driver alone writes results."""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Generator
from typing import Any

from emuq import cache, dispatch
from emuq.errors import InputError, MissingExtra
from emuq.run import devices
from emuq.run.jobs import Job, Outcome, died, perform
from emuq.run.local import threads
from emuq.run.queue import Queue

RETRIES = 5  # attempts after a node or a worker process is lost
CONNECT_SECONDS = 5.0
# Ray speaks gRPC, that is HTTP/2: the answer to a client's greeting is a frame of this type.
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
SETTINGS = 4


class Ray:
    """`address` of a cluster: host:port or ray://host:port; "auto" is this machine's, None a new one.

    A job of several runs asks for so many `gpus` (0.25: four share one), a single run for none.
    """

    def __init__(self, address: str | None = None, threads: int = 1, gpus: float = 0.0) -> None:
        if not 0 <= gpus < math.inf or (gpus > 1 and gpus % 1):
            raise InputError(
                f"--gpus-per-task {gpus:g}: expected a part of one GPU, or a whole number of them"
            )
        self.address, self.threads, self.gpus = address, threads, gpus
        self._ours = False

    def run(self, jobs: Queue) -> Generator[tuple[Job, Outcome]]:
        """Each job with its outcome, as they end. Leaving the loop early cancels what has not."""
        ray = self._connect()
        remote = ray.remote(_perform)
        pending = {remote.options(**self.needs(job)).remote(job): job for job in jobs}
        try:
            while pending:
                (done, *_), _ = ray.wait(list(pending), num_returns=1)
                job = pending.pop(done)
                try:
                    outcome = ray.get(done)
                except ray.exceptions.RayError as error:
                    outcome = died(f"Ray lost this run: {str(error).splitlines()[0]}")
                yield job, outcome
        finally:
            for reference in pending:
                ray.cancel(reference, force=True)
            if self._ours:
                ray.shutdown()

    def needs(self, job: Job) -> dict[str, Any]:
        """What Ray is told of the task that performs this job."""
        gpus = self.gpus if len(job.specs) > 1 else 0.0
        given = threads(self.threads) | cache.variables(self.threads) | devices.variables(gpus > 0)
        return {
            "num_cpus": self.threads,
            "num_gpus": gpus,
            "max_retries": RETRIES,
            "runtime_env": {"env_vars": given},
        }

    def slots(self) -> int:
        """How many jobs the cluster carries out at once, now; an error where none could ever begin."""
        there = self._connect().cluster_resources()
        slots = int(there.get("CPU", 1)) // self.threads
        if self.gpus:
            gpus = there.get("GPU", 0.0)
            if gpus < self.gpus:
                raise InputError(f"--gpus-per-task {self.gpus:g}: the cluster has {gpus:g} GPUs")
            slots = min(slots, int(gpus / self.gpus))
        return max(1, slots)

    def _connect(self) -> Any:
        """The ray module, connected; `_ours` says that this object is to disconnect it."""
        try:
            import ray
        except ImportError as error:
            raise MissingExtra("ray", "ray") from error
        if ray.is_initialized():
            return ray
        reach(os.environ.get("RAY_ADDRESS") if self.address in (None, "auto") else self.address)
        try:
            ray.init(address=self.address, log_to_driver=False, configure_logging=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(
                f"no Ray cluster at {self.address} ({reason}): start one with ray start --head"
            ) from error
        self._ours = True
        return ray


def _perform(job: Job) -> Outcome:
    dispatch.inline()  # the process is a worker of ours
    return perform(job)


def reach(address: str | None) -> None:
    """An error within seconds where nobody, or not Ray, listens at host:port; Ray tries for minutes."""
    if address in (None, "", "auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise InputError(f"address is {address!r}: expected host:port, ray://host:port or auto")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS) as connection:
            answered = "RAY_USE_TLS" in os.environ or _greets(connection)
    except (OSError, OverflowError, UnicodeError) as error:
        raise InputError(f"no Ray cluster at {address} ({error}): start one with ray start --head") from error
    if not answered:
        raise InputError(
            f"no Ray cluster at {address} (something else answers there, or nothing does): "
            "give the address that ray start --head printed"
        )


def _greets(connection: socket.socket) -> bool:
    """Whether the other end speaks HTTP/2."""
    answer, deadline = b"", time.monotonic() + CONNECT_SECONDS
    try:
        connection.sendall(GREETING)
        while len(answer) < 4:
            connection.settimeout(max(deadline - time.monotonic(), 0.01))
            if not (more := connection.recv(64)):
                return False
            answer += more
    except OSError:
        return False
    return answer[3] == SETTINGS
