"""What every figure must pass, whatever it draws."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.text import Text

from learnability.figures import style

LAID_OUT = ("hero alone", "nothing")  # the layout of all poor scores would take long


@pytest.fixture(autouse=True)
def strict() -> Iterator[None]:
    """A warning of matplotlib or numpy is a figure that has gone wrong somewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    pyplot.close("all")


def drawn(panel, label: str) -> tuple[np.ndarray, np.ndarray]:
    """x and y of the line with this label."""
    (line,) = [line for line in panel.lines if line.get_label() == label]
    return np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)


def draws_all(draw: Callable[[pd.DataFrame], Figure], cases: Mapping[str, pd.DataFrame]) -> None:
    """Nothing beyond the limits of the axes is asked for (warnings are errors), and axes say what they show."""
    for name, scores in cases.items():
        figure = draw(scores)
        if name in LAID_OUT:
            figure.get_layout_engine().execute(figure)
        for panel in figure.axes:
            assert panel.get_ylabel() or panel.get_xlabel() or panel.get_title() or not panel.get_visible(), name
            assert all(np.isfinite([*panel.get_xlim(), *panel.get_ylim()])), name
        pyplot.close(figure)


def same_bytes_and_readable(draw: Callable[[], Figure]) -> None:
    """The same scores give the same SVG; letters of 6.5 points or more on no more than two columns."""
    found = []
    for _ in range(2):
        figure, file = draw(), io.BytesIO()
        figure.set_layout_engine("none")  # takes as long as all the rest
        figure.savefig(file, format="svg", metadata={"Date": None})
        found.append(file.getvalue())
    assert found[0] == found[1]
    sizes = [t.get_fontsize() for t in figure.findobj(Text) if t.get_text()]
    assert min(sizes) >= 6.5 and figure.get_figwidth() <= 2 * style.COLUMN
