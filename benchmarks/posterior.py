"""Microseconds for one update of the posterior in a compiled loop, beside BLAS's symv + syr."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from emuq.linear import posterior
from emuq.precision import double
from timing import floor, report, seconds

STEPS, BLOCK = 128, 32


def measure(m: int, dtype: type, block: int) -> float:
    """Seconds an update: a compiled loop of STEPS updates, held back `block` at a time."""
    rng = np.random.default_rng(0)
    phi = jnp.asarray(rng.normal(size=(STEPS, m)) / np.sqrt(m), dtype)
    targets = jnp.asarray(rng.normal(size=(STEPS, 2)), dtype)
    start = posterior.block(posterior.prior(m, 0.01, 2, dtype), block)

    def one_block(held: posterior.Blocked, rows):
        step = lambda held, row: (posterior.update_blocked(held, *row, 1.0), None)  # noqa: E731
        return posterior.fold(jax.lax.scan(step, held, rows)[0]), None

    def run(held: posterior.Blocked, phi, targets):
        rows = (phi.reshape(-1, block, m), targets.reshape(-1, block, 2))
        return jax.lax.scan(one_block, held, rows)[0]

    compiled = jax.jit(run)
    return seconds(lambda: jax.block_until_ready(compiled(start, phi, targets))) / STEPS


def main() -> None:
    rows = []
    with double():
        for m in (300, 500, 1000):
            double_floor = floor(m, np.float64)
            for dtype in (np.float64, np.float32):
                least = floor(m, dtype)
                for block in (1, BLOCK):
                    taken = measure(m, dtype, block)
                    rows.append(
                        {
                            "M": m,
                            "precision": "double" if dtype is np.float64 else "single",
                            "block": block,
                            "us an update": 1e6 * taken,
                            "symv+syr us": 1e6 * least,
                            "ratio": taken / least,
                            "ratio to double": taken / double_floor,
                        }
                    )
    report(
        "One update of S and two means, in a compiled loop",
        rows,
        "Bar: M = 500, blocked: ratio to double <= 5.",
    )


if __name__ == "__main__":
    main()
