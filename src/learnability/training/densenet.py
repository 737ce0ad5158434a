"""A stack of quadratic DenseNets under Algorithm 1: objective, steps, stage changes and measurements.

Obj~ = mean over samples of (y - F~)^2 + Reg(W, K) (2.3); with classes y = sgn(x_0 + G*), (3.3):

    Obj~^xE = mean log(1 + exp(-y v (x_0 + F~))) + v Reg(W, K),      v = sharpness / eps_0

Zero start (line 2); noise on W once a pass, shrinking with the rate (line 15: 'any poly-small Gaussian noise').
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from learnability.learners.densenet import Learner, binom2, mixing
from learnability.seeding import stream
from learnability.theory import paper_a
from learnability.training.algorithm1 import Machine, Stages
from learnability.training.distill import initial_distill
from learnability.training.flat import FlatOptimizer
from learnability.training.stack import Replica, Split, batch_orders, chunk_rows


@dataclass(frozen=True)
class DenseReplica(Replica):
    """One model of a search: the alphas and the graph it was given may not be the teacher's."""

    alphas: tuple[float, ...]
    graph: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Settings:
    """What a stack is trained with beside its stages; ``config/README.md`` says what each is for."""

    batch: int
    optimiser: str = "adam"
    momentum: float = 0.9
    clip: float | None = 0.1
    layer_rates: tuple[float, ...] = ()
    lambdas: tuple[float, float, float] = (3.0, 1.0, 0.3)
    decay: float = 1e-3
    noise: float = 1e-5
    draws: int = 50
    rows: int = 1  # of R_l, times binom(k_l + 1, 2)
    distill: str = "balanced"
    kappa: float = 1.0
    signs: bool = False
    classes: bool = False
    sharpness: float = 2.0
    cache_bytes: float = math.inf
    diverged_at: float = math.inf
    theory_c: float = 3.0


