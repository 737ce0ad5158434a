"""INITIAL-DISTILL of paper A's Algorithm 1: k_l by a rank, and a warm start of K_l from W_l.

Line 21: k_l = rank_b(W_{l,rest}^T W_{l,l-1}) with b = 1/(10 kappa^2), the number of singular values >= b. Only this
block is determined by the loss: (R_j S_j)^2 (R_j S_j)^2 has linear dependencies, so W_{l,l-1}^T W_{l,l-1} is not.
The rule supposes that all W* are of size 1. In practice they are not (E||S_l||^2 = k_l is what makes a network well
scaled, and makes W*_4 a tenth of that under N(0, I)), so that b is taken of the largest singular value
(``relative``).

``svd`` is lines 22-23, U Sigma V = k_l-SVD of the block, K_rest^T = U Sigma^(1/2), K_{l-1} = Sigma^(1/2) V. It fits
the block, but any (M^-T K_rest, M K_{l-1}) does as well, and regularisation must then find the M that the features
have: measured, the objective jumps and takes thousands of steps to come back.

``balanced`` takes the M for which K_rest^T K_rest = W_rest^T W_rest on the range of U, too:
with C = Sigma^(-1/2) U^T W_rest^T W_rest U Sigma^(-1/2), K_rest = C^(1/2) Sigma^(1/2) U^T and K_{l-1} =
C^(-1/2) Sigma^(1/2) V.

Where J_l = {l-1} alone there is no such block; W_{l,l-1}^T W_{l,l-1} takes its place.

``form`` takes k_2 and K_2 from the whole of W_2^T W_2, which the loss does determine at l = 2, and is ``balanced``
above: for the examples of Section 6.1 and (1.2), whose W*_{2,0} = 0 makes the block of line 21 vanish.
"""

from __future__ import annotations

import torch
from torch import Tensor

LEAST = 1e-3  # of the eigenvalues of C, relative to the largest: a direction that W_rest hardly has is not blown up


def rank(values: Tensor, kappa: float, relative: bool) -> int:
    """rank_b of singular values in falling order: how many are >= b = 1/(10 kappa^2), line 21 (times the
    largest).
    """
    threshold = 1 / (10 * kappa**2) * (values[0].item() if relative and len(values) else 1.0)
    return int(((values >= threshold) & (values > 0)).sum())


def cross_block(form: Tensor, last: slice, used: Tensor) -> Tensor:
    """W_{l,rest}^T W_{l,l-1} of a form W_l^T W_l (q, q); the whole form where nothing but l-1 is ``used`` (q,)."""
    rest = rest_of(last, used)
    return form[rest][:, last] if bool(rest.any()) else form[last, last]


def rest_of(last: slice, used: Tensor) -> Tensor:
    """Mask (q,) of what z_l holds beside the layer before."""
    rest = used.bool().clone()
    rest[last] = False
    return rest


def initial_distill(
    form: Tensor,
    last: slice,
    used: Tensor,
    room: int,
    kappa: float = 1.0,
    relative: bool = True,
    how: str = "balanced",
) -> tuple[int, Tensor, Tensor]:
    """(k_l, K_l^T (q, room), signs (room,)) from form = W_l^T D W_l (q, q), in float64.

    ``last``: where z_l holds layer l-1; ``used``: which entries of z_l the replica's graph has. k_l may exceed
    ``room``: then the largest singular values are kept. Signs are +1 unless C has negative eigenvalues
    (footnote 7).
    """
    form = form.double()
    if how == "form":
        last, used = slice(0, len(form)), torch.ones(len(form))
    block, rest = cross_block(form, last, used), rest_of(last, used)
    found = rank(torch.linalg.svdvals(block), kappa, relative)
    k = min(found, room)
    warm, signs = form.new_zeros(len(form), room), form.new_ones(room)
    if not k:
        return found, warm, signs
    u, s, v = torch.linalg.svd(block, full_matrices=False)
    u, s, v = u[:, :k], s[:k], v[:k]
    if not bool(rest.any()):
        eigenvalues, vectors = torch.linalg.eigh(block)
        top = eigenvalues.abs().argsort(descending=True)[:k]
        warm[last, :k] = vectors[:, top] * eigenvalues[top].abs().sqrt()
        signs[:k] = eigenvalues[top].sign()
        return found, warm, signs
    left, right = u * s.sqrt(), v.T * s.sqrt()  # (rest, k), (last, k)
    if how == "balanced":
        half = u / s.sqrt()
        eigenvalues, vectors = torch.linalg.eigh(half.T @ form[rest][:, rest] @ half)  # C
        size = eigenvalues.abs()
        size = size.clamp(min=LEAST * max(size.max().item(), 1e-30)).sqrt()
        left, right = left @ (vectors * size), right @ (vectors / size)
        signs[:k] = torch.where(eigenvalues < 0, -1.0, 1.0)
        right = right * signs[:k]
    warm[rest, :k], warm[last, :k] = left, right
    return found, warm, signs
