"""Kernels against finite networks of width 2^14, against autograd, and against scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from kernel_cases import ACTIVATIONS, CASES, Sampler, case, pairs
from learnability import learners
from learnability.kernels.analytic import KERNELS, build
from learnability.kernels.dual import DUALS, Hermite, dual
from learnability.kernels.infinite_width import of_learner
from networks import with_one

D, WIDTH, DRAWS = 5, 1 << 14, 48


def points(n: int = 4, d: int = D, seed: int = 0) -> torch.Tensor:
    """Of different norms; the last is near the first, and the one before it nearly opposite."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, d, generator=generator, dtype=torch.float64)
    x[-1] = 0.8 * x[0] + 0.2 * x[-1]
    x[-2] = -0.9 * x[0] + 0.3 * x[-2]
    return x


def agrees(samples: list[torch.Tensor], expected: torch.Tensor, resolution: float = 0.01) -> None:
    """The mean is within four standard errors everywhere, and they are small against the kernel."""
    drawn = torch.stack(samples)
    error = drawn.std(0) / len(samples) ** 0.5
    assert (error <= resolution * expected.abs().max()).all(), error / expected.abs().max()
    distance = (drawn.mean(0) - expected).abs()
    assert (distance <= 4 * error + 1e-12).all(), distance / error  # sign(u)^2 has no error at all


@pytest.mark.parametrize("name", [n for n in CASES if n.startswith("features")])
def test_random_features_are_averages_over_random_weights(name):
    kernel, x, sampler = case(name, D, variance=0.6), points(), Sampler(WIDTH, 1)
    phi = kernel.dual.phi
    samples = [sampler.features(x, phi, (0.6,), (0.0,)) for _ in range(DRAWS)]
    agrees(samples, pairs(kernel, x), resolution=0.02)


@pytest.mark.parametrize("name", [n for n in CASES if n.startswith(("recursive", "conjugate"))])
def test_recursive_kernels_are_wide_networks_features(name):
    kernel, x, sampler = case(name, D), points(), Sampler(WIDTH, 2)
    shape = (kernel.weight_var, kernel.bias_var)
    agrees([sampler.features(x, kernel.dual.phi, *shape) for _ in range(DRAWS)], pairs(kernel, x))


def test_residual_conjugate_kernel_is_the_wide_networks_features():
    kernel, x, sampler = case("residual-conjugate", D), points(), Sampler(WIDTH, 3)
    (w1, w2), (b1, b2) = kernel.weight_var, kernel.bias_var
    samples = []
    for _ in range(DRAWS):
        h1 = (sampler.through(x.T, w1) + b1**0.5 * sampler.normal(WIDTH, 1)).clamp(min=0)
        h2 = (sampler.through(h1, w2) + b2**0.5 * sampler.normal(WIDTH, 1)).clamp(min=0)
        samples.append((h1 + h2).T @ (h1 + h2) / WIDTH)
    agrees(samples, pairs(kernel, x))
    without_means = case("conjugate-1", D, bias_var=b1), case("conjugate-1", D, depth=2, **_both(kernel))
    with pytest.raises(AssertionError):  # E relu > 0 makes the two layers' sum more than the sum of two kernels
        agrees(samples, sum(pairs(k, x) for k in without_means))


def _both(kernel) -> dict:
    return {"weight_var": kernel.weight_var, "bias_var": kernel.bias_var}


@pytest.mark.parametrize("name", [n for n in CASES if "tangent" in n])
def test_tangent_kernels_are_wide_networks_own(name):
    kernel, x, sampler = case(name, D), points(), Sampler(WIDTH, 4)
    samples = [sampler.tangent(x, kernel, name.startswith("residual")) for _ in range(DRAWS)]
    expected = pairs(kernel, x)
    agrees(samples, expected)
    other = replace(kernel, train="all" if kernel.train == "hidden" else "hidden", output_var=0.9)
    with pytest.raises(AssertionError):
        agrees(samples, pairs(other, x))


@pytest.mark.parametrize("name", ["tangent-2-standard", "residual-tangent-all-standard"])
def test_width_keeps_what_the_limit_drops(name):
    """At width 64: the first layer's d / m and the biases' 1 / m, most of what is of that order."""
    kernel, x, sampler = case(name, D), points(), Sampler(64, 5)
    samples = [sampler.tangent(x, kernel, name.startswith("residual")) for _ in range(3000)]
    mean, kept, dropped = torch.stack(samples).mean(0), pairs(replace(kernel, width=64), x), pairs(kernel, x)
    assert 0.4 * (mean - dropped).norm() > (mean - kept).norm()
    assert (mean - kept).norm() < 0.015 * kept.norm()


def jacobian(network, start, x):
    """d out / d(hidden weights): (n, k, P)."""

    def out(trained):
        stacked = {name: value[None] for name, value in {**start, **trained}.items()}
        return network.forward(stacked, x[None])[0]

    parts = torch.func.jacrev(out)({name: start[name] for name in network.trained})
    return torch.cat([parts[name].flatten(2) for name in network.trained], dim=-1)


