"""Algorithm 2 of the paper in plain NumPy, slow and obvious: the oracle for everything that is fast.

Its slips are mended as docs/deviations.md says (bootstrap on s', one feature scale, variance phi'S phi),
exploration rewards are divided by V_max, and bootstrapped values are bounded. Nothing else is changed.
"""

from __future__ import annotations

import numpy as np


class Reference:
    """EMU-Q with candidate actions `candidates` and exploration rewards averaged over `reward_actions`."""

    def __init__(
        self,
        state_frequencies,
        action_frequencies,
        candidates,
        reward_actions,
        reward_weights,
        alpha=0.01,
        beta=1.0,
        gamma=0.99,
        kappa=1.0,
    ):
        self.ws, self.wa = np.asarray(state_frequencies), np.asarray(action_frequencies)
        self.candidates = np.asarray(candidates)
        self.reward_actions, self.reward_weights = np.asarray(reward_actions), np.asarray(reward_weights)
        self.alpha, self.beta, self.gamma, self.kappa = alpha, beta, gamma, kappa
        m = 2 * len(self.ws)
        self.S = np.eye(m) / alpha
        self.t_q, self.t_u, self.m_q, self.m_u = (np.zeros(m) for _ in range(4))
        self.data = []

    def phi(self, s, a):
        angle = self.ws @ s + self.wa @ a
        return np.concatenate([np.cos(angle), np.sin(angle)]) / np.sqrt(len(self.ws))

    def policy(self, s):
        scores = [self.phi(s, a) @ (self.m_q + self.kappa * self.m_u) for a in self.candidates]
        return self.candidates[int(np.argmax(scores))]

    def variance(self, s, a):
        phi = self.phi(s, a)
        return phi @ self.S @ phi

    def exploration_reward(self, s):
        variances = [self.variance(s, a) for a in self.reward_actions]
        return self.reward_weights @ variances * self.alpha - 1.0

    def step(self, s, a, r, s_next, terminal):
        """Lines 7 to 12."""
        self.data.append((s, a, r, s_next, terminal))
        phi, phi_next = self.phi(s, a), self.phi(s_next, self.policy(s_next))
        r_e = self.exploration_reward(s_next)
        # Bootstrapped values are kept within what rewards in [-1, 1] and [-1, 0] allow.
        next_q = np.clip(phi_next @ self.m_q, -1.0, 1.0)
        next_u = np.clip(phi_next @ self.m_u, -1 / (1 - self.gamma), 0.0)
        t_q = r + self.gamma * (0.0 if terminal else next_q)
        t_u = r_e + self.gamma * next_u
        v = self.S @ phi
        self.S = self.S - self.beta * np.outer(v, v) / (1 + self.beta * phi @ v)
        self.t_q, self.t_u = self.t_q + self.beta * phi * t_q, self.t_u + self.beta * phi * t_u
        self.m_q, self.m_u = self.S @ self.t_q, self.S @ self.t_u

    def end_episode(self, tolerance=1e-10, sweeps=20_000):
        """Lines 15 to 18: policy iteration over all data, to convergence. Returns the sweeps it took."""
        phi = np.array([self.phi(s, a) for s, a, *_ in self.data])
        phi_next = np.array([self.phi(s_next, self.policy(s_next)) for *_, s_next, _ in self.data])
        r = np.array([row[2] for row in self.data])
        goes_on = 1.0 - np.array([row[4] for row in self.data], dtype=float)
        solve = self.beta * self.S @ phi.T
        taken = []
        r_e = np.array([self.exploration_reward(row[3]) for row in self.data])
        for name, reward, mask in (("m_q", r, goes_on), ("m_u", r_e, np.ones_like(goes_on))):
            count = 0
            while count < sweeps:
                count += 1
                before = getattr(self, name)
                after = solve @ (reward + self.gamma * mask * (phi_next @ before))
                setattr(self, name, after)
                if np.max(np.abs(after - before)) < tolerance:
                    break
            taken.append(count)
        return taken
