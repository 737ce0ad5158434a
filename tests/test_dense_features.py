"""Feature errors, learned forms and errors of stacks whose weights are the teacher's; moments of the inputs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import torch

from dense_cases import GRAPH, SMALL, Case
from learnability.seeding import stream
from learnability.teachers.densenet import Teacher
from learnability.teachers.inputs import Inputs, orthogonal
from learnability.theory import polynomials
from learnability.training import features
from learnability.training.densenet import DenseStack
from learnability.training.features import Judge, forms, procrustes
from networks import normal

TOY = Teacher(d=4, alpha=0.3, family="toy", distribution="uniform")
SIGNED = Teacher(d=4, alpha=0.3, widths=(3, 2), graph=GRAPH, signs=True)
FOUR = Teacher(d=4, alpha=0.3, widths=(3, 2, 1), graph=((0, 1), (0, 2), (0, 1, 3)), distribution="uniform")

# min_U mean ||S* - U S||^2


def rotation(k: int, seed: int = 0) -> torch.Tensor:
    return orthogonal(k, stream("test", seed))


def test_a_rotation_of_the_truth_has_no_error():
    true = normal(50, 3)
    for seed in range(5):
        assert procrustes(true, true @ rotation(3, seed)).item() == pytest.approx(0, abs=1e-13)
    assert procrustes(true, -true).item() == pytest.approx(0, abs=1e-13)
    assert procrustes(true, true[:, [2, 0, 1]]).item() == pytest.approx(0, abs=1e-13)


def test_a_known_change_has_a_known_error():
    """Columns without correlation, of sizes 1, 4, 9; scaled by c: sum (1 - |c|)^2 size."""
    true = torch.linalg.qr(normal(50, 3))[0] * math.sqrt(50) * torch.tensor([1.0, 2.0, 3.0])
    c = torch.tensor([0.5, -1.5, 1.1], dtype=torch.float64)
    assert procrustes(true, true * c).item() == pytest.approx(0.25 * 1 + 0.25 * 4 + 0.01 * 9)
    assert procrustes(true, 0 * true).item() == pytest.approx(14)
    assert procrustes(true, true[:, :2]).item() == pytest.approx(9)  # a feature is missing
    wider = torch.cat([true, torch.zeros(50, 2, dtype=torch.float64)], dim=1)
    assert procrustes(true, wider @ rotation(5)).item() == pytest.approx(0, abs=1e-12)
    assert procrustes(true, wider + torch.tensor([0, 0, 0, 0.2, 0.0])).item() == pytest.approx(0.04, rel=0.3)


def test_the_error_is_the_least_over_rotations():
    true, learned = normal(40, 2), normal(40, 2, seed=1) + 0.5 * normal(40, 2)
    angles = np.linspace(0, 2 * math.pi, 4001)
    least = math.inf
    for flip in (1.0, -1.0):
        for a in angles:
            u = torch.tensor([[math.cos(a), -flip * math.sin(a)], [math.sin(a), flip * math.cos(a)]]).double()
            least = min(least, (true - learned @ u.T).square().sum(1).mean().item())
    assert procrustes(true, learned).item() == pytest.approx(least, rel=1e-5)
    true, learned = normal(3, 40, 5, seed=2), normal(3, 40, 5, seed=3)
    found = procrustes(true, learned)
    assert found.shape == (3,)
    for i in range(3):
        u, _ = scipy.linalg.orthogonal_procrustes(learned[i].numpy(), true[i].numpy())
        gap = ((true[i].numpy() - learned[i].numpy() @ u) ** 2).sum(1).mean()
        assert found[i].item() == pytest.approx(gap, rel=1e-10)


def test_the_error_does_not_depend_on_bases_or_order():
    true, learned = normal(40, 3), normal(40, 4, seed=1)
    plain = procrustes(true, learned)
    assert plain > 0.5
    torch.testing.assert_close(procrustes(true @ rotation(3), learned @ rotation(4)), plain)
    torch.testing.assert_close(procrustes(learned, true), plain)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(procrustes(true[order], learned[order]), plain)
    torch.testing.assert_close(procrustes(3 * true, 3 * learned), 9 * plain)


# stacks with the teacher's weights


def exact(teacher: Teacher, turned: bool = False) -> tuple[Case, DenseStack]:
    """W_l and K_l are W*_l, R_l picks S_l itself, so that u_l = S_l^2; ``turned``: S_l is a rotation of S*_l."""
    case = Case(teacher=teacher, graphs=(teacher.graph,), lrs=(0.1,), longest=(1,) * 2 * len(teacher.widths))
    stack = case.stack()
    for i, replica in enumerate(stack.replicas):
        mine = teacher.of_seed(replica.seed)
        for layer, sources in stack.network.layers():
            k, parts = teacher.widths[layer - 2], stack.network.parts[layer]
            signs = mine.directions[layer - 2]
            u = rotation(k, seed=i) if turned and not teacher.signs else torch.eye(k, dtype=torch.float64)
            w, features_, d = (
                stack.weight(f"W{layer}")[i],
                stack.weight(f"K{layer}")[i],
                stack.network.m[layer - 2],
            )
            columns = [c if sign > 0 else (d + 1) // 2 + c for c, sign in enumerate(signs.tolist())]
            for j in sources:
                true = mine.weights[layer, j].T  # (k_j, k_l)
                rows = slice(parts[j].start, parts[j].start + len(true))
                w[rows, columns], features_[rows, :k] = true.float(), (true @ u).float()
            getattr(stack, f"R{layer}")[i, :k, :k] = u.float()
            getattr(stack, f"E{layer}")[i, 0, :k] = signs.float()
    return case, stack


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("teacher", [SMALL, SIGNED, TOY, FOUR], ids=("small", "signs", "toy", "four"))
def test_the_teachers_own_weights_have_no_error(teacher, turned):
    case, stack = exact(teacher, turned)
    split = case.samples()["val"]
    found, size = Judge(case.teachers(), split)(stack), split.y.square().mean().item()
    layers = [f"f{n}" for n in range(2, len(teacher.widths) + 2)]
    assert set(found) == {"error", "tilde_error", "risk", *layers}
    assert all((found[name] < 1e-9 * size).all() for name in ("error", "risk"))
    assert all((found[name] < 1e-8 * size).all() for name in layers)
    table = forms(stack, case.teachers())
    assert set(table) == {"form2", "wrong2", *[f"distilled{n}" for n in range(2, len(teacher.widths) + 2)]}
    assert all((value < 1e-5).all() for value in table.values())


def test_each_replica_is_held_against_the_teacher_of_its_seed():
    case, stack = exact(SMALL)
    other = Judge(case.teachers(case.seeds[::-1]), case.samples()["val"])(stack)
    assert (other["risk"] > 0.1).all() and (other["f2"] > 0.1).all()
    assert (forms(stack, case.teachers(case.seeds[::-1]))["form2"] > 0.1).all()


def test_changed_weights_have_known_errors():
    case, stack = exact(SMALL)
    split = case.samples()["val"]
    judge = Judge(case.teachers(), split)
    s = [t.features(split.x[i, :, :4].double()) for i, t in enumerate(case.teachers())]
    stack.weight("K2")[0] *= 0.5  # half of every feature
    stack.weight("K2")[1, :, 0] = 0.0  # the first feature is lost
    found = judge(stack)
    assert found["f2"][0].item() == pytest.approx(0.25 * s[0][2].square().sum(1).mean().item(), rel=1e-4)
    cross = s[1][2].T @ s[1][2][:, 1:] / 120  # a rotation makes the best of what is left
    lost = s[1][2].square().sum(1).mean() + s[1][2][:, 1].square().mean() - 2 * torch.linalg.svdvals(cross).sum()
    assert found["f2"][1].item() == pytest.approx(lost.item(), rel=1e-4)
    table = forms(stack, case.teachers())
    assert table["distilled2"][0].item() == pytest.approx(0.75, rel=1e-4)  # 1/4 of K^T K
    assert table["form2"][0].item() == pytest.approx(0.75, rel=1e-4)
    w = case.teachers()[1].quadratic_form(2)
    only = torch.cat([case.teachers()[1].weights[2, j][1] for j in (0, 1)])
    expected = (torch.outer(only, only) - w).norm() / w.norm()
    assert table["form2"][1].item() == pytest.approx(expected.item(), rel=1e-4)


def test_wrong_monomials_of_the_toy():
    """z = (x, x^2); (x_1^2 + a x_3)^2 has 2 a x_1^2 x_3 and a^2 x_3^2, (b x_4^2)^2 has b^2 x_4^4."""
    case, stack = exact(TOY)
    a, b = 0.1, 0.7
    stack.weight("K2")[0, 2, 0] = a
    stack.weight("K2")[1, 7, 2] = b
    found = forms(stack, case.teachers())
    assert found["wrong2"].tolist() == pytest.approx([2 * a, b**2], rel=1e-6)
    stack.weight("K2")[1, 4, 0] = 5.0  # a right monomial, however large, is not wrong
    assert forms(stack, case.teachers())["wrong2"][1].item() == pytest.approx(b**2, rel=1e-6)
    stack.weight("K2")[0, 2, 0] = 3.0
    assert forms(stack, case.teachers())["wrong2"][0].item() == pytest.approx(9.0, rel=1e-6)  # a^2 > 2a


def test_forms_of_other_inputs_are_not_compared():
    case = Case(graphs=(((1,), (0, 2)),))
    assert set(forms(case.stack(), case.teachers())) == {"distilled2", "distilled3"}


def test_blocks_change_nothing(monkeypatch):
    case, stack = exact(SMALL)
    stack.weight("W2")[:] *= 1.1
    stack.weight("K2")[:, 0] += 0.3
    judge = Judge(case.teachers(), case.samples()["val"])
    whole = judge(stack)
    monkeypatch.setattr(features, "BLOCK", 7)
    for name, value in judge(stack).items():
        torch.testing.assert_close(value, whole[name], rtol=1e-6, atol=1e-9)
    assert (whole["error"] > 0.01).all()


def test_noise_is_in_the_error_and_not_in_the_risk():
    case, stack = exact(replace(SMALL, noise=0.5))
    found = Judge(case.teachers(), case.samples()["val"])(stack)
    assert (found["risk"] < 1e-6).all() and ((found["error"] - 0.25).abs() < 4.5 * 0.25 * math.sqrt(2 / 120)).all()


def test_truncation_is_in_the_error_of_f_tilde_only():
    case, stack = exact(SMALL)
    object.__setattr__(stack.network, "bound", 0.1)
    found = Judge(case.teachers(), case.samples()["val"])(stack)
    assert (found["error"] < 1e-6).all() and (found["tilde_error"] > 1e-3).all()


def test_with_classes_the_error_is_the_rate_of_wrong_signs():
    case, stack = exact(replace(SMALL, classes=True, scale=0.2))
    stack.alpha *= 0.2  # the replicas were given scale 1
    split = case.samples()["val"]
    judge = Judge(case.teachers(), split)
    assert (judge(stack)["error"] == 0).all() and (judge(stack)["risk"] < 1e-6).all()
    stack.alpha[:] = 0.0  # F = 0: sgn(x_0)
    rates = [(split.x[i, :, 0].sign() != split.y[i, :, 0]).double().mean().item() for i in range(2)]
    assert judge(stack)["error"].tolist() == pytest.approx(rates) and min(rates) > 0


# moments of the inputs


@pytest.mark.parametrize("kind", ["gaussian", "covariance", "mixture", "axis_dropping", "uniform"])
def test_fourth_moments(kind):
    """By hand, from the components that exact moments use, and from samples."""
    d, n = 4, 200_000
    law = Inputs(kind, d, spread=1.5)
    second = law.second_moments()
    parts = (law.sigmas @ law.sigmas.mT).diagonal(dim1=1, dim2=2)  # (C, d), variances of each component
    by_hand = {
        "axis_dropping": torch.full((d,), 3 * (1 - 1 / d), dtype=torch.float64),
        "uniform": torch.full((d,), 1.8, dtype=torch.float64),
    }
    expected = by_hand.get(kind, 3 * parts.square().mean(0))
    x = law.sample(n, torch.Generator().manual_seed(2))
    for moment, wanted in ((x, torch.zeros(d)), (x.square(), second), (x**4, expected), (x**3, torch.zeros(d))):
        assert ((moment.mean(0) - wanted).abs() < 4.5 * moment.std(0) / math.sqrt(n)).all()
    components = law.measures(4)
    assert len(components) == {"mixture": 3, "axis_dropping": d}.get(kind, 1)
    found = torch.zeros(d).double()
    for part in components:
        for i, p in enumerate(polynomials.linear(part.matrix)):
            found[i] += polynomials.second_moment(p * p, part.tables) / len(components)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
