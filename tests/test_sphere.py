"""Data sets of paper D: distances, angles and labels by their definitions, and what streams they follow."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from learnability.seeding import stream
from learnability.teachers.sphere import KINDS, Teacher, at_distance, fair_signs


def drawn(points: str, n: int, d: int = 12, seed: int = 3, split: str = "train", **more):
    """One seed's teacher, x and y as the samples file has them."""
    teacher = Teacher(d=d, points=points, **{"radius": 0.1} | more).of_seed(seed)
    x = teacher.inputs(n, stream("x", split, seed))
    return teacher, x, teacher.labels(x, stream("noise", split, seed))


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(KINDS), st.integers(1, 30), st.integers(2, 40), st.integers(0, 2**31))
def test_every_kind_is_unit_vectors_and_signs_of_its_seed(points, n, d, seed):
    teacher, x, y = drawn(points, n, d, seed)
    assert (teacher.k, teacher.noise, teacher.probes(x)) == (1, 0.0, {})
    assert x.shape == (n, d) and y.shape == teacher(x).shape == (n, 1)
    assert x.dtype == y.dtype == torch.float64
    torch.testing.assert_close(x.norm(dim=1), torch.ones(n, dtype=torch.float64), rtol=0, atol=1e-13)
    assert set(y.unique().tolist()) <= {-1.0, 1.0} and set(teacher(x).unique().tolist()) <= {-1.0, 1.0}
    _, again, same = drawn(points, n, d, seed)
    assert torch.equal(x, again) and torch.equal(y, same)
    _, other, _ = drawn(points, n, d, seed + 1)
    assert not torch.equal(x, other)
    _, other, _ = drawn(points, n, d, seed, split="val")
    assert d == 2 or not torch.equal(x, other)  # on a circle only four points are at a radius of +-mu


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["random", "clustered", "colliding"]), st.integers(2, 40), st.integers(0, 2**31))
def test_every_prefix_of_two_or_more_has_both_labels(points, n, seed):
    _, _, y = drawn(points, n, seed=seed)
    for m in range(2, n + 1):
        assert y[:m].min() == -1 and y[:m].max() == 1


def test_uniform_points():
    _, x, _ = drawn("random", 40_000, d=6)
    assert x.mean(0).abs().max() < 5 / math.sqrt(6 * 40_000)
    assert (x.T @ x / len(x) - torch.eye(6) / 6).abs().max() < 5 / math.sqrt(18 * 40_000)


def test_random_labels_are_fair_and_tell_nothing_of_x():
    n = 40_000
    teacher, x, y = drawn("random", n, d=6)
    assert abs(y.mean()) < 5 / math.sqrt(n)
    assert (y * x).mean(0).abs().max() < 5 / math.sqrt(6 * n)
    assert abs((y[1:] * y[:-1]).mean()) < 5 / math.sqrt(n)
    _, _, elsewhere = drawn("random", n, d=6, split="val")
    assert abs((y * elsewhere).mean()) < 5 / math.sqrt(n)  # or error on the validation set would know of training
    assert abs((y * teacher(x)).mean()) < 5 / math.sqrt(n)  # a call is a draw of its own, and always the same
    assert torch.equal(teacher(x), teacher(-x)) and teacher.tensors() == {}
    assert not torch.equal(teacher(x), teacher.of_seed(4)(x))


def test_all_patterns_of_signs_but_the_seconds_are_equally_likely():
    counts: dict[tuple[float, ...], int] = {}
    for seed in range(4000):
        pattern = tuple(fair_signs(4, stream("signs", seed)).tolist())
        assert pattern[1] == -pattern[0]
        counts[pattern] = counts.get(pattern, 0) + 1
    assert len(counts) == 8
    assert max(abs(c - 500) for c in counts.values()) < 5 * math.sqrt(500)
    assert fair_signs(1, stream("signs", 0)).shape == (1,) and fair_signs(0, stream("signs")).shape == (0,)


def test_halfspace_labels_are_the_side_of_mu():
    teacher, x, y = drawn("halfspace", 500)
    mu = teacher.tensors()["mu"]
    assert mu.shape == (12,) and mu.norm().item() == pytest.approx(1, abs=1e-14)
    for s in range(500):
        assert y[s, 0].item() == math.copysign(1, sum(mu[i] * x[s, i] for i in range(12)))
    assert torch.equal(y, teacher(x)) and torch.equal(teacher(-x), -y)
    assert not torch.equal(mu, teacher.of_seed(4).mu)
    assert teacher(torch.stack([x, -x])).shape == (2, 500, 1)


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 1.414), st.integers(2, 30), st.integers(1, 20), st.integers(0, 2**31))
def test_clustered_points_lie_at_the_radius_of_their_own_centre(radius, d, n, seed):
    teacher, x, y = drawn("clustered", n, d, seed, radius=radius)
    away = (x - y * teacher.mu).norm(dim=1)
    assert (away - radius).abs().max() < 1e-13
    assert (x + y * teacher.mu).norm(dim=1).min() > radius - 1e-13  # the other centre is further
    np.testing.assert_allclose((y[:, 0] * (x @ teacher.mu)).numpy(), 1 - radius**2 / 2, atol=1e-13)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-8, 2), st.integers(2, 30), st.integers(1, 21), st.integers(0, 2**31))
