"""samples -> metrics and model: one learner at one point, its whole sweep at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas
import torch

from learnability import learners
from learnability.artifacts import write_frame, write_tensors
from learnability.plan import Job
from learnability.schema import Hidden
from learnability.tracking import Tracker
from learnability.training.stack import Replica, Split, Stack, grid
from learnability.verbs import sample

WORST_RESIDUAL = 1e-4  # of a ridge solution: predictions off by more would show in the third digit


@dataclass
class Rows:
    """Collects the long table: one row per replica x moment x split x name."""

    parts: list[pandas.DataFrame]

    def add(
        self,
        replicas: list[Replica],
        first: int,
        epoch: int,
        step: int,
        split: str,
        name: str,
        values,
    ) -> None:
        """One value per replica, measured at one moment; NaN stands for a diverged replica."""
        self.parts.append(
            pandas.DataFrame(
                {
                    "replica": range(first, first + len(replicas)),
                    "seed": [r.seed for r in replicas],
                    "lr": [r.lr for r in replicas],
                    "wd": [r.wd for r in replicas],
                    "step": step,
                    "epoch": epoch,
                    "split": split,
                    "name": name,
                    "value": [float(v) for v in values],
                }
            )
        )

    def frame(self) -> pandas.DataFrame:
        """The whole table."""
        return pandas.concat(self.parts, ignore_index=True)


def run(
    job: Job,
    samples: Path,
    metrics: Path,
    model: Path,
    scratch: Path,
    device: torch.device,
    tracker: Tracker,
    say: Callable[[str], None],
) -> None:
    """Train (or solve) the sweep of ``job`` and write its two files, the model first."""
    teacher, data = job.teacher.model_dump(mode="json"), job.data.model_dump(mode="json")
    splits = sample.load(samples, teacher, data)
    by_sgd = isinstance(job.spec, Hidden) or job.spec.solver == "sgd"
    if device.type == "mps" and not by_sgd:
        device = torch.device("cpu")  # exact solutions are in float64, which MPS does not have
    splits = {name: split.to(device) for name, split in splits.items()}
    network = learners.build(
        job.spec.network,
        d=job.teacher.d,
        k=job.teacher.k,
        width=job.width,
        init_scale=job.spec.init_scale,
    )
    rows = Rows([])
    if by_sgd:
        best = _by_sgd(job, network, splits, scratch, device, tracker, say, rows)
    else:
        best = _by_ridge(job, network, splits, tracker, say, rows)
    frame = rows.frame()
    finals = frame[frame.split.isin(["val", "test"]) & (frame.epoch == frame.epoch.max())]
    summary = finals.groupby(["split", "name"]).value.agg(["min", "median", "max"])
    tracker.summary({f"{s}/{n}/{k}": v for (s, n), r in summary.iterrows() for k, v in r.items()})
    write_tensors(model, best, {"rows": "one per seed: the replica with the least validation error"})
    write_frame(metrics, frame)
    shutil.rmtree(scratch, ignore_errors=True)


def _finish(stack: Stack, splits: dict[str, Split], rows: Rows, first: int, epoch: int, step: int) -> None:
    """The last measurements of a stack: the test split, seen here for the first time."""
    for name, values in stack.evaluate(splits["test"]).items():
        rows.add(stack.replicas, first, epoch, step, "test", name, values)


def _pick(stack: Stack, val_error: torch.Tensor) -> dict[int, int]:
    """Seed -> its replica with the least validation error (the first one if all diverged)."""
    error = val_error.nan_to_num(nan=float("inf"))
    picked: dict[int, int] = {}
    for i, replica in enumerate(stack.replicas):
        if replica.seed not in picked or error[i] < error[picked[replica.seed]]:
            picked[replica.seed] = i
    return picked


def _by_sgd(job, network, splits, scratch, device, tracker, say, rows) -> dict[str, torch.Tensor]:
    """Lightning, one run for the stack."""
    from learnability.learners.linearised import linearise
    from learnability.training.fit import Record, StackModule, fit_sgd
    from learnability.training.sgd import StepSchedule

    training = job.training
    if not isinstance(job.spec, Hidden):
        network = linearise(network, job.spec.train)
    stack = Stack(
        network,
        grid(job.data.seeds, job.spec.lr, job.spec.wd),
        job.data.seeds,
        training.batch,
        training.cache_mb * 2**20,
        training.diverged_at,
    )

    def listen(record: Record) -> None:
        val = record.values["val", "error"]
        best = int(val.nan_to_num(nan=float("inf")).argmin())
        for (split, name), values in record.values.items():
            tracker.curves(record.step, f"{split}/{name}", values.numpy(), best)

    module = StackModule(
        stack,
        splits["train"],
        splits["val"],
        StepSchedule(tuple(training.phases), training.drop),
        training.momentum,
        getattr(job.spec, "lr_scale", {}),
        training.log_every,
        listen,
    )
    say(f"{len(stack.replicas)} replicas in {len(stack.chunks())} chunk(s), {training.phases} epochs")
    checkpoint = scratch / "stack.safetensors"
    history = fit_sgd(module, device, checkpoint, training.checkpoint_seconds, say)
    for record in history:
        for (split, name), values in record.values.items():
            rows.add(stack.replicas, 0, record.epoch, record.step, split, name, values)
    last = history[-1]
    rows.add(stack.replicas, 0, last.epoch, last.step, "train", "diverged_at", stack.died)
    stack.to(device)
    _finish(stack, splits, rows, 0, last.epoch, last.step)
    picked = list(_pick(stack, last.values["val", "error"]).values())
    return {name: value[picked] for name, value in stack.weights().items()}


def _by_ridge(job, network, splits, tracker, say, rows) -> dict[str, torch.Tensor]:
    """Exact solutions, seed by seed (a whole path each), so that one seed's is in memory."""
    from learnability.learners.linearised import linearise
    from learnability.training.closed_form import solve_seed

    network = linearise(network, job.spec.train, job.spec.outputs == "separate")
    wide = {name: split.to(split.x.device, torch.float64) for name, split in splits.items()}
    best: dict[str, list[torch.Tensor]] = {}
    for i, seed in enumerate(job.data.seeds):
        solved = solve_seed(network, seed, job.data.seeds, job.spec.wd, wide["train"])
        stack, first = solved.stack, i * len(job.spec.wd)
        values = {split: stack.evaluate(wide[split]) for split in ("train", "val")}
        for split, found in values.items():
            for name, value in found.items():
                rows.add(stack.replicas, first, 0, 0, split, name, value)
                tracker.curves(i, f"{split}/{name}", value.cpu().numpy())
        if solved.residual > WORST_RESIDUAL:
            raise ArithmeticError(
                f"seed {seed}: ridge not solved, relative residual {solved.residual:.1e} after "
                f"{solved.steps} Lanczos steps; the smallest wd may be too small"
            )
        residual = [solved.residual] * len(stack.replicas)
        rows.add(stack.replicas, first, 0, 0, "train", "relative_residual", residual)
        _finish(stack, wide, rows, first, 0, 0)
        picked = _pick(stack, values["val"]["error"])[seed]
        for name, value in stack.weights().items():
            best.setdefault(name, []).append(value[picked].float())
        how = f"relative residual {solved.residual:.1e} after {solved.steps} Lanczos steps"
        best_error = values["val"]["error"].min()
        say(f"seed {seed}: best validation error {best_error:.3f}, {how if solved.steps else 'solved directly'}")
    return {name: torch.stack(values) for name, values in best.items()}
