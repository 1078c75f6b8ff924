"""What an agent expects of a sequence of actions: the model's trajectory, and a band around it.

    s_t = f(s_{t-1}, a_{t-1}),    low_t = s_t - band_t,    high_t = s_t + band_t

f is the model that the agent looks ahead with; before the first look, one of all data. The band holds the
share `level` of what happened in the newest eighth of the data, number by number, around what a model of the
rest had foretold (`planning.foretelling`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from emuq.agents.actions import to_unit
from emuq.agents.emuq.exact import ExactRuntime
from emuq.agents.readings import is_batch
from emuq.errors import InputError, finite, quoted
from emuq.planning import dynamics, endings, foretelling
from emuq.planning.dynamics import Model
from emuq.planning.endings import Edges
from emuq.planning.transitions import Transitions
from emuq.precision import double

if TYPE_CHECKING:
    from emuq.agents.emuq.agent import EMUQ

FEWEST = 100  # transitions


class Imagined(NamedTuple):
    """Predicted trajectories, in the environment's units; one axis more in front for rows of observations.

    Attributes:
        states: The observation after each action, as one vector.
        low: The lower end of the band around it, -inf where too little was seen to say.
        high: The upper end, inf where too little was seen to say.
        rewards: What each action pays.
        over: Whether an episode would be over after it, by an edge beyond which episodes ended.
    """

    states: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rewards: np.ndarray
    over: np.ndarray


def imagine(agent: EMUQ, observation: Any, actions: Any, level: float = 0.9) -> Imagined:
    """What is expected of these actions from here."""
    _check(agent, level)
    rows = agent._scaling(agent._flat.rows(observation))
    single = not is_batch(agent.observation_space, observation)
    units = _sequences(agent, actions, len(rows), single)
    state = agent.whole_state()
    with double():
        policy = state.lookahead
        own = _model(state.data, policy.model.chosen) if not agent.looked else policy.model
        known = own, policy.edges if agent.looked else None
        found = _told(agent, state.data, *known, rows, units, level)
    return Imagined(*(part[0] for part in found)) if single else found


def of_the_newest(agent: EMUQ, steps: int, level: float = 0.9) -> tuple[np.ndarray, Imagined]:
    """The last stretch of an episode that was so long, and what a model that has not seen it foretells."""
    _check(agent, level)
    state = agent.whole_state()
    with double():
        data, since = state.data, int(foretelling.before(state.data))
        ended = np.asarray(data.ended)[since : agent.num_transitions]
        begins = [i for i in range(len(ended) - steps, -1, -1) if not ended[i : i + steps - 1].any()]
        if not begins:
            raise InputError(
                f"steps is {steps}: no episode goes on for as long in the newest {len(ended)} transitions"
            )
        at = since + begins[0]
        rows = np.asarray(data.states[at : at + 1], float)
        model = _model(data._replace(count=foretelling.before(data)), state.lookahead.model.chosen)
        found = _told(agent, data, model, None, rows, np.asarray(data.actions[None, at : at + steps]), level)
        real = np.concatenate([rows, np.asarray(data.next_states[at : at + steps], float)])
    return agent._scaling.inverse(real), Imagined(*(part[0] for part in found))


def _told(
    agent: EMUQ, data: Transitions, model: Model, edges: Edges | None, rows: np.ndarray, units: np.ndarray,
    level: float,
) -> Imagined:  # fmt: skip
    edges = endings.nowhere(rows.shape[1]) if edges is None else edges
    states, rewards, over = _ahead(model, edges, jnp.asarray(rows), jnp.asarray(units))
    reach = np.asarray(_bands(data, model.chosen, units.shape[1], level), float) * agent._scaling.width
    states = agent._scaling.inverse(np.asarray(states, float))
    return Imagined(states, states - reach, states + reach, np.asarray(rewards, float), np.asarray(over))


def _check(agent: EMUQ, level: float) -> None:
    if isinstance(agent._runtime, ExactRuntime):
        raise InputError(
            "imagine: states of this agent are known by their numbers alone: nothing is foretold of others"
        )
    if agent.num_transitions < FEWEST:
        raise InputError(f"imagine: {agent.num_transitions} transitions are known, expected {FEWEST} or more")
    if not 0 < level < 1:
        raise InputError(f"level is {quoted(level)}: expected a share between 0 and 1")


def _sequences(agent: EMUQ, actions: Any, number: int, single: bool) -> np.ndarray:
    """The actions as vectors in [0, 1]: a row of steps for each observation."""
    space = agent.action_space
    shape = space.shape or ()
    given = np.asarray(actions)
    expected = f"(steps, {', '.join(map(str, shape))})" if shape else "(steps,)"
    if not single:
        expected = f"({number}, {expected[1:]}"
    whole = given[None] if single else given
    if whole.ndim != 2 + len(shape) or whole.shape[2:] != shape or 0 in whole.shape or len(whole) != number:
        raise InputError(f"actions have shape {given.shape}: expected {expected}, as in {space}")
    if agent._actions.discrete:
        outside = [action for action in whole.reshape(-1, *shape) if not space.contains(action)]
        if outside:
            raise InputError(
                f"actions have {quoted(np.asarray(outside[0]).tolist())}: expected some of {space}"
            )
    else:
        finite(whole, "actions")
    return to_unit(agent._actions, whole)


_model = jax.jit(foretelling.model_of)


@jax.jit
def _ahead(model: Model, edges: Edges, states: jax.Array, units: jax.Array) -> Any:
    z, rewards = foretelling.ahead(model, dynamics.standardised(model, states), units)
    over, _ = endings.beyond(edges, z.reshape(-1, z.shape[-1]))
    ever = jnp.cumsum(over.reshape(rewards.shape), axis=1) > 0
    return dynamics.raw(model, z), rewards, ever


@partial(jax.jit, static_argnums=2)
def _bands(data: Transitions, chosen: jax.Array, steps: int, level: float) -> jax.Array:
    return foretelling.bands(data, chosen, steps, level)
