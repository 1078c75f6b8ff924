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
    values = look_ahead(policy, state) if "support" in policy else regressed(policy, state)
    return policy["actions"][np.argmax(values)]


def look_ahead(policy, state):
    """Q of every action: what the model says that it pays, and what the state is worth where it leads."""
    z = np.tile((state - policy["mean"]) / policy["scale"], (len(policy["units"]), 1))
    x = np.concatenate([z, policy["units"]], axis=1)
    found = x @ policy["line"][:-1] + policy["line"][-1] + matern(x, policy["inputs"], 4.0) @ policy["model"]
    by_motion, by_reward = policy["by_network"]
    found[:, :-1] = network(policy, "motion", x) if by_motion else found[:, :-1]
    found[:, -1:] = network(policy, "reward", x) if by_reward else found[:, -1:]
    following = z + found[:, :-1] * policy["change"]
    pay = policy["reward"][0] + found[:, -1] * policy["reward"][1]
    kernel = (matern(following, policy["support"], 1.0) + matern(following, policy["support"], 3.0)) / 2
    worth = np.clip(policy["base"] + kernel @ policy["coefficients"], *policy["bounds"])
    out = np.concatenate([following < policy["edges"][0], following > policy["edges"][1]], axis=1)
    beyond = out @ policy["edge_worth"].ravel() / np.maximum(out.sum(axis=1), 1)
    return pay + np.where(out.any(axis=1), beyond, worth)


def network(policy, part, x):
    """What a stack of layers makes of the rows of x."""
    layers = [policy[name] for name in sorted(policy) if name.startswith(part + "_")]
    for layer in layers[:-1]:
        x = x @ layer[:-1] + layer[-1]
        x = x / (1 + np.exp(-x))
    return x @ layers[-1][:-1] + layers[-1][-1]


def matern(x, y, lengthscale):
    """How alike the rows of x and y are: 1 where they are the same, 0 far apart."""
    q = 5**0.5 * np.linalg.norm(x[:, None] - y, axis=-1) / lengthscale
    return (1 + q + q * q / 3) * np.exp(-q)


def regressed(policy, state):
    """Q of every action by least squares on features of state and action."""
    angle = policy["state_frequencies"] @ state
    cosine, sine = np.split(policy["q_weights"], 2)
    on_cos = cosine * np.cos(angle) + sine * np.sin(angle)
    on_sin = sine * np.cos(angle) - cosine * np.sin(angle)
    return policy["cos"] @ on_cos + policy["sin"] @ on_sin


if __name__ == "__main__":
    print(act(load(sys.argv[1]), [float(x) for x in sys.argv[2:]]))
