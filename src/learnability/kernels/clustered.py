"""The direction W* by which paper D proves Proposition C.1, and the margin it has on given data.

A two-layer net f_V(x) = V_2 phi(V_1 x) with Huberized ReLU (1) at its random start, data r-clustered about +-mu:

    S   = {i : 1/2 <= |V_{2,i}| <= 2},   S_+ = {i in S : V_{1,i} . mu >= 4h},   S_- = {i in S : -V_{1,i} . mu >= 4h}
    W*_{1,i} = sign(V_{2,i}) mu / sqrt(|S_+| + |S_-|) for i in S_+ and S_-, other rows 0, W*_2 = 0

|W*| = 1, and with grad_{V_{1,i}} f_V(x) = V_{2,i} phi'(V_{1,i} . x) x

    grad f_V(x_s) . W* = (mu . x_s) sum_{i in S_+, S_-} |V_{2,i}| phi'(V_{1,i} . x_s) / sqrt(|S_+| + |S_-|)     (*)

which the proof bounds on the event E_margin. Its part (c) is |V_{1,i} . (x_s - y_s mu)| <= 2h for all i and s; then
phi' is 1 on the set of the sign y_s and 0 on the other, of which (37) and (39) only use that its terms are at most
1/8 in absolute value. What W* attains is a lower bound on the exact margin of ``kernels/margin.py``, whether or not
E_margin holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from learnability.learners.smoothed import Huber


@dataclass(frozen=True)
class ProofDirection:
    """W* and what it attains on n samples, at width p. All margins are divided by sqrt(p), like gamma."""

    chosen: Tensor  # S: (p,), bool
    plus: Tensor  # S_+: (p,), bool
    minus: Tensor  # S_-: (p,), bool
    rows: Tensor  # c with W*_1 = c mu^T: (p,)
    mu: Tensor  # (d,)
    margins: Tensor  # y_s grad f_V(x_s) . W* / sqrt(p): (n,)
    margin: float  # the least of these
    bound: float  # what the proof says it is at least, if part (c) holds and r <= 1/16
    deviation: float  # max_{i,s} |V_{1,i} . (x_s - y_s mu)| / 2h
    part_c: bool  # deviation <= 1

    @property
    def w1(self) -> Tensor:
        """W*_1: (p, d), of norm 1; W*_2 is 0."""
        return torch.outer(self.rows, self.mu)


def proof_direction(v1: Tensor, v2: Tensor, mu: Tensor, h: float, x: Tensor, y: Tensor) -> ProofDirection:
    """W* of Proposition C.1's proof and its margin min_s y_s grad f_V(x_s) . W* / sqrt(p), by (*).

    v1 (p, d), v2 (p,) or (1, p), mu (d,) of norm 1, x (n, d), y (n,) or (n, 1) of +-1, all taken in float64. Holds
    two (n, p) arrays at a time and never W* or a gradient. The proof's own bound is the least of

        (3 |S_+| - |S_-|) / (8 sqrt(|S_+| + |S_-|))  and  (3 |S_-| - |S_+|) / (8 sqrt(|S_+| + |S_-|))

    for y = 1 and -1, from (36)-(39), over the signs that occur in y. If S_+ and S_- are both empty there is no W*;
    rows, margins and bound are 0 then.
    """
    if not h > 0:
        raise ValueError(f"h must be positive, got {h}")
    if abs(mu.double().norm().item() - 1) > 1e-6:  # float32 rounds by 1e-7
        raise ValueError(f"mu must have norm 1, got {mu.double().norm().item():.6g}")
    v1, v2, mu, x, y = (t.double() for t in (v1, v2.reshape(-1), mu, x, y.reshape(-1)))
    scale = math.sqrt(len(v2))
    size, along = v2.abs(), v1 @ mu  # (p,), (p,)
    chosen = (size >= 0.5) & (size <= 2)
    plus, minus = chosen & (along >= 4 * h), chosen & (-along >= 4 * h)
    used = plus | minus
    root = math.sqrt(max(int(used.sum()), 1))  # sqrt(|S_+| + |S_-|)
    rows = used * v2.sign() / root  # (p,)
    slopes = Huber().slope(x @ v1.T, torch.tensor(h, dtype=torch.float64))  # (n, p)
    margins = y * (x @ mu) * (slopes @ (rows * v2)) / scale  # (n,)
    deviation = ((x - y[:, None] * mu) @ v1.T).abs_().max().item() / (2 * h)
    a, b = int(plus.sum()), int(minus.sum())
    least = min(found for sign, found in ((1, 3 * a - b), (-1, 3 * b - a)) if (y == sign).any())
    bound = least / (8 * root * scale)
    return ProofDirection(
        chosen, plus, minus, rows, mu, margins, margins.min().item(), bound, deviation, deviation <= 1
    )
