"""Samples: nested in N and d, labels by the part's own teacher with the same noise, misfits refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from learnability import cli, teachers
from learnability.errors import UserError
from learnability.schema.teachers import SmoothComposite
from learnability.seeding import stream
from learnability.verbs import sample

PARITY = {"kind": "parity_composite", "d": 12, "k": 4, "f_degree": 1, "g_degree": None}
TEACHER: dict[str, Any] = PARITY | {"alpha": 0.3, "beta": 1.0, "noise": 0.1}
DATA: dict[str, Any] = {"n_train": 50, "n_val": 20, "n_test": 30, "seeds": [0, 5]}
SMOOTH = SmoothComposite(kind="concept1", d=6, k=2, alpha=0.3, noise=0.1, p_g=30).model_dump(mode="json")


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("samples")
    found = {"parity": TEACHER, "smooth": SMOOTH, "clean": TEACHER | {"noise": 0.0, "alpha": 0.5}}
    for name, teacher in found.items():
        sample.run({"teacher": teacher, "data": DATA}, folder / f"{name}.safetensors", lambda line: None)
    return {name: folder / f"{name}.safetensors" for name in found}


def load(path: Path, teacher: dict[str, Any] = TEACHER, **data: Any) -> dict[str, Any]:
    return sample.load(path, teacher, DATA | data)


def built(config: dict[str, Any]) -> Any:
    return teachers.build(**config)


def test_a_smaller_d_is_a_prefix_of_every_point(files):
    wide, narrow = load(files["parity"]), load(files["parity"], TEACHER | {"d": 7})
    teacher = built(TEACHER | {"d": 7})
    for name, split in narrow.items():
        assert split.x.shape[-1] == 8 and split.x[..., -1].eq(1).all()  # the constant stays
        assert torch.equal(split.x[..., :7], wide[name].x[..., :7])
        assert torch.equal(split.clean, teacher(split.x[..., :7]))
        assert torch.equal(split.y, wide[name].y)  # H and the noise use no coordinate beyond k


def test_a_smaller_n_is_a_prefix_with_the_same_labels(files):
    few, many = load(files["parity"], n_train=13), load(files["parity"])
    assert torch.equal(few["train"].x, many["train"].x[:, :13])
    assert torch.equal(few["train"].y, many["train"].y[:, :13])
    assert torch.equal(few["train"].clean, many["train"].clean[:, :13])
    assert torch.equal(few["test"].y, many["test"].y)


@pytest.mark.parametrize("kind", ["parity", "smooth"])
def test_noise_changes_its_size_and_not_its_draws(files, kind):
    own = {"parity": TEACHER, "smooth": SMOOTH}[kind]
    once, thrice = load(files[kind], own), load(files[kind], own | {"noise": 0.3})
    for name in sample.SPLITS:
        draws = [(split.y - split.clean) / noise for split, noise in ((once[name], 0.1), (thrice[name], 0.3))]
        torch.testing.assert_close(*draws, rtol=0, atol=1e-4)
        torch.testing.assert_close(once[name].clean, thrice[name].clean)
    assert 0.9 < draws[0].std() < 1.1
    own_stream = torch.randn(30, own["k"], generator=stream("noise", "test", 5))
    torch.testing.assert_close(draws[0][1], own_stream, rtol=0, atol=1e-4)


def test_labels_drawn_again_are_those_of_a_file_of_their_own(files):
    """A part whose teacher an axis has set gets what a file drawn with that teacher holds."""
    own, again = load(files["parity"]), load(files["clean"])
    for name in sample.SPLITS:
        assert torch.equal(own[name].x, again[name].x) and torch.equal(own[name].y, again[name].y)


def test_without_noise_labels_are_clean(files):
    for split in load(files["parity"], TEACHER | {"noise": 0.0}).values():
        assert split.clean is None and torch.equal(split.y, built(TEACHER)(split.x[..., :12]))


def test_another_k_alpha_or_beta_gives_other_labels_of_the_same_points(files):
    changed = TEACHER | {"k": 3, "alpha": 0.7, "beta": -0.5, "noise": 0.0}
    for name, split in load(files["parity"], changed).items():
        assert torch.equal(split.x, load(files["parity"])[name].x)
        f = split.x[..., :3]
        torch.testing.assert_close(split.y, -0.5 * f + 0.7 * f.prod(-1, keepdim=True).expand_as(f))
        assert torch.equal(split.probes["cF"], f)


def test_a_learners_seeds_are_rows_of_their_own(files):
    noisier = TEACHER | {"noise": 0.2}
    both, one = load(files["parity"], noisier), load(files["parity"], noisier, seeds=[5])
    for name in sample.SPLITS:
        assert torch.equal(one[name].x, both[name].x[1:]) and torch.equal(one[name].y, both[name].y[1:])


@pytest.mark.parametrize(
    ("file", "teacher", "data"),
    [
        ("parity", TEACHER | {"d": 13}, {}),
        ("parity", TEACHER, {"n_train": 51}),
        ("parity", TEACHER, {"n_val": 19}),
        ("parity", TEACHER, {"seeds": [0, 1]}),
        ("parity", SMOOTH, {}),
        ("smooth", SMOOTH | {"d": 5}, {}),
        ("smooth", SMOOTH | {"support": "hypercube"}, {}),
    ],
    ids=["wider", "more", "other val", "other seeds", "other kind", "narrower sphere", "other support"],
)
def test_samples_that_do_not_fit_are_refused(files, file, teacher, data):
    with pytest.raises(UserError, match=rf"{file}.safetensors: holds other seeds or sizes than the config"):
        load(files[file], teacher, **data)


def test_a_teacher_that_cannot_be_made_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEARNABILITY_SETTINGS", raising=False)
    Path("config/experiments").mkdir(parents=True)
    Path("config/config.yaml").write_text("scale: smoke\n")
    Path("config/experiments/e.yaml").write_text(
        "{id: e, claims: {}, teacher: {kind: concept1, d: 6, k: 2, alpha: 0.3, g_size: 900.0},"
        " data: {n_train: 9, n_val: 9, n_test: 9, seeds: [0]}, axes: {m: [5]},"
        " learners: {a: {network: layer2, train: last, wd: [0.1]}}, scales: {smoke: {}, laptop: {}, paper: {}}}"
    )
    assert cli.main(["sample", "e"]) == 1
    said = capsys.readouterr().err
    assert "error: teacher: |a| <= 1 is not to be had: G needs a = " in said and "raise p_g or lower g_size" in said
    assert len(said.splitlines()) == 1 and not Path("results").exists()
