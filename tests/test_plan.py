"""The plan: which jobs there are, where axis values land, what changes a digest, the paths."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from learnability.errors import UserError
from learnability.plan import Layout, digest, find_job, jobs, point_name, sample_config
from learnability.schema import Experiment

BODY: dict[str, Any] = {
    "id": "tiny",
    "claims": {"B-fig2a": {}},
    "teacher": {"kind": "parity_composite", "d": 8, "k": 4, "alpha": 0.3},
    "data": {"n_train": 40, "n_val": 20, "n_test": 30, "seeds": [0, 1]},
    "axes": {"m": [5, 10]},
    "learners": {
        "net": {"network": "layer2", "train": "hidden", "lr": [0.1], "wd": [0.0]},
        "ntk": {"network": "layer2", "train": "ntk", "wd": [0.1]},
        "last": {"network": "resnet3", "train": "last", "wd": [0.1], "solver": "sgd", "lr": [1.0]},
    },
}


def tiny(**sections: Any) -> Experiment:
    return Experiment.model_validate(BODY | sections)


def learners(**changes: dict[str, Any]) -> dict[str, Any]:
    return {name: spec | changes.get(name, {}) for name, spec in BODY["learners"].items()}


def digests(experiment: Experiment) -> dict[tuple[str, str], str]:
    return {(job.learner, job.point): job.digest() for job in jobs(experiment)}


def changed(**sections: Any) -> set[tuple[str, str]]:
    """(learner, point) of the jobs whose digest differs from the plain experiment's."""
    before, after = digests(tiny()), digests(tiny(**sections))
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def test_jobs_are_learners_times_points():
    assert [(job.learner, job.point) for job in jobs(tiny())] == [
        (learner, point) for learner in ("net", "ntk", "last") for point in ("m5", "m10")
    ]


def test_point_names():
    assert point_name({"m": 200, "N": 1000}) == "m200-N1000"
    assert point_name({"m": 20, "alpha": 0.3, "beta": -0.5}) == "m20-alpha0.3-beta-0.5"


def test_point_names_of_large_sizes_are_exact():
    assert point_name({"m": 20, "N": 1_000_000}) == "m20-N1000000"
    assert point_name({"N": 1_234_567}) != point_name({"N": 1_234_568})


def test_points_do_not_depend_on_the_order_of_the_axes_in_the_file():
    one = tiny(axes={"m": [5], "N": [10, 40]})
    other = tiny(axes={"N": [10, 40], "m": [5]})
    assert digests(one) == digests(other)
    assert {job.point for job in jobs(one)} == {"m5-N10", "m5-N40"}


def test_axis_values_land_in_their_sections():
    experiment = tiny(axes={"m": [5], "N": [10], "alpha": [0.5], "beta": [0]})
    (job, *_) = jobs(experiment)
    (part,) = job.parts
    assert (part.width, part.data.n_train) == (5, 10)
    assert (part.teacher.alpha, part.teacher.beta) == (0.5, 0.0)
    assert (part.data.n_val, part.teacher.d) == (20, 8)
    assert experiment.data.n_train == 40  # the experiment itself stays as it was


def test_a_learner_may_have_axes_of_its_own():
    experiment = tiny(learners=learners(ntk={"axes": {"m": [7], "N": [20]}}))
    points = {name: [job.point for job in jobs(experiment) if job.learner == name] for name in experiment.learners}
    assert points == {"net": ["m5", "m10"], "ntk": ["m7-N20"], "last": ["m5", "m10"]}


def test_only_what_is_trained_by_sgd_has_training():
    trained = {job.learner: job.training is not None for job in jobs(tiny())}
    assert trained == {"net": True, "ntk": False, "last": True}


def test_a_learners_rate_changes_its_own_jobs_only():
    assert changed(learners=learners(net={"lr": [0.2]})) == {("net", "m5"), ("net", "m10")}
    assert changed(learners=learners(ntk={"wd": [0.2]})) == {("ntk", "m5"), ("ntk", "m10")}


def test_training_changes_the_trained_jobs_only():
    assert {learner for learner, _ in changed(training={"batch": 7})} == {"net", "last"}


def test_a_new_width_adds_jobs_and_changes_none():
    assert {point for _, point in changed(axes={"m": [5, 10, 20]})} == {"m20"}


def test_teacher_and_data_change_every_job():
    everything = set(digests(tiny()))
    assert changed(teacher=BODY["teacher"] | {"alpha": 0.4}) == everything
    assert changed(data=BODY["data"] | {"seeds": [0, 1, 2]}) == everything


