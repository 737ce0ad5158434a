"""Paper D's activations on tensors: against the families of Definition 2.1, finite differences and 50 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import torch
from mpmath import mp, mpf

from learnability.learners.smoothed import ACTIVATIONS
from learnability.theory.smoothed_relu import at_scale, grid

EPS = 2.0**-52
SCALES = [1.0, 0.3, 1e-5]


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def exact(name: str, z: mpf, h: mpf) -> mpf:
    """phi(z) as the paper prints it."""
    if name == "huber":
        return mpf(0) if z < 0 else z**2 / (2 * h) if z <= h else z - h / 2
    return z / (mpf(1.1) * (1 + mp.exp(-2 * z / h))) if name == "swish" else max(z, mpf(0))


@pytest.mark.parametrize("h", SCALES)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_values_and_slopes_are_the_families(name, h):
    z, one = grid(h), ACTIVATIONS[name]
    value, slope = at_scale(name, h)
    np.testing.assert_allclose(one.value(torch.as_tensor(z), tensor(h)), value(z), rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(one.slope(torch.as_tensor(z), tensor(h)), slope(z), rtol=1e-12, atol=1e-300)
    assert one.smooth == (name != "relu")


@pytest.mark.parametrize("h", SCALES)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivatives_are_difference_quotients(name, h):
    u = np.linspace(-6.03, 6.02, 201)  # meets no kink
    z, step, one = torch.as_tensor(h * u), 1e-6 * h, ACTIVATIONS[name]
    for f, derivative in ((one.value, one.slope), (one.slope, one.curvature)):
        quotient = (f(z + step, tensor(h)) - f(z - step, tensor(h))) / (2 * step)
        found = derivative(z, tensor(h))
        torch.testing.assert_close(found, quotient, rtol=1e-8, atol=1e-9 * max(1.0, found.abs().max().item()))
    at_kinks = ACTIVATIONS["huber"].curvature(tensor(-1e-300, 0.0, h, h * (1 + EPS)), tensor(h))
    assert at_kinks.tolist() == [0.0, 1 / h, 1 / h, 0.0]


@pytest.mark.parametrize("what", ["value", "slope", "curvature"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_each_replica_has_its_own_h(name, what):
    f, z, h = getattr(ACTIVATIONS[name], what), torch.linspace(-2, 2, 30).double().reshape(2, 3, 5), tensor(0.5, 2)
    found = f(z, h[:, None, None])
    for r in range(2):
        assert torch.equal(found[r], f(z[r], h[r]))
    if what == "value":
        e = 0.7 * z.flip(-1)
        both = ACTIVATIONS[name].difference(z, e, h[:, None, None])
        for r in range(2):
            assert torch.equal(both[r], ACTIVATIONS[name].difference(z[r], e[r], h[r]))


STARTS = [0.0, 1e-25, 1e-9, 0.25, 0.5, 1 - EPS / 2, 1.0, 1 + EPS, 1.3, 7.0, -1e-25, -1e-9, -0.25, -1.0, -3.0]
STEPS = [10.0**k for k in range(-30, 2)] + [0.25, 0.5, 0.75, 3.0]


@pytest.mark.parametrize("h", SCALES)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_difference_has_all_its_digits(name, h):
    """From on and about the kinks, steps of 1e-30 h to 10 h up and down, against 50 digits."""
    moved = 0
    for start in STARTS:
        z, steps = h * start, [sign * h * step for step in STEPS for sign in (1, -1)]
        found = ACTIVATIONS[name].difference(tensor(*[z] * len(steps)), tensor(*steps), tensor(h))
        with mpmath.workdps(50):
            for e, value in zip(steps, found.tolist(), strict=True):
                true = exact(name, mpf(z) + mpf(e), mpf(h)) - exact(name, mpf(z), mpf(h))
                assert abs(mpf(value) - true) <= 1e-12 * abs(true), (start, e / h)
                moved += true != 0
    assert moved > 400


def test_difference_of_swish_where_it_is_flat():
    """About its least value phi' = 0, and no digits can be had; the error stays below rounding of the step."""
    z = torch.linspace(-0.7, -0.6, 41).double()
    for e in (1e-20, -1e-12, 1e-4, -0.03):
        found = ACTIVATIONS["swish"].difference(z, torch.full_like(z, e), tensor(1.0))
        with mpmath.workdps(50):
            for at, value in zip(z.tolist(), found.tolist(), strict=True):
                true = exact("swish", mpf(at) + mpf(e), mpf(1)) - exact("swish", mpf(at), mpf(1))
                assert abs(mpf(value) - true) <= 4 * EPS * abs(e)


def test_far_arguments_do_not_overflow():
    z, h = tensor(-1e5, 1e5), tensor(1e-3)
    for name, one in ACTIVATIONS.items():
        top = 1 / 1.1 if name == "swish" else 1.0
        assert one.slope(z, h).tolist() == pytest.approx([0, top], abs=1e-15)
        assert one.value(z, h).tolist() == pytest.approx([0, top * 1e5], rel=1e-8)
        assert one.curvature(z, h).tolist() == [0, 0]
        assert one.difference(z, -2 * z, h).tolist() == pytest.approx([top * 1e5, -top * 1e5], rel=1e-8)