class DenseStack(nn.Module):
    """r replicas of one network; replica i reads the samples of its seed."""

    def __init__(
        self,
        network: Learner,
        replicas: Sequence[DenseReplica],
        seeds: Sequence[int],
        stages: Stages,
        settings: Settings,
        centre: Tensor,
        start: Tensor,
        given: Sequence[int] | None = None,
    ) -> None:
        """``start`` (S,): Obj of F = 0 for each seed; ``given``: k_l, where the stages or constants need it."""
        super().__init__()
        self.network, self.replicas, self.seeds = network, list(replicas), list(seeds)
        self.settings, self.given = settings, given
        count, layers = len(replicas), len(network.graph)
        row_of = torch.tensor([self.seeds.index(r.seed) for r in replicas])
        self.register_buffer("row_of", row_of)
        self.register_buffer("died", torch.full((count,), -1))
        self.register_buffer("alpha", torch.tensor([r.alphas for r in replicas], dtype=torch.float32))
        self.register_buffer("lr", torch.tensor([r.lr for r in replicas], dtype=torch.float32))
        self.register_buffer("centre", centre.float())
        self.register_buffer("found", torch.zeros(count, layers, dtype=torch.long))  # k_l
        shapes = network.shapes()
        self.places, total = {}, 0
        for name, (a, b) in shapes.items():
            self.places[name], total = (slice(total, total + a * b), (a, b)), total + a * b
        self.flat = nn.Parameter(torch.zeros(count, total), requires_grad=False)
        for layer, sources in network.layers():
            self.register_buffer(
                f"R{layer}", torch.zeros(count, network.rows[layer - 2], network.widths[layer - 2])
            )
            self.register_buffer(f"E{layer}", torch.ones(count, 1, network.widths[layer - 2]))
            self.register_buffer(f"D{layer}", network.column_signs(layer, settings.signs, self.flat.data))
            mask = torch.zeros(count, 1, network.inputs(layer))
            for i, replica in enumerate(replicas):
                for j in set(sources) & set(replica.graph[layer - 2]):
                    mask[i, 0, network.parts[layer][j]] = 1.0
            self.register_buffer(f"mask{layer}", mask)
        epsilon = start[row_of].double()
        epsilon = epsilon if settings.classes else 2 * epsilon.sqrt()
        self.machine = Machine(stages, count, epsilon, self._thresholds(stages))
        if stages.how == "together":
            self._start_together()

    def _thresholds(self, stages: Stages) -> Tensor | None:
        """(r, stages): l-triangle ends at Thres_{l, nabla}, l-nabla at Thres_{l+1, triangle}; (4.1)."""
        if stages.constants != "theory":
            return None
        found = self.alpha.new_empty(len(self.replicas), len(self.network.graph), 2, dtype=torch.float64)
        for i in range(len(self.replicas)):
            for layer, _ in self.network.layers():
                special = self._special(i)
                ends = special.threshold_nabla(layer), special.threshold_triangle(layer + 1)
                found[i, layer - 2] = torch.tensor(ends, dtype=torch.float64)
        return found.flatten(1)

    def _special(self, i: int) -> paper_a.SpecialCase:
        """(4.1) for replica i; alpha_1 holds a place and is not used."""
        return paper_a.SpecialCase(self.network.d, (1.0, *self.replicas[i].alphas), self.settings.theory_c)

    def _start_together(self) -> None:
        """Without stages there is no INITIAL-DISTILL: k_l is given, K_l starts small and random, R_l is drawn
        now.
        """
        for layer, _ in self.network.layers():
            for i, replica in enumerate(self.replicas):
                k, (a, _) = self.given[layer - 2], self.places[f"K{layer}"][1]
                warm = torch.zeros(a, self.network.widths[layer - 2])
                warm[:, :k] = 1e-2 * torch.randn(a, k, generator=stream("start", "densenet", layer, replica.seed))
                self._set_features(i, layer, k, warm, torch.ones(self.network.widths[layer - 2]))

    def _set_features(self, i: int, layer: int, k: int, warm: Tensor, signs: Tensor) -> None:
        """Give replica i its k_l, K_l, signs and R_l."""
        room = self.network.widths[layer - 2]
        self.found[i, layer - 2] = k
        k = min(k, room)
        device = self.flat.device
        self.weight(f"K{layer}")[i] = warm.to(device, torch.float32) * getattr(self, f"mask{layer}")[i].mT
        getattr(self, f"E{layer}")[i] = signs.to(device, torch.float32)
        r = torch.zeros(self.network.rows[layer - 2], room)
        if k:
            generator = stream("mixing", layer, k, self.replicas[i].seed)
            rows = self.settings.rows * binom2(k)
            r[:rows, :k] = mixing(k, rows, self.settings.draws, generator).float()
        getattr(self, f"R{layer}")[i] = r.to(device)

    def weight(self, name: str, rows: slice = slice(None)) -> Tensor:
        """A view of W_l or K_l, (rows, q, m)."""
        place, shape = self.places[name]
        return self.flat.data[rows, place].unflatten(1, shape)

    def weights(self, rows: slice = slice(None)) -> dict[str, Tensor]:
        """All that a forward pass needs of the replicas in ``rows``."""
        found = {name: self.weight(name, rows) for name in self.places}
        for layer, _ in self.network.layers():
            found |= {f"{n}{layer}": getattr(self, f"{n}{layer}")[rows] for n in ("R", "E", "mask")}
            found[f"D{layer}"] = getattr(self, f"D{layer}")
        return found | {"alpha": self.alpha[rows], "centre": self.centre}

    def optimizer(self) -> FlatOptimizer:
        """Adam or momentum SGD on the flat weights."""
        return FlatOptimizer(self.flat, self.settings.optimiser, self.settings.momentum, self.settings.clip)

    def chunks(self) -> list[slice]:
        """Rows of each chunk; on an accelerator the whole stack is one."""
        sizes = [self.network.inputs(layer) for layer, _ in self.network.layers()]
        a_replica = 4 * (self.settings.batch * 6 * sum(sizes) + 4 * self.flat.shape[1])
        cache = self.settings.cache_bytes if self.flat.device.type == "cpu" else math.inf
        return chunk_rows(len(self.replicas), a_replica, cache)

    # what a stage decides

    def rates(self) -> Tensor:
        """Each weight's rate in the stages that the replicas are in, (r, P)."""
        rates = torch.zeros_like(self.flat.data)
        factors = self.settings.layer_rates or (1.0,) * len(self.network.graph)
        for i, stage in enumerate(self.machine.stage.tolist()):
            if stage >= len(self.machine.stages.names) or self.died[i] >= 0:
                continue
            for name, (place, _) in self.places.items():
                layer = int(name[1:])
                if self.machine.stages.trains(stage, layer, name[0]):
                    rates[i, place] = self.lr[i] * factors[layer - 2]
        return rates

    def lambdas(self) -> Tensor:
        """lambda_{3..6,l} of every replica, (r, L-1, 4): 0 until the stage that sets them."""
        found = self.alpha.new_zeros(*self.alpha.shape, 4)
        together = self.machine.stages.how == "together"
        theory = self.machine.stages.constants == "theory"
        for i, stage in enumerate(self.machine.stage.tolist()):
            for layer, _ in self.network.layers():
                n, alpha = layer - 2, float(self.alpha[i, layer - 2])
                if together or stage > 2 * n:
                    ours = [x * alpha**2 for x in self.settings.lambdas]
                    found[i, n, :3] = torch.tensor(self._special(i).lambdas(layer) if theory else ours)
                if together or stage >= 2 * n:
                    found[i, n, 3] = self._decay(i, layer)
        return found

    def _decay(self, i: int, layer: int) -> float:
        """lambda_{6,l} of replica i: decay eps_0^2, or eps_0^2 / (kbar_l L kappa)^8 (line 7) by the theory."""
        epsilon = float(self.machine.epsilon[i])
        if self.machine.stages.constants != "theory":
            return self.settings.decay * epsilon**2
        kbar = max([self.given[j - 2] for j in self.replicas[i].graph[layer - 2] if j >= 2], default=1)
        return paper_a.weight_decay(epsilon, kbar, len(self.network.graph) + 1, self.settings.kappa)

    def sharpness(self) -> Tensor:
        """v = sharpness / eps_0, (r,)."""
        return (self.settings.sharpness / self.machine.epsilon).to(self.flat)

    @torch.no_grad()
    def change_stages(self, moved: Tensor, optimizer: FlatOptimizer) -> None:
        """What replicas that entered a stage do: l-nabla begins with l-diamond, INITIAL-DISTILL."""
        optimizer.forget(moved)
        for i in moved.nonzero().flatten().tolist():
            stage = int(self.machine.stage[i])
            if self.died[i] >= 0 or stage % 2 == 0 or stage >= len(self.machine.stages.names):
                continue
            layer = 2 + stage // 2
            w = self.weight(f"W{layer}")[i].double().cpu()
            form = (w * getattr(self, f"D{layer}").double().cpu()) @ w.T
            used = getattr(self, f"mask{layer}")[i, 0].cpu()
            last, room = self.network.parts[layer][layer - 1], self.network.widths[layer - 2]
            relative = self.machine.stages.constants == "practical"
            kappa, how = self.settings.kappa, self.settings.distill
            how = "balanced" if how == "form" and layer > 2 else how
            self._set_features(i, layer, *initial_distill(form, last, used, room, kappa, relative, how))

    # one pass

    @torch.no_grad()
    def run_epoch(self, split: Split, optimizer: FlatOptimizer, epoch: int) -> Tensor:
        """One pass over the samples; returns each replica's mean objective on the way, (r,)."""
        order = batch_orders(self.seeds, epoch, split.x.shape[1], self.row_of.device)
        factor = self.machine.factor(epoch).to(self.flat)
        rates, lambdas = self.rates() * factor[:, None], self.lambdas()
        if self.settings.noise:
            self._add_noise(epoch, factor, rates)
        objective = self.flat.new_full((len(self.replicas),), math.nan)
        for rows in self.chunks():
            if bool((rates[rows] > 0).any()):
                objective[rows] = self._run_chunk(split, optimizer, rows, order, rates[rows], lambdas[rows])
        self._bury(objective, split, epoch, rates)
        return objective.masked_fill(self.died >= 0, math.nan)

    def _add_noise(self, epoch: int, factor: Tensor, rates: Tensor) -> None:
        for i, replica in enumerate(self.replicas):
            if factor[i] > 0 and self.died[i] < 0:
                draw = torch.randn(self.flat.shape[1], generator=stream("noise", "densenet", replica.seed, epoch))
                for name, (place, (a, b)) in self.places.items():
                    if name[0] == "W":  # where the graph has no link, W stays zero
                        mask = getattr(self, f"mask{name[1:]}")[i].mT.expand(a, b).flatten()
                        moves = (rates[i, place] > 0) * mask
                        self.flat.data[i, place] += (
                            self.settings.noise * factor[i] * draw[place].to(self.flat) * moves
                        )

    def _run_chunk(self, split, optimizer, rows: slice, order: Tensor, rates: Tensor, lambdas: Tensor) -> Tensor:
        p, d, batch = self.weights(rows), self.network.d, self.settings.batch
        gradient = torch.zeros_like(self.flat.data[rows])
        into = {name: gradient[:, place].unflatten(1, shape) for name, (place, shape) in self.places.items()}
        samples, mine = split.rows, order[self.row_of[rows]]
        first = int(self.settings.classes)
        v = self.sharpness()[rows]
        if self.settings.classes:
            lambdas = lambdas * v[:, None, None]
        total, n = gradient.new_zeros(len(mine)), mine.shape[1]
        for start in range(0, n, batch):
            picked = mine[:, start : start + batch]
            drawn = samples[picked.flatten()].view(*picked.shape, -1)  # (c, B, [1 +] d + 1 + 1)
            tape = self.network.run(p, drawn[..., first : first + d], self.network.bound)
            loss, slope = self._loss(tape.out, drawn, v)
            self.network.gradient(p, tape, slope, into)
            reg = self.network.regulariser(p, lambdas, into)
            optimizer.apply(rows, gradient, rates)
            total += (loss + reg) * picked.shape[1]
        return total / n

    def _loss(self, out: Tensor, drawn: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Mean loss (c,) and its slope in F~ (c, B)."""
        y, count = drawn[..., -1], out.shape[1]
        if not self.settings.classes:
            residual = out - y
            return residual.square().mean(1), residual * (2 / count)
        margin = y * (drawn[..., 0] + out) * v[:, None]
        return nn.functional.softplus(-margin).mean(1), -torch.sigmoid(-margin) * y * v[:, None] / count

    def _bury(self, objective: Tensor, split: Split, epoch: int, rates: Tensor) -> None:
        """Mark and stop replicas that diverged in this pass."""
        limit = self.settings.diverged_at * split.zero_error[self.row_of]
        lost = ~(objective <= limit) & (self.died < 0) & (rates > 0).any(1)
        if bool(lost.any()):
            self.died[lost] = epoch
            self.flat.data[lost] = 0.0
