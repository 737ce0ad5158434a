"""A stack with constants: theory: thresholds, lambdas and weight decay of (4.1) and line 7, by hand."""

from __future__ import annotations

import pytest
import torch

from dense_cases import Case, run
from learnability.teachers.densenet import Teacher

# d = 4, alpha_3 = 0.3, k_2 = 2: with C = 3 powers of 4 are 1/54, 1/27, 1/18 at l = 2 and a third of that at l = 3
THEORY = Case(constants="theory")
ENDS = [4 ** (-1 / 54), 4 ** (-1 / 27), 0.09 * 4 ** (-1 / 162), 0.09 * 4 ** (-1 / 81)]


def test_thresholds_are_those_of_the_special_case():
    """2-triangle ends at Thres_{2, nabla}, 2-nabla at Thres_{3, triangle}, ...; each replica has its own alphas."""
    stack = THEORY.with_(gaps=(0.3, 0.1)).stack()
    found = stack.machine.thresholds
    assert found.shape == (8, 4) and found.dtype == torch.float64
    for i, replica in enumerate(stack.replicas):
        scale = (replica.alphas[1] / 0.3) ** 2
        assert found[i].tolist() == pytest.approx([*ENDS[:2], scale * ENDS[2], scale * ENDS[3]], rel=1e-12)
    other = THEORY.with_(settings={"theory_c": 4.0}).stack().machine.thresholds[0]
    assert other[:2].tolist() == pytest.approx([4 ** (-1 / 96), 4 ** (-1 / 48)], rel=1e-12)
    assert Case().stack().machine.thresholds.numel() == 0


def test_lambdas_are_those_of_the_special_case():
    """lambda_{3..5, l} from l-nabla on, lambda_{6, l} = eps_0^2 / (kbar_l L kappa)^8 from l-triangle on."""
    stack = THEORY.with_(settings={"kappa": 1.25, "decay": 77.0, "lambdas": (7.0, 7.0, 7.0)}).stack()
    weights = [
        torch.tensor([4 ** (-1 / 54), 4 ** (-1 / 27), 4 ** (-1 / 18)]),
        0.09 * torch.tensor([4 ** (-1 / 162), 4 ** (-1 / 81), 4 ** (-1 / 54)]),
    ]
    for stage in range(5):
        stack.machine.stage.fill_(stage)
        found = stack.lambdas()
        for n, kbar in enumerate((1, 2)):  # J_2 holds no layer with weights, J_3 holds layer 2
            torch.testing.assert_close(found[:, n, :3], (weights[n] * (stage > 2 * n)).expand(4, 3))
            decay = stack.machine.epsilon.square() / (kbar * 3 * 1.25) ** 8 * (stage >= 2 * n)
            torch.testing.assert_close(found[:, n, 3], decay.float())


def test_weight_decay_follows_the_target_error():
    """Line 18: eps_0 halves, lambda_6 falls to a quarter."""
    stack = THEORY.stack()
    stack.machine.stage.fill_(3)
    before = stack.lambdas()
    stack.machine.epsilon /= 2
    torch.testing.assert_close(stack.lambdas()[..., 3], before[..., 3] / 4)
    assert torch.equal(stack.lambdas()[..., :3], before[..., :3])


def test_kbar_is_of_each_replicas_own_graph():
    """J_4 = {0, 1, 3} or {1, 2, 3}: kbar_4 = k_3 = 1 or k_2 = 3."""
    teacher = Teacher(d=4, alpha=0.3, widths=(3, 1, 1), graph=((0, 1), (0, 2), (0, 1, 3)))
    graphs = (teacher.graph, ((0, 1), (0, 2), (1, 2, 3)))
    case = THEORY.with_(teacher=teacher, graphs=graphs, longest=(1,) * 6, seeds=(1,), lrs=(0.01,))
    stack = case.stack()
    stack.machine.stage.fill_(5)
    share = stack.lambdas()[..., 3].double() / stack.machine.epsilon.square()[:, None]
    torch.testing.assert_close(share, torch.tensor([[4.0, 12.0, 4.0], [4.0, 12.0, 12.0]]).double() ** -8)


def test_stages_end_at_the_thresholds_and_nowhere_else():
    """An objective just above a threshold for the longest time, then at it."""
    stack = THEORY.with_(seeds=(1,), lrs=(0.01,)).stack()
    epoch = 0
    for stage, end in enumerate(ENDS[:3]):
        for objective, expected in ((end * 1.001, stage), (end, stage + 1)):
            stack.machine.observe(epoch, torch.tensor([objective], dtype=torch.float64))
            assert stack.machine.stage.tolist() == [expected]
            epoch += 1


def test_training_runs_by_the_theory():
    stack = THEORY.with_(lrs=(0.02,)).stack()
    objective = torch.stack(run(stack, THEORY.samples()["train"]))
    assert objective.isfinite().all() and (objective[-1] < objective[0]).all()
