"""The config: what it resolves to; every mistake is one line with file, key and what is allowed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from learnability.config import load_experiment, load_experiments, load_settings
from learnability.errors import UserError
from learnability.schema.base import AXES, SCALES, Axes

ROOT = Path(__file__).parents[1]
MAIN, FIG = "config/config.yaml", "config/experiments/fig2a.yaml"
GONE = object()
INF, NAN = float("inf"), float("nan")

N = "learners.2layer-ntk"
NTK = {"network": "layer2", "train": "ntk", "wd": [1]}
LEARNERS = "3resnet, 3layer, 2layer, 3resnet-last"
LINEAR = "axes, init_scale, lr, network, outputs, seeds, solver, train, wd"
SECTIONS = "axes, claims, data, id, joined, learners, scales, teacher, together, training"
CLAIMS = "A-gap, A-kernels, A-layerwise, A-search, A-thm1, A-thm2, A-thm3, A-thm4, A-toy, A-two-layer, B-cor7.1"
TRAINS = "hidden, last, ntk, kernel, handmade, densenet, polynomial, interpolate, two_phases, margin, definition"

# file, key to set, value, key blamed ('' if the same), what the line must say
MISTAKES: dict[str, tuple[str, str, Any, str, str]] = {
    "unknown key in settings": (MAIN, "scael", "smoke", "", "allowed: device, experiments, sc"),
    "unknown key in tracking": (MAIN, "tracking.team", "x", "", "allowed: entity, mode, project"),
    "bad scale": (MAIN, "scale", "huge", "", 'one of smoke, laptop, paper, got "huge"'),
    "bad device": (MAIN, "device", "tpu", "", "one of auto, cpu, cuda, mps"),
    "bad mode": (MAIN, "tracking.mode", True, "", "auto, online, offline, disabled, got true"),
    "tracking no section": (MAIN, "tracking", "off", "", "pairs with keys of mode, project, en"),
    "scratch a number": (MAIN, "scratch", 3, "", "must be text that is not empty, got 3"),
    "experiments a word": (MAIN, "experiments", "fig2a", "", "a list of 1 or more, each text, or"),
    "experiments empty": (MAIN, "experiments", [], "", "a list of 1 or more"),
    "experiments twice": (MAIN, "experiments", ["fig2a", "fig2a"], "", "must be distinct, fig2a"),
    "unknown experiment": (MAIN, "experiments", ["fig9"], "", '"fig9"; allowed: fig2a'),
    "unknown section": (FIG, "learner", {}, "", f"unknown key; allowed: {SECTIONS}"),
    "unknown key of a learner": (FIG, "learners.2layer-ntk.depth", 3, "", f"allowed: {LINEAR}"),
    "unknown key of data": (FIG, "data.n_trian", 9, "", "allowed: n_test, n_train, n_val, seeds"),
    "unknown key of the teacher": (FIG, "teacher.gamma", 1, "", "allowed: alpha, beta, d, f_degre"),
    "unknown key at a scale": (FIG, "scales.smoke.data.n", 9, "", "allowed: n_test, n_train, n_v"),
    "unknown weight": (FIG, "learners.2layer.init_scale", {"Q": 1}, "+.Q", "allowed: A, V, W"),
    "unknown network": (FIG, "learners.2layer.network", "cnn", "", "one of resnet3, layer3, layer2, signed2"),
    "unknown train": (FIG, "learners.2layer.train", "all", "", f'one of {TRAINS}, got "all"'),
    "missing train": (FIG, "learners.2layer.train", GONE, "", f"missing; must be one of {TRAINS}"),
    "missing network": (FIG, "learners.2layer.network", GONE, "", "missing; must be one of resnet"),
    "missing wd": (FIG, "learners.2layer-ntk.wd", GONE, "", "missing; must be a list of 1 or more"),
    "missing id": (FIG, "id", GONE, "", "missing; must be text"),
    "missing size": (FIG, "teacher.d", GONE, "", "missing; must be a whole number > 0"),
    "learner left empty": (FIG, "learners.2layer-last", None, "", "'key: value' pairs, got null"),
    "learner's name a number": (FIG, "learners.3", NTK, "", "put it in quotes"),
    "learner's name a path": (FIG, "learners.a/b", NTK, "", "must be letters, digits"),
    "misspelt learner at a scale": (FIG, "scales.smoke.learners.3resnt", {"lr": [1]}, "+.train",
                                    "missing; must be one of hidden"),
    "id with a blank": (FIG, "id", "fig 2a", "", "letters, digits"),
    "id of a folder": (FIG, "id", "figures", "", "must not be figures, logs, verdicts, wandb"),
    "unknown axis": (FIG, "axes.depth", [2], "", "unknown key; allowed: L, N, alpha, beta, d, k, m, noise"),
    "unknown axis of a learner": (FIG, "learners.2layer.axes", {"q": [1]}, "+.q", "N, alpha, beta"),
    "negative width": (FIG, "scales.smoke.axes.m", [-5], "+.0", "a whole number > 0, got -5"),
    "broken width": (FIG, "scales.smoke.axes.m", [20.5], "+.0", "a whole number > 0, got 20.5"),
    "width a word": (FIG, "scales.smoke.axes.m", ["wide"], "+.0", 'a whole number > 0, got "wide"'),
    "width true": (FIG, "scales.smoke.axes.m", [True], "+.0", "a whole number > 0, got true"),
    "width no list": (FIG, "scales.smoke.axes.m", 20, "", "a list of 1 or more, each a whole numb"),
    "no widths": (FIG, "scales.smoke.axes.m", [], "", "a list of 1 or more"),
    "widths twice": (FIG, "scales.smoke.axes.m", [20, 20], "", "must be distinct, 20"),
    "negative alpha": (FIG, "axes.alpha", [-0.1], "+.0", "a finite number >= 0, got -0.1"),
    "beta infinite": (FIG, "axes.beta", [INF], "+.0", "a finite number, got Infinity"),
    "lr zero": (FIG, "scales.smoke.learners.2layer.lr", [0], "+.0", "a finite number > 0, got 0"),
    "lr NaN": (FIG, "scales.smoke.learners.2layer.lr", [NAN], "+.0", "a finite number > 0, got Na"),
    "lr negative": (FIG, "scales.smoke.learners.2layer.lr", [-1.0], "+.0", "> 0, got -1.0"),
    "lr text": (FIG, "scales.smoke.learners.2layer.lr", ["0,5"], "+.0", '> 0, got "0,5"'),
    "lr for ridge": (FIG, "learners.2layer-ntk.lr", [0.1], "", "is for solver: sgd only"),
    "no lr for sgd": (FIG, f"{N}.solver", "sgd", f"{N}.lr", "missing; solver: sgd needs"),
    "outputs of last": (FIG, "learners.2layer-last.outputs", "separate", "", "for train: ntk with"),
    "momentum one": (FIG, "training.momentum", 1.0, "", "a finite number >= 0 and < 1, got 1.0"),
    "no phases": (FIG, "scales.smoke.training.phases", [], "", "a list of 1 or more, each a whole"),
    "seeds twice": (FIG, "scales.smoke.data.seeds", [0, 1, 0], "", "must be distinct, 0 is given"),
    "no seeds": (FIG, "scales.smoke.data.seeds", [], "", "a list of 1 or more, each a whole numbe"),
    "teacher a list": (FIG, "teacher", [1], "", "must be 'key: value' pairs, got [1]"),
    "k no multiple": (FIG, "teacher.g_degree", 3, "teacher.k", "a multiple of g_degree = 3, got 8"),
    "too few coordinates": (FIG, "teacher.d", 15, "", "at least k * f_degree = 8 * 2 = 16, got 15"),
    "unknown teacher": (FIG, "teacher.kind", "cubic", "", "densenet, sphere, line, got"),
    "huge number": (FIG, "teacher.alpha", 10**400, "", "a finite number >= 0, got 1000"),
    "axis of no claim": (FIG, "axes.N", [500, 1000], "claims.B-fig2a", "judged by m alone, but axes has N too"),
    "unknown claim": (FIG, "claims.Z-fig9", {}, "", f"no such claim; allowed: {CLAIMS}"),
    "claim left empty": (FIG, "claims.B-fig2a", None, "", "'key: value' pairs, got null"),
    "unknown claim key": (FIG, "claims.B-fig2a.rato", 1, "", "allowed: from_width, hero, "),
    "claim key missing": (FIG, "claims.B-fig2a.methods", GONE, "", "missing; must be a list"),
    "claim key wrong": (FIG, "claims.B-fig2a.from_width", 0, "", "a whole number > 0, got 0"),
    "claim key infinite": (FIG, "claims.B-fig2a.ratio", INF, "", "a finite number > 0"),
    "claim of no learner": (FIG, "claims.B-fig2a.methods", ["3resnet", "svm"], "",
                            f'no learner "svm" in this experiment; allowed: {LEARNERS}'),
    "hero no learner": (FIG, "claims.B-fig2a.hero", "svm", "", "allowed: 3resnet, 3resnet-last"),
    "a scale missing": (FIG, "scales.paper", GONE, "scales", "smoke, laptop, paper, got smoke, la"),
    "no scales": (FIG, "scales", GONE, "", "just smoke, laptop, paper, got null"),
    "a scale a word": (FIG, "scales.smoke", "small", "", "'key: value' pairs, got \"small\""),
}  # fmt: skip

# file -> its bytes (None: no file), the file blamed, what the line must say
DAMAGES: dict[str, tuple[dict[str, bytes | None], str, str]] = {
    "no settings": ({MAIN: None}, MAIN, "cannot be read: No such file"),
    "settings empty": ({MAIN: b""}, MAIN, "'key: value' pairs, is empty"),
    "settings a list": ({MAIN: b"- scale\n"}, MAIN, "must hold 'key: value' pairs"),
    "settings binary": ({MAIN: b"\x80\x00\xff"}, MAIN, "not UTF-8 text"),
    "settings broken": ({MAIN: b"scale: [smoke\n"}, MAIN, "not valid YAML at line"),
    "settings key twice": (
        {MAIN: b"scale: smoke\nscale: paper\n"},
        MAIN,
        "'scale' is given tw",
    ),
    "no experiments": ({FIG: None}, "config/experiments", "no *.yaml file there"),
    "experiment empty": ({FIG: b"# later\n"}, FIG, "'key: value' pairs, is empty"),
    "experiment binary": ({FIG: bytes(range(256))}, FIG, "not UTF-8 text"),
    "experiment with NULs": ({FIG: b"id: a\0b\n"}, FIG, "not UTF-8 text"),
    "experiment broken": ({FIG: b"id: fig2a\n  data: {\n"}, FIG, "not valid YAML at line 2"),
    "key twice": (
        {FIG: b"id: a\ndata:\n  k: 1\n  k: 2\n"},
        FIG,
        "line 4: key 'k' is given twice",
    ),
    "key a list": ({FIG: b"? [a, b]\n: 1\n"}, FIG, "not valid YAML at line 1"),
    "template braces": ({FIG: b"id: {{ name }}\n"}, FIG, "not valid YAML at line 1"),
    "unknown tag": (
        {FIG: b"id: !!python/object:os.system x\n"},
        FIG,
        "not valid YAML at line 1",
    ),
    "no such day": ({FIG: b"id: 2020-13-45\n"}, FIG, "not valid YAML: month must be"),
    "thousand brackets": ({FIG: b"id: " + b"[" * 9999}, FIG, "not valid YAML"),
    "other ending": (
        {"config/experiments/x.yml": b"id: x\n"},
        "config/experiments/x.yml",
        "x.yaml",
    ),
}


def change(file: Path, dotted: str, value: Any) -> None:
    """Set (or take out) one key of a YAML file."""
    content = yaml.safe_load(file.read_text())
    *parents, last = dotted.split(".") if "/" not in dotted else dotted.rsplit(".", 1)
    section = content
    for parent in parents:
        section = section[parent]
    if value is GONE:
        del section[last]
    else:
        section[int(last) if last.isdigit() else last] = value
    file.write_text(yaml.safe_dump(content, sort_keys=False))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the project's config and workflow in it."""
    for part in ("config", "workflow"):
        shutil.copytree(ROOT / part, tmp_path / part)
    for other in (tmp_path / "config/experiments").glob("*"):
        if other.name != "fig2a.yaml":
            other.unlink()
    shutil.copy(ROOT / "Snakefile", tmp_path)
    change(tmp_path / MAIN, "scale", "smoke")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def damage(kind: str) -> tuple[str, str]:
    """Make that mistake in the working directory; what its line begins with and what it says."""
    if kind in DAMAGES:
        files, blamed, says = DAMAGES[kind]
        for name, content in files.items():
            Path(name).unlink(missing_ok=True)
            if content is not None:
                Path(name).write_bytes(content)
        return f"{blamed}: ", says
    file, key, value, blamed, says = MISTAKES[kind]
    change(Path(file), key, value)
    return f"{file}: {blamed.replace('+', key) or key}: ", says


