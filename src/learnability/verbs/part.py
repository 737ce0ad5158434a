"""The ways to fit one part of a training job: SGD on a stack, ridge on features, kernel ridge, networks by hand.

Each adds its measurements to ``rows``, tells ``curves`` (W&B) and returns the weights of each seed's best replica.
The test split is looked at once, at the end.
"""

from __future__ import annotations

import torch

from learnability import learners, teachers
from learnability.plan import Job, Part
from learnability.seeding import stream
from learnability.training.stack import Replica, Split, Stack, grid

Tensors = dict[str, torch.Tensor]
WORST_RESIDUAL = 1e-4  # of a ridge solution: predictions off by more would show in the third digit


def _network(job: Job, part: Part):
    """The network of a part."""
    sizes = {"d": part.teacher.d, "k": part.teacher.k, "width": part.width}
    return learners.build(job.spec.network, **sizes, init_scale=job.spec.init_scale)


def _finish(stack: Stack, splits: dict[str, Split], rows, first: int, epoch: int, step: int) -> None:
    """The last measurements of a stack: the test split, seen here for the first time."""
    for name, values in stack.evaluate(splits["test"]).items():
        rows.add(stack.replicas, first, epoch, step, "test", name, values)


def pick(replicas: list, val_error: torch.Tensor) -> dict[int, int]:
    """Seed -> its replica with the least validation error (the first one if all diverged)."""
    error = val_error.nan_to_num(nan=float("inf"))
    picked: dict[int, int] = {}
    for i, replica in enumerate(replicas):
        if replica.seed not in picked or error[i] < error[picked[replica.seed]]:
            picked[replica.seed] = i
    return picked


def by_sgd(job: Job, part: Part, splits, place, device, curves, say, rows) -> Tensors:
    """Lightning, one run for the stack."""
    from learnability.training.fit import Record, StackModule, fit
    from learnability.training.sgd import StepSchedule

    training, network = job.training, _network(job, part)
    if job.spec.train != "hidden":
        from learnability.learners.linearised import linearise

        network = linearise(network, job.spec.train)
    replicas = grid(part.data.seeds, job.spec.lr, job.spec.wd)
    cache = training.cache_mb * 2**20
    stack = Stack(network, replicas, part.data.seeds, training.batch, cache, training.diverged_at)
    phases = training.phases_for(part.data.n_train)

    def listen(record: Record) -> None:
        best = int(record.values["val", "error"].nan_to_num(nan=float("inf")).argmin())
        for (split, name), values in record.values.items():
            curves(record.step, f"{split}/{name}", values.numpy(), best)

    module = StackModule(
        stack,
        splits["train"],
        splits["val"],
        StepSchedule(phases, training.drop),
        training.momentum,
        getattr(job.spec, "lr_scale", {}),
        training.log_every,
        listen,
    )
    say(f"{len(replicas)} replicas in {len(stack.chunks())} chunk(s), {list(phases)} epochs")
    history = fit(module, device, place / "stack.safetensors", training.checkpoint_seconds, say)
    for record in history:
        for (split, name), values in record.values.items():
            rows.add(replicas, 0, record.epoch, record.step, split, name, values)
    last = history[-1]
    stack.to(device)
    ends = {"diverged_at": stack.died, "final_error": stack.evaluate(splits["train"])["error"]} | stack.distances()
    for name, values in ends.items():  # the training error logged on the way is a mean over the last epoch
        rows.add(replicas, 0, last.epoch, last.step, "train", name, values)
    _finish(stack, splits, rows, 0, last.epoch, last.step)
    picked = list(pick(replicas, last.values["val", "error"]).values())
    return {name: value[picked] for name, value in stack.weights().items()}


def by_ridge(job: Job, part: Part, splits, curves, say, rows) -> Tensors:
    """Exact solutions on a network's features, seed by seed (a whole path each): one seed's is in memory."""
    from learnability.learners.linearised import linearise
    from learnability.training.closed_form import solve_seed

    network = linearise(_network(job, part), job.spec.train, job.spec.outputs == "separate")
    wide = {name: split.to(split.x.device, torch.float64) for name, split in splits.items()}
    best: dict[str, list[torch.Tensor]] = {}
    for i, seed in enumerate(part.data.seeds):
        solved = solve_seed(network, seed, part.data.seeds, job.spec.wd, wide["train"])
        stack, first = solved.stack, i * len(job.spec.wd)
        values = {split: stack.evaluate(wide[split]) for split in ("train", "val")}
        for split, found in values.items():
            for name, value in found.items():
                rows.add(stack.replicas, first, 0, 0, split, name, value)
                curves(i, f"{split}/{name}", value.cpu().numpy())
        if solved.residual > WORST_RESIDUAL:
            raise ArithmeticError(
                f"seed {seed}: ridge not solved, relative residual {solved.residual:.1e} after "
                f"{solved.steps} Lanczos steps; the smallest wd may be too small"
            )
        residual = [solved.residual] * len(stack.replicas)
        rows.add(stack.replicas, first, 0, 0, "train", "relative_residual", residual)
        _finish(stack, wide, rows, first, 0, 0)
        picked = pick(stack.replicas, values["val"]["error"])[seed]
        for name, value in stack.weights().items():
            best.setdefault(name, []).append(value[picked].float())
        how = f"relative residual {solved.residual:.1e} after {solved.steps} Lanczos steps"
        best_error = values["val"]["error"].min()
        say(f"seed {seed}: best validation error {best_error:.3f}, {how if solved.steps else 'solved directly'}")
    return {name: torch.stack(values) for name, values in best.items()}


