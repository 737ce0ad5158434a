"""Figure for B-thm2: exact risks of correlation kernels by N, and the risk that their spectra predict."""

from __future__ import annotations

import pandas
from matplotlib import pyplot
from matplotlib.figure import Figure

from learnability.claims.b_thm2 import Parameters, agree, points
from learnability.claims.tables import by_seed, largest, risk
from learnability.figures import lines, style
from learnability.theory.paper_b import composite_threshold, kernel_risk


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """Risk by N at the largest d, and at the largest that networks ran at too; then measured by predicted risk."""
    kernels = [name for name in given.kernels if (scores.learner == name).any()]
    mine, family = scores[scores.learner.isin(kernels)], lines.first_family(scores)
    k, alpha = (family[column].iloc[0] for column in ("k", "alpha"))
    family = family[family.noise == 0]
    others = family[~family.learner.isin(given.kernels) & family.picked]
    networks = [name for name in scores.learner.unique() if name in set(others.learner)]
    exact = family[family.learner.isin(kernels)]
    shown = dimensions(exact, others)
    size = (2 * style.COLUMN, 3.6)
    figure, panels = pyplot.subplots(1, len(shown) + 1, figsize=size, layout="constrained", squeeze=False)
    looks = lines.looks([*kernels, *networks])
    for i, (panel, d) in enumerate(zip(panels[0], shown, strict=False)):
        _by_samples(panel, exact[exact.d == d], others[others.d == d], looks, given)
        panel.set_title(f"{lines.roman(i)} risk, $d = {d:.0f}$")
        panel.set_ylabel(r"risk $\mathbb{E}\,\|\mathrm{out}-H(x)\|^2$" if i == 0 else "")
    found = points(mine)
    _predicted(panels[0, -1], found, looks)
    panels[0, -1].set_title(f"{lines.roman(len(shown))} {_agreement(mine) if found else 'nothing predicted'}")
    title = (
        rf"$k = {k}$, $\alpha = {alpha:g}$. Kernels: exact risk at the best ridge. Networks: picked on validation."
    )
    if networks:
        title += "\nThe family separates kernels from trained networks, not ResNets from the rest."
    lines.legend(figure, panels[0], "lower center", ncols=4, title=title, alignment="center")
    return figure


def dimensions(mine: pandas.DataFrame, others: pandas.DataFrame) -> list[int]:
    """The largest d of the kernels, and the largest at which the most networks ran beside them."""
    if mine.empty:
        return sorted(others.d.unique())[-1:]
    beside = others[others.d.isin(mine.d)].groupby("d").learner.nunique()
    best = [d for d in beside.index if beside[d] == beside.max()]
    return sorted({mine.d.max(), *best[-1:]})


def _by_samples(
    panel: pyplot.Axes, kernels: pandas.DataFrame, networks: pandas.DataFrame, looks: dict, given: Parameters
) -> None:
    """Every method's risk by N at one d; kernels as the judge takes them, at each seed's best ridge."""
    for name, look in looks.items():
        mine = kernels[kernels.learner == name]
        if len(mine) and "population_risk" in mine:
            lines.mean_line(panel, mine.groupby(["seed", "N"]).population_risk.min().unstack("N"), look)
        rows = largest(networks[networks.learner == name].assign(risk=risk), "m")
        if len(rows):
            lines.mean_line(panel, by_seed(rows, "N", "risk"), look)
    both = pandas.concat([kernels, networks])
    d, k, alpha = (both[column].iloc[0] for column in ("d", "k", "alpha"))
    lines.reference(panel, composite_threshold(k, alpha), r"$k\alpha^2$", r"$k\alpha^2$: $F$ alone")
    quarter = r"$\alpha^2/4$: Theorem 2's limit"
    lines.reference(panel, kernel_risk(alpha), r"$\frac{\alpha^2}{4}$", quarter, linestyle="-")
    factor = "" if given.constant == 1 else f"{given.constant:g} "
    label = f"$N = {factor}d^{{k/2}}$: judged up to here"
    panel.axvline(given.constant * d ** (k / 2), color="black", linewidth=0.9, linestyle=(0, (1, 1)), label=label)
    panel.set(xscale="log", yscale="log", xlabel="training samples $N$")
    lines.ticks_at(panel.xaxis, both.N)
    lines.log_ticks(panel.yaxis)


def _predicted(panel: pyplot.Axes, found: list, looks: dict) -> None:
    """Measured against predicted risk; open markers where the prediction is not to be trusted.

    The axes hold the trusted points, if there are any: the others may be wrong by orders of magnitude.
    """
    for name, good in sorted({(row[0], row[-1]) for row in found}):
        x, y = zip(*[(p, m) for kernel, p, m, known in found if (kernel, known) == (name, good)], strict=True)
        bars = [[m.mean - m.low for m in y], [m.high - m.mean for m in y]]
        look = {key: looks[name][key] for key in ("marker", "color")}
        look |= {"markerfacecolor": look["color"] if good else "white", "markersize": 3.5, "markeredgewidth": 0.7}
        panel.errorbar(x, [m.mean for m in y], yerr=bars, elinewidth=0.8, linestyle="none", **look)
    panel.set(xscale="log", yscale="log", xlabel="risk predicted", ylabel="risk measured, same ridge")
    ends = [v for _, p, m, _ in [row for row in found if row[-1]] or found for v in (p, m.low, m.high) if v > 0]
    if ends:
        span = [min(ends) / 1.2, max(ends) * 1.2]
        panel.plot(span, span, color="black", linewidth=0.7, zorder=0)
        panel.set(xlim=span, ylim=span, box_aspect=1)
    doubted = [(p, m.mean) for _, p, m, good in found if not good]
    if doubted:
        hidden = sum(not (span[0] <= min(point) and max(point) <= span[1]) for point in doubted)
        label = "open: $N^2\\geq 2^d$, samples repeat" + (
            f"\n({hidden} of {len(doubted)} out of view)" if hidden else ""
        )
        panel.plot([], [], marker="o", color="0.35", markerfacecolor="white", linestyle="none", label=label)
    lines.log_ticks(panel.xaxis, 6)
    lines.log_ticks(panel.yaxis, 6)


def _agreement(mine: pandas.DataFrame) -> str:
    """What the judge says of the predictions, in short."""
    found = agree(mine)
    if not found["points"]:
        return "no trusted prediction"
    hit = f"{found['within']} of {found['points']} within the\ninterval"
    return f"{hit}, {found['largest_relative_error']:.1%} off at most"
