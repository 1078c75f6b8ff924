"""A library changes nothing of the program that uses it; where the process is ours it may."""

import subprocess
import sys

from emuq.run.jobs import Job
from emuq.run.local import LocalProcesses
from emuq.run.queue import Queue
from emuq.run.spec import RunSpec

FLAG = "jax_cpu_enable_async_dispatch"

# In a process of its own, for this one's settings are the other tests'.
PROGRAM = """
import os, sys
import gymnasium as gym, jax, matplotlib

def settings():
    # Read as plain dicts: rcParams chooses a backend when it is asked for it.
    return dict(jax.config.values), dict(dict.items(matplotlib.rcParams)), dict(os.environ)

before = settings()
import emuq, emuq.cli
from emuq import plot

agent = emuq.EMUQ(gym.make("emuq/MountainCar-v0"), features=20, seed=0)
agent.learn(steps=30, progress=False)
agent.predict([-0.5, 0.0])
plot.value_map(agent, sys.argv[1] + "/map.png", resolution=5)
plot.learning_curve(agent.history, sys.argv[1] + "/curve.png")
assert emuq.cli.main(["evaluate", "absent"]) == 2
for name, was, now in zip(("jax", "matplotlib", "environment"), before, settings()):
    changed = {key for key in was.keys() | now.keys() if was.get(key) != now.get(key)}
    assert not changed, (name, changed)
assert "matplotlib.pyplot" not in sys.modules, "who imports pyplot chooses a backend"
"""


def test_a_program_finds_its_settings_as_they_were(tmp_path):
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], check=True, timeout=300)
    assert {path.name for path in tmp_path.iterdir()} == {"map.png", "curve.png"}


def on_whose_thread(specs):
    import jax

    return [{FLAG: jax.config.values[FLAG]} for _ in specs]


def test_processes_of_ours_compute_on_the_callers_thread():
    job = Job(on_whose_thread, (RunSpec.of("toy", "fair", "Coin", 0),))
    ((_, outcome),) = LocalProcesses(1).run(Queue([job]))
    assert outcome.results == [{FLAG: False}], outcome.error
    look = f"import jax; print(jax.config.values[{FLAG!r}])"
    command = (
        f"import sys; sys.argv = ['emuq', 'evaluate', 'absent']; from emuq import cli; cli.main(); {look}"
    )
    ended = subprocess.run(
        [sys.executable, "-c", command], check=True, timeout=120, capture_output=True, text=True
    )
    assert ended.stdout.split() == ["False"]
