"""Learners that are solved for with a formula, through the verbs: what lands in the scores is what it says."""

from __future__ import annotations

import numpy
import pandas
import pytest
import torch

from learnability import teachers
from learnability.artifacts import read_tensors
from learnability.kernels import analytic
from learnability.plan import Layout
from verbs import carry_out, scores_of

WDS = [0.001, 0.05]
KERNELS = {
    "gaussian": {"bandwidth": 0.7},
    "polynomial": {"degree": 2, "offset": 0.5},
    "arcsin": {},
    "random_features": {"activation": "cos", "variance": 2.0},
    "recursive": {"activation": "erf", "depth": 2, "bias_var": 0.1},
    "conjugate": {"depth": 2, "weight_var": 2.0},
    "tangent": {"depth": 2, "bias_var": 0.1, "trains": "all", "parameterisation": "standard"},
    "residual_conjugate": {"bias_var": 0.1},
    "residual_tangent": {"bias_var": 0.1, "output_var": 0.5},
}
LEARNERS = "".join(
    f"  {name.replace('_', '-')}: {{train: kernel, kernel: {name}, wd: {WDS}"
    + "".join(f", {key}: {value}" for key, value in keys.items())
    + "}\n"
    for name, keys in KERNELS.items()
)
EXPERIMENT = f"""
id: tiny
claims: {{}}
teacher: {{kind: parity_composite, d: 8, k: 3, f_degree: 1, g_degree: null, alpha: 0.4}}
data: {{n_train: 60, n_val: 40, n_test: 50, seeds: [0, 1, 2]}}
axes: {{N: [30, 60], noise: [0.0, 0.3]}}
together: [N, noise]
learners:
{LEARNERS}
scales: {{smoke: {{}}, laptop: {{}}, paper: {{}}}}
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Layout:
    return carry_out(tmp_path_factory.mktemp("kernels"), EXPERIMENT)


@pytest.fixture(scope="module")
def scores(done: Layout) -> pandas.DataFrame:
    return scores_of(done)


def test_every_kernel_has_its_rows(scores: pandas.DataFrame) -> None:
    assert len(scores) == len(KERNELS) * 4 * 3 * len(WDS)
    measured = ["train_error", "val_error", "test_error", "test_cF", "test_cG", "population_risk", "predicted_risk"]
    assert numpy.isfinite(scores[measured]).all(axis=None) and not scores.diverged.any()
    assert scores.lr.isna().all() and scores.m.isna().all() and (scores.point == "all").all()


@pytest.mark.parametrize("name", KERNELS)
def test_population_risk_is_the_mean_over_all_points(done: Layout, scores: pandas.DataFrame, name: str) -> None:
    """Against ridge solved and summed over all 2^8 points here, from the samples file."""
    parameters = {("train" if key == "trains" else key): value for key, value in KERNELS[name].items()}
    kernel = analytic.build(name, d=8, **parameters)
    teacher = teachers.build("parity_composite", d=8, k=3, f_degree=1, g_degree=None, alpha=0.4)
    tensors, _ = read_tensors(done.samples("tiny"))
    bits = (torch.arange(256)[:, None] >> torch.arange(8)) & 1
    cube = bits.double() * 2 - 1
    mine = scores[(scores.learner == name.replace("_", "-")) & (scores.noise == 0)].set_index(["N", "seed", "wd"])
    for n in (30, 60):
        x = tensors["x_train"][1, :n].double()
        gram = kernel.on_hypercube(x @ x.T)
        for wd in WDS:
            c = torch.linalg.solve(gram + n * wd * torch.eye(n, dtype=torch.float64), teacher(x))
            out = kernel.on_hypercube(cube @ x.T) @ c
            risk = (out - teacher(cube)).square().sum(-1).mean().item()
            assert mine.population_risk[n, 1, wd] == pytest.approx(risk, rel=1e-6)
            error = (gram @ c - teacher(x)).square().sum(-1).mean().item()
            assert mine.train_error[n, 1, wd] == pytest.approx(error, rel=1e-6, abs=1e-12)


def test_predicted_risk_is_near_the_mean_over_seeds(scores: pandas.DataFrame) -> None:
    found = scores.groupby(["learner", "N", "noise", "wd"])
    assert (found.predicted_risk.nunique() == 1).all()  # it knows no sample
    means = found[["population_risk", "predicted_risk"]].mean()
    ratio = means.population_risk / means.predicted_risk
    assert ratio.between(0.5, 2).all() and abs(numpy.log(ratio).mean()) < 0.1


def test_noise_is_in_the_error_and_not_in_the_risk(scores: pandas.DataFrame) -> None:
    noisy, clean = scores[scores.noise > 0], scores[scores.noise == 0]
    assert clean.test_risk.isna().all() and noisy.test_risk.notna().all()
    gap = noisy.test_error.mean() - noisy.test_risk.mean()
    assert gap == pytest.approx(3 * 0.3**2, rel=0.3)
    assert noisy.test_risk.mean() == pytest.approx(noisy.population_risk.mean(), rel=0.2)
    assert clean.test_error.mean() == pytest.approx(clean.population_risk.mean(), rel=0.2)


def test_coefficients_of_the_best_ridge_are_kept(done: Layout) -> None:
    weights, _ = read_tensors(done.model("tiny", "gaussian", "all"))
    assert {name: tuple(value.shape) for name, value in weights.items()} == {
        f"N{n}-noise{noise}/c": (3, n, 3) for n in (30, 60) for noise in (0.0, 0.3)
    }


SMOOTH = """
id: tiny
claims: {}
teacher: {kind: concept1, d: 6, k: 2, alpha: 0.3, p_g: 30, f_activation: polynomial, f_coefficients: [0.0, 1.0]}
data: {n_train: 40, n_val: 30, n_test: 50, seeds: [0, 1]}
axes: {m: [10], alpha: [0.1, 0.5]}
together: [m, alpha]
learners:
  net: {network: resnet3, train: hidden, lr: [0.1], wd: [0.001]}
  gaussian: {train: kernel, kernel: gaussian, bandwidth: 0.3, wd: [0.0001]}
