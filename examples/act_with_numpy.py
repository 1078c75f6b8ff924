"""Act on a policy that `agent.export("policy.npz")` wrote, with NumPy alone.

    python examples/act_with_numpy.py policy.npz 0.1 0.2     # the action at the observation (0.1, 0.2)

An observation of several parts is given as the vector that emuq makes of it (`emuq.agents.flatten`).
"""

import sys

import numpy as np


def load(path):
    """The policy's arrays; nothing in the file is run."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def act(policy, observation):
    """The best action at an observation, a vector of numbers."""
    vector = np.ravel(np.asarray(observation, float))
    pieces = [[np.cos(x), np.sin(x)] if i in policy["angles"] else [x] for i, x in enumerate(vector)]
    vector = np.concatenate(pieces)
    if "states" in policy:
        known = np.flatnonzero((policy["states"] == vector).all(axis=1))
        return policy["actions"][policy["best"][known[0]] if len(known) else 0]
    state = (vector - policy["low"]) / policy["width"]
    if policy["clip"]:
        state = np.clip(state, 0.0, 1.0)
    angle = policy["frequencies"] @ state
    cosine, sine = np.split(policy["weights"], 2)
    on_cos = cosine * np.cos(angle) + sine * np.sin(angle)
    on_sin = sine * np.cos(angle) - cosine * np.sin(angle)
    return policy["actions"][np.argmax(policy["cos"] @ on_cos + policy["sin"] @ on_sin)]


if __name__ == "__main__":
    print(act(load(sys.argv[1]), [float(x) for x in sys.argv[2:]]))
