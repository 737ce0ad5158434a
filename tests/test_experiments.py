"""What an experiment file may ask for: kernels, smooth teachers, axes, parts, joined experiments, 'off'."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from learnability.config import load_experiment, load_experiments, load_settings
from learnability.errors import UserError
from learnability.plan import claim_config, jobs, judged_on, sample_config
from learnability.schema import Experiment, Training

NET = {"network": "layer2", "train": "hidden", "lr": [0.1], "wd": [0.0]}
KERNEL = {"train": "kernel", "kernel": "gaussian", "wd": [0.1]}
SIGNED = {"network": "signed2", "train": "hidden", "lr": [0.1], "wd": [0.0]}
BY_HAND = {"network": "signed2", "train": "handmade", "errors": [0.1]}
SIX = {"kind": "parity_composite", "d": 8, "k": 1, "f_degree": 6, "g_degree": None, "alpha": 0.0}
SMOOTH = {"kind": "concept1", "d": 6, "k": 2, "alpha": 0.3}
BODY: dict[str, Any] = {
    "id": "one",
    "claims": {},
    "teacher": {"kind": "parity_composite", "d": 8, "k": 4, "f_degree": 1, "g_degree": None, "alpha": 0.3},
    "data": {"n_train": 40, "n_val": 20, "n_test": 30, "seeds": [0, 1]},
    "axes": {"m": [200]},
    "learners": {"net": NET},
    "scales": {"smoke": {}, "laptop": {}, "paper": {}},
}


def put(body: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """``body`` with dotted keys set."""
    body = copy.deepcopy(body)
    for dotted, value in changes.items():
        *parents, last = dotted.split(".")
        section = body
        for parent in parents:
            section = section.setdefault(parent, {})
        section[last] = value
    return body


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes config/experiments/<name>.yaml: ``write(one={'axes.d': [2]}, two={...})``."""
    monkeypatch.chdir(tmp_path)
    Path("config/experiments").mkdir(parents=True)
    Path("config/config.yaml").write_text("scale: smoke\n")

    def files(**experiments: dict[str, Any]) -> None:
        for name, changes in experiments.items():
            text = yaml.safe_dump(put(BODY, {"id": name} | changes), sort_keys=False)
            Path(f"config/experiments/{name}.yaml").write_text(text.replace(": false", ": off"))

    return files


def loaded(scale: str = "smoke") -> dict[str, Experiment]:
    return load_experiments(Path("config"), scale, load_settings(Path("config")).experiments)


