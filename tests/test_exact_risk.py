"""Exact population errors of DenseNets: by hand, by quadrature, from samples; the share that takes all layers."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dense_cases import GRAPH, Case
from learnability.teachers.densenet import Teacher
from learnability.training.densenet import DenseStack
from learnability.training.exact_risk import affordable, learned, population_errors, top_share
from learnability.verbs.dense import exact
from networks import normal

KINDS = ("gaussian", "covariance", "mixture", "axis_dropping", "uniform")
LINKS = (((0, 1), (2,)), ((1,), (0, 1, 2)))
FOUR = {"widths": (2, 1, 1), "graph": ((0, 1), (0, 2), (0, 1, 3))}


def case_of(d: int = 3, graphs=None, **more) -> Case:
    sizes = {"alpha": 0.5, "widths": (2, 2), "graph": GRAPH} | more
    teacher = Teacher(d=d, **sizes)
    layers = len(teacher.widths)
    return Case(teacher=teacher, lrs=(0.1,), graphs=graphs or (teacher.graph,), longest=(1,) * 2 * layers)


def filled(case: Case) -> DenseStack:
    """A stack with random weights everywhere, and k_l = the room for it."""
    stack = case.stack()
    for layer, _ in stack.network.layers():
        stack.weight(f"W{layer}")[:] = 0.2 * normal(*stack.weight(f"W{layer}").shape, seed=layer)
        stack.weight(f"K{layer}")[:] = 0.4 * normal(*stack.weight(f"K{layer}").shape, seed=9 + layer)
        getattr(stack, f"R{layer}")[:] = 0.5 * normal(*getattr(stack, f"R{layer}").shape, seed=5)
    return stack


def gaps(stack: DenseStack, i: int, teacher: Teacher, x: np.ndarray) -> np.ndarray:
    """G*(x) - F(x) of replica i at points (n, d), by the network itself, in float64."""
    p = {name: value.double() for name, value in stack.weights(slice(i, i + 1)).items()}
    points = torch.from_numpy(x)
    return (teacher(points)[:, 0] - stack.network.forward(p, points[None])[0][0]).numpy()


def nodes(teacher: Teacher, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (N, d) and weights, exact for the inputs' law up to degree 2n - 1 in every coordinate."""
    law, d = teacher.law, teacher.d
    flat = law.kind == "uniform"
    t, w = (np.polynomial.legendre.leggauss if flat else np.polynomial.hermite_e.hermegauss)(n)
    g = np.array(list(itertools.product(t * (math.sqrt(3) if flat else 1.0), repeat=d)))
    weights = np.array([math.prod(each) for each in itertools.product(w / w.sum(), repeat=d)])
    images = [g @ sigma.T for sigma in law.sigmas.numpy()]
    if law.kind == "axis_dropping":
        images = [np.where(np.arange(d) == i, 0.0, g) for i in range(d)]
    return np.concatenate(images), np.tile(weights, len(images)) / len(images)


