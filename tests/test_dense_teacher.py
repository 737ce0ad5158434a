"""Quadratic DenseNet teachers: graph rules, families by their formulas, exact moments, the input distributions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from learnability.seeding import stream
from learnability.teachers.densenet import Teacher, conditioned
from learnability.teachers.inputs import Inputs, orthogonal
from learnability.theory.graphs import broken_rule, resolve

KINDS = ("gaussian", "covariance", "mixture", "axis_dropping", "uniform")
THREE = {"widths": (2, 1), "graph": ((0, 1), (0, 2))}
FOUR = {"widths": (3, 2, 2), "graph": ((0, 1), (0, 2), (0, 1, 3))}


def teacher(d: int = 3, seed: int | None = 0, alpha: float = 0.3, **more) -> Teacher:
    return Teacher(d=d, alpha=alpha, seed=seed, **more)


def points(n: int, d: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def by_hand(t: Teacher, x: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """G*(x) and Sum(G_l) without signs, (1.1) with loops over single numbers of neurons."""
    below, total, sums = {0: x, 1: x**2 - centre}, np.zeros(len(x)), {}
    for layer, sources in enumerate(t.graph, start=2):
        k = t.widths[layer - 2]
        s = np.zeros((len(x), k))
        for i, j in itertools.product(range(k), sources):
            s[:, i] += (below[j] * t.weights[layer, j][i].numpy()).sum(1)
        below[layer] = s**2
        sums[layer] = below[layer].sum(1)
        p = [-1.0 if t.signs and i >= (k + 1) // 2 else 1.0 for i in range(k)]
        total = total + t.scale * t.alpha ** (layer - 2) * (below[layer] * p).sum(1)
    return total, sums


def nodes(law: Inputs, n: int = 9) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights that are exact for ``law`` up to degree 2n - 1 in every coordinate."""
    flat = law.kind == "uniform"
    t, w = (np.polynomial.legendre.leggauss if flat else np.polynomial.hermite_e.hermegauss)(n)
    g = np.array(list(itertools.product(t * (math.sqrt(3) if flat else 1.0), repeat=law.d)))
    weights = np.array([math.prod(each) for each in itertools.product(w / w.sum(), repeat=law.d)])
    images = [g @ sigma.T for sigma in law.sigmas.numpy()]
    if law.kind == "axis_dropping":
        images = [np.where(np.arange(law.d) == i, 0.0, g) for i in range(law.d)]
    return np.concatenate(images), np.tile(weights, len(images)) / len(images)


@pytest.mark.parametrize(
    "graph, strict, message",
    [
        ([[0, 1], [0, 0, 2]], False, "J_3 = {0, 0, 2} must be distinct numbers from 0 to 2"),
        ([[0, 1], [0, 3]], False, "J_3 = {0, 3} must be distinct numbers from 0 to 2"),
        ([[1, 2]], True, "J_2 = {1, 2} must be distinct numbers from 0 to 1"),
        ([[0]], False, "J_2 = {0} must hold 1, the layer before"),
        ([[0, 1], [0, 2], [0, 1]], True, "J_4 = {0, 1} must hold 3, the layer before"),
        ([[0, 1], [0, 1, 2]], True, "J_3 = {0, 1, 2} must not hold 1, the layer before the last"),
        ([[0, 1], [0, 2], [0, 2, 3]], True, "J_4 = {0, 2, 3} must not hold 2, the layer before the last"),
        ([[1], [2]], True, "J_3 = {2} must hold a skip link, one of 0 to 0"),
        ([[1], [0, 2], [3]], True, "J_4 = {3} must hold a skip link, one of 0 to 1"),
        ([[1], [2], [3]], False, None),
        ([[0, 1], [0, 1, 2]], False, None),
        ([[0, 1], [0, 2], [0, 1, 3]], True, None),
        ([[1]], True, None),
    ],
)
def test_a_broken_graph_is_named(graph, strict, message):
    assert broken_rule(graph, strict) == message
    if strict:
        sizes = {"widths": (1,) * len(graph), "graph": tuple(map(tuple, graph))}
        if message is None:
            assert teacher(**sizes).graph == sizes["graph"]
        else:
            with pytest.raises(ValueError) as refused:
                teacher(**sizes)
            assert str(refused.value) == message