def test_claims_change_no_job():
    assert changed(claims={"B-fig2a": {"ratio": 0.5}}) == set()


def test_axes_taken_together_are_parts_of_one_job():
    axes = {"m": [5, 10], "N": [10, 40], "beta": [0.5, 1.0]}
    apart, together = tiny(axes=axes), tiny(axes=axes, together=["N", "beta"])
    assert {job.point for job in jobs(together)} == {"m5", "m10"} and len(jobs(apart)) == 3 * 8
    (job, *_) = jobs(together)
    assert [part.name for part in job.parts] == ["N10-beta0.5", "N10-beta1.0", "N40-beta0.5", "N40-beta1.0"]
    assert job.config()["axes"] == {"m": 5} and job.parts[1].values == {"N": 10, "beta": 1.0}
    settings = [
        sorted(digest([job.learner, part.config() | {"values": None}]) for job in jobs(e) for part in job.parts)
        for e in (apart, together)
    ]
    assert settings[0] == settings[1]  # what is run is the same
    assert sum(j.work() for j in jobs(apart)) == pytest.approx(sum(j.work() for j in jobs(together)))


def test_all_axes_together_is_one_job_called_all():
    assert [(job.learner, job.point) for job in jobs(tiny(together=["m"]))] == [
        ("net", "all"),
        ("ntk", "all"),
        ("last", "all"),
    ]


def test_a_value_more_changes_the_job_that_runs_it():
    before = digests(tiny(axes={"m": [5], "N": [10]}, together=["N"]))
    after = digests(tiny(axes={"m": [5], "N": [10, 20]}, together=["N"]))
    assert before.keys() == after.keys() and not set(before.values()) & set(after.values())


def test_a_kernel_has_no_width_and_one_job_for_all_widths():
    kernel = {"train": "kernel", "kernel": "arcsin", "wd": [0.1]}
    experiment = tiny(learners=learners() | {"kernel": kernel})
    (job,) = [job for job in jobs(experiment) if job.learner == "kernel"]
    assert job.point == "all" and job.parts[0].width is None and job.training is None
    columns = job.parts[0].columns()
    assert columns.pop("m") != columns["N"] == 40  # NaN
    assert math.isnan(columns.pop("L"))
    expected = {"N": 40, "d": 8, "k": 4, "alpha": 0.3, "beta": 1.0, "noise": 0.0, "g_size": 4.0}
    assert columns == expected and job.work() > 0


def test_digests_differ_between_jobs_and_agree_between_calls():
    found = digests(tiny())
    assert len(set(found.values())) == len(found)
    assert found == digests(tiny())
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})


def test_samples_hold_the_largest_training_set_and_ignore_the_learners():
    plain = sample_config(tiny())
    assert plain["data"]["n_train"] == 40
    assert sample_config(tiny(learners=learners(net={"lr": [0.2]}))) == plain
    swept = tiny(learners=learners(ntk={"axes": {"N": [20, 90]}}))
    assert sample_config(swept)["data"]["n_train"] == 90


def test_work_grows_with_the_job():
    by_point = {job.point: job.work() for job in jobs(tiny()) if job.learner == "net"}
    assert 0 < by_point["m5"] < by_point["m10"]


def test_find_job_lists_what_there_is():
    assert [part.width for part in find_job(tiny(), "ntk", "m10").parts] == [10]
    with pytest.raises(UserError, match="tiny: no learner 'x'; allowed: net, ntk, last"):
        find_job(tiny(), "x", "m5")
    with pytest.raises(UserError, match="tiny/ntk: no point 'm6'; allowed: m5, m10"):
        find_job(tiny(), "ntk", "m6")


def test_layout_is_the_contract():
    layout = Layout("smoke")
    base = Path("results/smoke")
    assert layout.samples("e") == base / "e/samples.safetensors"
    assert layout.metrics("e", "l", "m5") == base / "e/l/m5/metrics.parquet"
    assert layout.model("e", "l", "m5") == base / "e/l/m5/model.safetensors"
    assert layout.scores("e") == base / "e/scores.parquet"
    assert layout.verdict("B-fig2a") == base / "verdicts/B-fig2a.json"
    assert layout.figure("B-fig2a", "svg") == base / "figures/B-fig2a.svg"
    assert layout.ledger("csv") == base / "ledger.csv"
