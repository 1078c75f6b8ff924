"""The shapes that functions state are checked while tests run: one that lies would be found."""

import jax.numpy as jnp
import pytest
from jaxtyping import TypeCheckError

from conftest import CHECKED, UNCHECKED, annotated
from emuq.linear import expectation, posterior
from emuq.planning import targets


def test_the_layers_of_arrays_are_checked():
    for layer in ("emuq.linear.", "emuq.planning.", "emuq.agents.emuq.", "emuq.agents.vime."):
        assert any(name.startswith(layer) for name in CHECKED)
    assert set(annotated()) >= UNCHECKED  # an exception that is gone is taken off the list


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (lambda: posterior.variance(jnp.eye(3), jnp.ones((2, 4))), "phi"),  # another number of features
        (lambda: posterior.variance(jnp.eye(3, dtype=int), jnp.ones(3)), "covariance"),  # no floats
        (lambda: expectation.expected_variance(jnp.ones((3, 2)), jnp.ones(3)), "form"),  # not square
        (lambda: targets.balance(jnp.ones(2), jnp.ones(2), 1.0), "kappa"),  # a number of Python's
    ],
)
def test_a_wrong_shape_or_type_is_an_error_that_names_it(call, wrong):
    with pytest.raises(TypeCheckError, match=f"parameter '{wrong}'"):
        call()
