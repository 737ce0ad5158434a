"""The gradient flow dV/dsigma = -grad log J(V) of a stack of smoothed-ReLU networks, where plain steps do not get.

Written on log J the flow is paper D's gradient descent in the limit of small steps, on another clock: a step of
size alpha on J takes dsigma = alpha J. So log J itself tells how far a network has come, and

    t - 1 = (1 / alpha) integral dsigma / J                              (steps of size alpha)

is a sum of positive terms, kept as a logarithm: t up to 1e40 and J down to 1e-300 are nothing special.

Why not any integrator: with h far below the weights, a preactivation that comes to its kink often stays there. Just
above it the loss pulls it down, just below it up, and it slides along the kink inside a layer of width h, where
phi' moves between 0 and 1. That makes the flow stiff (an explicit Runge-Kutta pair takes 1e5 steps and drifts), and
the stiffness is known in closed form: grad^2 log J has one large term for every preactivation u = u_{l,j}(x_s) in
its layer,

    kappa grad u grad u^T,    kappa = c_s (d f / d x_{l,j}) phi''(u)          (c_s of ``learners/logistic.py``)

and those with kappa > 0 are the ones that hold. Two-stage Rosenbrock steps of order 2, L-stable, take exactly these
terms implicitly (J. Verwer, E. Spee, J. Blom, W. Hundsdorfer, 'A second order Rosenbrock method applied to
photochemical dispersion problems', SIAM J. Sci. Comput. 20, 1999; order 2 for every W, here W = -A kappa A^T):

    (I - gamma tau W) k_1 = F(V),   (I - gamma tau W) k_2 = F(V + tau k_1) - 2 k_1,   V + tau (3 k_1 + k_2) / 2

The system is solved on the few preactivations in their layers (Woodbury), never on all the weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from learnability.learners.logistic import Data, Learner, Point

GAMMA = 1 - 1 / math.sqrt(2)  # L-stable
SAFETY, SLOWEST, FASTEST = 0.9, 0.1, 3.0  # bounds on how a step may change
LEAST_STEP = 1e-14  # of log J: a network that needs smaller steps is given up
CACHED = 2**18  # weights of the networks that go together: with all that a step touches they stay in the cache
NEAR = 1e-3  # of log_time, to the latest
CLOSEST = 1e-6  # of log J: steps that end at ``until`` are no shorter, or rounding could keep a network above it
NEGLIGIBLE = 1e-4  # of a network's largest curvature: weaker ones are taken explicitly


@dataclass
class State:
    """Where every network of a stack is."""

    v: Tensor  # (R, P)
    log_loss: Tensor  # (R,), log J
    log_time: Tensor  # (R,), log of integral dsigma / J: log(t - 1) + log alpha
    step: Tensor  # (R,), the next step, in log J
    tried: Tensor  # (R,), steps tried
    kept: Tensor  # (R,), steps kept

    def tensors(self) -> dict[str, Tensor]:
        """For a checkpoint."""
        return dict(self.__dict__)


def begin(network: Learner, v: Tensor, data: Data, step: float = 1e-4) -> State:
    """A stack at its start: no time has passed."""
    zero = v.new_zeros(len(v))
    return State(v.clone(), network.log_loss(v, data), zero - math.inf, zero + step, zero.clone(), zero.clone())


def advance(
    network: Learner,
    state: State,
    data: Data,
    until: Tensor,
    rtol: float,
    most: int = 10**6,
    latest: Tensor | None = None,
) -> Tensor:
    """Carry every network to log J <= ``until`` (R,); returns who arrived, (R,) bool.

    A network that tried ``most`` steps, needs steps below ``LEAST_STEP``, or whose ``log_time`` is within ``NEAR``
    of ``latest`` (R,) is left where it is.
    """
    for chunk in torch.arange(len(state.v), device=state.v.device).split(max(1, CACHED // network.size)):
        while True:
            alive = (state.log_loss > until) & (state.tried < most) & (state.step > LEAST_STEP)
            if latest is not None:
                alive &= state.log_time < latest - NEAR
                # time grows at most as fast as the loss falls, once it is long: no step goes far beyond the latest
                state.step = torch.where(alive, torch.minimum(state.step, latest - state.log_time), state.step)
            rows = chunk[alive[chunk]]
            if not len(rows):
                break
            _round(network, state, data, until, rtol, rows)
    return state.log_loss <= until


def _round(network: Learner, state: State, data: Data, until: Tensor, rtol: float, rows: Tensor) -> None:
    """One step of the networks ``rows``, kept where its error is small."""
    mine, v = data.rows(rows), state.v[rows]
    here = network.point(v, mine)
    speed = here.gradient.square().sum(1)  # |grad log J|^2 = -d log J / d sigma
    left = state.log_loss[rows] - until[rows]
    wanted = state.step[rows]
    tau = torch.minimum(wanted, left.clamp_min(CLOSEST)) / speed
    new, error = rosenbrock(network, v, here, mine, tau)
    there = network.point(new, mine)
    ratio = (error.norm(dim=1) / (rtol * new.norm(dim=1))).nan_to_num(nan=math.inf)
    kept = ratio <= 1
    factor = (SAFETY * ratio.clamp_min(1e-9).rsqrt()).clamp(SLOWEST, FASTEST)  # the estimate has order 2
    short = kept & (wanted > left)  # cut to arrive: says little about how long it could have been
    state.step[rows] = torch.where(short, wanted, wanted * torch.where(kept, factor, factor.clamp_max(0.9)))
    state.tried[rows] += 1
    good = rows[kept]
    state.kept[good] += 1
    state.v[good] = new[kept]
    # integral dsigma / J over the step, log J taken straight between its ends
    passed = tau.log() - here.log_loss + log_mean_exp(here.log_loss - there.log_loss)
    state.log_time[good] = torch.logaddexp(state.log_time[good], passed[kept])
    state.log_loss[good] = there.log_loss[kept]


def log_mean_exp(x: Tensor) -> Tensor:
    """log of the integral of exp(x u) over u in [0, 1], log((e^x - 1) / x): stable for every x."""
    size = x.abs().clamp_min(1e-12)
    below = torch.log(-torch.expm1(-size) / size)  # of -|x|
    return torch.where(x >= 0, below + size, below)


def rosenbrock(network: Learner, v: Tensor, here: Point, data: Data, tau: Tensor) -> tuple[Tensor, Tensor]:
    """V after a step tau (R,) of the two-stage method, and what it differs from the first-order step by."""
    solve = Solver(network, v, here, data, GAMMA * tau)
    first = solve(-here.gradient)
    middle = network.point(v + tau[:, None] * first, data).gradient
    second = solve(-middle - 2 * first)
    new = v + tau[:, None] * (1.5 * first + 0.5 * second)
    return new, 0.5 * tau[:, None] * (first + second)


class Solver:
    """(I + c A kappa A^T)^-1 r = r - c A (kappa^-1 + c A^T A)^-1 A^T r, the columns of A being grad u of those
    preactivations whose kappa > 0 is not small; c (R,).
    """

    def __init__(self, network: Learner, v: Tensor, here: Point, data: Data, c: Tensor) -> None:
        self.columns = None
        kappa = network.curvatures(v, here, data, -(c / GAMMA)[:, None] * here.gradient)  # (R, L, n, p)
        held = kappa > NEGLIGIBLE * kappa.flatten(1).amax(1).clamp_min(1e-300)[:, None, None, None]
        most = int(held.flatten(1).sum(1).max())
        if not most:
            return
        strength, picked = torch.where(held, kappa, 0.0).flatten(1).topk(most, dim=1)  # (R, K)
        self.columns = network.directions(v, here, picked)
        gram = self.columns.gram()  # A^T A
        # Scaled by sqrt(kappa) on both sides it is I + c sqrt(kappa) A^T A sqrt(kappa): kappa = 0 pads
        self.root = (c[:, None] * strength).sqrt()
        system = (
            torch.eye(most, dtype=v.dtype, device=v.device) + self.root[:, :, None] * gram * self.root[:, None, :]
        )
        factor, failed = torch.linalg.cholesky_ex(system)
        self.factor = torch.where((failed > 0)[:, None, None], math.nan, factor)  # not finite: a step not kept

    def __call__(self, r: Tensor) -> Tensor:
        if self.columns is None:
            return r
        inner = self.root[..., None] * self.columns.inner(r)[..., None]
        weights = self.root * torch.cholesky_solve(inner, self.factor).squeeze(-1)
        return r - self.columns.combine(weights, r.shape[1])