# what is set, the key blamed, what the line must say
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "d too small": ({"axes.d": [8, 3]}, "axes",
        "no such teacher at d = 3: d must be at least k * f_degree = 4 * 1 = 4, got 3"),
    "d too small at a scale": ({"scales.smoke.axes": {"d": [3]}}, "scales.smoke.axes",
        "no such teacher at d = 3: d must"),
    "d too small for one learner": ({"learners.net": NET | {"axes": {"d": [2]}}}, "learners.net.axes",
                                    "no such teacher at d = 2: d must be at least"),
    "k no multiple": ({"teacher.g_degree": 4, "axes.k": [4, 6]}, "axes",
                      "no such teacher at k = 6: k must be a multiple of g_degree = 4, got 6"),
    "k and d that do not go together": ({"axes.k": [2, 4], "axes.d": [3, 8]}, "axes",
                                        "no such teacher at d = 3, k = 4: d must be at least"),
    "composite of one": ({"axes.k": [1]}, "axes", "no such teacher at k = 1: alpha must be 0 where g_degree is 1"),
    "negative noise": ({"axes.noise": [-1.0]}, "axes.noise.0", "a finite number >= 0, got -1.0"),
    "d no whole number": ({"axes.d": [8.5]}, "axes.d.0", "a whole number > 0, got 8.5"),
    "d of smooth teachers": ({"teacher": SMOOTH, "axes.d": [6, 4]}, "axes.d",
        "else give each d a file"),
    "d of smooth teachers for one": ({"teacher": SMOOTH, "learners.net": NET | {"axes": {"d": [6]}}},
                                     "learners.net.axes.d", "else give each d a file"),
    "together no axis": ({"together": ["beta"]}, "together", "beta is no axis of this experiment; allowed: m"),
    "together unknown": ({"together": ["depth"]}, "together.0",
        "one of m, L, N, d, k, alpha, beta, noise, got \"depth\""),
    "together twice": ({"together": ["m", "m"]}, "together", "values must be distinct, m is given more than once"),
    "together a word": ({"together": "m"}, "together", "a list, each one of m, L, N, d, k"),
    "joined a word": ({"joined": "two"}, "joined", "a list, each text, got \"two\""),
    "joined unknown": ({"joined": ["three"]}, "joined", "no other experiment \"three\"; allowed: two"),
    "joined itself": ({"joined": ["one"]}, "joined", "no other experiment \"one\"; allowed: two"),
    "most_steps zero": ({"training.most_steps": 0}, "training.most_steps", "a whole number > 0, or null, got 0"),
    "phases of a learner empty": ({"learners.net.phases": []}, "learners.net.phases",
        "a list of 1 or more, each a whole"),
    "phases of a kernel": ({"learners.k": KERNEL | {"phases": [3]}}, "learners.k.phases",
        "unknown key; allowed: act"),
    "seeds not in data": ({"learners.net.seeds": [1, 7]}, "learners.net.seeds", "must be among data.seeds, got 7"),
    "seeds of a learner twice": ({"learners.net.seeds": [1, 1]}, "learners.net.seeds",
        "values must be distinct, 1"),
    "unknown kernel": ({"learners.k": KERNEL | {"kernel": "rbf"}}, "learners.k.kernel",
        "one of gaussian, polynomial, arc"),
    "kernel missing": ({"learners.k": {"train": "kernel", "wd": [1]}}, "learners.k.kernel",
        "missing; must be one of gau"),
    "key of another kernel": ({"learners.k": KERNEL | {"depth": 2}}, "learners.k.depth",
                              "is no parameter of gaussian; it takes bandwidth"),
    "key of a kernel without any": ({"learners.k": KERNEL | {"kernel": "arcsin", "bandwidth": 1.0}},
                                    "learners.k.bandwidth", "is no parameter of arcsin; it takes none"),
    "activation of relu's kernel": ({"learners.k": KERNEL | {"kernel": "conjugate", "activation": "erf"}},
                                    "learners.k.activation", "conjugate; it takes bias_var, depth, weight_var"),
    "unknown activation": ({"learners.k": KERNEL | {"kernel": "recursive", "activation": "gelu"}},
                           "learners.k.activation",
        "one of relu, step, sign, abs, erf, cos, sin, exp, gaussian, or null"),
    "bandwidth zero": ({"learners.k": KERNEL | {"bandwidth": 0}}, "learners.k.bandwidth",
        "a finite number > 0, or null"),
    "width of a kernel": ({"learners.k": KERNEL | {"axes": {"m": [5]}}}, "learners.k.axes.m",
        "train: kernel has no width"),
    "network of a kernel": ({"learners.k": KERNEL | {"network": "layer2"}}, "learners.k.network",
        "unknown key; allowed"),
    "lr of a kernel": ({"learners.k": KERNEL | {"lr": [0.1]}}, "learners.k.lr",
        "an empty list, or left out, got [0.1]"),
    "signed2 with outputs": ({"learners.s": SIGNED}, "learners.s.network", "one output: the teacher's k must be 1"),
    "signed2 with an axis k": ({"teacher": SIX | {"f_degree": 1}, "axes.k": [1, 2], "learners": {"s": SIGNED}},
                               "learners.s.network", "one output: the teacher's k must be 1"),
    "signed2 of odd width": ({"teacher": SIX, "learners.s": SIGNED | {"axes": {"m": [200, 7]}}},
        "learners.s.network",
                             "needs even widths, got m = 7"),
    "handmade of another network": ({"teacher": SIX, "learners.h": BY_HAND | {"network": "layer2"}},
                                    "learners.h.network", "one of signed2, got \"layer2\""),
    "handmade of another parity": ({"teacher": SIX | {"f_degree": 4}, "learners.h": BY_HAND}, "learners.h.train",
                                   "the parity of six: f_degree: 6, alpha: 0 and beta: 1"),
    "handmade of another beta": ({"teacher": SIX, "axes.beta": [1.0, 0.5], "learners.h": BY_HAND},
        "learners.h.train",
                                 "the parity of six: f_degree: 6, alpha: 0 and beta: 1"),
    "handmade of a smooth teacher": ({"teacher": SMOOTH | {"k": 1}, "learners.h": BY_HAND}, "learners.h.train",
                                     "the parity of six: f_degree: 6"),
    "handmade too narrow": ({"teacher": SIX, "axes.m": [400, 100], "learners.h": BY_HAND}, "learners.h.train",
                            "needs widths of 200 or more, got m = 100"),
    "handmade with wd": ({"teacher": SIX, "learners.h": BY_HAND | {"wd": [0.1]}}, "learners.h.wd",
        "an empty list, or"),
    "handmade without errors": ({"teacher": SIX, "learners.h": {k: BY_HAND[k] for k in ("network", "train")}},
                                "learners.h.errors",
        "missing; must be a list of 1 or more, each a finite number > 0 and <"),
    "handmade error of one": ({"teacher": SIX, "learners.h": BY_HAND | {"errors": [1.0]}}, "learners.h.errors.0",
                              "a finite number > 0 and < 1, got 1.0"),
    "polynomial without coefficients": ({"teacher": SMOOTH | {"f_activation": "polynomial"}},
        "teacher.f_coefficients",
                                        "goes with f_activation: polynomial, and only with it"),
    "coefficients without polynomial": ({"teacher": SMOOTH | {"g_coefficients": [0.0, 1.0]}},
        "teacher.g_coefficients",
                                        "goes with g_activation: polynomial, and only with it"),
    "unknown smooth activation": ({"teacher": SMOOTH | {"f_activation": "relu"}}, "teacher.f_activation",
                                  "one of polynomial, exp, sin, cos, sigmoid, tanh, got \"relu\""),
    "unknown support": ({"teacher": SMOOTH | {"support": "ball"}}, "teacher.support", "one of sphere, hypercube"),
    "parity's key of a smooth teacher": ({"teacher": SMOOTH | {"f_degree": 2}}, "teacher.f_degree",
        "unknown key; allow"),
    "off in the body": ({"learners.net": False}, "learners.net", "must be 'key: value' pairs, got false"),
    "off of no learner": ({"scales.smoke.learners": {"nte": False}}, "scales.smoke.learners.nte",
        "pairs, got false"),
    "off of a section": ({"scales.smoke.training": False}, "scales.smoke.training", "pairs with keys of batch"),
    "all learners off": ({"scales.smoke.learners": {"net": False}}, "scales.smoke.learners",
        "one or more 'key: value' pairs"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refusal_is_one_line_with_file_key_and_choices(write, kind):
    changes, blamed, says = REFUSED[kind]
    write(one=changes, two={})
    with pytest.raises(UserError) as caught:
        loaded()
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"config/experiments/one.yaml: {blamed}: "), line
    assert says in line and "Input should" not in line


