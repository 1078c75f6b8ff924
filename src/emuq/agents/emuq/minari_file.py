"""An agent's transitions as a Minari dataset, an episode each, where Minari is installed.

Observations are the vectors of `datasets.arrays_of`, of one more row than there are steps. The last row of an
episode that terminated is what `arrays_of` says of a terminal step's next observation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from emuq.errors import InputError

if TYPE_CHECKING:
    from emuq.agents.emuq.agent import EMUQ


def write(agent: EMUQ, name: str, details: dict[str, Any]) -> Any:
    """The dataset of this name, written to where Minari keeps them."""
    try:
        import minari  # type: ignore[import-not-found]
        from minari.data_collector import EpisodeBuffer  # type: ignore[import-not-found]
    except ImportError:
        raise InputError("minari is not installed: pip install 'minari[hdf5]'") from None
    if not agent.history:
        raise InputError("there is no episode to write: let the agent learn first")
    episodes = episodes_of(agent)
    env = agent.env
    return minari.create_dataset_from_buffers(
        dataset_id=name,
        buffer=[EpisodeBuffer(id=i, **episode) for i, episode in enumerate(episodes)],
        env=env if env is not None and env.spec is not None else None,
        observation_space=agent._flat.vectors,
        action_space=agent.action_space,
        **{"algorithm_name": agent.name, **details},
    )


def episodes_of(agent: EMUQ) -> list[dict[str, Any]]:
    """Each episode of the history, by Minari's names."""
    data = agent.dataset()
    ends = np.cumsum([row.length for row in agent.history])
    parts = [
        {name: column[first:last] for name, column in data.items()}
        for first, last in zip([0, *ends[:-1]], ends, strict=True)
    ]
    return [
        {
            "observations": np.concatenate([part["observations"], part["next_observations"][-1:]]),
            "actions": part["actions"].astype(agent.action_space.dtype),
            "rewards": part["rewards"].tolist(),
            "terminations": part["terminated"].tolist(),
            "truncations": part["truncated"].tolist(),
        }
        for part in parts
    ]
