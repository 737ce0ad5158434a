"""A stack of DenseNets under Algorithm 1: replicas alone, chunks, divergence, graphs, stages, resumed training."""

from __future__ import annotations

import math

import pytest
import torch

from dense_cases import GRAPH, SMALL, Case, run
from learnability.teachers.densenet import Teacher
from learnability.training import fit as fitting
from learnability.training.dense_fit import DenseModule
from learnability.training.features import Judge, forms
from networks import normal

CPU = torch.device("cpu")
LINKS = (GRAPH, ((0, 1), (2,)), ((1,), (0, 1, 2)))
SIGNED = Teacher(d=4, alpha=0.3, widths=(2, 2), graph=GRAPH, signs=True)
CLASSES = Teacher(d=4, alpha=0.3, widths=(2, 1), graph=GRAPH, classes=True, scale=0.2)
CASES = {
    "algorithm1": Case(),
    "sgd": Case(settings={"optimiser": "sgd", "clip": 1.0, "layer_rates": (1.0, 3.0)}),
    "layerwise": Case(how="layerwise"),
    "together": Case(how="together"),
    "signs": Case(teacher=SIGNED),
    "classes": Case(teacher=CLASSES),
    "graphs": Case(graphs=LINKS, gaps=(0.1, 0.3), lrs=(0.01,)),
}


def held(stack) -> dict[str, bytes]:
    """Every weight and buffer of a module, as bytes: NaN is NaN."""
    return {name: value.numpy().tobytes() for name, value in stack.state_dict().items()}