@pytest.mark.parametrize("name", ["layer2", "layer3"])
def test_learners_tangent_kernel_by_autograd(name):
    width, k, x = 512, 2, points()
    network = learners.build(name, d=D, k=k, width=width)
    inputs, samples = with_one(x).float(), []
    for seed in range(40):
        start = network.init(torch.Generator().manual_seed(seed))
        j = jacobian(network, start, inputs)
        own = torch.einsum("arp,bsp->rsab", j, j).double() / (1 if name == "layer2" else width)
        samples.append(own)
    expected = pairs(of_learner(name, "ntk", D, width=width), x)
    agrees([(s[0, 0] + s[1, 1]) / 2 for s in samples], expected, resolution=0.02)
    agrees([s[0, 1] + expected for s in samples], expected, resolution=0.02)  # outputs do not share a kernel


@pytest.mark.parametrize("name", ["layer2", "layer3"])
def test_learners_conjugate_kernel(name):
    width, x = 1024, points()
    network, samples = learners.build(name, d=D, k=2, width=width), []
    for seed in range(60):
        start = network.init(torch.Generator().manual_seed(seed))
        h = network.hidden({n: v[None] for n, v in start.items()}, with_one(x).float()[None])[0].double()
        samples.append(h @ h.T / width)
    agrees(samples, pairs(of_learner(name, "last", D, width), x), resolution=0.02)


def test_resnet3_with_u_equal_va_at_large_width():
    """Conjugate: the first layer's alone, up to 1/sqrt m. Tangent: random through out1, and as the text says."""
    x, kept = points(), []
    first, layer2 = pairs(of_learner("resnet3", "last", D), x), pairs(of_learner("layer2", "ntk", D), x)
    network = learners.build("resnet3", d=D, k=2, width=1 << 15)
    for seed in range(4):
        start = {n: v.double() for n, v in network.init(torch.Generator().manual_seed(seed)).items()}
        stacked = {n: v[None] for n, v in start.items()}
        h = network.hidden(stacked, with_one(x)[None])[0]
        assert (h @ h.T / network.width - first).norm() < 0.03 * first.norm()
        o = with_one(torch.relu(with_one(x) @ start["W"]) @ start["A"].T)  # (out1, 1)
        squares = o.square().sum(1)
        slope = dual("step")(o @ o.T, squares[:, None], squares[None, :])
        expected = layer2 + o @ o.T * slope
        j = jacobian(network, start, with_one(x))
        own = torch.einsum("arp,brp->rab", j, j)
        assert (own - expected).norm() < 0.06 * expected.norm()
        kept.append(expected)
    spread = torch.stack(kept).std(0).norm()
    assert spread > 0.15 * layer2.norm()


def test_residual_tangent_kernel_by_autograd():
    width, x, samples = 512, points(), []
    kernel = case("residual-tangent-all-standard", D, width=width)
    (w1, w2), (b1, b2) = kernel.weight_var, kernel.bias_var
    scales = {"W": (w1 / D) ** 0.5, "b1": b1**0.5, "U": (w2 / width) ** 0.5, "b2": b2**0.5}
    shapes = {"W": (width, D), "b1": (width, 1), "U": (width, width), "b2": (width, 1), "A": (1, width)}
    scales["A"] = (kernel.output_var / width) ** 0.5
    generator = torch.Generator().manual_seed(6)
    for _ in range(40):
        p = {n: (scales[n] * torch.randn(s, generator=generator)).requires_grad_() for n, s in shapes.items()}
        h1 = torch.relu(p["W"] @ x.T.float() + p["b1"])
        out = (p["A"] @ (h1 + torch.relu(p["U"] @ h1 + p["b2"])))[0]
        gradients = [torch.autograd.grad(o, list(p.values()), retain_graph=True) for o in out]
        j = torch.stack([torch.cat([g.flatten() for g in row]) for row in gradients]).double()
        samples.append(j @ j.T / width)
    agrees(samples, pairs(kernel, x), resolution=0.02)


def test_scikit_learns_kernels():
    x = points(20).numpy()
    t = torch.tensor(x)
    found = pairs(build("gaussian", d=D, bandwidth=0.7), t)
    np.testing.assert_allclose(found, rbf_kernel(x, gamma=1 / (0.7 * D)), rtol=1e-10, atol=1e-14)
    found = pairs(build("polynomial", d=D, degree=4, offset=0.5), t)
    np.testing.assert_allclose(found, polynomial_kernel(x, degree=4, gamma=1 / D, coef0=0.5), rtol=1e-10)


def test_paper_bs_own_definitions():
    """Section 3: the arcsin kernel, and w ~ N(0, I) as variance = d; [39]'s recursion from <x, y>."""
    x = points()
    cosine = x @ x.T / x.norm(dim=1) / x.norm(dim=1)[:, None]
    found = pairs(build("arcsin", d=D), x)
    off = ~torch.eye(len(x), dtype=torch.bool)
    torch.testing.assert_close(found[off], torch.asin(cosine)[off], rtol=1e-12, atol=1e-14)
    assert (found.diagonal() == torch.pi / 2).all()
    sign = build("random_features", d=D, activation="sign", variance=float(D))
    torch.testing.assert_close(pairs(sign, x), found * 2 / torch.pi)
    unit = D**0.5 * x / x.norm(dim=1, keepdim=True)
    first = 1 / (2 - unit @ unit.T / D)
    recursive = build("recursive", d=D, activation="inverse", depth=2)
    torch.testing.assert_close(pairs(recursive, unit), 1 / (2 - first))


