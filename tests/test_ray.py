"""Ray: a two-node cluster on this machine, a node killed in the middle, and every run recorded once."""

import os
import sqlite3
import threading
import time
from pathlib import Path

import pytest

import toy
from emuq.errors import InputError
from emuq.experiments.plan import finished, plan
from emuq.run.campaign import carry_out
from emuq.run.jobs import Job
from emuq.run.queue import Queue
from emuq.run.store import FILE, Store

pytest.importorskip("ray")

# Ray's own sockets and threads outlive its shutdown; they are not ours to close.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))  # the nodes' workers import the toy
    monkeypatch.setenv("TOY_SECONDS", "0.25")
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    from ray.cluster_utils import Cluster

    memory = {"object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **memory})
    try:
        cluster.add_node(num_cpus=2, **memory)
        cluster.wait_for_nodes()
        yield cluster
    finally:
        import ray

        ray.shutdown()
        cluster.shutdown()


def test_a_lost_node_costs_no_run(tmp_path, cluster):
    from emuq.run.ray import Ray

    executor = Ray(cluster.address)
    (second,) = (node for node in cluster.list_all_nodes() if node is not cluster.head_node)
    nodes = []

    def kill():
        """Once the first runs are recorded, the node with most of the CPUs goes."""
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline:
            if (tmp_path / FILE).exists() and _recorded(tmp_path) >= 3:
                break
            time.sleep(0.05)
        nodes.append(_recorded(tmp_path))
        cluster.remove_node(second, allow_graceful=False)

    killer = threading.Thread(target=kill)
    with Store(tmp_path) as store:
        assert executor.slots() == 3
        killer.start()
        summary = carry_out(plan([toy.TOY], seeds=12), store, executor, 3)
        killer.join()
        rows, errors, _ = finished(toy.TOY, store)
    assert 3 <= nodes[0] < 24
    assert summary == (24, 0, 0)
    assert errors == []
    specs = toy.TOY.specs(range(12))
    os.environ["TOY_SECONDS"] = "0"
    expected = {spec.key: result for spec, result in zip(specs, toy.execute(specs), strict=True)}
    assert {row.spec.key: row.result for row in rows} == expected
    assert _recorded(tmp_path) == 24


def test_a_batch_has_a_part_of_a_gpu_and_a_single_run_none(monkeypatch):
    """Ray gives out GPUs by their number, whether there are any or not."""
    from ray.cluster_utils import Cluster

    from emuq.run.ray import Ray

    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    for name in ("JAX_PLATFORMS", "XLA_PYTHON_CLIENT_PREALLOCATE"):
        monkeypatch.delenv(name, raising=False)
    head = {"num_cpus": 2, "num_gpus": 1, "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        executor = Ray(cluster.address, gpus=0.5)
        assert executor.slots() == 2
        with pytest.raises(InputError, match="--gpus-per-task 2: the cluster has 1 GPUs"):
            Ray(cluster.address, gpus=2).slots()
        specs = toy.TOY.specs(range(3))
        jobs = [Job(toy.devices, specs[:2]), Job(toy.devices, specs[2:3])]
        found = {len(job.specs): outcome.results for job, outcome in executor.run(Queue(jobs))}
    finally:
        import ray

        ray.shutdown()
        cluster.shutdown()
    shared = {"CUDA_VISIBLE_DEVICES": "0", "JAX_PLATFORMS": None, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    assert found[2] == [shared] * 2
    assert found[1][0]["JAX_PLATFORMS"] == "cpu"


@pytest.mark.parametrize("gpus", [-1.0, 1.5, float("nan")])
def test_parts_of_several_gpus_are_refused(gpus):
    from emuq.run.ray import Ray

    with pytest.raises(
        InputError, match=r"--gpus-per-task .*: expected a part of one GPU, or a whole number"
    ):
        Ray(gpus=gpus)


def _recorded(folder):
    database = sqlite3.connect(folder / FILE)
    try:
        return database.execute("SELECT count(*) FROM runs").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet
        return 0
    finally:
        database.close()