training: {phases: [4], batch: 10}
scales: {smoke: {}, laptop: {}, paper: {}}
"""


def test_a_smooth_teacher_has_no_exact_risk(tmp_path) -> None:
    """Its inputs are no signs: there is a test error and g_size, and nothing is made up."""
    scores = scores_of(carry_out(tmp_path / "smooth", SMOOTH))
    assert len(scores) == 2 * 2 * 2 and numpy.isfinite(scores.test_error).all()
    assert not {"population_risk", "predicted_risk", "test_risk"} & set(scores.columns)
    assert scores.g_size.eq(1).all() and sorted(scores.alpha.unique()) == [0.1, 0.5]


BY_HAND = """
id: tiny
claims: {}
teacher: {kind: parity_composite, d: 9, k: 1, f_degree: 6, g_degree: null, alpha: 0.0}
data: {n_train: 40, n_val: 30, n_test: 500, seeds: [4]}
axes: {m: [300], d: [7, 9]}
together: [d]
learners:
  by-hand: {network: signed2, train: handmade, errors: [0.3, 0.12]}
scales: {smoke: {}, laptop: {}, paper: {}}
"""


def test_networks_made_by_hand_keep_their_error_in_any_width_and_dimension(tmp_path) -> None:
    scores = scores_of(carry_out(tmp_path / "by-hand", BY_HAND))
    assert len(scores) == 2 * 2 and scores.wanted_error.tolist() == [0.12, 0.3] * 2
    assert (scores.population_risk <= scores.wanted_error).all()
    assert (scores.train_norm_W >= scores.least_norm_W).all()
    assert scores.groupby("d").picked.sum().eq(1).all()
    for column in ("population_risk", "train_norm_W"):
        assert scores.groupby("wanted_error")[column].std().max() < 1e-9  # padding changes neither
    assert (scores.test_error - scores.population_risk).abs().max() < 0.05
