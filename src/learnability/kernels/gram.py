"""Gram matrices of analytic kernels, tile by tile, and products with them that never hold the matrix.

    K_ij = kernel(<x_i, z_j>, |x_i|^2, |z_j|^2),   x (n, d), z (m, d) or x itself

Without z the matrix is symmetric: tiles on and above the diagonal are computed and mirrored, so K = K^T to the
last bit, and the diagonal is kernel(|x_i|^2, |x_i|^2, |x_i|^2), free of the rounding of <x_i, x_i>.

On {-1, 1}^d a kernel takes d + 1 values only: they are tabulated in float64 and looked up.

Memory. What is held besides x, its squared norms and the result is at most ``block_mb`` (of 2^20 bytes), and what
BLAS keeps for its products (3 MB). Tiles never exceed ``SIDE`` x ``SIDE``, whose arrays stay in cache, however much
is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from learnability.kernels.correlation import Kernel

SIDE = 384
BLOCK_MB = 16.0

Tile = tuple[slice, slice, Tensor]
Evaluate = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def is_hypercube(x: Tensor) -> bool:
    """Whether every entry is +1 or -1, seen in parts: (n, d) -> bool."""
    return all(bool((part.abs() == 1).all()) for part in x.split(4096))


def _side(d: int, arrays: int, dtype: torch.dtype, block_mb: float) -> int:
    """Largest side s with (arrays s^2 + 4 s d) numbers within ``block_mb``, at most SIDE."""
    numbers = block_mb * 2**20 / dtype.itemsize
    side = int((((2 * d) ** 2 + arrays * numbers) ** 0.5 - 2 * d) / arrays)
    if side < 1:
        raise ValueError(f"{block_mb} MB hold no tile of {arrays} arrays and {d} columns")
    return min(side, SIDE)


def _direct(kernel: Kernel, side: int, dtype: torch.dtype) -> Evaluate:
    """Tile from rows x (a, d), z (b, d) and squared norms xx (a), zz (b).

    Buffers are kept: a megabyte from the allocator may come with its pages unmapped, at twice the kernel's cost.
    """
    pool = torch.empty(1 + kernel.workspace, side * side, dtype=dtype)

    def evaluate(x: Tensor, z: Tensor, xx: Tensor, zz: Tensor) -> Tensor:
        shape = len(x), len(z)
        inner, *work = (part[: shape[0] * shape[1]].view(shape) for part in pool)
        torch.mm(x.to(dtype), z.to(dtype).T, out=inner)
        return kernel.overwrite(inner, xx[:, None], zz[None, :], work)

    return evaluate


def _tabulated(kernel: Kernel, d: int, dtype: torch.dtype) -> Evaluate:
    """The same on {-1, 1}^d: entry <x, z> + d of a table. float32 counts are exact."""
    table = kernel.on_hypercube(torch.arange(-d, d + 1, dtype=torch.float64), d).to(dtype)  # every second is used
    shift = torch.tensor(float(d))

    def evaluate(x: Tensor, z: Tensor, xx: Tensor, zz: Tensor) -> Tensor:
        at = torch.addmm(shift, x.float(), z.float().T).int()
        return table.index_select(0, at.flatten()).view(at.shape)

    return evaluate


def tiles(
    kernel: Kernel,
    x: Tensor,
    z: Tensor | None = None,
    dtype: torch.dtype = torch.float64,
    block_mb: float = BLOCK_MB,
) -> Iterator[Tile]:
    """(rows, columns, K[rows, columns]) in turn; without z, tiles on and above the diagonal only.

    The next tile may be written over this one.
    """
    other = x if z is None else z
    d = x.shape[1]
    cube = is_hypercube(x) and (z is None or is_hypercube(other))
    side = _side(d, 1 + max(kernel.tiles, 4), dtype, block_mb)
    evaluate = _tabulated(kernel, d, dtype) if cube else _direct(kernel, side, dtype)
    xx = _squared_norms(x, dtype)
    zz = xx if z is None else _squared_norms(other, dtype)
    for i in range(0, len(x), side):
        rows = slice(i, min(i + side, len(x)))
        for j in range(0 if z is not None else i, len(other), side):
            columns = slice(j, min(j + side, len(other)))
            tile = evaluate(x[rows], other[columns], xx[rows], zz[columns])
            if z is None and i == j:
                tile.triu_().add_(tile.triu(1).T)
                own = xx[rows]
                tile.diagonal().copy_(kernel(own, own, own))
            yield rows, columns, tile


def _squared_norms(x: Tensor, dtype: torch.dtype) -> Tensor:
    """|x_i|^2: (n, d) -> (n,)."""
    return torch.cat([part.to(dtype).square().sum(1) for part in x.split(256)])


def gram(
    kernel: Kernel,
    x: Tensor,
    z: Tensor | None = None,
    dtype: torch.dtype = torch.float64,
    block_mb: float = BLOCK_MB,
) -> Tensor:
    """K: x (n, d), z (m, d) -> (n, m); without z (n, n), symmetric."""
    result = torch.empty(len(x), len(x if z is None else z), dtype=dtype)
    for rows, columns, tile in tiles(kernel, x, z, dtype, block_mb):
        result[rows, columns] = tile
        if z is None and rows != columns:
            result[columns, rows] = tile.T
    return result


def gram_times(
    kernel: Kernel,
    x: Tensor,
    vectors: Tensor,
    z: Tensor | None = None,
    dtype: torch.dtype = torch.float64,
    block_mb: float = BLOCK_MB,
) -> Tensor:
    """K vectors, each tile used and dropped: x (n, d), z (m, d) or x, vectors (m, k) -> (n, k)."""
    vectors = vectors.to(dtype)
    result = torch.zeros(len(x), vectors.shape[1], dtype=dtype)
    for rows, columns, tile in tiles(kernel, x, z, dtype, block_mb):
        result[rows].addmm_(tile, vectors[columns])
        if z is None and rows != columns:
            result[columns].addmm_(tile.T, vectors[rows])
    return result
