"""Figures of paper D's descents from made-up scores: what is drawn, and that poor scores are drawn too."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.text import Text

from descent_scores import interpolation, random_starts, way
from learnability import claims, figures
from learnability.figures import style

GIVEN = {
    "D-thm3.1": {"methods": ["huber", "swish"], "beyond": ["larger-alpha", "larger-h"]},
    "D-lemmas": {"methods": ["huber", "swish"]},
    "D-thm3.3": {"methods": ["shallow", "deeper"]},
}
SCORES = {"D-thm3.1": interpolation, "D-lemmas": interpolation, "D-thm3.3": random_starts}


@pytest.fixture(autouse=True)
def strict():
    """A warning of matplotlib or numpy is a figure that has gone wrong somewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    pyplot.close("all")


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
    for name, scores in poorer(SCORES[claim]()).items():
        figure = draw(claim, scores)
        for panel in figure.axes:
            assert all(np.isfinite([*panel.get_xlim(), *panel.get_ylim()])), name
        figure.savefig(io.BytesIO(), format="png", dpi=30)
        pyplot.close(figure)


@pytest.mark.parametrize("claim", SCORES)
def test_same_scores_same_bytes_and_text_that_can_be_read(claim):
    found = []
    for _ in range(2):
        figure, file = draw(claim), io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
        found.append(file.getvalue())
    assert found[0] == found[1]
    sizes = [t.get_fontsize() for t in figure.findobj(Text) if t.get_text()]
    assert min(sizes) >= 6.5 and figure.get_figwidth() <= 2 * style.COLUMN
    assert all(panel.get_title() for panel in figure.axes if panel.get_visible())


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
