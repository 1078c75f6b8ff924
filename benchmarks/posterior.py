"""Microseconds for one update of the posterior in a compiled loop, beside BLAS's symv + syr."""

from __future__ import annotations

from functools import partial

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
    start = posterior.prior(m, 0.01, 2, dtype)
    if block == 1:

        def run(p, phi, targets):
            step = lambda p, row: (posterior.update(p, *row, 1.0), None)  # noqa: E731
            return jax.lax.scan(step, p, (phi, targets))[0]
    else:
        run = partial(posterior.update_many, noise_precision=1.0, block_size=block)
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
