"""The README's section on the speed of every encoding, from a record of ``all_encodings.py``."""

from __future__ import annotations

import statistics
import textwrap

SIZES = ("molecules", "larger")
KINDS = {"pyg": "PyG or networkx", "numpy": "numpy"}


def markdown(report: dict) -> str:
    about = {size: report["datasets"][size] for size in SIZES}
    molecules, larger = (
        f"{one['graphs']:,} graphs of {one['nodes'][0]} to {one['nodes'][1]} nodes "
        f"(mean {one['mean_nodes']:.0f}; {one['name']})"
        for one in about.values()
    )
    rows = report["rows"]
    parts = [
        "### Speed of every encoding",
        paragraph(
            f"Microseconds per graph, and in brackets how many times as long as graphpe the others take, for molecules "
            f"({molecules}) and larger graphs ({larger}). graphpe uses all {report['cores']} cores of the machine; the "
            "others are a `pre_transform` in one process, as their users run them, with one thread or the default "
            "number of them, whichever is faster: "
            "[with PyG's utilities or networkx](experiments/speed/with_pyg.py), as in published code, and "
            "[with as little numpy and scipy](experiments/speed/with_numpy.py) as is right for weights and parallel "
            "edges. All read and write graphs as PyG's datasets hold them, in the same run."
        ),
        table(
            ["", *(f"{size}: {who}" for size in SIZES for who in ("graphpe", *KINDS.values()))],
            [[f"`{row['encoding']}`", *(cells(row[size]) for size in SIZES)] for row in rows],
        ),
        paragraph(
            f"The median ratio is {median_ratios(rows)}. On one core graphpe takes "
            f"{median(rows, 'one_core_us', 'graphpe_us'):.1f} times as long (median)."
        ),
    ]
    if report["together"]:
        parts += [
            "Several encodings in one `encode` call share what they have in common:",
            table(
                ["", *(f"{size}: {what}" for size in SIZES for what in ("one call", "one each"))],
                [
                    [row["group"], *(together_cells(row[size]) for size in SIZES)]
                    for row in report["together"]
                ],
            ),
        ]
    parts.append(
        paragraph(
            f"Measured on {report['date']} with torch {report['torch']}, PyG {report['torch_geometric']}, networkx "
            f"{report['networkx']} and numpy {report['numpy']} by `{report['command']}` "
            "([encodings-speed.json](experiments/results/encodings-speed.json))."
        )
    )
    return "\n\n".join(parts) + "\n"


def paragraph(text: str) -> str:
    return textwrap.fill(text, 119, break_long_words=False, break_on_hyphens=False)


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cells(measured: dict) -> str:
    others = (
        f"{number(measured[f'{kind}_us'])} ({number(measured[f'{kind}_ratio'])}x)"
        if f"{kind}_us" in measured
        else ""
        for kind in KINDS
    )
    return " | ".join([number(measured["graphpe_us"]), *others])


def together_cells(measured: dict) -> str:
    separate = number(sum(measured["separate_us"]))
    return f"{number(measured['together_us'])} ({measured['ratio']:.2f} of the sum) | {separate}"


def number(value: float) -> str:
    """At least two digits, of small and of large ones."""
    decimals = 0 if value >= 10 else 1 if value >= 1 else 2
    return f"{value:,.{decimals}f}"


def median_ratios(rows: list[dict]) -> str:
    texts = (
        f"{number(median(rows, f'{kind}_us', 'graphpe_us', size))} to {name} for {what}"
        for size, what in zip(SIZES, ("molecules", "larger graphs"), strict=True)
        for kind, name in KINDS.items()
    )
    return ", ".join(texts)


def median(rows: list[dict], key: str, base: str, *sizes: str) -> float:
    return statistics.median(
        row[size][key] / row[size][base]
        for row in rows
        for size in sizes or SIZES
        if key in row[size]
    )
