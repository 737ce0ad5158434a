"""Gram matrices: tiles, symmetry, definiteness, memory; and the ridge path from one of them."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from sklearn.kernel_ridge import KernelRidge

from kernel_cases import CASES, case, normal, pairs
from learnability.bench import gram as bench
from learnability.kernels.analytic import build
from learnability.kernels.gram import gram, gram_times, is_hypercube, tiles
from learnability.kernels.ridge import ridge_dense, ridge_gram

WDS = [1e-3, 0.01, 0.3]


@pytest.mark.parametrize("cube", [False, True], ids=["reals", "hypercube"])
@pytest.mark.parametrize("name", CASES)
def test_symmetric_positive_and_the_formula(name, cube):
    x = normal(80, 6)
    x = torch.cat([x, x[:5], -x[:5]])  # equal and opposite points
    x = x.sign() if cube else x
    kernel = case(name, 6)
    k = gram(kernel, x)
    torch.testing.assert_close(k, pairs(kernel, x), rtol=1e-12, atol=1e-12 * k.abs().max().item())
    assert torch.equal(k, k.T)
    values = torch.linalg.eigvalsh(k)
    assert values.min() > -1e-8 * values.max()  # arccos near 1: sqrt(eps) on nearly equal points
    if cube:
        assert values.min() > -1e-13 * values.max()


@pytest.mark.parametrize("block_mb", [0.02, 0.3, 16.0])
@pytest.mark.parametrize("cube", [False, True], ids=["reals", "hypercube"])
def test_tiles_are_of_no_consequence(cube, block_mb):
    kernel, x, z, v = case("tangent-2", 9), normal(700, 9), normal(450, 9, seed=1), normal(700, 3, seed=2)
    x, z = (x.sign(), z.sign()) if cube else (x, z)
    whole, mixed = gram(kernel, x, block_mb=1000.0), gram(kernel, x, z, block_mb=1000.0)
    torch.testing.assert_close(gram(kernel, x, block_mb=block_mb), whole, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(gram(kernel, x, z, block_mb=block_mb), mixed, rtol=1e-13, atol=1e-13)
    product = gram_times(kernel, x, v, block_mb=block_mb)
    torch.testing.assert_close(product, whole @ v, rtol=1e-11, atol=1e-11)
    product = gram_times(kernel, z, v, x, block_mb=block_mb)
    torch.testing.assert_close(product, mixed.T @ v, rtol=1e-11, atol=1e-11)


def test_half_of_a_symmetric_matrix_is_computed():
    x = normal(2000, 5)
    made = sum(tile.numel() for _, _, tile in tiles(case("gaussian", 5), x))
    assert made < 0.62 * 2000**2


@pytest.mark.parametrize("cube", [False, True], ids=["reals", "hypercube"])
@pytest.mark.parametrize("name", ["gaussian", "conjugate-3", "tangent-3-all", "residual-tangent"])
def test_float32(name, cube):
    x = normal(200, 20).sign() if cube else normal(200, 20)
    kernel = case(name, 20)
    single, double = gram(kernel, x.float(), dtype=torch.float32), gram(kernel, x)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), double, rtol=1e-5, atol=1e-6)


def test_inputs_are_left_alone_and_any_type_is_taken():
    x = normal(50, 6).sign()
    before, kernel = x.clone(), case("tangent-2", 6)
    k = gram(kernel, x)
    assert torch.equal(x, before) and is_hypercube(x) and not is_hypercube(2 * x)
    assert torch.equal(gram(kernel, x.to(torch.int8)), k)
    with pytest.raises(ValueError, match="hold no tile"):
        gram(kernel, x, block_mb=1e-5)


@pytest.mark.parametrize("how", ["gram", "gram_times"])
def test_memory_stays_within_the_block(how):
    """A process of its own at n = 6000, K of 275 MB; 4 MB are left to BLAS and the interpreter."""
    for block_mb in (4.0, 24.0):
        done = subprocess.run(
            [sys.executable, "-c", bench.MEMORY, how, "6000", str(block_mb)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert 1 < float(done.stdout) <= block_mb + 4


def test_bench_peer_computes_the_same_kernel():
    x = normal(60, bench.D)
    kernel = build("tangent", d=bench.D, depth=2)
    torch.testing.assert_close(torch.from_numpy(bench.plain_tangent(x.numpy())), gram(kernel, x))


@pytest.mark.parametrize("name", ["gaussian", "tangent-2", "residual-tangent"])
def test_ridge_path_is_scikit_learns(name):
    x, y, new, kernel = normal(40, 6), normal(40, 3, seed=1), normal(9, 6, seed=2), case(name, 6)
    k, across = gram(kernel, x), gram(kernel, new, x)
    path = ridge_gram(k, y, WDS)
    assert path.shape == (3, 40, 3)
    for w, c in zip(WDS, path, strict=True):
        peer = KernelRidge(alpha=40 * w, kernel="precomputed").fit(k, y)
        torch.testing.assert_close(c, torch.from_numpy(peer.dual_coef_), rtol=1e-8, atol=1e-8)
        torch.testing.assert_close(across @ c, torch.from_numpy(peer.predict(across)), rtol=1e-8, atol=1e-8)


def test_ridge_path_is_that_of_the_features():
    phi, y = normal(30, 12), normal(30, 2, seed=1)
    c = ridge_gram(phi @ phi.T, y, WDS)
    torch.testing.assert_close(phi.T @ c, ridge_dense(phi, y, WDS), rtol=1e-8, atol=1e-10)
    half = ridge_gram(phi @ phi.T, y, [0.1], n_samples=60)
    torch.testing.assert_close(half, ridge_gram(phi @ phi.T, y, [0.2]))