def lines_of_load() -> list[str]:
    with pytest.raises(UserError) as caught:
        load_experiments(Path("config"), "smoke", load_settings(Path("config")).experiments)
    return str(caught.value).splitlines()


@pytest.mark.parametrize("kind", [*MISTAKES, *DAMAGES])
def test_a_mistake_is_one_line_with_file_key_and_choices(place, kind):
    begins, says = damage(kind)
    (line,) = lines_of_load()
    assert line.startswith(begins)
    assert says in line
    assert "Input should" not in line and "dictionary" not in line


def test_a_learner_without_a_width_is_told_where_to_give_it(place):
    change(Path(FIG), "axes", {})
    change(Path(FIG), "scales.smoke.axes", GONE)
    (line,) = lines_of_load()
    assert line.startswith(f"{FIG}: learners.3resnet.axes.m: missing; widths go here or in axes.m")


def test_several_mistakes_are_a_line_each(place):
    change(Path(FIG), "learners.2layer.network", "cnn")
    change(Path(FIG), "teacher.alpha", "much")
    change(Path(FIG), "scales.smoke.axes.m", [0, "wide"])
    keys = [line.split(": ")[1] for line in lines_of_load()]
    widths = ["scales.smoke.axes.m.0", "scales.smoke.axes.m.1"]
    assert keys == ["teacher.alpha", *widths, "learners.2layer.network"]