def by_kernel(job: Job, part: Part, splits, curves, say, rows) -> Tensors:
    """Exact solutions with an analytic kernel, seed by seed, beside the risk that its spectrum predicts."""
    from learnability.training import kernel_ridge

    teacher = teachers.build(**part.teacher.model_dump(mode="json"))
    kernel = kernel_ridge.build(job.spec.kernel, d=teacher.d, **job.spec.parameters())
    wds = sorted(job.spec.wd)
    predicted = kernel_ridge.predicted(kernel, teacher, part.data.n_train, wds)
    best = []
    for i, seed in enumerate(part.data.seeds):
        solution = kernel_ridge.solve(kernel, splits["train"], i, wds, job.spec.block_mb)
        replicas, first = grid([seed], [float("nan")], wds), i * len(wds)
        values = {name: kernel_ridge.measure(solution, splits[name], i) for name in ("train", "val", "test")}
        for split, found in values.items():
            for name, value in found.items():
                rows.add(replicas, first, 0, 0, split, name, value)
                if split != "test":
                    curves(i, f"{split}/{name}", value.numpy())
        exact = kernel_ridge.exact_risk(solution, teacher)
        if exact is not None:
            rows.add(replicas, first, 0, 0, "population", "risk", exact)
        if predicted is not None:
            rows.add(replicas, first, 0, 0, "predicted", "risk", predicted.risk)
            rows.add(replicas, first, 0, 0, "predicted", "samples", [predicted.samples] * len(wds))
            rows.add(replicas, first, 0, 0, "predicted", "share", [predicted.share] * len(wds))
        picked = pick(replicas, values["val"]["error"])[seed]
        best.append(solution.c[picked].float())
        say(f"seed {seed}: best validation error {values['val']['error'].min():.3g}, solved directly")
    return {"c": torch.stack(best)}


def by_hand(job: Job, part: Part, splits, curves, say, rows) -> Tensors:
    """Networks made by hand for given errors (paper B, footnote 13), padded to d and widened to m, and measured."""
    from learnability.theory.minimal_norm import norm_bound, pad, population_error, widen
    from learnability.training import minimal_norm

    network, wanted = _network(job, part), sorted(job.spec.errors)
    best = []
    for i, seed in enumerate(part.data.seeds):
        found = [widen(pad(s.w, part.teacher.d), part.width) for s in minimal_norm.by_hand(wanted, seed=seed)]
        weights = {
            "W": torch.stack(found).float(),
            "A": network.init(stream("by_hand"))["A"].expand(len(found), 1, -1),
        }
        replicas, first = [Replica(seed, float("nan"), float("nan"))] * len(found), i * len(found)
        for name in ("train", "val", "test"):
            x = splits[name].x[i].expand(len(found), -1, -1)
            out = network.forward(weights, x)
            for measure, sums in splits[name].measure(out, i, slice(None)).items():
                rows.add(replicas, first, 0, 0, name, measure, sums / x.shape[1])
                if (name, measure) == ("train", "error"):
                    rows.add(replicas, first, 0, 0, name, "final_error", sums / x.shape[1])
        norms = [w.norm().item() for w in found]
        rows.add(replicas, first, 0, 0, "train", "norm_W", norms)
        rows.add(replicas, first, 0, 0, "population", "risk", [population_error(w) for w in found])
        rows.add(replicas, first, 0, 0, "wanted", "error", wanted)
        rows.add(replicas, first, 0, 0, "least", "norm_W", [norm_bound(error) for error in wanted])
        curves(i, "train/norm_W", norms)
        said = ", ".join(f"{n:.2f} at {population_error(w):.3g}" for n, w in zip(norms, found, strict=True))
        say(f"seed {seed}: ||W||_F / sqrt(d) at population error: {said}")
        best.append(weights["W"])
    return {"W": torch.stack(best)}