def test_colliding_pairs_have_their_distance_and_opposite_labels(gap, d, n, seed):
    teacher, x, y = drawn("colliding", n, d, seed, gap=gap)
    for j in range(n // 2):
        assert (x[2 * j] - x[2 * j + 1]).norm().item() == pytest.approx(gap, rel=1e-13, abs=1e-14)
    assert y[:, 0].tolist() == [(-1.0) ** s for s in range(n)]
    assert torch.equal(teacher(x), y)
    if n % 2:  # the last is one of a pair cut in two
        _, longer, _ = drawn("colliding", n + 1, d, seed, gap=gap)
        assert torch.equal(longer[:n], x)


def test_directions_from_a_centre_are_uniform():
    """d = 3: the angle about the centre is uniform, so its first two harmonics vanish."""
    n, centre = 20_000, torch.tensor([0.0, 0.6, 0.8], dtype=torch.float64)
    x = at_distance(centre.expand(n, 3), 0.7, stream("ring"))
    e1, e2 = torch.tensor([1.0, 0, 0]).double(), torch.tensor([0, 0.8, -0.6]).double()
    angle = torch.atan2(x @ e2, x @ e1)
    for k in (1, 2):
        assert abs((k * angle).cos().mean()) < 5 / math.sqrt(2 * n)
        assert abs((k * angle).sin().mean()) < 5 / math.sqrt(2 * n)


def test_colliding_partners_are_uniform_too():
    _, x, _ = drawn("colliding", 40_000, d=6, gap=1.3)
    partners = x[1::2]
    assert partners.mean(0).abs().max() < 5 / math.sqrt(6 * 20_000)


def test_default_radius_keeps_part_c_with_its_probability():
    """P[some |V_{1,i} . (x_s - y_s mu)| > 2h] <= delta / 3 at r, not at 1.2 r, for p n independent Gaussians."""
    p, n, delta = 400, 64, 0.3
    teacher = Teacher(d=p, points="clustered", delta=delta, count=n)
    h = math.sqrt(math.pi) / (2 * p)
    assert teacher.radius < 1 / 16

    def fails(r: float) -> float:
        """Exact, if the p n were independent: 1 - P[|N(0, 2 r^2 / p)| <= 2h]^(p n)."""
        tail = math.erfc(2 * h / math.sqrt(2 * r**2 / p) / math.sqrt(2))
        return -math.expm1(p * n * math.log1p(-tail))

    assert p * n * math.exp(-p * h**2 / teacher.radius**2) == pytest.approx(delta / 3)  # (42) and a union bound
    assert fails(teacher.radius) <= delta / 3 < fails(1.2 * teacher.radius)
    assert Teacher(d=p, points="clustered", count=10 * n).radius < Teacher(d=p, points="clustered", count=n).radius
    assert teacher.of_seed(1).radius == teacher.radius


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"points": "square"}, "points must be one of random, halfspace"),
        ({"d": 1}, "d must be at least 2"),
        ({"k": 2}, "k must be 1"),
        ({"noise": 0.1}, "noise 0"),
        ({"points": "clustered", "radius": math.sqrt(2)}, "radius must be in"),
        ({"points": "clustered", "radius": -0.1}, "radius must be in"),
        ({"points": "clustered", "radius": math.nan}, "radius must be in"),
        ({"points": "clustered"}, "need a radius, or a count"),
        ({"points": "clustered", "count": 0}, "count must be at least 1"),
        ({"gap": 0.0}, "gap must be in"),
        ({"gap": 2.1}, "gap must be in"),
        ({"delta": 1.0}, "delta must be in"),
    ],
)
def test_impossible_values_are_refused_in_one_line(given, complaint):
    with pytest.raises(ValueError, match=complaint) as raised:
        Teacher(**{"d": 5} | given)
    assert "\n" not in str(raised.value)


def test_a_description_is_one_line_and_needs_no_seed():
    for points in KINDS:
        teacher = Teacher(d=5, points=points, radius=0.25, gap=0.125)
        assert "S^4" in teacher.describe() and "\n" not in teacher.describe()
    assert "0.25" in Teacher(d=5, points="clustered", radius=0.25).describe()
    assert "0.125" in Teacher(d=5, points="colliding", gap=0.125).describe()
    with pytest.raises(ValueError, match="needs a seed"):
        Teacher(d=5, points="halfspace").inputs(3, stream("x")) @ Teacher(d=5, points="halfspace").mu
