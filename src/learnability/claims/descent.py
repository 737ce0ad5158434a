"""What judges of paper D's descents share: instances that meet Theorem 3.1's hypotheses, and the least slack."""

from __future__ import annotations

import numpy
import pandas

from learnability.claims.dense import geometric
from learnability.claims.stats import Interval

SETTING = ["learner", "L", "d", "N"]


def hypotheses(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Which of Theorem 3.1's hypotheses every instance meets: one bool column each.

    The activation is h-smoothly approximately ReLU (D-def2.1), n >= 3, J_1 < n^-(1+24L), h < h_max and alpha <=
    alpha_max.
    """
    return pandas.DataFrame(
        {
            "smooth": rows.given_smooth == 1,
            "n": rows.N >= 3,
            "loss": rows.start_slack_loss > 0,
            "h": rows.start_slack_h > 0,
            "alpha": rows.given_alpha_times <= 1,
        }
    )


def unmet(rows: pandas.DataFrame) -> list[str]:
    """Hypotheses that some instance fails."""
    names = {
        "smooth": "the activation is not smooth",
        "n": "n < 3",
        "loss": "J_1 >= n^-(1+24L)",
        "h": "h >= h_max",
        "alpha": "alpha > alpha_max",
    }
    held = hypotheses(rows)
    return [text for name, text in names.items() if not held[name].all()]


def finished(rows: pandas.DataFrame, fallen: float) -> pandas.Series:
    """Instances that are there, and whose loss was followed until it had fallen by e^fallen."""
    lost = rows.train_lost.fillna(1) == 1
    return ~lost & (rows.end_fallen.fillna(0) >= 0.999 * fallen)


def least_ratio(values: pandas.Series) -> float:
    """10^(the least slack): greater side / lesser side where an inequality is tightest."""
    return float(10 ** numpy.min(values))


def over_seeds(values: pandas.Series) -> Interval:
    """Geometric mean over seeds with its interval; one number alone has none, and no number is 0."""
    if len(values) > 1:
        return geometric(values)
    alone = float(values.iloc[0]) if len(values) else 0.0
    return Interval(alone, alone, alone, len(values))


def by_depth(rows: pandas.DataFrame, column: str) -> dict[str, float]:
    """L -> the least ratio over its instances."""
    return {f"{depth:.0f}": least_ratio(mine[column]) for depth, mine in rows.groupby("L")}
