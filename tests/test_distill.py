"""INITIAL-DISTILL: what a form W^T W tells of K, its rank, its signs, and where it must give up."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from learnability.training import distill
from learnability.training.distill import cross_block, initial_distill, rank, rest_of
from networks import normal

Q, LAST = 9, slice(5, 9)  # z_l = (rest, layer l-1)
USED = torch.ones(Q)


def features(k: int, seed: int = 0, last: slice = LAST, used: Tensor = USED) -> Tensor:
    """K (k, q) whose blocks of rest and of l-1 have orthonormal rows, mixed: well conditioned."""
    found = torch.zeros(k, Q, dtype=torch.float64)
    rest = rest_of(last, used)
    for part, columns in ((0, rest), (1, torch.arange(Q)[last])):
        width = int(columns.sum()) if columns.dtype == torch.bool else len(columns)
        rows = torch.linalg.qr(normal(width, k, seed=seed + 10 * part))[0].T
        mix = torch.eye(k, dtype=torch.float64) + 0.2 * normal(k, k, seed=seed + 20 + part)
        found[:, columns] = mix @ rows
    return found


def signed(k: Tensor, d: list[float]) -> Tensor:
    """K^T diag(d) K."""
    return k.T * torch.tensor(d, dtype=torch.float64) @ k


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_balanced_gives_back_k_up_to_a_rotation(k, seed):
    truth = features(k, seed)
    found, warm, signs = initial_distill(truth.T @ truth, LAST, USED, room=4)
    assert found == k and warm.shape == (Q, 4) and (signs == 1).all() and (warm[:, k:] == 0).all()
    torch.testing.assert_close(warm @ warm.T, truth.T @ truth, rtol=0, atol=1e-8)
    rotation = torch.linalg.lstsq(truth.T, warm[:, :k]).solution  # warm = K^T U
    torch.testing.assert_close(rotation @ rotation.T, torch.eye(k, dtype=torch.float64), rtol=0, atol=1e-8)
    torch.testing.assert_close(truth.T @ rotation, warm[:, :k], rtol=0, atol=1e-8)
    again = initial_distill((truth.T @ truth).float(), LAST, USED, room=4)[1]
    assert again.dtype == torch.float64 and (again @ again.T - truth.T @ truth).abs().max() < 1e-4


@pytest.mark.parametrize("k", [1, 2, 4])
def test_svd_gives_the_cross_block_only(k):
    """Lines 22-23: K_rest^T = U Sigma^(1/2), K_{l-1} = Sigma^(1/2) V."""
    truth = features(k)
    form = truth.T @ truth
    found, warm, signs = initial_distill(form, LAST, USED, room=4, how="svd")
    assert found == k and (signs == 1).all()
    rest, last = warm[:5], warm[LAST]
    torch.testing.assert_close(rest @ last.T, form[:5, LAST], rtol=0, atol=1e-12)
    values = torch.linalg.svdvals(form[:5, LAST])[:k]
    for part in (rest, last):  # both factors carry half of Sigma
        torch.testing.assert_close(part[:, :k].T @ part[:, :k], values.diag(), rtol=0, atol=1e-12)
    assert (warm @ warm.T - form).norm() > 0.1 * form.norm()


def test_where_the_blocks_are_does_not_matter():
    """Layer l-1 in the middle of z_l; entries that the replica's graph has not stay zero."""
    last, used = slice(2, 5), torch.tensor([0.0, 1, 1, 1, 1, 1, 0, 1, 1])
    truth = features(3, last=last, used=used)
    form = truth.T @ truth
    assert torch.equal(rest_of(last, used).nonzero().flatten(), torch.tensor([1, 5, 7, 8]))
    torch.testing.assert_close(cross_block(form, last, used), form[[1, 5, 7, 8]][:, 2:5])
    for how in ("balanced", "svd"):
        found, warm, _ = initial_distill(form, last, used, room=3, how=how)
        assert found == 3 and (warm[[0, 6]] == 0).all()
        torch.testing.assert_close((warm @ warm.T)[[1, 5, 7, 8]][:, 2:5], form[[1, 5, 7, 8]][:, 2:5])
    noisy = form + (1 - used) * (1 - used)[:, None] + 0.1 * ((1 - used) + (1 - used)[:, None])
    found, warm, _ = initial_distill(noisy, last, used, room=3)
    assert found == 3 and (warm[[0, 6]] == 0).all()
    torch.testing.assert_close(warm @ warm.T, form, rtol=0, atol=1e-8)


def test_rank_counts_singular_values_above_its_threshold():
    values = torch.tensor([5.0, 0.6, 0.4, 0.3, 0.15, 0.11, 0.09, 0.03, 0.02, 0.0], dtype=torch.float64)
    assert rank(values, kappa=1.0, relative=False) == 6  # >= 1/10
    assert rank(values, kappa=2.0, relative=False) == 8  # >= 1/40
    assert rank(values, kappa=0.5, relative=False) == 3  # >= 4/10
    assert rank(values, kappa=1.0, relative=True) == 2  # >= 5/10
    assert rank(values, kappa=2.0, relative=True) == 5  # >= 5/40
    assert rank(values * 1e-6, kappa=2.0, relative=True) == 5 and rank(values * 1e-6, 2.0, False) == 0
    assert rank(torch.zeros(3), 1.0, True) == rank(torch.zeros(3), 1.0, False) == 0
    assert rank(torch.tensor([1.0, 0.25]), kappa=(0.4) ** 0.5, relative=True) == 2  # b itself counts


