"""The tables of docs/networks.md, from the record of ``train_step.py``.

python experiments/speed/train_step_table.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from experiments.reporting import table, with_tables  # noqa: E402  # the path is set above

PAGE = ROOT / "docs" / "networks.md"
RECORD = ROOT / "experiments" / "results" / "train-step.json"


def markdown(record: dict[str, Any]) -> str:
    """Each network with PyG's of the same size after it, and how many times as long that takes."""
    rows = [
        [
            f"**{row['network']}**" if "ratio" not in row else f"PyG: {row['network']}",
            f"{row['parameters']:,}",
            f"{row['milliseconds']:.0f} ms",
            f"{row['graphs_per_second']:,.0f}",
            f"{row['ratio']:.2f}" if "ratio" in row else "",
        ]
        for row in record["networks"]
    ]
    header = ["network", "parameters", "step", "graphs per second", "times as long as ours"]
    return table(header, rows)


def main() -> None:
    tables = {"train-step": markdown(json.loads(RECORD.read_text()))}
    PAGE.write_text(with_tables(PAGE.read_text(), tables))


if __name__ == "__main__":
    main()
