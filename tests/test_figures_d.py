"""Figures of paper D's descents from made-up scores: what is drawn, and that poor scores are drawn too."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from descent_scores import interpolation, random_starts, way
from figure_checks import draws_all, same_bytes_and_readable, strict  # noqa: F401
from learnability import claims, figures

GIVEN = {
    "D-thm3.1": {"methods": ["huber", "swish"], "beyond": ["larger-alpha", "larger-h"]},
    "D-lemmas": {"methods": ["huber", "swish"]},
    "D-thm3.3": {"methods": ["shallow", "deeper"]},
}
SCORES = {"D-thm3.1": interpolation, "D-lemmas": interpolation, "D-thm3.3": random_starts}


def draw(claim: str, scores: pd.DataFrame | None = None, curves: pd.DataFrame | None = None):
    scores = SCORES[claim]() if scores is None else scores.reset_index(drop=True)
    given = claims.load(claim).Parameters(**GIVEN[claim])
    if curves is None:
        mine = scores[scores.learner == given.hero]
        curves = way(mine, "phase1" if claim == "D-thm3.3" else "path")
    return figures.load(claim).draw(scores, given, curves)


def poorer(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    hero = scores.learner.iloc[0]
    measured = [c for c in scores if c.startswith(("least", "steps", "end", "phase2"))]
    return {
        "one seed": scores[scores.seed < 1],
        "hero alone": scores[scores.learner == hero],
        "no hero": scores[scores.learner != hero],
        "all lost": scores.assign(train_lost=1.0, picked=False, **dict.fromkeys(measured, np.nan)),
        "one depth": scores[scores.L == 1],
        "nothing": scores[:0],
    }


@pytest.mark.parametrize("claim", SCORES)
def test_poor_scores_are_drawn(claim):
    draws_all(lambda scores: draw(claim, scores), poorer(SCORES[claim]()))


@pytest.mark.parametrize("claim", SCORES)
def test_same_scores_same_bytes_and_text_that_can_be_read(claim):
    same_bytes_and_readable(lambda: draw(claim))


def test_the_loss_lies_below_its_bound_and_begins_at_one():
    panel = draw("D-thm3.1").axes[0]
    ways = [line for line in panel.lines if line.get_label().startswith("$L")]
    bounds = [line for line in panel.lines if line.get_linestyle() == "-."]
    assert len(ways) == len(bounds) == 4
    for measured, bound in zip(ways, bounds, strict=True):
        assert measured.get_xdata()[0] == 0
        assert bound.get_ydata()[0] == pytest.approx(measured.get_ydata()[0], abs=1e-3)
        assert len(bound.get_xdata()) > 100


def test_every_inequality_has_its_line_in_every_panel():
    figure = draw("D-lemmas")
    assert len(figure.axes) == 4
    for panel in figure.axes:
        assert len(panel.lines) == 8  # seven, and where they fail
    assert next(t.get_text() for t in figure.legends[0].texts) == "Lemma 4.2, Lip of the gradient"


def test_figures_ask_for_their_heros_curves():
    for claim in SCORES:
        assert figures.curves(claim) == ("hero",)
