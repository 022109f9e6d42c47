"""A made-up ogbg-code2: eight paths with names."""

from __future__ import annotations

import gzip
from pathlib import Path

# What pandas takes for a missing number is the word "nan" in OGB.
LABELS = ["get item", "None", "get run", "nan", "set item 2", "NA", "none", "run run fast"]
NAMES = [
    ["get", "item"],
    ["nan"],
    ["get", "run"],
    ["nan"],
    ["set", "item", "2"],
    ["nan"],
    ["none"],
    ["run", "run", "fast"],
]
SIZES = [3, 1, 2, 4, 3, 1, 2, 25]  # nodes of each path


def write(folder: Path, name: str, lines: list[str]) -> None:
    path = folder / f"{name}.csv.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.writelines(f"{line}\n" for line in lines)


def write_code2(root: Path) -> Path:
    """Paths from node 0 on, of growing depth; the last part of them is not in training."""
    folder = root / "ogbg_code2"
    nodes = [node for size in SIZES for node in range(size)]
    write(folder, "raw/num-node-list", [f"{size}" for size in SIZES])
    write(folder, "raw/num-edge-list", [f"{size - 1}" for size in SIZES])
    write(folder, "raw/edge", [f"{node - 1},{node}" for node in nodes if node])
    write(folder, "raw/node-feat", [f"{node % 98},{10029 - node}" for node in nodes])
    write(folder, "raw/node_depth", [f"{node}" for node in nodes])
    write(folder, "raw/node_dfs_order", [f"{node}" for node in nodes])
    write(folder, "raw/node_is_attributed", [f"{node % 2}" for node in nodes])
    write(folder, "raw/graph-label", LABELS)
    for part, numbers in {"train": [1, 0, 2, 3, 7], "valid": [4], "test": [6, 5]}.items():
        write(folder, f"split/project/{part}", [f"{number}" for number in numbers])
    (folder / "RELEASE_v1.txt").write_text("v1")
    return folder
