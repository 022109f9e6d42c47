"""The figure of a suite: a panel for each dataset, with every run, means, and what others reached."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphpe.benchmark.results import Row, published
from graphpe.benchmark.tables import by_dataset, heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INCHES_PER_LINE = 0.28
_MOST_PUBLISHED = 4  # a panel with more lines can't be read; the table has them all


def save_plot(rows: Sequence[Row], path: Path) -> None:
    """Draws the results, and writes them as SVG, with the same bytes for the same results.

    Args:
        rows: The results.
        path: The file.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    datasets = by_dataset(rows)
    heights = [len(dataset) + 3.5 for dataset in datasets.values()]
    figure = new_figure(8, _INCHES_PER_LINE * sum(heights))
    panels = figure.subplots(len(heights), squeeze=False, gridspec_kw={"height_ratios": heights})
    for (axes,), dataset in zip(panels, datasets.values(), strict=True):
        _draw(axes, dataset)
    write_figure(figure, path)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure.

    Args:
        width: In inches.
        height: In inches.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    try:
        from matplotlib import figure
    except ImportError as error:
        raise ImportError(
            "the plot needs matplotlib; install it with: pip install 'graphpe[plot]'"
        ) from error
    return figure.Figure(figsize=(width, height), layout="constrained")


def write_figure(figure: Figure, path: Path) -> None:
    """Writes a figure as SVG, whole, with the same bytes for the same figure.

    Args:
        figure: The figure.
        path: The file.
    """
    import matplotlib

    unfinished = path.with_name(path.name + ".tmp")
    with matplotlib.rc_context({"svg.hashsalt": "graphpe", "svg.fonttype": "none"}):
        figure.savefig(unfinished, format="svg", metadata={"Date": None})
    unfinished.replace(path)


def _draw(axes: Axes, rows: Sequence[Row]) -> None:
    """Means with standard deviations, every run as a dot, means of validation; dashed lines at published values."""
    for place, row in enumerate(rows):
        test = row.spread("test")
        axes.plot(test.values, [place] * len(test.values), ".", color="0.6", zorder=1)
        if test.mean is not None:
            axes.errorbar(test.mean, place, xerr=test.std or 0, fmt="o", color="C0", capsize=3)
            axes.plot(row.spread("valid").mean, place, "D", color="C0", fillstyle="none", zorder=1)
    for number, baseline in enumerate(list(published(rows))[:_MOST_PUBLISHED]):
        color = f"C{number + 1}"
        axes.axvline(baseline["mean"], color=color, linestyle="--", label=baseline["model"])
    names = [f"{row.combination.network}, {row.combination.encoding}" for row in rows]
    axes.set_yticks(range(len(rows)), names)
    axes.set_ylim(len(rows) - 0.5, -0.5)  # in the order of the table
    axes.set_title(heading(rows), fontsize="medium", loc="left")
    axes.set_xlabel(f"test {rows[0].metric}, diamonds: valid")
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))
