"""Concepts 1 and 2: values term by term, norms on points of their own, Lemma B.2 on unit vectors and off them."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch

from learnability import teachers
from learnability.seeding import stream
from learnability.teachers import concept, concept2, parity
from learnability.teachers.activations import KINDS, Activation
from learnability.teachers.concept import Function, Ridge, unit
from learnability.teachers.concept2 import Product, rewrite
from learnability.theory.complexity import c_eps, c_s, log_c_eps
from learnability.theory.paper_b import lipschitz_bound, norm_bound

SIZE = {"d": 12, "k": 4, "alpha": 0.3, "p_f": 8, "p_g": 12}
SPECS = {
    "sphere": ("concept1", SIZE),
    "hypercube": ("concept1", SIZE | {"support": "hypercube", "g_size": 0.7, "beta": 2.0}),
    "even F": ("concept1", SIZE | {"f_activation": "polynomial", "f_coefficients": [0, 0, 1], "draw": 3}),
    "not symmetric": (
        "concept1",
        SIZE | {"f_activation": "exp", "f_scale": 3.0, "g_activation": "tanh", "g_size": 0.2},
    ),
    "concept2": ("concept2", SIZE | {"p_f": 24, "p_g": 24, "noise": 0.5}),
}
NUMPY = {
    "exp": np.expm1,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": lambda u: 1 / (1 + np.exp(-u)),
}
POLYNOMIAL = (0.5, -1.0, 0.25, 0.3, 0.1)


@pytest.fixture(params=SPECS)
def teacher(request):
    kind, parameters = SPECS[request.param]
    return teachers.build(kind, **parameters)


def points(teacher, n: int = 100_000) -> torch.Tensor:
    """Inputs from numpy, which share nothing with the teacher's own: (n, d), float64."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(n, teacher.d))
    if teacher.support == "hypercube":
        x = np.sign(x)
    return torch.tensor(x / np.linalg.norm(x, axis=1, keepdims=True))


def phi_by_hand(phi: Activation, z: float) -> float:
    if phi.kind == "polynomial":
        return sum(q * (phi.scale * z) ** i for i, q in enumerate(phi.coefficients))
    return float(NUMPY[phi.kind](phi.scale * z))


def by_hand(function: Function, x: np.ndarray) -> np.ndarray:
    """(5.2) or Definition B.1 at one point, term by term: (n,) -> (k,)."""
    x1 = np.append(x, 1.0)
    out = np.zeros(len(function.blocks[0].a))
    for block in function.blocks:
        for r, i in np.ndindex(*block.a.shape):
            if isinstance(block, Ridge):
                term = phi_by_hand(block.activation, float(block.w[r, i].numpy() @ x))
            else:
                at = float(block.w1[r, i].numpy() @ x1) / np.linalg.norm(x1)
                term = phi_by_hand(block.activation, at) * float(block.w2[r, i].numpy() @ x1)
            out[r] += float(block.a[r, i]) * term
    return out


def test_values_are_the_sums_of_the_definitions(teacher):
    x = teacher.inputs(6, stream("x", 0)).double()
    for row, f, g, y in zip(x, teacher.base(x), teacher.composite(x), teacher(x), strict=True):
        expected = by_hand(teacher.f, row.numpy())
        np.testing.assert_allclose(f, expected, atol=1e-12)
        np.testing.assert_allclose(g, by_hand(teacher.g, expected), atol=1e-11)
        np.testing.assert_allclose(y, teacher.beta * f + teacher.alpha * g, atol=1e-12)


def test_every_term_is_in_the_class(teacher):
    for function, p in ((teacher.f, teacher.p_f), (teacher.g, teacher.p_g)):
        assert p <= function.p <= p + 2
        for block in function.blocks:
            assert block.a.abs().max() <= 1
            if isinstance(block, Ridge):
                norms = {math.sqrt(0.5): block.w}
            else:
                assert block.activation.only_odd
                norms = {1.0: torch.cat([block.w1, block.w2])}
            for norm, w in norms.items():
                assert torch.allclose(w.norm(dim=-1), torch.tensor(norm).double(), atol=1e-6)


def test_norms_and_orthogonality_on_other_points(teacher):
    """E||F||^2 = 1, E F = 0, E G = 0, E[G F^T] = 0, E||G||^2 = g_size: two estimates' errors of 65536, 100000."""
    x = points(teacher)
    f, g = concept.in_chunks(teacher.base, x), concept.in_chunks(teacher.composite, x)
    size_f, size_g = f.square().sum(1), g.square().sum(1)
    for size, aim in ((size_f, 1.0), (size_g, teacher.g_size)):
        assert abs(size.mean() - aim) < 8 * size.std() / math.sqrt(len(x))
    assert (f.mean(0).abs() < 8 * f.std(0) / math.sqrt(len(x))).all()
    assert (g.mean(0).abs() < 8 * g.std(0) / math.sqrt(len(x))).all()
    products = g[:, :, None] * f[:, None, :]
    assert (products.mean(0).abs() < 8 * products.std(0) / math.sqrt(len(x))).all()
    for name, aim in (("cF", teacher.beta), ("cG", teacher.alpha)):
        share = (teacher(x) * teacher.probes(x)[name]).mean(1)
        assert abs(share.mean() - aim) < 8 * share.std() / math.sqrt(len(x))
        assert share.std() / math.sqrt(len(x)) < 0.02  # so that the line above says something


