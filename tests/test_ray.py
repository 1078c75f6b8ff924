"""Ray: a two-node cluster on this machine, a node killed in the middle, and every run recorded once."""

import os
import sqlite3
import threading
import time
from pathlib import Path

import pytest

import toy
from emuq.experiments.plan import finished, plan
from emuq.run.campaign import carry_out
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


def _recorded(folder):
    database = sqlite3.connect(folder / FILE)
    try:
        return database.execute("SELECT count(*) FROM runs").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet
        return 0
    finally:
        database.close()