def test_off_leaves_a_learner_out_at_that_scale_only(write):
    write(one={"learners.k": KERNEL, "scales.smoke.learners": {"k": False}})
    assert "k: off" in Path("config/experiments/one.yaml").read_text()
    assert list(loaded("smoke")["one"].learners) == ["net"]
    assert list(loaded("laptop")["one"].learners) == ["net", "k"]


def test_off_of_a_learner_that_a_claim_names_is_refused(write):
    claim = {"methods": ["net", "other"], "hero": "net", "min_seeds": 5, "from_width": 1}
    changes = {"claims": {"B-fig2a": claim}, "learners.other": NET, "scales.smoke.learners": {"other": False}}
    write(one=changes)
    assert loaded("laptop")
    with pytest.raises(
        UserError, match=r'claims\.B-fig2a\.methods: no learner "other" in this experiment; allowed: net'
    ):
        loaded("smoke")


def test_off_on_the_command_line_is_not_taken_for_a_default(write):
    with pytest.raises(UserError, match=r"^--config: tracking: must be 'key: value' pairs with keys of mode"):
        load_settings(Path("config"), {"tracking": False})


def test_most_steps_shortens_all_phases_alike():
    training = Training(batch=50, phases=[250, 25], most_steps=5500)
    assert training.phases_for(1000) == (250, 25)  # 275 epochs of 20 minibatches are just 5500
    assert training.phases_for(500) == (250, 25)  # never longer
    assert training.phases_for(10_000) == (25, 2)
    assert training.phases_for(1_000_000) == (1, 1)  # no phase vanishes
    assert training.phases_for(1001) == (238, 24)  # a minibatch that is not full counts
    assert Training(phases=[250, 25]).phases_for(10**9) == (250, 25)


