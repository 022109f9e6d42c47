"""The figures of stability, from the record."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.stability.encoders import CASES

# A figure with all encoders can't be read.
SHOWN = (
    "eigenvectors-canonical",
    "eigenvectors-absolute",
    "sign-net",
    "basis-net",
    "peg",
    "spe",
    "spe-complete",
    "walks",
)
_TITLES = {"molecules": "molecules", "random": "random graphs"}


def plot_jitter(record: dict) -> Figure:
    """The largest change of the output against the jitter of the weights, one panel for graphs and k each."""
    figure, panels = plt.subplots(
        2, 2, figsize=(9, 6.4), sharex=True, sharey=True, layout="constrained"
    )
    epsilons = record["settings"]["epsilons"]
    for row, k in zip(panels, (str(record["settings"]["cut"]), "all"), strict=True):
        for axes, kind in zip(row, _TITLES, strict=True):
            for name, changes in _shown(record, kind, k):
                values = [changes["change"][f"{epsilon:g}"]["largest"] for epsilon in epsilons]
                axes.plot(epsilons, values, marker=".", **_style(name))
            axes.set(xscale="log", yscale="log", title=f"{_TITLES[kind]}, {_columns(k)}")
            axes.minorticks_off()
    for axes in panels[-1]:
        axes.set_xlabel("jitter ε of the weights")
    for axes in panels[:, 0]:
        axes.set_ylabel("largest change of the output")
    return _with_legend(figure, panels[0, 0])


def plot_gaps(record: dict) -> Figure:
    """The largest ratio of the changes of output and Laplacian in molecules, against the gap."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    bounds = record["settings"]["gap_bins"]
    labels = ["0", *(f"≤ {high:g}" for high in bounds[1:]), f"> {bounds[-1]:g}"]
    cut = str(record["settings"]["cut"])
    for axes, k, gap, label in (
        (panels[0], cut, "cut", f"gap at which {cut} eigenvectors are cut"),
        (panels[1], "all", "inside", "smallest gap"),
    ):
        for name, changes in _shown(record, "molecules", k):
            bins = changes[f"ratio_by_{gap}_gap"]
            found = [(place, b["largest"]) for place, b in enumerate(bins) if b is not None]
            axes.plot(*zip(*found, strict=True), marker=".", **_style(name))
        axes.set(yscale="log", title=f"molecules, {_columns(k)}", xlabel=label)
        axes.minorticks_off()
        axes.set_xticks(range(len(labels)), labels, fontsize="small")
    panels[0].set_ylabel("largest change of output / of L")
    return _with_legend(figure, panels[0])


def _shown(record: dict, kind: str, k: str) -> list[tuple[str, dict]]:
    """The changes of each encoder that is shown, those with constant output left out."""
    found = {name: record["results"].get(f"{kind}, {k}, {name}") for name in SHOWN}
    return [(name, own["changes"]) for name, own in found.items() if own and own["changes"]]


def _style(name: str) -> dict[str, str]:
    # Dashed, since it often lies on the line of SPE.
    dashes = "--" if name == "spe-complete" else "-"
    return {"label": CASES[name].name, "color": f"C{SHOWN.index(name)}", "linestyle": dashes}


def _columns(k: str) -> str:
    return "all eigenvectors" if k == "all" else f"{k} eigenvectors"


def _with_legend(figure: Figure, axes: Axes) -> Figure:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize="small", frameon=False)
    return figure