@pytest.mark.parametrize("activation", ["erf", "cos", "exp", "gaussian"])
def test_hermite_expansion_of_a_smooth_activation_is_its_closed_form(activation):
    phi, x = DUALS[activation]().phi, points()
    expanded = build("random_features", d=D, activation=phi, options={"degree": 80}, variance=0.5)
    exact = build("random_features", d=D, activation=activation, variance=0.5)
    torch.testing.assert_close(pairs(expanded, x), pairs(exact, x), rtol=1e-9, atol=1e-9)


def test_hermite_expansion_says_what_it_cuts_off():
    for degree in (10, 40, 160):
        relu = Hermite(torch.relu, degree)
        cut = 0.5 - dual(relu)(*(torch.tensor(1.0, dtype=torch.float64),) * 3).item()
        assert cut == pytest.approx(relu.tail(1.0), abs=1e-12) and 0.03 < cut * degree**1.5 < 0.06


@pytest.mark.parametrize("activation", [*ACTIVATIONS, "inverse"])
def test_duals_are_defined_at_both_ends_and_at_zero(activation):
    x = torch.tensor([[0.6, 0.8], [-0.6, -0.8], [0.6, 0.8], [0.0, 0.0]], dtype=torch.float64)
    k = pairs(build("random_features", d=1, activation=activation), x)
    assert k.isfinite().all() and k[0, 2] == pytest.approx(k[0, 0].item(), abs=1e-15)


def test_tangent_at_equal_points_keeps_its_digits():
    """arccos(1 - eps) = 2e-8 would show as 1e-9 here."""
    x = points(200, 30, seed=2)
    kernel, squares = build("tangent", d=30, depth=2), x.square().sum(1)
    exact = (squares / 30) / 2 / 2 + (squares / 30) / 2 / 2  # S = 1/2: T_2 / 2, T_2 = E_1 + T_1 / 2
    same = kernel((x * x).sum(1), x.norm(dim=1) ** 2, squares)
    torch.testing.assert_close(same, exact, rtol=1e-14, atol=0)


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("parameterisation", ["ntk", "standard"])
@pytest.mark.parametrize("train", ["hidden", "all"])
def test_tangent_in_place_is_the_formula(train, parameterisation, depth):
    x = torch.cat([points(30, 7), -points(30, 7)[:5]])  # opposite points too
    for bias in (0.0, 0.2):
        for dtype, allowed in ((torch.float64, 1e-13), (torch.float32, 1e-4)):
            kernel = build(
                "tangent", d=7, depth=depth, bias_var=bias, train=train, parameterisation=parameterisation
            )
            inner, squares = (x @ x.T).to(dtype), x.square().sum(1).to(dtype)
            quick = kernel.overwrite(inner.clone(), squares[:, None], squares[None, :])
            plain = kernel(inner, squares[:, None], squares[None, :])
            assert quick.dtype == plain.dtype == dtype
            torch.testing.assert_close(quick, plain, rtol=allowed, atol=allowed)


def test_kernels_are_values():
    for name in CASES:
        assert case(name, D) == case(name, D) and hash(case(name, D)) == hash(case(name, D))
        assert case(name, D) != case(name, D + 1)
    assert {build(n, d=3).__class__ for n in KERNELS} == set(KERNELS.values())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"name": "laplace", "d": 3}, "no kernel 'laplace'"),
        ({"name": "gaussian"}, "needs d"),
        ({"name": "gaussian", "d": 0}, "at least 1"),
        ({"name": "gaussian", "d": 3, "sigma": 1}, "has no sigma"),
        ({"name": "gaussian", "d": 3, "bandwidth": 0}, "positive"),
        ({"name": "polynomial", "d": 3, "degree": 0}, "degree"),
        ({"name": "conjugate", "d": 3, "activation": "erf"}, "has no activation"),
        ({"name": "recursive", "d": 3, "activation": "swish"}, "no dual activation 'swish'"),
        ({"name": "recursive", "d": 3, "activation": "erf", "options": {"a": 1}}, "erf"),
        ({"name": "recursive", "d": 3, "depth": 2, "bias_var": [0.1]}, "one number or 2"),
        ({"name": "tangent", "d": 3, "depth": 0}, "depth"),
        ({"name": "tangent", "d": 3, "train": "last"}, "train must be"),
        ({"name": "tangent", "d": 3, "parameterisation": "mup"}, "parameterisation must be"),
        ({"name": "tangent", "d": 3, "width": 5}, "width"),
    ],
)
def test_wrong_parameters_are_said(words, says):
    with pytest.raises(ValueError, match=says):
        build(**words)
    with pytest.raises(ValueError, match="stays random"):
        of_learner("resnet3", "ntk", 3)
