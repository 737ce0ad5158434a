"""Appendix C's W*: sets, margins and the event's part (c) against loops, and below the exact margin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learnability.kernels.clustered import proof_direction
from learnability.kernels.margin import hard_margin
from learnability.seeding import stream
from learnability.teachers.sphere import Teacher
from learnability.theory.paper_d import clustered_h, clustered_radius
from margin_cases import gradient_gram, net


def by_loop(v1, v2, mu, h, x, y):
    """The proof's sets, W* and margins in numpy, entry by entry."""
    v1, v2, mu, x, y = (t.numpy() for t in (v1, v2, mu, x, y))
    p = len(v2)
    s = {i for i in range(p) if 0.5 <= abs(v2[i]) <= 2}
    plus = {i for i in s if v1[i] @ mu >= 4 * h}
    minus = {i for i in s if -(v1[i] @ mu) >= 4 * h}
    w = np.zeros_like(v1)
    for i in plus | minus:
        w[i] = np.sign(v2[i]) * mu / math.sqrt(len(plus) + len(minus))
    margins, part_c = [], True
    for point, label in zip(x, y, strict=True):
        total = 0.0
        for i in range(p):
            z = v1[i] @ point
            slope = 0 if z < 0 else min(z / h, 1)
            total += v2[i] * slope * (point @ w[i])
            part_c = part_c and bool(abs(v1[i] @ (point - label * mu)) <= 2 * h)
        margins.append(label * total / math.sqrt(p))
    return s, plus, minus, w, margins, part_c


def clustered(n: int, d: int, radius: float, seed: int):
    """mu, x and y of r-clustered data."""
    teacher = Teacher(d=d, points="clustered", radius=radius).of_seed(seed)
    x = teacher.inputs(n, stream("x", seed))
    return teacher.mu, x, teacher(x)[:, 0]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 40), st.integers(2, 12), st.sampled_from([0.0, 0.01, 0.3, 1.2]), st.sampled_from([1e-3, 0.05])
)
def test_proof_direction_against_a_loop(p, d, radius, h):
    v1, v2 = net(p, d, seed=p)
    mu, x, y = clustered(6, d, radius, seed=d)
    s, plus, minus, w, margins, part_c = by_loop(v1, v2, mu, h, x, y)
    found = proof_direction(v1, v2, mu, h, x, y)
    for mask, members in ((found.chosen, s), (found.plus, plus), (found.minus, minus)):
        assert set(mask.nonzero()[:, 0].tolist()) == members
    np.testing.assert_allclose(found.w1.numpy(), w, atol=1e-14)
    assert found.w1.norm().item() == pytest.approx(1 if plus | minus else 0)
    np.testing.assert_allclose(found.margins.numpy(), margins, atol=1e-13)
    assert found.margin == pytest.approx(min(margins), abs=1e-13)
    assert found.part_c is part_c and found.part_c == (found.deviation <= 1)


@pytest.mark.parametrize("radius", [0.01, 0.3, 1.0, 1.4])
@pytest.mark.parametrize("seed", range(3))
def test_proof_direction_never_beats_the_exact_margin(radius, seed):
    p, d, n, h = 200, 15, 30, 0.01
    v1, v2 = net(p, d, seed=seed)
    mu, x, y = clustered(n, d, radius, seed)
    exact = hard_margin(gradient_gram(v1, v2, x, h), y)
    found = proof_direction(v1, v2[None], mu, h, x, y[:, None])
    assert found.margin <= exact.certified / math.sqrt(p) * (1 + 1e-6)
    if radius == 0.01:  # and is not far below for tight clusters
        assert found.margin > 0.5 * exact.value / math.sqrt(p)


@pytest.mark.parametrize("seed", range(5))
def test_on_the_event_the_proofs_bound_holds(seed):
    """Proposition C.1's own h and r, delta = 0.1: part (c) holds, and the margin is what it makes of (*)."""
    p, n = 512, 64
    h = clustered_h(p)
    radius = float(clustered_radius(p, n, h, 0.1))
    v1, v2 = net(p, p, seed=seed)
    mu, x, y = clustered(n, p, radius, seed)
    found = proof_direction(v1, v2, mu, h, x, y)
    assert found.part_c and 0.3 < found.deviation <= 1
    assert found.margin >= found.bound
    a, b = found.plus.sum().item(), found.minus.sum().item()
    assert found.bound == pytest.approx(min(3 * a - b, 3 * b - a) / (8 * math.sqrt(p * (a + b))))
    for s in range(n):  # phi' is 1 on the set of y_s and 0 on the other
        own = found.plus if y[s] > 0 else found.minus
        expected = (1 - radius**2 / 2) * v2[own].abs().sum().item() / math.sqrt(p * (a + b))
        assert found.margins[s].item() == pytest.approx(expected, rel=1e-9)
    mu, x, y = clustered(n, p, 4 * radius, seed)
    assert not proof_direction(v1, v2, mu, h, x, y).part_c


def test_the_bound_is_over_the_labels_that_occur():
    v1, v2 = net(300, 10)
    mu, x, y = clustered(20, 10, 0.01, 0)
    both = proof_direction(v1, v2, mu, 1e-3, x, y)
    one = [proof_direction(v1, v2, mu, 1e-3, x[y == sign], y[y == sign]).bound for sign in (1, -1)]
    assert one[0] != one[1] and both.bound == min(one)


def test_no_unit_qualifies():
    v1, v2 = net(50, 10)
    mu, x, y = clustered(5, 10, 0.1, 0)
    found = proof_direction(v1, v2, mu, 100.0, x, y)
    assert (found.margin, found.bound, found.w1.norm().item()) == (0.0, 0.0, 0.0)
    for change, complaint in (({"h": 0.0}, "h must be positive"), ({"mu": 2 * mu}, "mu must have norm 1")):
        arguments = {"v1": v1, "v2": v2, "mu": mu, "h": 0.1, "x": x, "y": y} | change
        with pytest.raises(ValueError, match=complaint):
            proof_direction(**arguments)