@pytest.mark.parametrize("key", ["id", "claims"])
def test_two_files_may_not_share_an_id_or_a_claim(place, key):
    shutil.copy(FIG, "config/experiments/later.yaml")
    if key == "claims":
        change(Path("config/experiments/later.yaml"), "id", "later")
    (line,) = lines_of_load()
    shared = "id: fig2a" if key == "id" else "claims.B-fig2a"
    assert line.startswith(f"config/experiments/later.yaml: {shared}: taken by {FIG}")


def test_a_bad_scale_on_the_command_line_is_not_blamed_on_the_file(place):
    with pytest.raises(UserError, match=r"^--config: scale: must be one of smoke, laptop, paper"):
        load_settings(Path("config"), {"scale": "huge"})
    with pytest.raises(UserError, match=r"^--config: tracking\.mode: must be one of auto"):
        load_settings(Path("config"), {"tracking": {"mode": "loud"}})
    assert load_settings(Path("config"), {"scale": "paper"}).scale == "paper"


def test_scale_is_laid_over_the_body(place):
    smoke, laptop = (load_experiment(Path(FIG), scale) for scale in ("smoke", "laptop"))
    assert smoke.data.n_train < laptop.data.n_train
    assert smoke.learners["2layer"].network == laptop.learners["2layer"].network
    assert all(isinstance(m, int) for m in smoke.axes["m"]) and smoke.axes["m"] != laptop.axes["m"]