def test_two_layers_of_one_variable_by_hand():
    """G* = (a x + b (x^2 - 1))^2 and F alike with a', b': G* - F = A x^2 + 2 B x (x^2 - 1) + C (x^2 - 1)^2, where
    E x^4 = 3, E x^2 (x^2 - 1)^2 = 10, E (x^2 - 1)^4 = 60 and odd moments vanish.
    """
    case = case_of(1, widths=(1,), graph=((0, 1),))
    stack = case.stack()
    stack.weight("W2")[:, :, 0] = torch.tensor([0.5, 0.25])
    found = population_errors(stack, case.teachers(), range(2))
    for i, teacher in enumerate(case.teachers()):
        a, b = teacher.weights[2, 0].item(), teacher.weights[2, 1].item()
        square, cross, fourth = a**2 - 0.25, a * b - 0.125, b**2 - 0.0625
        expected = 3 * square**2 + 40 * cross**2 + 60 * fourth**2 + 20 * square * fourth
        assert found[i].item() == pytest.approx(expected, rel=1e-12)
        # x (x^2 - 1) = He_3 + 2 He_1, (x^2 - 1)^2 = He_4 + 4 He_2 + 2, E He_n^2 = n!
        high, low = 24 * (a * b) ** 2 + 24 * b**4, 2 * (a**2 + 4 * b**2) ** 2 + 16 * (a * b) ** 2
        assert top_share(teacher) == pytest.approx(high / (high + low), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("signs", [False, True])
def test_three_layers_by_quadrature(kind, signs):
    """G* - F has degree 8 in x: nine nodes a variable are exact for its square."""
    case = case_of(distribution=kind, signs=signs)
    stack, (x, w) = filled(case), nodes(case.teacher, 9)
    found = population_errors(stack, case.teachers(), range(2))
    for i, teacher in enumerate(case.teachers()):
        expected = (gaps(stack, i, teacher, x) ** 2 * w).sum()
        assert found[i].item() == pytest.approx(expected, rel=1e-9) and expected > 1


def test_four_layers_by_quadrature():
    case = case_of(2, **FOUR, distribution="uniform")
    stack, (x, w) = filled(case), nodes(case.teacher, 17)
    expected = (gaps(stack, 1, case.teachers()[1], x) ** 2 * w).sum()
    assert population_errors(stack, case.teachers(), [1])[1].item() == pytest.approx(expected, rel=1e-9)


def test_each_replica_has_its_own_graph_and_alpha():
    case = case_of(graphs=LINKS).with_(gaps=(0.1, 0.7))
    stack, (x, _) = filled(case), nodes(case.teacher, 2)
    for i in range(len(stack.replicas)):
        teacher = case.teachers()[int(stack.row_of[i])]
        values = (teacher.polynomial(np.eye(3)) + learned(stack, i, np.eye(3)) * -1.0)(x)
        np.testing.assert_allclose(values, gaps(stack, i, teacher, x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["uniform", "axis_dropping"])
def test_three_layers_from_samples(kind):
    case, n = case_of(distribution=kind), 200_000
    stack = filled(case)
    found = population_errors(stack, case.teachers(), range(2))
    for i, teacher in enumerate(case.teachers()):
        x = case.teacher.law.sample(n, torch.Generator().manual_seed(i)).numpy()
        square = gaps(stack, i, teacher, x) ** 2
        assert abs(square.mean() - found[i].item()) < 4.5 * square.std() / math.sqrt(n)
        assert kind != "uniform" or square.std() / math.sqrt(n) < 0.02 * square.mean()


def test_a_network_at_its_start_misses_all_of_g():
    case = case_of()
    found = population_errors(case.stack(), case.teachers(), range(2))
    assert found.tolist() == pytest.approx([one.output_moments[1] for one in case.teachers()], rel=1e-12)


def test_only_those_asked_for_that_are_alive():
    case = case_of().with_(lrs=(0.1, 0.2))
    stack = filled(case)
    stack.died[3] = 7
    assert population_errors(stack, case.teachers(), [0, 3]).isfinite().tolist() == [True, False, False, False]


@pytest.mark.parametrize("kind", ["gaussian", "covariance", "uniform"])
def test_the_share_is_the_error_of_the_best_polynomial(kind):
    """Weighted least squares on all monomials of degree 4 at the nodes."""
    for teacher in case_of(2, distribution=kind).teachers():
        x, w = nodes(teacher, 9)
        y = teacher(torch.from_numpy(x))[:, 0].numpy()
        monomials = [x[:, 0] ** a * x[:, 1] ** b for a in range(5) for b in range(5 - a)]
        root = np.sqrt(w)[:, None]
        fit = np.stack(monomials, 1)
        best = fit @ np.linalg.lstsq(fit * root, y * root[:, 0], rcond=None)[0]
        expected = ((y - best) ** 2 * w).sum() / teacher.variance()
        assert top_share(teacher) == pytest.approx(expected, rel=1e-8) and 0.001 < expected < 1


def test_a_mixture_has_no_share_and_costs_too_much():
    assert math.isnan(top_share(case_of(distribution="mixture").teachers()[0]))
    sizes = {(10, 3): True, (6, 4): True, (30, 3): False, (10, 4): False, (2, 5): True}
    for (d, depth), wanted in sizes.items():
        assert affordable(Teacher(d=d, alpha=0.1, widths=(1,) * (depth - 1))) == wanted
    kinds = {kind for kind in KINDS if affordable(Teacher(d=4, alpha=0.1, widths=(2, 1), distribution=kind))}
    assert kinds == set(KINDS) - {"mixture"}


def test_what_is_recorded_of_a_part():
    """Errors of the picked replicas and shares of all; nothing of searches, classes and noise."""
    case = case_of().with_(lrs=(0.1, 0.2))
    setup = SimpleNamespace(stack=filled(case), teachers=case.teachers())
    job = SimpleNamespace(spec=SimpleNamespace(alphas=None, graphs=None))
    found = exact(job, None, setup, [2, 1])
    assert set(found) == {("population", "error"), ("teacher", "top_share")}
    assert [math.isfinite(v) for v in found["population", "error"]] == [False, True, True, False]
    shares = [top_share(one) for one in case.teachers()]
    assert found["teacher", "top_share"] == [*shares, *shares]
    search = SimpleNamespace(spec=SimpleNamespace(alphas=[0.1], graphs=None))
    assert exact(search, None, setup, [2, 1]) == {}
    for more in ({"noise": 0.1}, {"classes": True}, {"distribution": "mixture"}):
        other = SimpleNamespace(stack=None, teachers=case_of(**more).teachers())
        assert exact(job, None, other, [0]) == {}
