"""What paper D says of the way down, measured along the gradient flow: Theorem 3.1, Lemmas 4.2-4.5 and (I1)-(I3).

Everything is a natural logarithm. A *slack* is log(greater side / lesser side) of an inequality: negative where it
fails. t counts steps of size alpha from t = 1; s = log(J_1 / J_t) is how far the loss has fallen, so that Theorem
3.1 says (e^s - 1) / (Q (t - 1)) >= 1 at every s, its slack being the logarithm of that.

Flow and steps: with M bounding Lip(grad J) on the way, a step of alpha lowers J by alpha |grad J|^2 up to a
relative error of alpha M / 2 (Taylor), and the flow in the same time up to alpha M (its speed |grad J|^2 changes at
a rate of at most 2 M |grad J|^2 a unit of flow time). So the two differ by at most 3 alpha M / 2 of each step's
fall, from one and the same point; alpha M is measured at every probe.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy
import torch
from torch import Tensor

from learnability.learners.logistic import Data, Learner
from learnability.seeding import stream
from learnability.theory import paper_d

Logs = dict[str, numpy.ndarray]
LANCZOS = 30  # Krylov dimensions: the largest eigenvalue stands out by 1/h, tests hold it against dense ones
SPENT = 1e-10  # of the norm: a Krylov space that grows by less has all that there is


@dataclass(frozen=True)
class Start:
    """A stack at t = 1, and what (3a)-(3c) make of it; (R,) each but v."""

    network: Learner
    data: Data
    v: Tensor  # (R, P)
    log_loss: numpy.ndarray
    norm: numpy.ndarray
    log_alpha: numpy.ndarray
    log_q: numpy.ndarray

    @classmethod
    def of(cls, network: Learner, v: Tensor, data: Data, alpha_times: Tensor) -> Start:
        """alpha = ``alpha_times`` alpha_max(h) (3b), Q = Q~(alpha) (3c)."""
        log_loss, norm = network.log_loss(v, data).cpu().numpy(), v.norm(dim=1).cpu().numpy()
        shape = (network.depth, network.width)
        most = paper_d.log_alpha_max(data.h.cpu().numpy(), *shape, norm, log_loss)
        log_alpha = most + numpy.log(alpha_times.cpu().numpy())
        return cls(
            network, data, v, log_loss, norm, log_alpha, paper_d.log_q_tilde(log_alpha, shape[0], norm, log_loss)
        )

    @property
    def h(self) -> numpy.ndarray:
        return self.data.h.cpu().numpy()

    def hypotheses(self) -> Logs:
        """Slacks of Theorem 3.1's: J_1 < n^-(1+24L), h < h_max; alpha / alpha_max is chosen."""
        depth, width, n = self.network.depth, self.network.width, self.data.y.shape[1]
        return {
            "slack_loss": paper_d.log_threshold(n, depth) - self.log_loss,
            "slack_h": numpy.log(paper_d.h_max(depth, width, self.norm, self.log_loss)) - numpy.log(self.h),
        }

    def slack(self, s: numpy.ndarray, log_elapsed: numpy.ndarray) -> numpy.ndarray:
        """log of (e^s - 1) / (Q (t - 1)): Theorem 3.1's slack where the loss has fallen by s at t."""
        with numpy.errstate(divide="ignore", invalid="ignore"):
            return s + numpy.log(-numpy.expm1(-s)) - self.log_q - log_elapsed


