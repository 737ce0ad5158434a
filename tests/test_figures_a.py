"""Figures of paper A's claims from made-up scores: what is drawn, and that poor scores are drawn too."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.collections import QuadMesh

from dense_figure_cases import GIVEN, SCORES, dense3, depths, trained
from figure_cases import poorer
from figure_checks import drawn, draws_all, same_bytes_and_readable, strict  # noqa: F401
from learnability import claims, figures
from learnability.artifacts import write_frame
from learnability.figures import seeds, stages
from learnability.verbs import figure as verb


def draw(claim: str, scores: pd.DataFrame | None = None):
    scores = SCORES[claim]() if scores is None else scores.reset_index(drop=True)
    given = claims.load(claim).Parameters(**GIVEN.get(claim, {}))
    more = [trained(scores)] if figures.curves(claim) else []
    return figures.load(claim).draw(scores, given, *more)


@pytest.mark.parametrize("claim", SCORES)
def test_poor_scores_are_drawn(claim):
    draws_all(lambda scores: draw(claim, scores), poorer(SCORES[claim]()))


@pytest.mark.parametrize("claim", SCORES)
def test_same_scores_same_bytes_and_text_that_can_be_read(claim):
    same_bytes_and_readable(lambda: draw(claim))


def test_the_heat_map_has_a_row_a_layer_and_marks_every_stage():
    scores = dense3()
    figure = draw("A-thm2", scores)
    maps = [(p, c) for p in figure.axes for c in p.collections if isinstance(c, QuadMesh) and p.get_xlabel()]
    assert [mesh.get_array().shape for _, mesh in maps] == [(2, 8), (3, 8)]
    for panel, mesh in maps:
        assert np.asarray(mesh.get_array()[0]) == pytest.approx(10.0 ** -np.arange(1, 9))
        marks = sorted(line.get_xdata()[0] for line in panel.lines if list(line.get_ydata()) == [0, 1])
        assert marks == [0, 2, 4, 6]
    said = [t.get_text() for t in maps[0][0].texts]
    assert said == ["2\u25b3", "2\u25bd", "3\u25b3", "3\u25bd"]


def test_uncorrected_features_by_alpha_lie_beside_their_square():
    panel = next(p for p in draw("A-thm2").axes if p.get_title().startswith("(iii)"))
    alphas, errors = drawn(panel, "layer 3 released")
    assert list(alphas) == [0.05, 0.1, 1.0] and errors == pytest.approx(alphas**2)
    guide = next(line for line in panel.lines if "^2" in line.get_label())
    assert np.asarray(guide.get_ydata()) == pytest.approx(np.asarray(guide.get_xdata()) ** 2)


def test_every_setting_has_its_seeds_and_an_open_one_is_called_so():
    figure = draw("A-thm1", depths())
    below = next(p for p in figure.axes if "one dot a seed" in p.get_title())
    labels = [t.get_text() for t in below.get_xticklabels()]
    assert len(labels) == 4 and sum("not judged" in one for one in labels) == 1
    filled = [line for line in below.lines if line.get_marker() == "o" and line.get_markerfacecolor() != "none"]
    assert sum(len(line.get_xdata()) for line in filled) == 20
    assert 1e-4 in [line.get_ydata()[0] for line in below.lines if list(line.get_xdata()) == [0, 1]]
    assert not [line for line in below.lines if "takes layer" in line.get_label()]  # no share is known
    assert [p.get_title() for p in figure.axes[:2]] == ["(i) $L = 3$", "(ii) $L = 4$"]


def test_a_limit_below_the_error_is_drawn_where_it_holds():
    frame = depths()
    figure = draw("A-thm1", frame.assign(teacher_top_share=np.where(frame.experiment == "dense4", 2e-5, 0.5)))
    below = next(p for p in figure.axes if "one dot a seed" in p.get_title())
    (line,) = [line for line in below.lines if "takes layer" in line.get_label()]
    assert list(line.get_ydata()) == pytest.approx([2e-6] * 2)
    label = below.get_xticklabels()[round(float(np.mean(line.get_xdata())))].get_text()
    assert label == "$L = 4$"


def test_a_line_of_seeds_is_their_geometric_mean():
    _, panel = pyplot.subplots()
    table = pd.DataFrame({1.0: [1e-4, 1e-2], 2.0: [1e-6, np.nan], 3.0: [np.nan, np.nan]})
    seeds.curve(panel, table, "mean", 0)
    x, y = drawn(panel, "mean")
    assert list(x) == [1, 2] and y == pytest.approx([1e-3, 1e-6])


def test_an_exact_zero_is_drawn_at_the_foot():
    """Of a line of seeds and of dots alike; it lowers the mean, and is told from a number by its marker."""
    values = pd.Series([1e-4, 1e-2, 0.0])
    foot = seeds.FOOT * 1e-4
    for draw_it in (
        lambda panel: seeds.curve(panel, pd.DataFrame({1.0: values, 2.0: [1e-3] * 3}), "mean", 0),
        lambda panel: seeds.dots(panel, {"mean": values, "other": pd.Series([1e-3])}),
    ):
        _, panel = pyplot.subplots()
        draw_it(panel)
        hollow = [line for line in panel.lines if line.get_marker() == "v" and len(line.get_xdata())]
        assert [list(line.get_ydata()) for line in hollow] == [[pytest.approx(foot)]]
        assert panel.get_ylim()[0] <= foot
    assert seeds.middle(values) == pytest.approx((1e-6 * foot) ** (1 / 3))
    assert seeds.middle(pd.Series([0.0, 0.0])) == pytest.approx(seeds.FOOT * seeds.LEAST)
    assert seeds.middle(pd.DataFrame({1: [np.nan, 1e-2], 2: [0.0, 1e-2]})).tolist() == pytest.approx(
        [1e-2, np.sqrt(seeds.FOOT) * 1e-2]
    )


def test_names_of_stages_do_not_overlap():
    _, panel = pyplot.subplots()
    panel.set_xlim(0, 100)
    stages.mark(panel, pd.Series({"2-triangle": 0.0, "2-nabla": 3.0, "3-triangle": 5.0, "3-nabla": 50.0}), "title")
    places = {t.get_text(): (t.xy[0], t.xyann[1]) for t in panel.texts}
    assert len({places[name][1] for name in ("2\u25bd", "3\u25b3")}) == 2 and places["3\u25bd"][1] == 2


def test_only_some_figures_ask_for_curves():
    assert figures.curves("A-thm1") == figures.curves("A-thm2") == ("hero",)
    assert figures.curves("A-gap") == figures.curves("B-fig2a") == ()
    given = claims.load("A-thm2").Parameters(hero="mine")
    assert figures.learners("A-thm2", given) == ["mine"] and figures.learners("A-gap", given) == []


def test_curves_are_those_of_the_picked_replicas(tmp_path):
    scores = dense3().query("experiment == 'dense3'").reset_index(drop=True)
    logged = trained(scores).query("point == 'alpha0.1'")
    job = tmp_path / "algorithm1" / "alpha0.1"
    job.mkdir(parents=True)
    write_frame(job / "metrics.parquet", logged.assign(step=0))
    scores.loc[scores.replica == 3, "picked"] = False
    found = verb.curves({tmp_path / "scores.parquet": scores}, ["algorithm1"])
    assert sorted(found.replica.unique()) == [0, 1, 2, 4] and set(found.learner) == {"algorithm1"}
    assert len(found) == len(logged) * 4 // 5 and set(found.point) == {"alpha0.1"}
    assert verb.curves({tmp_path / "scores.parquet": scores}, ["nobody"]).empty