def test_errors_of_out_0_and_of_f_alone(teacher):
    x = points(teacher)
    y = concept.in_chunks(teacher, x) + teacher.noise * torch.randn(
        len(x), teacher.k, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    alone = (y - teacher.beta * concept.in_chunks(teacher.base, x)).square().sum(1).mean().item()
    nothing = y.square().sum(1).mean().item()
    assert teacher.risk_without_composite() == pytest.approx(alone, rel=0.06)
    said = [float(number) for number in re.findall(r"([\d.]+) of", teacher.describe())]
    assert said == pytest.approx([nothing, alone], rel=0.06)
    assert "Monte Carlo" in teacher.describe() and "\n" not in teacher.describe()


def test_parities_say_their_exact_errors():
    text = parity.Teacher(d=30, k=8, alpha=0.3, noise=0.5).describe()
    assert text == "exact population errors: 10.72 of out = 0, 2.72 of learning F alone"


def test_moments_say_what_a_linear_fit_explains():
    even = teachers.build("concept1", **SIZE).moments()  # F odd, G even
    assert even["removed_linear"] < 1e-12 and even["linear_in_x"] < 1e-3 and abs(even["inner"]) < 1e-12
    odd = teachers.build("concept1", **SIZE | {"g_activation": "sin", "g_scale": 1.5, "g_size": 0.001})
    moments = odd.moments()
    assert moments["removed_linear"] > 0.5 and moments["linear_in_f"] < 0.01
    h = odd.base(points(odd, 20_000))
    raw = Function(odd.g.blocks[:1])(h)  # G before the affine fit was taken off
    rest = (
        raw
        - torch.cat([torch.ones(len(h), 1), h], 1)
        @ torch.linalg.lstsq(torch.cat([torch.ones(len(h), 1).double(), h], 1), raw).solution
    )
    share = 1 - rest.square().sum() / (raw - raw.mean(0)).square().sum()
    assert moments["removed_linear"] == pytest.approx(share.item(), abs=0.03)
    assert moments["norm_largest"] > 1 + moments["norm_spread"] > 1


def test_inputs_are_unit_and_uniform():
    for support in ("sphere", "hypercube"):
        x = concept.Teacher(**SIZE, support=support).inputs(20_000, stream("x", 1))
        assert x.dtype == torch.float32
        assert torch.allclose(x.norm(dim=1), torch.ones(20_000), atol=1e-6)
        scaled = x * math.sqrt(12)
        assert scaled.mean(0).abs().max() < 5 / math.sqrt(20_000)
        assert (scaled.T @ scaled / 20_000 - torch.eye(12)).abs().max() < 8 / math.sqrt(20_000)
        assert (len(scaled.abs().unique()) == 1) == (support == "hypercube")
        fourth = scaled[:, 0].pow(4).mean().item()  # 3 d / (d + 2) on the sphere
        assert fourth == pytest.approx(36 / 14 if support == "sphere" else 1, rel=0.1)


def test_weights_belong_to_the_draw_alone(teacher):
    kind = teacher.KIND
    parameters = next(spec for name, spec in SPECS.values() if teachers.build(name, **spec) == teacher)
    x = teacher.inputs(5, stream("x", 3))
    other = teachers.build(kind, **parameters | {"alpha": 0.9, "noise": 0.1})
    assert torch.equal(other.base(x), teacher.base(x)) and torch.equal(other.composite(x), teacher.composite(x))
    redrawn = teachers.build(kind, **parameters | {"draw": 77})
    assert not torch.allclose(redrawn.base(x), teacher.base(x), atol=0.05)


def test_interface_of_all_teachers(teacher):
    x = teacher.inputs(10, stream("x", 2)).unflatten(0, (2, 5))
    y = teacher.labels(x, stream("noise", 2))
    assert y.shape == (2, 5, 4) and y.dtype == torch.float32
    assert torch.equal(y, teacher.labels(x, stream("noise", 2)))
    assert torch.equal(y, teacher(x)) == (teacher.noise == 0)
    assert torch.allclose(teacher(x), teacher(x.double()).float(), atol=1e-4)
    assert set(teacher.probes(x)) == {"cF", "cG"}


def test_what_cannot_be_built_is_refused():
    x = torch.zeros(1, 12)
    with pytest.raises(ValueError, match="raise p_f"):
        concept.Teacher(**SIZE, f_scale=0.1).base(x)
    with pytest.raises(ValueError, match="raise p_g or lower g_size"):
        concept.Teacher(**SIZE, g_size=50.0).base(x)
    with pytest.raises(ValueError, match="G needs a = inf"):  # linear: nothing is left without its affine part
        concept.Teacher(**SIZE, g_activation="polynomial", g_coefficients=(0, 1)).composite(x)
    with pytest.raises(ValueError, match=r"Definition B\.1"):
        concept2.Teacher(**SIZE, g_activation="cos")
    with pytest.raises(ValueError, match="sphere or hypercube"):
        concept.Teacher(**SIZE, support="ball")
    with pytest.raises(ValueError, match="no activation"):
        concept.Teacher(**SIZE, f_activation="relu")


# Lemma B.2 and Fact B.3


def ridge(kind: str, scale: float, n: int = 6, k: int = 3, p: int = 5) -> Function:
    generator = torch.Generator().manual_seed(5)
    phi = Activation(kind, scale, POLYNOMIAL if kind == "polynomial" else ())
    a = 2 * torch.rand(k, p, generator=generator, dtype=torch.float64) - 1
    return Function((Ridge(phi, a, unit((k, p, n), generator) / math.sqrt(2)),))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_lemma_b2_on_unit_vectors_and_off_them(kind, scale):
    function = ridge(kind, scale)
    general = rewrite(function)
    x = unit((300, 6), torch.Generator().manual_seed(6))
    for row in x[:5]:
        np.testing.assert_allclose(general(row), by_hand(function, row.numpy()), atol=1e-10, rtol=0)
    assert (general(x) - function(x)).abs().max() < 1e-10
    assert (general(1.5 * x) - function(1.5 * x)).abs().max() > 1e-3
    block = function.blocks[0]  # off the sphere: a phi^+(s<w,x>) + a <w,x> phi^-(s<w,x>)
    for rho in (0.0, 0.5, 1.5):
        z = torch.einsum("nd,kpd->nkp", rho * x, block.w)
        s = math.sqrt(2 / (1 + rho**2))
        expected = (block.a * (block.activation.plus(s * z) + z * block.activation.minus(s * z))).sum(-1)
        assert (general(rho * x) - expected).abs().max() < 1e-10


def test_lemma_b2_of_a_teacher():
    """F' = F on the inputs; G' = G where |F(x)| = 1 and, as |F(x)| is not 1, not on the inputs."""
    teacher = teachers.build("concept1", **SIZE)
    x = points(teacher, 2000)
    h = teacher.base(x)
    f, g = rewrite(teacher.f), rewrite(teacher.g)
    assert (f(x) - h).abs().max() < 1e-10
    unit_h = h / h.norm(dim=1, keepdim=True)
    assert (g(unit_h) - teacher.g(unit_h)).abs().max() < 1e-10
    assert 1e-3 < (g(h) - teacher.g(h)).square().sum(1).mean() < 0.2


@pytest.mark.parametrize("kind", KINDS)
def test_lemma_b2_complexities(kind):
    """At most 2p terms in the class of Definition B.1, with C_s and C_eps no larger, for C* >= sqrt(2e)."""
    for scale in (0.3, 1.0, 4.0):
        function = ridge(kind, scale)
        general = rewrite(function)
        phi = function.activations[0]
        even = bool(np.any(phi.series(6)[2::2]))
        assert general.p == (2 if even else 1) * function.p
        for block in general.blocks:
            assert block.a.abs().max() <= 1 and block.activation.only_odd
            ones = torch.ones(3, 5).double()
            assert torch.allclose(block.w1.norm(dim=-1), ones) and torch.allclose(block.w2.norm(dim=-1), ones)
            assert c_s(block.activation, 1.0) <= c_s(phi, 1.0) * (1 + 1e-12)
            for eps in (0.9, 0.1, 1e-5, 1e-60):
                for c_star in (math.sqrt(2 * math.e), 10.0):
                    assert log_c_eps(block.activation, eps, c_star) <= log_c_eps(phi, eps, c_star) + 1e-9


def test_lemma_b2_needs_a_large_constant():
    square, eps = Activation("polynomial", coefficients=(0, 0, 1)), math.exp(-1)
    assert c_eps(square, eps, 1.0) == pytest.approx(1.5)
    assert c_eps(square.minus, eps, 1.0) == pytest.approx(2.0)


def test_fact_b3_needs_the_one_beside_x():
    """||F(x)|| <= sqrt(k) p C_s ||(x,1)||, not ||x||; Lipschitz with 3 sqrt(k) p C_s. C* = 1 is enough."""
    generator = torch.Generator().manual_seed(7)
    k, p, n = 3, 4, 5
    phi = Activation("polynomial", coefficients=(1.0, 0.5, 0.0, 2.0))
    same = unit((1, 1, n + 1), generator).expand(k, p, -1)
    function = Function((Product(phi, torch.ones(k, p).double(), same, same),))  # all terms agree: F is largest
    c = c_s(phi, 1.0)
    assert function(torch.zeros(1, n).double()).norm() > 0
    x, y = 3 * torch.randn(2, 500, n, generator=generator, dtype=torch.float64)
    bounds = torch.tensor([norm_bound(k, p, c, r.norm().item()) for r in x])
    assert (function(x).norm(dim=1) <= bounds).all() and (function(x).norm(dim=1) > 0.2 * bounds).any()
    slopes = (function(x) - function(y)).norm(dim=1) / (x - y).norm(dim=1)
    assert 0.05 * lipschitz_bound(k, p, c) < slopes.max() <= lipschitz_bound(k, p, c)