def test_rank_is_of_the_cross_block():
    """A direction that only W_{l-1} or only W_rest has is not counted, however large."""
    truth = features(2)
    form = truth.T @ truth
    for part in (torch.arange(Q) < 5, torch.arange(Q) >= 5):
        extra = normal(Q, seed=7) * part * 3
        found, _, _ = initial_distill(form + extra.outer(extra), LAST, USED, room=4)
        assert found == 2
    small = truth * torch.tensor([[1.0], [0.25]], dtype=torch.float64)  # its product is 1/16 of the other
    block = torch.linalg.svdvals(cross_block(small.T @ small, LAST, USED))
    assert block[1] / block[0] < 0.1
    assert initial_distill(small.T @ small, LAST, USED, room=4)[0] == 1
    assert initial_distill(small.T @ small, LAST, USED, room=4, kappa=2.0)[0] == 2
    tiny = 1e-3 * form
    assert [initial_distill(tiny, LAST, USED, 4, relative=yes)[0] for yes in (True, False)] == [2, 0]


@pytest.mark.parametrize("d", [[1, -1], [-1, -1], [1, 1, -1], [-1, 1, -1, 1]], ids=str)
def test_negative_neurons_are_recovered(d):
    truth = features(len(d), seed=2)
    form = signed(truth, d)
    found, warm, signs = initial_distill(form, LAST, USED, room=5)
    assert found == len(d)
    assert sorted(signs[:found].tolist()) == sorted(d) and (signs[found:] == 1).all()
    torch.testing.assert_close(warm * signs @ warm.T, form, rtol=0, atol=1e-8)


@pytest.mark.parametrize("d", [[1, 1], [1, -1, 1], [-1, -1, -1]], ids=str)
def test_a_layer_without_skip_links_is_taken_apart_by_its_eigenvalues(d):
    used = torch.zeros(Q)
    used[LAST] = 1.0
    truth = features(len(d))
    truth[:, :5] = 0.0
    form = signed(truth, d)
    torch.testing.assert_close(cross_block(form, LAST, used), form[LAST, LAST])
    for how in ("balanced", "svd"):
        found, warm, signs = initial_distill(form, LAST, used, room=4, how=how)
        assert found == len(d) and sorted(signs[:found].tolist()) == sorted(d) and (signs[found:] == 1).all()
        assert (warm[:5] == 0).all() and (warm[:, found:] == 0).all()
        torch.testing.assert_close(warm * signs @ warm.T, form, rtol=0, atol=1e-8)


@pytest.mark.parametrize("d", [[1, 1], [1, -1, 1]], ids=str)
def test_the_whole_form_gives_back_k_where_its_cross_block_vanishes(d):
    """Section 6.1: W*_{2,0} = 0, so that line 21 finds nothing."""
    for weight in (0.0, 1.0):
        truth = features(len(d))
        truth[:, :5] *= weight
        form = signed(truth, d)
        assert initial_distill(form, LAST, USED, room=4)[0] == weight * len(d)
        found, warm, signs = initial_distill(form, LAST, USED, room=4, how="form")
        assert found == len(d) and sorted(signs[:found].tolist()) == sorted(d)
        torch.testing.assert_close(warm * signs @ warm.T, form, rtol=0, atol=1e-8)


@pytest.mark.parametrize("links", [True, False])
def test_too_little_room_keeps_the_largest(links):
    """All of k_l is reported, the largest singular values are kept."""
    used = torch.ones(Q) if links else (torch.arange(Q) >= 5).float()
    sizes = torch.tensor([[3.0], [2.0], [1.5], [1.0]], dtype=torch.float64)
    rows = torch.linalg.qr(normal(5, 4, seed=1))[0].T, torch.linalg.qr(normal(4, 4, seed=2))[0].T
    truth = torch.cat([rows[0] * links, rows[1]], dim=1) * sizes
    for how in ("balanced", "svd"):
        found, warm, _ = initial_distill(truth.T @ truth, LAST, used, room=2, how=how)
        assert found == 4 and warm.shape == (Q, 2)
        torch.testing.assert_close(warm @ warm.T, truth[:2].T @ truth[:2], rtol=0, atol=1e-8)


@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("used", [torch.ones(Q), (torch.arange(Q) >= 5).float()], ids=("links", "none"))
def test_nothing_gives_nothing(relative, used):
    for how in ("balanced", "svd"):
        found, warm, signs = initial_distill(torch.zeros(Q, Q), LAST, used, 3, relative=relative, how=how)
        assert found == 0 and warm.shape == (Q, 3) and (warm == 0).all() and (signs == 1).all()


def test_a_direction_that_w_rest_hardly_has_is_not_blown_up():
    """C's eigenvalues are taken no smaller than LEAST of the largest; the cross block is met all the same."""
    truth = features(2)
    truth[1, :5] *= 1e-3
    truth[1, LAST] *= 1e3
    form = truth.T @ truth
    found, warm, _ = initial_distill(form, LAST, USED, room=2)
    assert found == 2 and warm.isfinite().all()
    torch.testing.assert_close(warm[:5] @ warm[LAST].T, form[:5, LAST], rtol=0, atol=1e-8)
    assert warm[LAST].norm() < 0.2 * truth[:, LAST].norm() and distill.LEAST == 1e-3
