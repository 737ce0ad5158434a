"""The stages of paper A's Algorithm 1 as a state machine on the objective, for every replica of a stack at once.

    l-triangle   W_l is released (line 6), K_l still zero
    l-diamond    an instant: K_l = INITIAL-DISTILL(W_l), lambda_{3,4,5} of l are set (lines 8-10)
    l-nabla      W_l and K_l train

for l = 2..L, all that was released staying so. eps_0 halves whenever Obj <= eps_0^2 / 4, lambda_6 following
(line 18).
When a stage ends is decided

    theory       by the thresholds on Obj (Definition B.3 in its special case (4.1); ``theory/paper_a.py``), at a
                 constant rate. At sizes one can run they are alpha_l^2 within a few per cent: layer 2 has its time
                 in a handful of passes, and whether Obj falls below alpha_3^2, so that 3-nabla begins, depends on
                 the seed (learner ``theory`` of dense3: on three of five, after 41 to 62 of 100 passes)
    practical    by a plateau: the rate stays until the objective has not fallen by ``gain`` for ``patience`` passes
                 (or the stage's share of its longest time is over), then falls linearly to ``floor`` of itself

Controls that hold something back:

    layerwise    in a stage of l only layer l trains (footnote 6)
    frozen       K_l trains in l-nabla only: features are not corrected, all else is
    together     no stages: all layers train from the start, from a small random K, with k_l given
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

NEVER = -1


@dataclass(frozen=True)
class Stages:
    """How long stages may take, in passes over the samples, and when they end."""

    how: str  # algorithm1, layerwise, frozen, together
    longest: tuple[int, ...]  # of each stage: 2-triangle, 2-nabla, 3-triangle, ...
    constants: str = "practical"
    anneal: float = 0.8  # share of the longest time in which the rate falls
    floor: float = 0.01
    patience: int = 15
    gain: float = 0.05
    smoothing: float = 0.8  # of the objective that the plateau rule watches, from pass to pass

    @property
    def names(self) -> tuple[str, ...]:
        """2-triangle, 2-nabla, ...; one name if there are no stages."""
        if self.how == "together":
            return ("together",)
        return tuple(f"{2 + i // 2}-{'nabla' if i % 2 else 'triangle'}" for i in range(len(self.longest)))

    @property
    def lengths(self) -> tuple[int, ...]:
        """Longest time of each of ``names``."""
        return (sum(self.longest),) if self.how == "together" else self.longest

    @property
    def epochs(self) -> int:
        """Longest time in all."""
        return sum(self.longest)

    def annealing(self, stage: int) -> int:
        """Passes in which the rate falls at the end of a stage."""
        return max(1, round(self.anneal * self.lengths[stage]))

    def trains(self, stage: int, layer: int, part: str) -> bool:
        """Whether W_l or K_l moves in a stage."""
        if self.how == "together":
            return True
        first = 2 * (layer - 2) + (part == "K")
        if self.how == "layerwise":
            return stage in (first, 2 * (layer - 2) + 1)
        if self.how == "frozen" and part == "K":
            return stage == first
        return stage >= first


class Machine(torch.nn.Module):
    """Where each replica stands; all of it in buffers, so that a checkpoint holds it.

    ``thresholds`` (r, stages): Obj at or below which a stage ends, with constants: theory.
    """

    def __init__(self, stages: Stages, replicas: int, epsilon: Tensor, thresholds: Tensor | None = None) -> None:
        super().__init__()
        self.stages = stages
        shape = (replicas, len(stages.names))
        self.register_buffer("stage", torch.zeros(replicas, dtype=torch.long))
        self.register_buffer("entered", torch.full(shape, NEVER, dtype=torch.long))
        self.register_buffer("annealed", torch.full((replicas,), NEVER, dtype=torch.long))
        self.register_buffer("smooth", torch.full((replicas,), math.inf, dtype=torch.float64))
        self.register_buffer("best", torch.full((replicas,), math.inf, dtype=torch.float64))
        self.register_buffer("best_at", torch.zeros(replicas, dtype=torch.long))
        self.register_buffer("epsilon", epsilon.double().clone())  # eps_0
        self.register_buffer("halvings", torch.zeros(replicas, dtype=torch.long))
        self.register_buffer("thresholds", torch.empty(0) if thresholds is None else thresholds.double())
        self.entered[:, 0] = 0

    @property
    def finished(self) -> Tensor:
        """Replicas that are through, (r,)."""
        return self.stage >= len(self.stages.names)

    def factor(self, epoch: int) -> Tensor:
        """What multiplies the rate in ``epoch``, (r,): 1, falling to ``floor`` at a stage's end; 0 when
        finished.
        """
        found = torch.ones(len(self.stage), dtype=torch.float64)
        for i, stage in enumerate(self.stage.tolist()):
            if stage >= len(self.stages.names):
                found[i] = 0.0
            elif self.annealed[i] != NEVER:
                share = (epoch - int(self.annealed[i]) + 1) / self.stages.annealing(stage)
                found[i] = max(self.stages.floor, 1 - share)
        return found

    def observe(self, epoch: int, objective: Tensor, squared: bool = True) -> Tensor:
        """Hear each replica's mean objective over pass ``epoch``; returns who enters a new stage now, (r,) bool.

        ``squared``: eps_0 halves when Obj <= eps_0^2 / 4, as in line 4; with cross entropy, where Obj stands for
        eps itself (Section 3.2), when Obj <= eps_0 / 2.
        """
        objective = objective.double().cpu()
        target = self.epsilon.square() / 4 if squared else self.epsilon / 2
        met = (objective <= target) & ~self.finished
        self.epsilon[met] /= 2
        self.halvings[met] += 1
        fresh = torch.isinf(self.smooth)
        keep = self.stages.smoothing
        self.smooth.copy_(torch.where(fresh, objective, keep * self.smooth + (1 - keep) * objective))
        better = self.smooth < (1 - self.stages.gain) * self.best
        self.best_at[better] = epoch
        self.best[better] = self.smooth[better]
        moved = torch.zeros(len(self.stage), dtype=torch.bool)
        for i in range(len(self.stage)):
            if not self.finished[i] and self._ends(i, epoch, float(objective[i])):
                self._enter(i, epoch)
                moved[i] = True
        return moved

    def _ends(self, i: int, epoch: int, objective: float) -> bool:
        """Whether replica i's stage is over after pass ``epoch``; begins the fall of its rate when due."""
        stage, rule = int(self.stage[i]), self.stages
        if rule.constants == "theory":
            last = stage == len(rule.names) - 1
            spent = epoch + 1 >= rule.epochs
            return spent if last else objective <= float(self.thresholds[i, stage])
        passed = epoch + 1 - int(self.entered[i, stage])
        if passed >= rule.lengths[stage]:
            return True
        if self.annealed[i] == NEVER:
            flat = epoch - int(self.best_at[i]) >= rule.patience and passed >= rule.patience
            if flat or passed >= rule.lengths[stage] - rule.annealing(stage):
                self.annealed[i] = epoch + 1
            return False
        return epoch + 1 - int(self.annealed[i]) >= rule.annealing(stage)

    def _enter(self, i: int, epoch: int) -> None:
        """Replica i goes to its next stage."""
        self.stage[i] += 1
        self.annealed[i] = NEVER
        self.smooth[i] = self.best[i] = math.inf
        self.best_at[i] = epoch + 1
        if not self.finished[i]:
            self.entered[i, self.stage[i]] = epoch + 1