def hessian_norm(network: Learner, v: Tensor, data: Data) -> Tensor:
    """log of |grad^2 J| (R,), the local Lipschitz constant of grad J, by Lanczos' iteration from a fixed start.

    grad^2 J = J (grad^2 log J + g g^T) with g = grad log J; products with grad^2 log J are derivatives of g . w,
    exact.
    """
    with torch.enable_grad():
        at = v.detach().requires_grad_()
        log_loss, slope = network.gradient(at, data)
    log_loss, g = log_loss.detach(), slope.detach()

    def product(w: Tensor) -> Tensor:
        (found,) = torch.autograd.grad(slope, at, w, retain_graph=True)
        return found + g * (g * w).sum(1, keepdim=True)

    q = torch.randn(v.shape, generator=stream("hessian"), dtype=v.dtype).to(v.device)
    basis = [q / q.norm(dim=1, keepdim=True)]
    diagonal, beside, largest = [], [], torch.zeros_like(log_loss)
    for _ in range(min(LANCZOS, v.shape[1])):
        w = product(basis[-1])
        largest = largest.maximum(w.norm(dim=1))
        diagonal.append((w * basis[-1]).sum(1))
        held = torch.stack(basis, dim=1)  # (R, k, P)
        for _ in range(2):  # twice is enough (Kahan, in Parlett's 'The Symmetric Eigenvalue Problem', 6.9)
            w = w - (held.mT @ (held @ w[..., None])).squeeze(-1)
        left = w.norm(dim=1)
        left = left.where(left > SPENT * largest, 0.0)  # rounding is all that is left of an invariant space
        beside.append(left)
        basis.append((w / left[:, None]).where(left[:, None] > 0, 0.0))
    small = torch.diag_embed(torch.stack(diagonal, dim=1))
    off = torch.diag_embed(torch.stack(beside[:-1], dim=1), offset=1)
    return torch.linalg.eigvalsh(small + off + off.mT).abs().amax(1).log() + log_loss


def along(start: Start, v: Tensor, log_loss: Tensor, log_elapsed: Tensor) -> Logs:
    """Theorem 3.1, (I2), (I3), Lemmas 4.3 and 4.5 and what they are made of, at weights v (R, P) of the way."""
    network, data = start.network, start.data
    depth, width = network.depth, network.width
    loss, elapsed = log_loss.cpu().numpy(), log_elapsed.cpu().numpy()
    norm = v.norm(dim=1).cpu().numpy()
    log_grad = network.gradient(v, data)[1].norm(dim=1).log().cpu().numpy() + loss
    fallen = start.log_loss - loss
    return {
        "fallen": fallen,
        "log_loss": loss,
        "log_t": numpy.logaddexp(0.0, elapsed),
        "norm": norm,
        "log_grad": log_grad,
        "I1": start.slack(fallen, elapsed),
        "I2": paper_d.i2(depth, norm, loss, start.norm, start.log_loss).slack,
        "I3": paper_d.i3(start.log_alpha, start.h, depth, width, norm, loss).slack,
        "4.3": paper_d.lemma_4_3(depth, width, norm, loss) - log_grad,
        "4.5": log_grad - paper_d.lemma_4_5(depth, norm, loss),
    }


def probe(start: Start, v: Tensor, log_loss: Tensor) -> Logs:
    """Lemmas 4.2 and 4.4, whose sides need the Hessian and an exact step, at weights v (R, P) of the way."""
    network, data = start.network, start.data
    depth, width = network.depth, network.width
    loss, norm, h = log_loss.cpu().numpy(), v.norm(dim=1).cpu().numpy(), start.h
    lip = hessian_norm(network, v, data).cpu().numpy()
    _, g = network.gradient(v, data)
    step = -g * torch.exp(torch.as_tensor(start.log_alpha).to(g) + log_loss)[:, None]
    change, _ = network.change(v, step, data)
    log_grad = g.norm(dim=1).log().cpu().numpy() + loss
    fall = loss + torch.log((-change).where(change < 0, 0.0)).cpu().numpy()  # NaN rose beyond all floats
    return {
        "4.2": paper_d.lemma_4_2(h, depth, width, norm, loss) - lip,
        "4.4": fall - paper_d.lemma_4_4_decrease(start.log_alpha, depth, log_grad),
        "log_alpha_lip": start.log_alpha + lip,
    }


def exponent(fallen: numpy.ndarray, log_t: numpy.ndarray) -> numpy.ndarray:
    """-d log J / d log t over the second half of the way: (points, R) each -> (R,)."""
    half = len(fallen) // 2
    return (fallen[-1] - fallen[half]) / (log_t[-1] - log_t[half])


def proof_exponent(start: Start, fallen: numpy.ndarray) -> numpy.ndarray:
    """The same of the decay that (7)(i) proves, 1 / (t log^(2-2/L) t), over the same falls of the loss."""
    half = len(fallen) // 2
    ends = [numpy.nan_to_num(fallen[i]) for i in (half, -1)]
    times = [paper_d.proof_decay(s, start.network.depth, start.log_loss, start.log_q) for s in ends]
    return (fallen[-1] - fallen[half]) / (times[1] - times[0])


def factor(log: float) -> str:
    """e^log as a power of ten, for a line of text."""
    return f"10^{log / math.log(10):.1f}"
