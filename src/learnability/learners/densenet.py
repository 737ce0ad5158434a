"""Quadratic DenseNets with distillation: the learner of paper A, (2.1)-(2.2), as a stack of replicas.

    z_l = (u_j)_{j in J_l},  u_0 = x,  u_1 = x^2 - E[x^2],  u_j = sigma~(R_j S_j),  S_l = K_l z_l,  F_l =
    sigma(W_l z_l)
    F~(x) = sum_l alpha_l Sum(F_l) = sum_l alpha_l z_l^T P_l z_l,    P_l = W_l^T W_l

R_l is fixed, W_l and K_l are trained. F (the final network) has sigma in place of sigma~. Only P_l enters the loss,
so a step costs O(q_l^2) a sample however large the over-parameterisation m is.

With signs (footnote 7) half of the rows of W_l count negative: P_l = W_l^T D W_l, and K_l^T D' K_l stands for
K_l^T K_l throughout, D' found when K_l is distilled.

Shapes. r replicas, B points, q_l entries of z_l. Weights are stored transposed, W_l (r, q_l, m), K_l (r, q_l, k_l),
R_l (r, rows_l, k_l). k_l is the room for hidden features: a replica that has fewer leaves the last columns of K_l
and R_l zero, where all gradients then are zero too. A replica's own graph is a mask on z_l.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

Tensors = dict[str, Tensor]


def truncated_square(z: Tensor, bound: float) -> Tensor:
    """sigma~(z): z^2 for |z| <= B', 16/7 B'^2 for |z| >= 2B', and in between with the derivative

        sigma~'(z) = 2 z (1 - s(t)),   t = |z|/B' - 1,   s(t) = 10 t^3 - 15 t^4 + 6 t^5,

    so that sigma~ is monotone in |z| and three times differentiable, |sigma~'| <= 4 B', |sigma~''| <= 9.5,
    |sigma~'''| <= 40 / B' (all O(B') for B' >= 1, as Section 2 asks).
    """
    size = z.abs()
    if not bool((size > bound).any()):
        return z.square()
    t = (size / bound - 1).clamp(0, 1)
    # integral of (1 + u) (1 - s(u)) over [0, t]
    grown = t + t**2 / 2 - t**4 * (2.5 - 3 * t + t**2) - t**5 * (2 - 2.5 * t + 6 / 7 * t**2)
    return size.clamp(max=bound).square() + 2 * bound**2 * grown


def truncated_slope(z: Tensor, bound: float) -> Tensor:
    """sigma~'(z)."""
    t = z.abs()
    if not bool((t > bound).any()):
        return 2 * z
    t = (t / bound - 1).clamp(0, 1)
    return 2 * z * (1 - t**3 * (10 - 15 * t + 6 * t**2))


@dataclass(frozen=True)
class Learner:
    """Sizes of the network; it holds no weights.

    ``graph[l-2]`` is J_l (of all replicas together), ``widths[l-2]`` the room for k_l, ``rows[l-2]`` the rows of
    R_l (binom(k_l + 1, 2) in the paper), ``m[l-2]`` the width of W_l, ``bound`` B'.
    """

    d: int
    widths: tuple[int, ...]
    graph: tuple[tuple[int, ...], ...]
    m: tuple[int, ...]
    rows: tuple[int, ...]
    bound: float
    parts: dict[int, dict[int, slice]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found: dict[int, dict[int, slice]] = {}
        for layer, sources in self.layers():
            start, found[layer] = 0, {}
            for j in sorted(sources):
                found[layer][j] = slice(start, start + self._size(j))
                start += self._size(j)
        object.__setattr__(self, "parts", found)

    def layers(self) -> list[tuple[int, tuple[int, ...]]]:
        """(l, J_l) for l = 2..L."""
        return list(enumerate(self.graph, start=2))

    def _size(self, j: int) -> int:
        return self.d if j < 2 else self.rows[j - 2]

    def inputs(self, layer: int) -> int:
        """q_l, the entries of z_l."""
        return max(part.stop for part in self.parts[layer].values())

    def shapes(self) -> dict[str, tuple[int, int]]:
        """What is trained, without the replica dimension: W2, K2, W3, ..."""
        found = {}
        for layer, _ in self.layers():
            found[f"W{layer}"] = (self.inputs(layer), self.m[layer - 2])
            found[f"K{layer}"] = (self.inputs(layer), self.widths[layer - 2])
        return found

    def column_signs(self, layer: int, signed: bool, like: Tensor) -> Tensor:
        """D of W_l, (m,): the second half is negative with signs."""
        m = self.m[layer - 2]
        ones = torch.ones(m, dtype=like.dtype, device=like.device)
        return torch.where(torch.arange(m, device=like.device) < (m + 1) // 2, ones, -ones) if signed else ones

    def forward(self, p: Tensors, x: Tensor, quadratic: bool = True) -> tuple[Tensor, dict[int, Tensor]]:
        """F(x) (or F~(x)), (r, B), and the features S_l, (r, B, k_l), of x (r, B, d)."""
        tape = self.run(p, x, float("inf") if quadratic else self.bound)
        return tape.out, {layer: tape.s[layer] for layer, _ in self.layers()}

    def run(self, p: Tensors, x: Tensor, bound: float) -> Tape:
        """The forward pass with all that the gradient needs.

        ``p`` holds W_l, K_l, R_l, mask_l (r, 1, q_l), ``alpha`` (r, L-1), ``centre`` (d,) and signs D_l (m,).
        """
        u = {0: x, 1: x.square() - p["centre"]}
        tape = Tape(x.new_zeros(x.shape[:2]))
        used = {j for _, sources in self.layers() for j in sources}
        for layer, sources in self.layers():
            z = torch.cat([u[j] for j in sorted(sources)], dim=-1) * p[f"mask{layer}"]  # (r, B, q)
            w = p[f"W{layer}"]
            zp = z @ ((w * p[f"D{layer}"]) @ w.mT)  # z P
            tape.out = tape.out + p["alpha"][:, layer - 2, None] * torch.linalg.vecdot(zp, z)
            s = z @ p[f"K{layer}"]  # (r, B, k)
            tape.z[layer], tape.zp[layer], tape.s[layer] = z, zp, s
            if layer in used:
                tape.t[layer] = s @ p[f"R{layer}"].mT  # (r, B, rows)
                u[layer] = truncated_square(tape.t[layer], bound)
        return tape

    def gradient(self, p: Tensors, tape: Tape, r: Tensor, into: Tensors) -> None:
        """Write d Loss / dW_l and dK_l into ``into``, given r = dLoss/dF~ (r, B)."""
        ds: dict[int, Tensor] = {}
        for layer, sources in reversed(self.layers()):
            z, k = tape.z[layer], p[f"K{layer}"]
            weight = (r * p["alpha"][:, layer - 2, None])[..., None]  # (r, B, 1)
            form = (z * weight).mT @ z  # dLoss/dP, symmetric
            torch.bmm(form, p[f"W{layer}"], out=into[f"W{layer}"]).mul_(2 * p[f"D{layer}"])
            if layer in ds:
                torch.bmm(z.mT, ds[layer], out=into[f"K{layer}"])
            else:
                into[f"K{layer}"].zero_()
            for j in (j for j in sources if j >= 2):
                part = self.parts[layer][j]
                du = tape.zp[layer][..., part] * (2 * weight)
                if layer in ds:
                    du = du + ds[layer] @ k[:, part].mT
                du = du * p[f"mask{layer}"][..., part]
                dt = du * truncated_slope(tape.t[j], self.bound)
                back = dt @ p[f"R{j}"]  # (r, B, k_j)
                ds[j] = ds[j] + back if j in ds else back

    def regulariser(self, p: Tensors, lambdas: Tensor, into: Tensors | None = None) -> Tensor:
        """Reg(W, K) of Section 2.2 for each replica, (r,); its gradient is added to ``into``.

        ``lambdas`` (r, L-1, 4): lambda_{3..6, l}. With E = K^T K - W^T W (q, q), the first three terms are sum_ab
        M_ab E_ab^2: M is lambda_5, plus lambda_4 in the block (l-1, l-1), plus half of lambda_3 in each of the
        blocks (l-1, rest) and (rest, l-1), which are one another's transpose.
        """
        total = lambdas.new_zeros(len(lambdas))
        for layer, _ in self.layers():
            w, k = p[f"W{layer}"], p[f"K{layer}"]
            l3, l4, l5, l6 = lambdas[:, layer - 2, :, None, None].unbind(1)
            last = self.parts[layer][layer - 1]
            inside = w.new_zeros(w.shape[1])
            inside[last] = 1.0
            both, cross = inside[:, None] * inside, (inside[:, None] - inside).abs()
            weights = l5 + l4 * both + l3 / 2 * cross  # (r, q, q)
            k_signed, w_signed = k * p[f"E{layer}"], w * p[f"D{layer}"]
            gap = k_signed @ k.mT - w_signed @ w.mT
            scaled = weights * gap
            total = (
                total + (scaled * gap).sum((1, 2)) + l6[:, 0, 0] * (w.square().sum((1, 2)) + k.square().sum((1, 2)))
            )
            if into is not None:
                into[f"K{layer}"].baddbmm_(scaled, k_signed, alpha=4).addcmul_(k, 2 * l6)
                into[f"W{layer}"].baddbmm_(scaled, w_signed, alpha=-4).addcmul_(w, 2 * l6)
        return total


@dataclass
class Tape:
    """What a forward pass leaves behind, by layer."""

    out: Tensor
    z: dict[int, Tensor] = field(default_factory=dict)
    zp: dict[int, Tensor] = field(default_factory=dict)
    s: dict[int, Tensor] = field(default_factory=dict)
    t: dict[int, Tensor] = field(default_factory=dict)


def mixing(k: int, rows: int, draws: int, generator: torch.Generator) -> Tensor:
    """R_l (rows, k) with entries N(0, 1/k^2): of ``draws`` tries the one that conditions the features best.

    Layer l+1 sees (<r_i, S>^2)_i, a linear image of the binom(k+1, 2) products S_a S_b; its condition number is
    what the speed of learning depends on. The paper takes one draw.
    """
    best, least = None, float("inf")
    index = torch.triu_indices(k, k)
    scale = torch.where(index[0] == index[1], 1.0, 2**0.5).double()
    for _ in range(draws):
        r = torch.randn(rows, k, generator=generator, dtype=torch.float64) / k
        products = (r[:, index[0]] * r[:, index[1]]) * scale  # (rows, binom(k+1, 2)), orthonormal coordinates
        condition = torch.linalg.cond(products).item()
        if condition < least:
            best, least = r, condition
    return best


def binom2(k: int) -> int:
    """binom(k + 1, 2)."""
    return k * (k + 1) // 2


def union(graphs: Sequence[Sequence[Sequence[int]]]) -> tuple[tuple[int, ...], ...]:
    """The graph that holds every one of ``graphs``: J_l of each laid together."""
    return tuple(tuple(sorted(set().union(*layers))) for layers in zip(*graphs, strict=True))
