"""Spectra against the Fourier transform over the whole cube, and risks against enumeration."""

from __future__ import annotations

import math

import pytest
import torch

from kernel_cases import CASES, case
from learnability.kernels import hypercube
from learnability.kernels.arithmetic import exact
from learnability.kernels.gram import gram
from learnability.kernels.ridge import ridge_gram
from learnability.teachers.parity import Teacher


def cube(d: int) -> torch.Tensor:
    """All points: (2^d, d)."""
    return 1.0 - 2.0 * ((torch.arange(1 << d)[:, None] >> torch.arange(d)) & 1).double()


def test_krawtchouk_polynomials():
    d = 9
    table = hypercube.krawtchouk(d)
    for j in range(d + 1):
        for s in range(d + 1):
            terms = [(-1) ** i * math.comb(s, i) * math.comb(d - s, j - i) for i in range(min(s, j) + 1)]
            assert table[j][s] == sum(terms)
    last = hypercube.krawtchouk(100)
    assert last[50][0] == math.comb(100, 50) and sum(last[j][3] for j in range(101)) == 0


@pytest.mark.parametrize("name", CASES)
def test_spectrum_is_the_fourier_transform(name):
    """lambda_S^2 = E_x K(x, 1) chi_S(x) for every S, from all 2^8 points; Proposition E.1."""
    d = 8
    x, kernel = cube(d), case(name, d)
    k = kernel.on_hypercube(x.sum(1))  # <x, 1>
    parities = torch.stack([(x[:, bits == -1]).prod(1) for bits in x])  # S: the -1 of a point; (2^d, 2^d)
    transformed, degrees = parities @ k / 2**d, (x == -1).sum(1)
    found = hypercube.spectrum(kernel)
    size = k.abs().max()
    torch.testing.assert_close(found[degrees], transformed, rtol=0, atol=1e-14 * size)
    assert (hypercube.multiplicities(d) * found).sum().item() == pytest.approx(k[0].item(), rel=1e-13)
    assert found.min() > -1e-16 * size  # positive semi-definite
    profile = hypercube.inverse(found)
    torch.testing.assert_close(profile, k[(1 << torch.arange(d + 1)) - 1], rtol=0, atol=1e-14 * size)


@pytest.mark.parametrize("d", [30, 100])
@pytest.mark.parametrize("name", ["gaussian", "conjugate-3", "tangent-2", "residual-tangent", "recursive-erf"])
def test_spectrum_to_double_precision(name, d, monkeypatch):
    """Twice the digits change nothing, at degrees whose eigenvalues are 1e-170 too."""
    kernel = case(name, d)
    found = hypercube.spectrum(kernel)
    trace = (hypercube.multiplicities(d) * found).sum().item()
    assert trace == pytest.approx(kernel.on_hypercube(torch.tensor(float(d)).double()).item(), rel=1e-13)
    monkeypatch.setattr(hypercube, "exact", lambda digits: exact(2 * digits))
    torch.testing.assert_close(found, hypercube.spectrum(kernel), rtol=1e-15, atol=0)


def test_spectra_known_in_closed_form():
    d = 100
    kernel = case("gaussian", d)  # a product over coordinates: (1 + q)^{d-s} (1 - q)^s / 2^d, q = e^{-4/h}
    less = -math.expm1(-4 / (0.7 * d))  # 1 - q
    expected = torch.tensor(
        [(1 - less / 2) ** (d - s) * (less / 2) ** s for s in range(d + 1)], dtype=torch.float64
    )
    torch.testing.assert_close(hypercube.spectrum(kernel), expected, rtol=1e-12, atol=0)
    polynomial = hypercube.spectrum(case("polynomial", d))
    assert (polynomial[5:] == 0).all() and polynomial[4].item() == pytest.approx(24 / d**4, rel=1e-14)
    odd = hypercube.spectrum(case("arcsin", d))
    assert (odd[::2] == 0).all() and (odd[1::2] > 0).all()


def test_transform_of_doubles_keeps_its_bound():
    """Rounded values of the kernel: errors below eps kappa(d) / sqrt(C(d, s)), and no better is possible."""
    d = 100
    kernel = case("tangent-2", d)
    values = kernel.on_hypercube(torch.arange(d, -d - 1, -2).double())
    error = (hypercube.transform(values) - hypercube.spectrum(kernel)).abs()
    assert (error <= 1e-15 * values[0] / hypercube.multiplicities(d).sqrt()).all()
    assert (hypercube.multiplicities(d) * error).max() > 1e-4 * values[0]  # why ``spectrum`` takes more digits


def test_kernel_from_a_spectrum():
    eigenvalues = hypercube.spectrum(case("tangent-2", 7))
    kernel = hypercube.Profile.of_spectrum(eigenvalues)
    x = cube(7)[::3]
    torch.testing.assert_close(gram(kernel, x), gram(case("tangent-2", 7), x), rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(hypercube.spectrum(kernel), eigenvalues, rtol=0, atol=1e-15)
    with pytest.raises(ValueError, match="8 values"):
        hypercube.Profile(7, (1.0, 2.0))


@pytest.mark.parametrize("name", ["gaussian", "polynomial", "tangent-2", "residual-tangent", "conjugate-3"])
def test_population_risk_is_enumeration(name):
    d, n, wds = 10, 60, [1e-6, 1e-3, 0.1]
    teacher = Teacher(d=d, k=4, alpha=0.3, f_degree=1)
    x = teacher.inputs(n, torch.Generator().manual_seed(3)).double()
    kernel = case(name, d)
    c = ridge_gram(gram(kernel, x), teacher(x), wds)
    found = hypercube.population_risk(hypercube.spectrum(kernel), x, c, teacher.expansion())
    everywhere = cube(d)
    predicted = gram(kernel, everywhere, x) @ c  # (len(wds), 2^d, k)
    expected = (predicted - teacher(everywhere)).square().mean(1)
    assert found.shape == (3, 4)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    one = hypercube.population_risk(hypercube.spectrum(kernel), x, c[1], teacher.expansion())
    torch.testing.assert_close(one, found[1], rtol=1e-10, atol=1e-13)


def test_population_risk_of_nothing_and_of_everything():
    d = 6
    teacher, x, kernel = Teacher(d=d, k=4, alpha=0.3, f_degree=1), cube(d), case("gaussian", d)
    eigenvalues = hypercube.spectrum(kernel)
    nothing = hypercube.population_risk(eigenvalues, x, torch.zeros(64, 4), teacher.expansion())
    torch.testing.assert_close(nothing, torch.full((4,), 1.09).double())
    c = ridge_gram(gram(kernel, x), teacher(x), [0.0])
    assert hypercube.population_risk(eigenvalues, x, c, teacher.expansion()).abs().max() < 1e-12
    with pytest.raises(ValueError, match="only"):
        hypercube.population_risk(eigenvalues, 2 * x, c, teacher.expansion())
