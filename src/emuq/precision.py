"""Double precision for our own computations, and for nobody else's.

Refits have condition numbers up to N beta / alpha, too much for single precision. JAX's switch for double
precision is global; flipping it would change a user's own program, so that agents enter this context
around each call instead.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

import jax


def double() -> AbstractContextManager[object]:
    """`with double(): ...` computes in 64 bits, whatever the rest of the program does."""
    return jax.enable_x64(True)
