"""Parity composites: signals against explicit products, risks against sums over {-1, 1}^d."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from learnability import teachers
from learnability.seeding import stream
from learnability.teachers.parity import Teacher
from learnability.theory.paper_b import composite_threshold

FIGURE2 = {"d": 30, "k": 8, "alpha": 0.3}


@st.composite
def small(draw, most: int = 9) -> Teacher:
    """A teacher with any degrees and block count, and d small enough to sum over all points."""
    a, b, blocks = draw(
        st.tuples(st.integers(1, 3), st.integers(2, 4), st.integers(1, 3)).filter(
            lambda sizes: math.prod(sizes) <= most
        )
    )
    return Teacher(
        d=draw(st.integers(a * b * blocks, most)),
        k=b * blocks,
        alpha=draw(st.floats(0, 2)),
        beta=draw(st.floats(-2, 2)),
        f_degree=a,
        g_degree=b,
        noise=draw(st.sampled_from([0.0, 0.5])),
    )


def cube(d: int) -> np.ndarray:
    """Every point of {-1, 1}^d: (2^d, d)."""
    return np.array(list(itertools.product((-1.0, 1.0), repeat=d)))


def by_hand(teacher: Teacher, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F and G(F) of one point, product by product."""
    a, b = teacher.f_degree, teacher.g_degree
    f = [math.prod(x[r * a + i] for i in range(a)) for r in range(teacher.k)]
    g = [math.prod(f[r // b * b + i] for i in range(b)) for r in range(teacher.k)]
    return np.array(f), np.array(g)


def parities(expansion: list[dict[frozenset[int], float]], x: np.ndarray) -> np.ndarray:
    """sum_S c_S prod_{i in S} x_i for every output: (n, d) -> (n, k)."""
    out = np.zeros((len(x), len(expansion)))
    for r, terms in enumerate(expansion):
        for s, c in terms.items():
            out[:, r] += c * x[:, sorted(s)].prod(axis=1)
    return out


def test_figure_2_is_what_the_paper_prints():
    teacher = teachers.build("parity_composite", **FIGURE2)
    x = teacher.inputs(200, stream("x", 0))
    f, g = teacher.base(x), teacher.composite(x)
    assert f.shape == g.shape == (200, 8)
    for r in range(8):  # F = (x1 x2, ..., x15 x16)
        assert torch.equal(f[:, r], x[:, 2 * r] * x[:, 2 * r + 1])
    y = f.T
    for r in range(4):  # G = y1 y2 y3 y4 on coordinates 1-4, y5 y6 y7 y8 on 5-8
        assert torch.equal(g[:, r], y[0] * y[1] * y[2] * y[3])
        assert torch.equal(g[:, 4 + r], y[4] * y[5] * y[6] * y[7])
    assert torch.equal(teacher(x), f + 0.3 * g)
    assert torch.equal(teacher.labels(x, stream("noise", 0)), teacher(x))


def test_inputs_are_uniform_signs():
    x = Teacher(**FIGURE2).inputs(20_000, stream("x", 1))
    assert set(x.unique().tolist()) == {-1.0, 1.0}
    assert x.mean(0).abs().max() < 5 / math.sqrt(20_000)
    gram = x.T @ x / 20_000 - torch.eye(30)
    assert gram.abs().max() < 5 / math.sqrt(20_000)


@settings(max_examples=40, deadline=None)
@given(small(), st.integers(0, 2**32 - 1))
def test_signals_are_explicit_products(teacher, seed):
    x = teacher.inputs(5, torch.Generator().manual_seed(seed))
    for i in range(5):
        f, g = by_hand(teacher, x[i].numpy())
        assert np.array_equal(teacher.base(x[i]).numpy(), f)
        assert np.array_equal(teacher.composite(x[i]).numpy(), g)
        np.testing.assert_allclose(teacher(x[i]), teacher.beta * f + teacher.alpha * g, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(small())
def test_expansion_and_probes_over_all_points(teacher):
    points = cube(teacher.d)
    signals = [by_hand(teacher, x) for x in points]
    f, g = (np.stack(parts) for parts in zip(*signals, strict=True))
    h = teacher.beta * f + teacher.alpha * g
    np.testing.assert_allclose(parities(teacher.expansion(), points), h, atol=1e-12)
    probes = teacher.probes(torch.tensor(points))
    share = {name: (h * probe.numpy()).mean() for name, probe in probes.items()}
    assert share["cF"] == pytest.approx(teacher.beta, abs=1e-12)
    assert share["cG"] == pytest.approx(teacher.alpha, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(small(most=8), st.data())
def test_parseval_risk_is_the_mean_over_all_points(teacher, data):
    points = cube(teacher.d)
    subsets = st.frozensets(st.integers(0, teacher.d - 1), max_size=teacher.d)
    own = st.sampled_from(sorted({s for terms in teacher.expansion() for s in terms}, key=sorted))
    terms = st.dictionaries(subsets | own, st.floats(-2, 2), max_size=4)
    predictor = data.draw(st.lists(terms, min_size=teacher.k, max_size=teacher.k))
    h = parities(teacher.expansion(), points)
    out = parities(predictor, points)
    expected = ((out - h) ** 2).sum(axis=1).mean() + teacher.k * teacher.noise**2
    assert teacher.risk(predictor) == pytest.approx(expected, rel=1e-9, abs=1e-12)

    def predict(x: torch.Tensor) -> torch.Tensor:
        return torch.tensor(parities(predictor, x.double().numpy()))

    for block in (1 << 14, 7):  # blocks need not divide 2^d
        enumerated = teacher.risk_by_enumeration(predict, block=block)
        assert enumerated == pytest.approx(expected, rel=1e-5, abs=1e-10)


@settings(max_examples=25, deadline=None)
@given(small())
def test_what_learning_f_alone_costs(teacher):
    """E||beta F - y||^2 = k alpha^2 + k noise^2, by the closed form and by enumeration."""
    expected = teacher.k * (teacher.alpha**2 + teacher.noise**2)
    assert teacher.risk_without_composite() == pytest.approx(expected, rel=1e-9)
    by_sum = teacher.risk_by_enumeration(lambda x: teacher.beta * teacher.base(x))
    assert by_sum == pytest.approx(expected, rel=1e-5, abs=1e-10)
    assert teacher.risk(teacher.expansion()) == pytest.approx(teacher.k * teacher.noise**2)


def test_threshold_of_figure_2():
    assert composite_threshold(8, 0.3) == pytest.approx(0.72)
    assert Teacher(**FIGURE2).risk_without_composite() == pytest.approx(0.72)


@settings(max_examples=25, deadline=None)
@given(small(most=8), st.integers(0, 2**32 - 1))
def test_error_is_bounded_below_by_what_cg_misses(teacher, seed):
    """E||out - H||^2 >= k (alpha - cG)^2 for any predictor: cG = 0 leaves at least k alpha^2."""
    points = torch.tensor(cube(teacher.d))
    out = torch.randn(len(points), teacher.k, generator=torch.Generator().manual_seed(seed)).double()
    h = teacher(points)
    error = (out - h).square().sum(1).mean().item()
    c = (out * teacher.probes(points)["cG"]).mean().item()
    assert error >= teacher.k * (teacher.alpha - c) ** 2 - 1e-9


def test_label_noise_has_its_variance_and_its_seed():
    teacher = Teacher(**FIGURE2, noise=0.5)
    x = teacher.inputs(5000, stream("x", 2))
    y = teacher.labels(x, stream("noise", 2))
    assert torch.equal(y, teacher.labels(x, stream("noise", 2)))
    assert not torch.equal(y, teacher.labels(x, stream("noise", 3)))
    noise = (y - teacher(x)) / 0.5  # 40000 draws of N(0, 1)
    assert abs(noise.mean()) < 5 / math.sqrt(noise.numel())
    assert abs(noise.square().mean() - 1) < 5 * math.sqrt(2 / noise.numel())
    between = (noise.T @ noise / len(noise)).fill_diagonal_(0)
    assert between.abs().max() < 5 / math.sqrt(len(noise))


def test_enumeration_refuses_large_d():
    with pytest.raises(ValueError, match=r"2\^30"):
        Teacher(**FIGURE2).risk_by_enumeration(lambda x: x[:, :8])