def test_sizes_that_are_not_given():
    assert resolve("even", 7) == ((1, 1), ((0, 1), (0, 2)))
    assert resolve("supports", 8, depth=4) == ((1, 1, 1), ((0, 1), (0, 2), (0, 3)))
    assert resolve("identity", 7, depth=4) == ((7, 1, 1), ((1,), (0, 2), (0, 3)))
    assert resolve("random", 7, widths=[3, 2], graph=[[1, 0], [2, 0]]) == ((3, 2), ((0, 1), (0, 2)))
    assert resolve("toy", 4) == ((2, 2), ((0, 1), (0, 2)))
    assert resolve("example", 3) == ((2, 1), ((0, 1), (1, 2)))  # breaks l-2 not in J_l, as printed
    assert teacher(family="example").depth == 3 and teacher(family="even", depth=2).alphas == (1.0,)
    with pytest.raises(ValueError, match="need a seed"):
        _ = teacher(seed=None, **THREE).weights


@pytest.mark.parametrize("sizes", [{"widths": (2,)}, THREE, THREE | {"widths": (3, 2), "signs": True}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_exact_moments_are_quadratures(kind, sizes):
    t = teacher(distribution=kind, scale=0.7, **sizes)
    x, w = nodes(t.law)
    centre = w @ x**2
    np.testing.assert_allclose(t.centre, centre, rtol=1e-12)
    g, sums = by_hand(t, x, centre)
    np.testing.assert_allclose(t(torch.tensor(x))[:, 0], g, rtol=1e-10, atol=1e-10)
    assert t.variance() == pytest.approx(w @ g**2 - (w @ g) ** 2, rel=1e-9)
    exact = t.sums()
    assert list(exact) == list(sums)
    for layer in sums:
        assert exact[layer] == pytest.approx(w @ sums[layer], rel=1e-9)


@pytest.mark.parametrize("sizes", [{"widths": (2,)}, THREE], ids=("L2", "L3"))
@pytest.mark.parametrize("kind", KINDS)
def test_exact_moments_are_those_of_samples(kind, sizes):
    t, n = teacher(d=4, distribution=kind, alpha=0.05, spread=1.3, **sizes), 200_000
    x = t.law.sample(n, torch.Generator().manual_seed(1))
    g, sums = by_hand(t, x.numpy(), t.centre.numpy())
    exact = [(sums[layer], size) for layer, size in t.sums().items()]
    exact += [((g - g.mean()) ** 2, t.variance())]
    exact += [(x[:, i].numpy() ** 2, t.centre[i].item()) for i in range(4)]
    for sample, expected in exact:
        error = sample.std() / math.sqrt(n)
        assert error < 0.05 * expected  # or the test would see nothing
        assert abs(sample.mean() - expected) < 4.5 * error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kappa", [1.0, 2.0])
def test_random_teachers_have_features_of_size_one(kind, kappa):
    t = teacher(distribution=kind, kappa=kappa, **FOUR)
    assert list(t.sums().values()) == pytest.approx([3.0, 2.0, 2.0], rel=1e-10)


@pytest.mark.parametrize("kappa", [1.0, 1.5, 4.0])
def test_kappa_is_the_spread_of_singular_values(kappa):
    w = conditioned(3, 5, kappa, stream("test"))
    expected = [kappa, 1.0, 1 / kappa]
    np.testing.assert_allclose(torch.linalg.svdvals(w), expected, rtol=1e-12)
    np.testing.assert_allclose(torch.linalg.svdvals(conditioned(5, 3, kappa, stream("test"))), expected, rtol=1e-12)
    t = teacher(d=5, kappa=kappa, **FOUR)
    assert set(t.weights) == {(2, 0), (2, 1), (3, 0), (3, 2), (4, 0), (4, 1), (4, 3)}
    sizes = {0: 5, 1: 5, 2: 3, 3: 2}
    for (layer, j), w in t.weights.items():
        assert w.shape == (t.widths[layer - 2], sizes[j])
        values = torch.linalg.svdvals(w)
        assert (values[0] / values[-1]).item() == pytest.approx(kappa**2, rel=1e-10)


def test_appendix_i_families_are_their_formulas():
    d, a, x = 9, 0.4, points(50, 9)
    centred = x**2 - 1
    mean = (x.sum(1) / 3, centred.sum(1) / 3)  # <1/sqrt d, x>, <1/sqrt d, x^2 - 1>
    # even, L = 4
    t = teacher(d, alpha=a, family="even", depth=4)
    g2 = (mean[0] + mean[1]) ** 2
    g3 = (g2 + mean[0]) ** 2
    g4 = (g3 + mean[0]) ** 2
    torch.testing.assert_close(t(x)[:, 0], g2 + a * g3 + a**2 * g4, rtol=1e-10, atol=1e-10)
    # identity, L = 4, J_4 = {1, 3}: W*_{4,1} = 1/sqrt d
    t = teacher(d, alpha=a, family="identity", depth=4, graph=((1,), (0, 2), (1, 3)))
    g2 = centred**2
    g3 = (g2.sum(1) / 3 + mean[0]) ** 2
    g4 = (g3 + mean[1]) ** 2
    torch.testing.assert_close(t(x)[:, 0], g2.sum(1) + a * g3 + a**2 * g4, rtol=1e-10, atol=1e-10)
    # supports, L = 3: p = 4 entries of 1/2
    t = teacher(d, alpha=a, family="supports", depth=3)
    where = {}
    for key in ((2, 0), (2, 1), (3, 0)):
        w = t.weights[key]
        where[key] = w[0].nonzero().flatten()
        assert w.shape == (1, d) and len(where[key]) == 4 and (w[0, where[key]] == 0.5).all()
    g2 = (x[:, where[2, 0]].sum(1) / 2 + centred[:, where[2, 1]].sum(1) / 2) ** 2
    g3 = (g2 + x[:, where[3, 0]].sum(1) / 2) ** 2
    torch.testing.assert_close(t(x)[:, 0], g2 + a * g3, rtol=1e-10, atol=1e-10)
    drawn = [teacher(4, seed, family="supports", depth=2).weights[2, 0] for seed in range(3000)]
    share = torch.cat(drawn).sign().mean(0)  # each of 4 coordinates is in half of the supports
    assert (share - 0.5).abs().max() < 4.5 * math.sqrt(0.25 / 3000)


@pytest.mark.parametrize("kind", ["gaussian", "uniform"])
def test_toys_are_their_formulas(kind):
    a, x = 0.3, points(50, 4)
    x1, x2, x3, x4 = x.T
    t = teacher(4, alpha=a, family="toy", distribution=kind)
    expected = x1**4 + x2**4 + a * ((x1**4 + x3) ** 2 + (x2**4 + x4) ** 2)
    torch.testing.assert_close(t(x)[:, 0], expected, rtol=1e-10, atol=1e-10)
    t = teacher(3, alpha=0.1, family="example", distribution=kind)
    expected = x1**4 + 2 * x2**4 + 0.1 * (x1**4 + 2 * x2**4 + x3**2) ** 2
    torch.testing.assert_close(t(x[:, :3])[:, 0], expected, rtol=1e-10, atol=1e-10)
    if kind == "gaussian":  # E[x^4] = 3, E[x^8] = 105: E||S_2||^2 = 3 + 6, E[S_3^2] by hand
        assert t.sums() == pytest.approx({2: 9.0, 3: 105 + 4 * 105 + 3 + 4 * 9 + 2 * 3 + 4 * 3})


def test_signs_make_the_second_half_negative():
    plain, signed = (teacher(d=4, signs=s, **FOUR) for s in (False, True))
    x = points(40, 4)
    assert all(torch.equal(plain.weights[key], signed.weights[key]) for key in plain.weights)
    s = signed.features(x)
    p = {2: [1, 1, -1], 3: [1, -1], 4: [1, -1]}
    total = sum(0.3 ** (n - 2) * (s[n] ** 2 * torch.tensor(p[n])).sum(1) for n in p)
    torch.testing.assert_close(signed(x)[:, 0], total, rtol=1e-10, atol=1e-10)
    assert not torch.isclose(plain(x), signed(x)).any()
    for t in (plain, signed):  # Sum(G_l) = z^T form z
        g = t.first(x) | {n: v**2 for n, v in s.items()}
        for n, sources in enumerate(t.graph, start=2):
            z = torch.cat([g[j] for j in sources], dim=1)
            expected = (s[n] ** 2 * (torch.tensor(p[n]) if t.signs else 1)).sum(1)
            found = torch.einsum("ni,ij,nj->n", z, t.quadratic_form(n), z)
            torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_input_distributions_are_as_section_5_says():
    n, d = 100_000, 5
    draw = {kind: Inputs(kind, d, spread=1.5) for kind in KINDS}
    x = {kind: law.sample(n, torch.Generator().manual_seed(0)) for kind, law in draw.items()}
    assert all(value.shape == (n, d) and value.dtype == torch.float64 for value in x.values())
    values = torch.linalg.svdvals(draw["covariance"].sigmas[0])
    assert values[0] == pytest.approx(1.5) and values[-1] == pytest.approx(1 / 1.5)
    sigmas = draw["mixture"].sigmas
    assert sigmas.shape == (3, d, d) and (sigmas[0] - sigmas[1]).norm() > 0.5
    torch.testing.assert_close(sigmas.norm(dim=2), torch.ones(3, d, dtype=torch.float64))
    zero = x["axis_dropping"] == 0
    assert (zero.sum(1) == 1).all() and (zero.double().mean(0) - 0.2).abs().max() < 4.5 * math.sqrt(0.16 / n)
    bound = x["uniform"].abs().max()
    assert 1.73 < bound <= math.sqrt(3) and (x["uniform"] < -1).double().mean() == pytest.approx(0.2113, abs=0.002)
    wanted = {kind: law.sigmas @ law.sigmas.mT for kind, law in draw.items()}
    wanted["axis_dropping"] = torch.eye(d).double()[None] * 0.8
    for kind in KINDS:
        gap = x[kind].T @ x[kind] / n - wanted[kind].mean(0)
        assert gap.abs().max() < 6 * 2.5 * math.sqrt(2 / n)
        torch.testing.assert_close(draw[kind].second_moments(), wanted[kind].mean(0).diagonal())
    q = orthogonal(6, stream("test"))
    torch.testing.assert_close(q @ q.T, torch.eye(6, dtype=torch.float64))
    other = Inputs("covariance", d, spread=1.5, draw=1)
    assert not torch.allclose(other.sigmas, draw["covariance"].sigmas)


def test_labels():
    t = teacher(d=4, classes=True, scale=0.2, **FOUR)
    x = t.inputs(500, torch.Generator().manual_seed(0))
    assert x.shape == (500, 5) and x.dtype == torch.float32
    g = t.__class__(d=4, alpha=0.3, seed=0, scale=0.2, **FOUR)(x[:, 1:])
    y = t.labels(x, torch.Generator())
    assert y.shape == (500, 1) and torch.equal(y, (x[:, :1] + g).sign().float())
    assert 0 < (y == -1).sum() < 500 and not torch.equal(y, x[:, :1].sign())
    plain = teacher(d=4, noise=0.5, **FOUR)
    x = plain.inputs(20_000, torch.Generator().manual_seed(0))
    assert x.shape == (20_000, 4)
    noise = plain.labels(x, torch.Generator().manual_seed(1)) - plain(x)
    assert noise.shape == (20_000, 1) and noise.square().mean() == pytest.approx(0.25, rel=0.05)


@pytest.mark.parametrize("family", ["random", "supports"])
def test_each_seed_is_a_teacher_of_its_own(family):
    more = {"family": family, "depth": 3} | ({"widths": (3, 2)} if family == "random" else {})
    root = teacher(d=8, seed=None, **more)
    first, again, second, drawn = (
        root.of_seed(1),
        teacher(d=8, seed=1, **more),
        root.of_seed(2),
        teacher(d=8, seed=1, draw=5, **more),
    )
    assert set(first.tensors()) == {"W2_0", "W2_1", "W3_0", "W3_2"}
    for name, value in first.tensors().items():
        assert value.numpy().tobytes() == again.tensors()[name].numpy().tobytes()
        if not (family == "supports" and name == "W3_2"):
            assert not torch.equal(value, second.tensors()[name]) and not torch.equal(value, drawn.tensors()[name])
    assert torch.equal(first.law.sigmas, second.law.sigmas)
