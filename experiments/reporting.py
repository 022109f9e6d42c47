"""Records of experiments as JSON files, and the pages whose tables come from them."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch
import torch_geometric
from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments" / "results"


def circumstances(command: str) -> dict[str, Any]:
    """When, where and by which command a record was made."""
    return {
        "command": command,
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, one thread per run; other work may run beside it",
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "torch_geometric": torch_geometric.__version__,
        },
    }


def save_record(record: Mapping[str, Any], path: Path) -> None:
    """Writes a record, so that there is a whole file at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    text = re.sub(r"[\[{][^\[\]{}]*[\]}]", _on_one_line, json.dumps(record, indent=1))
    unfinished.write_text(text + "\n")
    unfinished.replace(path)


def _on_one_line(innermost: re.Match[str]) -> str:
    """A list or an object without others inside."""
    return re.sub(r"\s*\n\s*", " ", innermost[0])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, all columns but the first aligned to the right."""
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def with_tables(page: str, tables: Mapping[str, str]) -> str:
    """The page with tables between ``<!-- table: NAME -->`` and ``<!-- end -->``; markers of other names stay."""

    def replaced(match: re.Match[str]) -> str:
        content = tables.get(match[1])
        return (
            match[0] if content is None else f"<!-- table: {match[1]} -->\n{content}\n<!-- end -->"
        )

    return re.sub(r"<!-- table: ([\w-]+) -->\n.*?<!-- end -->", replaced, page, flags=re.DOTALL)


def save_figure(figure: Figure, path: Path) -> None:
    """Writes a figure as SVG, with the same bytes for the same figure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with plt.rc_context({"svg.hashsalt": "graphpe", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