def test_a_learners_own_phases_are_its_jobs_alone():
    own = {"net": NET, "quick": NET | {"phases": [3, 2]}, "k": KERNEL}
    body = {key: value for key, value in put(BODY, {"learners": own}).items() if key != "scales"}
    found = {job.learner: job.training for job in jobs(Experiment.model_validate(body))}
    assert found["quick"].phases == [3, 2] and found["net"].phases == [400, 400] and found["k"] is None
    assert found["quick"].batch == found["net"].batch


def test_a_learners_own_seeds_are_its_jobs_alone():
    body = put(BODY, {"learners": {"net": NET, "few": NET | {"seeds": [1]}}})
    del body["scales"]
    experiment = Experiment.model_validate(body)
    assert {job.learner: job.parts[0].data.seeds for job in jobs(experiment)} == {"net": [0, 1], "few": [1]}
    assert sample_config(experiment)["data"]["seeds"] == [0, 1]
    body["learners"]["few"]["seeds"] = [0, 1]
    same = {job.learner: job.digest() for job in jobs(Experiment.model_validate(body))}
    assert same["net"] == next(job.digest() for job in jobs(experiment) if job.learner == "net")


def test_joined_experiments_are_judged_together_and_change_the_verdict(write):
    kernels = {
        "learners.gaussian": KERNEL,
        "learners.3resnet": NET | {"network": "resnet3"},
        "axes.alpha": [0.1, 0.3],
    }
    claim = {"B-thm1": {"kernels": ["gaussian"], "hero": "3resnet", "min_seeds": 5}}
    write(one=kernels | {"claims": claim, "joined": ["two"]}, two=kernels)
    found = loaded()
    assert [e.id for e in judged_on(found, "one")] == ["one", "two"]
    before = claim_config(judged_on(found, "one"), "B-thm1")
    write(two=kernels | {"data.n_val": 21})
    assert claim_config(judged_on(loaded(), "one"), "B-thm1") != before
    write(two=kernels | {"axes.d": [8]})
    says = r"one.yaml: joined: B-thm1 is judged by N, alpha, m, noise alone, but two has the axes d too"
    with pytest.raises(UserError, match=says):
        loaded()


def test_the_widest_samples_are_drawn_once():
    axes = {"m": [5], "d": [6, 12], "N": [10, 90], "noise": [0.0, 0.1]}
    body = put(BODY, {"axes": axes, "learners.k": KERNEL | {"axes": {"d": [20]}}})
    del body["scales"]
    config = sample_config(Experiment.model_validate(body))
    assert (config["teacher"]["d"], config["data"]["n_train"]) == (20, 90)
    assert config["teacher"]["alpha"] == 0.3


def test_an_experiment_file_at_a_scale(write):
    write(one={"axes.d": [8], "scales.smoke.together": ["m", "d"]})
    path = Path("config/experiments/one.yaml")
    assert load_experiment(path, "smoke").together == ["m", "d"] and load_experiment(path, "paper").together == []