@pytest.mark.parametrize("scale", SCALES)
def test_the_projects_own_config_is_valid(scale):
    assert load_experiments(ROOT / "config", scale, load_settings(ROOT / "config").experiments)


def test_numbers_anchors_and_merges_read_as_meant(place):
    text = Path(FIG).read_text().replace("alpha: 0.3", "alpha: 3e-1").replace("drop: 10", "drop: 1e1")
    text = text.replace("train: ntk, wd: *ridges}", "train: ntk, wd: [1e-3, 1]}")
    Path(FIG).write_text(text.replace("{network: layer3, train: last,", "{<<: {network: layer3}, train: last,"))
    experiment = load_experiment(Path(FIG), "smoke")
    assert (experiment.teacher.alpha, experiment.training.drop) == (0.3, 10.0)
    assert experiment.learners["2layer-ntk"].wd == [0.001, 1.0]
    assert experiment.learners["3layer-last"].network == "layer3"


def test_every_axis_has_its_values_checked():
    assert list(Axes.__annotations__) == list(AXES)


def snakemake(*arguments: str) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in os.environ.items() if k != "LEARNABILITY_SETTINGS"}
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


ON_THE_COMMAND_LINE = [
    "unknown key in settings", "bad scale", "unknown experiment", "unknown key at a scale",
    "unknown train", "missing wd", "negative width", "lr NaN", "seeds twice", "k no multiple",
    "unknown axis", "claim of no learner", "a scale missing", "no experiments", "key twice",
    "experiment binary",
]  # fmt: skip
ON_THE_COMMAND_LINE += ["no settings", "settings key twice"]


@pytest.mark.parametrize("kind", ON_THE_COMMAND_LINE)
def test_snakemake_says_it_before_any_job(place, kind):
    begins, says = damage(kind)
    done = snakemake()
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert done.returncode == 1
    assert line.startswith(f"error: {begins}") and says in line
    assert "Traceback" not in done.stderr + done.stdout
    assert not Path("results").exists()


def test_snakemake_refuses_a_scale_on_its_command_line(place):
    done = snakemake("--config", "scale=huge")
    assert done.returncode != 0 and "Traceback" not in done.stderr and not Path("results").exists()
    assert 'scale: must be one of smoke, laptop, paper, got "huge"' in done.stderr
