"""The tables of the speed of encoders, from a record of ``encoders.py``, for the docs."""

from __future__ import annotations

from collections.abc import Callable

# Of the methods that graphpe's encoders are measured against.
HEADINGS = {"published": "as published", "one by one": "one graph after the other"}


def markdown(report: dict) -> str:
    """The table of all encoders, that against other methods, and that of batch sizes."""
    parts = [every_encoder(report)]
    if any(len(row["methods"]) > 1 for row in report["rows"]):
        parts.append(other_methods(report))
    if report["batch_sizes"]:
        parts.append(batch_sizes(report))
    return "\n\n".join(parts)


def every_encoder(report: dict) -> str:
    header = ["encoder", "parameters", "step", "graphs per second", "peak memory"]
    rows = [
        [
            row["encoder"],
            f"{row['parameters']:,}",
            seconds(row["methods"]["graphpe"]["seconds"]),
            f"{row['methods']['graphpe']['graphs_per_second']:,.0f}",
            mebibytes(row["methods"]["graphpe"]["peak_mib"]),
        ]
        for row in report["rows"]
    ]
    return table(header, rows)


def other_methods(report: dict) -> str:
    """Time and memory of the other methods, and in brackets how many times graphpe's."""
    header = ["encoder", "graphpe", *HEADINGS.values()]
    header += [f"{name}, memory" for name in ("graphpe", *HEADINGS.values())]
    rows = []
    for row in report["rows"]:
        own, *others = (row["methods"].get(name) for name in ("graphpe", *HEADINGS))
        if all(others):
            rows.append(
                [
                    row["encoder"],
                    seconds(own["seconds"]),
                    *(with_ratio(seconds, own, other, "seconds") for other in others),
                    mebibytes(own["peak_mib"]),
                    *(with_ratio(mebibytes, own, other, "peak_mib") for other in others),
                ]
            )
    return table(header, rows)


def batch_sizes(report: dict) -> str:
    """Milliseconds per graph."""
    sizes = list(next(iter(report["batch_sizes"][0]["methods"].values())))
    rows = [
        [
            f"{one['encoder']}, {HEADINGS.get(method, method)}",
            *(f"{1e3 / measured['graphs_per_second']:.1f} ms" for measured in by_size.values()),
        ]
        for one in report["batch_sizes"]
        for method, by_size in one["methods"].items()
    ]
    return table(["per graph, in batches of", *map(str, sizes)], rows)


def with_ratio(write: Callable[[float], str], own: dict, other: dict, key: str) -> str:
    return f"{write(other[key])} ({other[key] / own[key]:.1f}x)"


def seconds(value: float) -> str:
    return (
        f"{value:.2f} s"
        if value >= 1
        else f"{1e3 * value:.0f} ms"
        if value >= 0.01
        else f"{1e3 * value:.1f} ms"
    )


def mebibytes(value: float) -> str:
    return f"{value:,.0f} MiB"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
