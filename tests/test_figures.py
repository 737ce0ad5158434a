"""What the figures draw from made-up scores: lines, levels, labels; and that poor scores are drawn too."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgba

from figure_cases import GIVEN, KERNELS, METHODS, SCORES, fig1, fig2b, fig2c, poorer, thm1, thm2
from figure_checks import draws_all, same_bytes_and_readable
from learnability import claims, figures
from learnability.claims import b_cor7_1, b_fig1, b_fig2b, b_fig2c, b_thm2, stats
from learnability.figures import lines


@pytest.fixture(autouse=True)
def rough(monkeypatch):
    """Rough intervals will do."""
    monkeypatch.setattr(stats, "RESAMPLES", 100)


def draw(claim: str, scores: pd.DataFrame | None = None):
    scores = SCORES[claim]() if scores is None else scores.reset_index(drop=True)
    return figures.load(claim).draw(scores, claims.load(claim).Parameters(**GIVEN[claim]))


def labelled(panel) -> dict[str, object]:
    """Label -> artist of those that have one."""
    return dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))


def said(figure) -> str:
    """All text of the legends."""
    return "\n".join(t.get_text() for legend in figure.legends for t in [legend.get_title(), *legend.get_texts()])


def horizontals(panel) -> list[float]:
    """Heights of the lines that go from side to side."""
    return [line.get_ydata()[0] for line in panel.lines if list(line.get_xdata()) == [0, 1]]


def verticals(panel) -> list[float]:
    return [line.get_xdata()[0] for line in panel.lines if list(line.get_ydata()) == [0, 1]]


def scales(panel) -> tuple[str, str]:
    return panel.get_xscale(), panel.get_yscale()


def test_fig2a_draws_nine_methods_and_both_levels():
    figure = draw("B-fig2a")
    error, signal = figure.axes
    assert scales(error) == ("log", "log") and scales(signal) == ("log", "linear")
    methods = [line for line in error.lines if line.get_marker() not in ("None", None, "")]
    assert len(methods) == 9 == len({(m.get_marker(), str(m.get_linestyle()), m.get_label()) for m in methods})
    assert 0.72 in np.round(horizontals(error), 9) and 0.3 in horizontals(signal)
    assert [t.get_text() for t in error.get_xticklabels()] == ["50", "100", "200"]
    assert len(error.collections) == 9  # a band each


def test_methods_differ_without_colour():
    names = [*METHODS, *lines.KERNELS, "of-my-own", "another"]
    found = lines.looks(names)
    plain = {
        (look["marker"], str(look["linestyle"]), look["markerfacecolor"] == look["color"])
        for look in found.values()
    }
    assert len(plain) == len(names)
    assert found["3resnet"] == lines.looks(["2layer", "3resnet"])["3resnet"]


def test_mean_line_is_the_judges_interval():
    _, panel = pyplot.subplots()
    table = pd.DataFrame({1: [1.0, 2.0, 3.0], 2: [4.0, np.nan, 6.0], 3: [np.nan] * 3, 4: [5.0, np.nan, np.nan]})
    found = lines.mean_line(panel, table, lines.looks(["3resnet"])["3resnet"])
    assert {x: i.mean for x, i in found.items()} == {1: 2.0, 2: 5.0, 4: 5.0} and found[4].n == 1
    assert list(panel.lines[0].get_ydata()) == [2.0, 5.0, 5.0]
    assert lines.mean_line(panel, table[[3]], lines.looks(["3layer"])["3layer"]) == {} and len(panel.lines) == 1


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ((0.09, 6), ["0.1", "0.2", "0.5", "1", "2", "5"]),
        ((1e-5, 2), ["$10^{-5}$", "$10^{-4}$", "0.001", "0.01", "0.1", "1"]),
        ((400, 30_000), ["500", "1000", "2000", "5000", "10k", "20k"]),
        ((3.2, 4.8), ["4"]),
        ((1e-3, 1e12), ["0.01", "1", "100", "10k", "$10^{6}$", "$10^{8}$", "$10^{10}$", "$10^{12}$"]),
    ],
)
def test_log_ticks(limits, expected):
    _, panel = pyplot.subplots()
    panel.set(yscale="log", ylim=limits)
    lines.log_ticks(panel.yaxis)
    assert [t.get_text() for t in panel.get_yticklabels()] == expected


def test_fig2b_stars_the_heros_samples_and_names_other_widths():
    scores = fig2b()
    figure = draw("B-fig2b", scores)
    error, signal = figure.axes
    label, star = next((k, v) for k, v in labelled(error).items() if k.startswith("$N^*$"))
    stars = b_fig2b.needed(scores, "3resnet", 0.72)
    expected = float(np.exp(np.log(stars).mean()))
    assert star[0].get_xdata()[0] == pytest.approx(expected) and star[0].get_ydata()[0] == pytest.approx(0.72)
    assert f"{expected:.0f}" in label and 900 < expected < 1100
    drawn = labelled(error)
    assert len(drawn["3resnet"].get_xdata()) == 3 and len(drawn["2layer (NTK), m=100"].get_xdata()) == 2
    assert "$m = 200$" in said(figure) and "2layer" not in drawn  # no rows: no line
    assert 0.3 in horizontals(signal)


@pytest.mark.parametrize(("factor", "words"), [(100.0, None), (1e-3, r"\leq 500")])
def test_fig2b_star_beyond_the_grid(factor, words):
    figure = draw("B-fig2b", fig2b().assign(test_error=lambda frame: frame.test_error * factor))
    assert words in said(figure) if words else "N^*" not in said(figure)


def test_fig2c_marks_alpha_and_the_place_that_is_judged():
    scores = fig2c()
    figure = draw("B-fig2c", scores)
    error, signal = figure.axes
    assert verticals(error) == verticals(signal) == [0.3]
    star = next(v for k, v in labelled(error).items() if "holds up" in k)
    ratio = (0.3 / b_fig2c.stops(scores, "3resnet", 0.72)).mean()
    assert star[0].get_xdata()[0] == pytest.approx(0.3 / ratio) and f"{ratio:.2g}" in said(figure)
    never = draw("B-fig2c", scores.assign(test_error=9.0))
    assert "holds up" not in said(never)


def test_thm1_frames_what_is_not_below_the_theorems_line():
    figure = draw("B-thm1")
    parities, smooth = figure.axes
    assert scales(parities) == scales(smooth) == ("log", "log")
    assert "thm1:" in parities.get_title() and "thm1-smooth" in smooth.get_title()
    frames = [[a for a in labelled(p).items() if "not below" in a[0]] for p in (parities, smooth)]
    assert not frames[0] and list(frames[1][0][1].get_xdata()) == [0.08]
    for panel, g, opt in ((parities, 4.0, 4 * 0.05**2), (smooth, 1.0, 4 * 0.03**2)):
        drawn = labelled(panel)
        alphas = drawn[r"$g\alpha^2$: $F$ alone"].get_xdata()
        assert drawn[r"$g\alpha^2$: $F$ alone"].get_ydata() == pytest.approx(g * alphas**2)
        assert drawn[r"$g\alpha^4$: Theorem 1"].get_ydata() == pytest.approx(g * alphas**4)
        noisy = drawn[r"$\mathrm{OPT}+g\alpha^4$, noisy labels"].get_ydata()
        assert noisy == pytest.approx(opt + g * alphas**4)
        assert drawn["3resnet, noisy labels"].get_markerfacecolor() == "none"
        assert to_rgba(drawn["3resnet"].get_markerfacecolor())[3] == 1


def test_thm1_without_noise_has_no_noisy_entries():
    scores = thm1().query("noise == 0")
    figure = draw("B-thm1", scores)
    assert "noisy" not in said(figure) and r"$g\alpha^4$: Theorem 1" in said(figure)


def test_thm2_shows_the_largest_d_and_one_with_networks():
    scores = thm2()
    figure = draw("B-thm2", scores)
    with_networks, widest, scatter = figure.axes
    assert "d = 20" in with_networks.get_title() and "d = 30" in widest.get_title()
    assert {"3resnet", "3layer", *KERNELS} <= set(labelled(with_networks))
    assert "3resnet" not in labelled(widest) and set(KERNELS) <= set(labelled(widest))
    for panel, d in ((with_networks, 20), (widest, 30)):
        assert verticals(panel) == [d**2]
        assert horizontals(panel) == pytest.approx([0.36, 0.0225])
    best = (
        scores[(scores.learner == "gaussian") & (scores.d == 30) & (scores.N == 100)]
        .groupby("seed")
        .population_risk
    )
    assert labelled(widest)["gaussian"].get_ydata()[0] == pytest.approx(best.min().mean())
    hits = b_thm2.agree(scores[scores.learner.isin(KERNELS)])
    assert f"{hits['within']} of {hits['points']}" in scatter.get_title()
    assert scatter.get_xlim() == scatter.get_ylim() and scales(scatter) == ("log", "log")
    assert "not ResNets from the rest" in said(figure)


def test_thm2_fills_the_points_that_are_trusted():
    """d = 8, 10 have N^2 >= 2^d at every N; the axes hold the others, and what is out of view is counted."""
    repeats = thm2().d < 20
    scores = thm2().assign(population_risk=lambda frame: frame.population_risk.mask(repeats, 0.4))
    for wrong, hidden in ((0.4, 0), (1e6, 18)):
        frame = scores.assign(predicted_risk=scores.predicted_risk.mask(repeats, wrong))
        figure = draw("B-thm2", frame)
        scatter, found = figure.axes[-1], b_thm2.points(frame[frame.learner.isin(KERNELS)])
        assert [good for *_, good in found].count(True) == 18 == len(found) // 2
        drawn = {True: [], False: []}
        for bars in scatter.containers:
            drawn[bars.lines[0].get_markerfacecolor() != "white"] += bars.lines[0].get_xydata().tolist()
        for good, pairs in drawn.items():
            expected = [[predicted, measured.mean] for _, predicted, measured, known in found if known == good]
            assert np.array(sorted(pairs)) == pytest.approx(np.array(sorted(expected)))
        assert scatter.get_xlim()[1] < 1 and "samples repeat" in said(figure)
        assert (f"({hidden} of 18 out of view)" in said(figure)) == bool(hidden)


def test_cor7_1_fits_what_is_judged_and_points_beyond_the_grid():
    scores = thm2()
    figure = draw("B-cor7.1", scores)
    (panel,) = figure.axes
    assert scales(panel) == ("log", "log")
    hero = b_cor7_1.exponent(scores, "3resnet", 4 * 0.3**4, [10, 20, 40])
    assert f"3resnet: $p = {hero.shown.mean:.2f}$" in said(figure) and hero.shown.mean == pytest.approx(1, abs=0.1)
    assert "arcsin: never" in said(figure) and "3layer: $d = 20$ only" in said(figure)
    arrows = [line for line in panel.lines if line.get_marker() == r"$\uparrow$"]
    places = {round(float(line.get_xdata()[0]) / 1.025) for line in arrows}
    assert places == {8, 10, 20, 30} and all(line.get_ydata()[0] > 800 for line in arrows)
    guide = labelled(panel)["$N = d^{2}$ (slope $k/2$)"]
    assert guide.get_ydata() == pytest.approx(guide.get_xdata() ** 2)
    flat = next(v for k, v in labelled(panel).items() if "slope 1" in k)
    assert flat.get_ydata()[1] / flat.get_ydata()[0] == pytest.approx(flat.get_xdata()[1] / flat.get_xdata()[0])


def test_cor7_1_leaves_joined_experiments_out():
    other = thm2().assign(experiment="joined", k=6)
    alone, both = draw("B-cor7.1"), draw("B-cor7.1", pd.concat([thm2(), other]))
    assert said(alone) == said(both)


def test_fig1_draws_every_replica_and_the_closed_form():
    scores = fig1()
    figure = draw("B-fig1", scores)
    for panel, column in zip(figure.axes, ("train_final_error", "test_error"), strict=True):
        assert scales(panel) == ("log", "log")
        drawn = labelled(panel)
        assert len(drawn["made by hand"].get_xdata()) == 10
        least = next(v for k, v in drawn.items() if k.startswith("least norm"))
        assert least.get_xdata() == pytest.approx(13.06 * (1 - np.sqrt(least.get_ydata())))
        ring = next(v for k, v in drawn.items() if k.startswith("picked"))
        assert sorted(ring.get_ydata()) == pytest.approx(sorted(b_fig1.picked(scores, ["sgd"])[column]))
        points = [line for line in panel.lines if line.get_label().startswith("_") and line.get_alpha()]
        assert sum(len(line.get_xdata()) for line in points) == 15
    assert horizontals(figure.axes[1]) == [0.69] and not horizontals(figure.axes[0])
    for entry in ("m = 200", "m = 1000", "lr 0.05", "lr 0.4", "wd 0.01", "13.06"):
        assert entry in said(figure)


@pytest.mark.parametrize("claim", SCORES)
def test_poor_scores_are_drawn(claim):
    draws_all(lambda scores: draw(claim, scores), poorer(SCORES[claim]()))


@pytest.mark.parametrize("claim", [claim for claim in SCORES if claim not in ("B-fig2a", "B-fig2c")])  # as fig2b
def test_same_scores_same_bytes_and_text_that_can_be_read(claim):
    same_bytes_and_readable(lambda: draw(claim))


def test_figures_start_without_torch():
    modules = ", ".join(f"learnability.{figures.module_of(claim)}" for claim in SCORES)
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
