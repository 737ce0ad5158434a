"""One look for all figures, and files that are the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import seaborn
from matplotlib.figure import Figure

from learnability.artifacts import write_whole

COLUMN = 3.4  # inches: one column of a two-column page

seaborn.set_theme(
    context="paper",
    style="ticks",
    palette="colorblind",
    rc={
        "svg.hashsalt": "learnability",  # ids in the SVG would be random otherwise
        "axes.grid": True,
        "grid.linewidth": 0.4,
        "grid.alpha": 0.5,
        "font.size": 8,
        "axes.labelsize": 8,
        "axes.titlesize": 8,
        "legend.fontsize": 7,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
    },
)


def save(figure: Figure, svg: Path, pdf: Path, png: Path) -> None:
    """Write the three formats whole and without dates: PNG is for dashboards and README."""
    figure.get_layout_engine().execute(figure)  # once, not again for each format
    figure.set_layout_engine("none")
    dated = {svg: {"Date": None}, pdf: {"CreationDate": None}, png: {}}
    for path, metadata in dated.items():
        write_whole(path, lambda t, m=metadata: figure.savefig(t, metadata=m, dpi=200))
