"""Seconds to follow the gradient flow of a network whose preactivations slide along their kinks, against scipy.

A Huberized-ReLU network, L = 3, p = 8, 16 random points, h = 1e-4, until its loss has fallen by e^FALL. The peers
integrate dV/ds = -g / |g|^2, dt/ds = 1 / (J |g|^2), with the same gradient g of log J: LSODA, which turns to BDF
where it is stiff, at a tolerance at which it agrees with ours to 1e-3 in log t, and DOP853, explicit, which does
not get that far at the one given here (every log t is printed).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import torch
from scipy.integrate import solve_ivp

from learnability.learners.logistic import Data, Learner
from learnability.seeding import stream
from learnability.training import flow
from learnability.training.descent import Descent

DEPTH, WIDTH, POINTS, H = 3, 8, 16, 1e-4
FALL = 3.0
PEERS = {"DOP853": 1e-5, "LSODA": 1e-6}  # tolerances


def instance(draws: int = 24) -> tuple[Learner, torch.Tensor, Data]:
    """A trained network, the best of its draws, and its data."""
    network, generator = Learner(WIDTH, WIDTH, DEPTH), stream("bench", "flow")
    x = torch.randn(1, POINTS, WIDTH, dtype=torch.float64, generator=generator)
    y = torch.randint(0, 2, (1, POINTS), generator=generator).double() * 2 - 1
    many = Data((x / x.norm(dim=-1, keepdim=True)).repeat(draws, 1, 1), y.repeat(draws, 1), x.new_full((draws,), H))
    descent = Descent(network, torch.stack([network.init(generator) for _ in range(draws)]), many, None, 0.05)
    for _ in range(300):
        descent.step()
    best = network.log_loss(descent.v, many).nan_to_num(nan=math.inf).argmin()[None]
    return network, descent.v[best], many.rows(best)


def ours(network: Learner, v: torch.Tensor, data: Data) -> float:
    """log of t alpha J_1 at the end."""
    state, first = flow.begin(network, v, data), network.log_loss(v, data)
    flow.advance(network, state, data, first - FALL, 1e-5)
    return float(state.log_time + first)


def peer(network: Learner, v: torch.Tensor, data: Data, method: str, rtol: float) -> float:
    """The same by scipy."""
    first = network.log_loss(v, data)

    def derivative(_: float, z: np.ndarray) -> np.ndarray:
        log_loss, g = network.gradient(torch.as_tensor(z[None, :-1]), data)
        speed = g.square().sum()
        return np.append((-g[0] / speed).numpy(), float(torch.exp(first - log_loss) / speed))

    start = np.append(v[0].numpy(), 0.0)
    found = solve_ivp(derivative, (0, FALL), start, method, rtol=rtol, atol=1e-3 * rtol)
    return math.log(found.y[-1, -1])


def measure(say: Callable[[str], None]) -> list[tuple[str, float, float, str, str]]:
    """(name, ours, peer, peer's name, unit) of each line: networks an hour, so that more is better."""
    network, v, data = instance()
    begin = time.perf_counter()
    answer = ours(network, v, data)
    mine = time.perf_counter() - begin
    found = []
    for method, rtol in PEERS.items():
        begin = time.perf_counter()
        theirs = peer(network, v, data, method, rtol)
        seconds = time.perf_counter() - begin
        say(f"flow: {mine:.2f} s, log t {answer:.4f}; scipy's {method} {seconds:.1f} s, log t {theirs:.4f}")
        found.append(("sliding flow L=3 p=8", 3600 / mine, 3600 / seconds, f"scipy's {method}", "networks/hour"))
    return found
