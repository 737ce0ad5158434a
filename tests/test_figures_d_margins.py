"""Figures of D-def2.1, D-asm3.2 and D-propC.1 from made-up scores: what is drawn, poor scores too."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from figure_checks import drawn, draws_all, same_bytes_and_readable, strict  # noqa: F401
from learnability import claims, figures
from margin_scores import ACTIVATIONS, DATA, activations, assumption, clustered, lost, proposition, random_labels

SCORES = {"D-def2.1": activations, "D-asm3.2": assumption, "D-propC.1": proposition}
GIVEN = {"D-def2.1": ACTIVATIONS, "D-asm3.2": DATA}


def draw(claim: str, scores: pd.DataFrame | None = None):
    scores = SCORES[claim]() if scores is None else scores.reset_index(drop=True)
    return figures.load(claim).draw(scores, claims.load(claim).Parameters(**GIVEN.get(claim, {})))


def panel_of(figure, start: str):
    return next(panel for panel in figure.axes if panel.get_title().startswith(start))


def poorer(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Scores as a small or unlucky run leaves them."""
    hero = scores.learner == scores.learner.iloc[0]
    sizes = scores.N.eq(scores.N.max()) & scores.d.eq(scores.d.max())
    found = {
        "one seed": scores[scores.seed < 1],
        "two seeds": scores[scores.seed < 2],
        "no hero": scores[~hero],
        "hero alone": scores[hero],
        "hero lost": lost(scores, hero),
        "all lost": lost(scores, hero | ~hero),
        "all diverged": scores.assign(picked=False, diverged=True),
        "one point": scores[sizes],
        "some lost": scores.drop(scores.index[::4]),
        "nothing": scores.iloc[:0],
    }
    if "margin_gamma" in scores:
        found["no margin"] = scores.assign(margin_gamma=0.0, margin_certified=0.0, margin_gap=0.0)
        found["small"] = scores.assign(margin_gamma=scores.margin_gamma * 1e-9)
    return found


@pytest.mark.parametrize("claim", SCORES)
def test_poor_scores_are_drawn(claim):
    draws_all(lambda scores: draw(claim, scores), poorer(SCORES[claim]()))


@pytest.mark.parametrize("claim", SCORES)
def test_same_scores_same_bytes_and_text_that_can_be_read(claim):
    same_bytes_and_readable(lambda: draw(claim))


def test_every_activation_has_a_row_and_what_fails_is_told_apart():
    panel = panel_of(draw("D-def2.1"), "(i)")
    rows = [label.get_text() for label in panel.get_yticklabels()]
    assert rows[:3] == ["Huberized ReLU", "scaled Swish", "ReLU"] and len(rows) == 7
    state = np.asarray(panel.images[0].get_array())
    assert state.shape == (7, 5) and (state[:2] == 1).all()
    assert [list(np.flatnonzero(row == 3)) for row in state] == [[], [], [0, 2], [3], [1, 4], [3], [4]]
    said = {t.get_position(): t.get_text() for t in panel.texts}
    assert said[3, 3] == "1.129\n$z = 1.41h$" and said[2, 2].startswith(r"$\infty$") and said[4, 0] == "0.5"


def test_an_activation_without_a_result_is_an_empty_row():
    scores = activations()
    panel = panel_of(draw("D-def2.1", lost(scores, scores.learner.eq("gelu"))), "(i)")
    assert (np.asarray(panel.images[0].get_array())[3] == 0).all()


def test_ratios_are_the_largest_at_every_h():
    panel = panel_of(draw("D-def2.1"), "(ii)")
    h, ratio = drawn(panel, "GELU")
    assert list(h) == [1e-3, 0.1, 10] and ratio == pytest.approx([1.129] * 3)
    assert drawn(panel, "softplus")[1] == pytest.approx([2 * 0.6931] * 3)
    (beyond,) = [label for label in panel.get_legend_handles_labels()[1] if label.startswith("ReLU (")]
    assert drawn(panel, beyond)[1].max() < panel.get_ylim()[1]


def test_margins_by_width_are_geometric_means_and_small_widths_are_grey():
    figure = draw("D-asm3.2", assumption(spread=0.0))
    panel = panel_of(figure, "(iv) colliding pairs")
    means = [line for line in panel.lines if line.get_marker() == "o"]
    assert len(means) == 4
    p = np.asarray(means[0].get_xdata(), dtype=float)
    assert list(p) == [16, 64, 128, 256] and means[0].get_ydata() == pytest.approx(p**0.05 / 8)
    grey = panel.patches[0].get_extents().transformed(panel.transData.inverted())
    assert 16 < grey.x1 < 64


def test_slopes_have_the_judges_intervals():
    figure = draw("D-asm3.2", assumption(-0.2, spread=0.0))
    panel = panel_of(figure, "(v)")
    assert len(panel.containers) == 16
    assert all(bar[0].get_ydata() == pytest.approx([-0.2]) for bar in panel.containers)
    levels = [line.get_ydata()[0] for line in panel.lines if list(line.get_xdata()) == [0, 1]]
    assert levels == [0, -0.5, -0.125]


def test_starts_without_a_margin_are_marked():
    scores = assumption()
    scores.loc[scores.learner.eq("random") & scores.d.eq(128) & scores.seed.eq(0), "margin_gamma"] = 0.0
    figure = draw("D-asm3.2", scores)
    (cross,) = [line for line in panel_of(figure, "(i)").lines if line.get_marker() == "X"]
    assert list(cross.get_xdata()) == [128]
    assert not [line for line in panel_of(figure, "(ii)").lines if line.get_marker() == "X"]


def test_the_proposition_is_drawn_at_the_largest_sizes():
    scores = pd.concat([clustered(0.1, 0.2, spread=0.0), random_labels(spread=0.0)], ignore_index=True)
    figure = draw("D-propC.1", scores)
    left, right = panel_of(figure, "(i) $n = 256$"), panel_of(figure, "(ii) $p = 128$")
    p, gamma = drawn(left, r"$\gamma$, exact")
    assert list(p) == [32, 64, 128] and gamma == pytest.approx(0.5 * (p / 32) ** 0.1 * 16**0.2)
    n, proof = drawn(right, "the proof's $W^*$")
    assert list(n) == [16, 64, 256] and proof == pytest.approx(0.35 * 4**0.1 * (n / 16) ** 0.2)
    n, other = drawn(right, r"$\gamma$, random labels")
    assert other == pytest.approx(0.2 * (n / 16) ** -0.5)
    guide = drawn(right, r"$\propto n^{-1/2}$")[1]
    assert guide[0] / guide[-1] == pytest.approx(4)


def test_starts_without_the_event_are_left_out_and_counted():
    scores = proposition()
    scores.loc[scores.learner.eq("clustered") & scores.seed.eq(0), ["margin_part_c", "margin_gamma"]] = [0.0, 1e-3]
    figure = draw("D-propC.1", scores)
    assert "holds on 45 of 54 starts" in figure.legends[0].get_title().get_text()
    assert drawn(panel_of(figure, "(i)"), r"$\gamma$, exact")[1].min() > 0.4


def test_a_bound_below_zero_lies_on_the_lower_edge():
    scores = proposition()
    scores.loc[scores.d.eq(32) & scores.learner.eq("clustered"), "margin_proof_bound"] = -0.01
    panel = panel_of(draw("D-propC.1", scores), "(i)")
    assert drawn(panel, "the proof's bound on it")[1][0] == panel.get_ylim()[0]