@pytest.mark.parametrize("name", CASES)
def test_a_replica_in_a_stack_is_the_replica_alone(name):
    """To the last bit but for classes, where the logarithms of a longer vector are rounded otherwise."""
    case, close = CASES[name], {"rtol": 1e-4, "atol": 1e-6} if name == "classes" else {"rtol": 0, "atol": 0}
    stack = case.stack()
    whole = torch.stack(run(stack, case.samples()["train"]))
    assert (stack.died == -1).all() and whole.isfinite().all() and (whole[-1] < whole[0]).all()
    assert stack.machine.finished.all() and (stack.flat != 0).any(1).all()
    for i in (0, len(stack.replicas) // 2, len(stack.replicas) - 1):
        seed = stack.replicas[i].seed
        alone = case.stack([stack.replicas[i]], [seed])
        objective = torch.stack(run(alone, case.samples([seed])["train"]))
        torch.testing.assert_close(objective[:, 0], whole[:, i], **close)
        torch.testing.assert_close(alone.flat[0], stack.flat[i], **close)
        for part in ("R2", "R3", "E2", "E3", "found", "died"):
            assert torch.equal(getattr(alone, part)[0], getattr(stack, part)[i]), part
        for part in ("entered", "epsilon", "halvings"):
            assert torch.equal(getattr(alone.machine, part)[0], getattr(stack.machine, part)[i]), part


@pytest.mark.parametrize("name", ["algorithm1", "graphs"])
def test_chunks_change_nothing(name):
    case = CASES[name]
    whole = case.stack()
    each = 4 * (40 * 6 * sum(whole.network.inputs(n) for n, _ in whole.network.layers()) + 4 * whole.flat.shape[1])
    cut = case.with_(settings={"cache_bytes": 2.5 * each}).stack()
    assert len(whole.chunks()) == 1 and len(cut.chunks()) == len(whole.replicas) // 2
    samples, judge = case.samples(), Judge(case.teachers(), case.samples()["val"])
    first, second = run(whole, samples["train"]), run(cut, samples["train"])
    assert torch.equal(torch.stack(first), torch.stack(second)) and held(whole) == held(cut)
    for measure, value in judge(whole).items():
        torch.testing.assert_close(judge(cut)[measure], value, rtol=1e-6, atol=1e-9)


def test_a_diverging_replica_is_marked_and_harms_no_other():
    case = Case(lrs=(0.005, 1e6, 0.02), settings={"diverged_at": 1000.0})
    stack, samples = case.stack(), case.samples()
    objective = run(stack, samples["train"])[-1]
    assert stack.died.tolist() == [-1, -1, 0, 0, -1, -1]
    assert objective[2:4].isnan().all() and (stack.flat[2:4] == 0).all()
    calm = case.with_(lrs=(0.005, 0.02)).stack()
    run(calm, samples["train"])
    keep = [0, 1, 4, 5]
    assert torch.equal(stack.flat[keep], calm.flat) and torch.equal(stack.found[keep], calm.found)
    for found in (Judge(case.teachers(), samples["val"])(stack), forms(stack, case.teachers())):
        assert all(v[2:4].isnan().all() and v[keep].isfinite().all() for v in found.values())


def test_a_late_divergence_is_marked_with_its_pass():
    case = Case()
    stack, train = case.stack(), case.samples()["train"]
    optimizer = stack.optimizer()
    for epoch in range(2):
        stack.run_epoch(train, optimizer, epoch)
    stack.flat.data[1] = math.nan
    objective = stack.run_epoch(train, optimizer, 2)
    assert stack.died.tolist() == [-1, 2, -1, -1] and objective.isnan().tolist() == [False, True, False, False]
    assert (stack.rates()[1] == 0).all() and (stack.rates()[[0, 2, 3]] > 0).any(1).all()


@pytest.mark.parametrize("how", ["algorithm1", "together"])
def test_weights_stay_zero_where_there_is_no_link(how):
    case = CASES["graphs"].with_(how=how, settings={"noise": 1e-2})
    stack = case.stack()
    assert stack.network.graph == ((0, 1), (0, 1, 2))
    run(stack, case.samples()["train"])
    for i, replica in enumerate(stack.replicas):
        for layer, sources in stack.network.layers():
            for part, rows in stack.network.parts[layer].items():
                linked = part in replica.graph[layer - 2]
                assert part in sources and bool((stack.weight(f"W{layer}")[i, rows] != 0).any()) == linked
                assert bool((stack.weight(f"K{layer}")[i, rows] != 0).any()) == linked


def test_rates_and_lambdas_follow_the_stages():
    """2-triangle: W_2, no lambda but decay; 2-nabla: K_2 too; 3-triangle: W_3; 3-nabla: all; eps_0^2 = 4 Obj(0)."""
    case = Case(settings={"layer_rates": (1.0, 4.0), "lambdas": (3.0, 2.0, 1.0), "decay": 0.5})
    stack, zero = case.stack(), case.samples()["train"].zero_error
    epsilon = 2 * zero[stack.row_of].double().sqrt()
    torch.testing.assert_close(stack.machine.epsilon, epsilon)
    trained = [{"W2"}, {"W2", "K2"}, {"W2", "K2", "W3"}, {"W2", "K2", "W3", "K3"}, set()]
    for stage, names in enumerate(trained):
        stack.machine.stage.fill_(stage)
        rates = stack.rates()
        for name, (place, _) in stack.places.items():
            expected = stack.lr * (4.0 if name[1] == "3" else 1.0) * (name in names)
            assert torch.equal(rates[:, place], expected[:, None].expand_as(rates[:, place])), (stage, name)
        lambdas = stack.lambdas()
        for n, alpha in enumerate((1.0, 0.3)):
            weights = torch.tensor([3.0, 2.0, 1.0]) * alpha**2 * (stage > 2 * n)
            torch.testing.assert_close(lambdas[:, n, :3], weights.expand(4, 3))
            decay = 0.5 * epsilon.square().float() * (stage >= 2 * n)
            torch.testing.assert_close(lambdas[:, n, 3], decay)


@pytest.mark.parametrize("teacher", [SMALL, SIGNED, CLASSES], ids=("plain", "signs", "classes"))
def test_a_pass_is_a_step_down_the_objective(teacher):
    """All samples in one batch: mean (y - F~)^2 + Reg (2.3), or log(1 + e^(-y v (x_0 + F~))) + v Reg (3.3)."""
    plain = {"optimiser": "sgd", "momentum": 0.0, "clip": None, "noise": 0.0, "batch": 120, "sharpness": 3.0}
    case = Case(teacher=teacher, lrs=(1e-4, 1e-3), settings=plain)
    stack, train = case.stack(), case.samples()["train"]
    stack.machine.stage.fill_(3)
    for layer, _ in stack.network.layers():
        stack.weight(f"W{layer}")[:] = 0.1 * normal(*stack.weight(f"W{layer}").shape, seed=layer)
        stack.weight(f"K{layer}")[:] = 0.3 * normal(*stack.weight(f"K{layer}").shape, seed=9 + layer)
        getattr(stack, f"R{layer}")[:] = 0.3 * normal(*getattr(stack, f"R{layer}").shape, seed=5)
    flat = stack.flat.detach().clone().requires_grad_()
    p = stack.weights() | {
        name: flat[:, place].unflatten(1, shape) for name, (place, shape) in stack.places.items()
    }
    x, y = train.x[stack.row_of], train.y[stack.row_of, :, 0]
    out = stack.network.run(p, x[..., teacher.classes : teacher.classes + 4], stack.network.bound).out
    reg = stack.network.regulariser(p, stack.lambdas())
    if teacher.classes:
        v = (3.0 / stack.machine.epsilon).float()
        objective = torch.logaddexp(0 * out, -y * v[:, None] * (x[..., 0] + out)).mean(1) + v * reg
    else:
        objective = (y - out).square().mean(1) + reg
    (gradient,) = torch.autograd.grad(objective.sum(), flat)
    assert ((reg > 0.01 * objective) & (gradient.norm(dim=1) > 0.01)).all()
    found = stack.run_epoch(train, stack.optimizer(), 0)
    torch.testing.assert_close(found, objective.detach(), rtol=1e-5, atol=1e-6)
    step = (flat.detach() - stack.flat) / stack.lr[:, None]
    assert ((step - gradient).norm(dim=1) < 1e-2 * gradient.norm(dim=1)).all()  # float32: small steps are rounded


def test_a_new_stage_starts_the_optimiser_anew():
    case = Case()
    stack, train = case.stack(), case.samples()["train"]
    optimizer = stack.optimizer()
    stack.run_epoch(train, optimizer, 0)
    state = optimizer.state[stack.flat]
    before = {name: value.clone() for name, value in state.items()}
    moved = torch.tensor([False, True, False, True])
    stack.machine.stage[moved] += 1
    stack.change_stages(moved, optimizer)
    for name, value in state.items():
        assert (value[moved] == 0).all() and torch.equal(value[~moved], before[name][~moved])
        assert (before[name] != 0).any(1).all()
    assert (stack.found[moved, 0] > 0).all() and (stack.found[~moved] == 0).all()
    assert (stack.weight("K2")[moved] != 0).any() and (stack.weight("K2")[~moved] == 0).all()


# with Lightning


def module(case: Case, **more) -> DenseModule:
    samples = case.samples()
    return DenseModule(case.stack(), case.teachers(), samples["train"], samples["val"], **({"log_every": 2} | more))


def fit(made: DenseModule, *where, **more) -> DenseModule:
    fitting.fit(made, CPU, *where, say=lambda line: None, **more)
    return made


def test_measurements_at_every_change_of_stage():
    case, heard = Case(), []
    made = fit(module(case, listen=heard.append))
    plain, samples = case.stack(), case.samples()
    judge, optimizer = Judge(case.teachers(), samples["val"]), plain.optimizer()
    assert made.measured == ("error", "risk", "f2", "f3") and made.at.shape == (4, 5, 4)
    assert made.at[:, 0].isnan().all()  # nobody enters the first stage
    for epoch in range(14):
        moved = plain.machine.observe(epoch, plain.run_epoch(samples["train"], optimizer, epoch))
        for i in moved.nonzero().flatten().tolist():
            now, stage = judge(plain), int(plain.machine.stage[i])
            assert made.at[i, stage].tolist() == [float(now[name][i]) for name in made.measured]
        plain.change_stages(moved, optimizer)
    assert torch.equal(plain.flat, made.stack.flat) and made.at[:, 1:].isfinite().all()
    assert torch.equal(made.stack.machine.entered, plain.machine.entered)
    last = made.history[-1]
    assert [r.epoch for r in made.history] == [2, 4, 6, 8, 10, 12, 14] and last.step == 14 * 3
    assert heard == made.history
    assert torch.equal(last.values["val", "error"], made.at[:, 4, 0])
    assert torch.equal(last.values["val", "f2"], made.at[:, 4, 2])
    assert last.values["learner", "stage"].tolist() == [4] * 4
    assert torch.equal(last.values["learner", "epsilon"], made.stack.machine.epsilon)
    wanted = {"distilled2", "distilled3", "form2", "wrong2", "stage", "epsilon"}
    assert {name for split, name in last.values if split == "learner"} == wanted


def test_training_ends_when_all_are_through():
    """Stages that end on a plateau leave passes unused."""
    case = Case(lrs=(1e-9,), longest=(20, 20, 20, 20))
    made = fit(module(case))
    ends = made.history[-1].epoch
    assert made.stack.machine.finished.all() and ends < 80
    assert (made.history[-2].values["learner", "stage"] < 4).any()


def record(made: DenseModule) -> dict:
    """All that a run leaves behind, as bytes."""
    history = [
        (r.epoch, r.step, {key: value.numpy().tobytes() for key, value in r.values.items()}) for r in made.history
    ]
    return {"weights": held(made), "history": history}


class Killed(Exception):
    """Stands for a killed job."""


@pytest.fixture
def always_saved(monkeypatch):
    """Checkpoints after every Lightning epoch, however long it takes."""
    save = lambda self, trainer, module: trainer.save_checkpoint(self.path)  # noqa: E731
    monkeypatch.setattr(fitting.Checkpoint, "on_train_epoch_end", save)


def interrupted(case: Case, path, *epochs: int) -> DenseModule:
    """Trained to the end in several processes, of which all but the last are killed in these passes."""
    for at in epochs:
        made = module(case)

        def run_pass(epoch, at=at, plain=made.run_pass):
            if epoch == at:
                raise Killed
            plain(epoch)

        made.run_pass = run_pass
        with pytest.raises(Killed):
            fit(made, path)
        assert path.exists()
    return fit(module(case), path)


@pytest.mark.parametrize("name", ["sgd", "algorithm1", "classes", "together"])
def test_resumed_training_ends_in_the_same_bytes(name, tmp_path, always_saved):
    """Killed within two stages: optimiser, stages, features and history come back."""
    case = CASES[name]
    whole, resumed = fit(module(case)), interrupted(case, tmp_path / "c.safetensors", 5, 11)
    assert resumed.since == 10
    assert record(resumed) == record(whole)


def test_a_run_killed_after_its_last_checkpoint_ends_in_the_same_bytes(tmp_path, always_saved):
    """All replicas were through before the longest time was over; the job died while it wrote its results."""
    case = Case(lrs=(1e-9,), longest=(20, 20, 20, 20))
    whole = fit(module(case), tmp_path / "c.safetensors")
    again = fit(module(case), tmp_path / "c.safetensors")
    assert record(again) == record(whole)
