"""Small raw folders in the layouts of PyG's datasets of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

PARTS = ("train", "val", "test")


def cycle(n: int) -> Tensor:
    """The edges of a cycle of n nodes, in both directions; one edge of two nodes, and none of a single one."""
    if n < 3:
        return torch.tensor([[0, 1], [1, 0]])[:, : 2 * (n - 1)]
    source = torch.arange(n)
    target = (source + 1) % n
    return torch.stack([torch.cat([source, target]), torch.cat([target, source])])


def write_gnn_benchmark(
    root: Path,
    name: str = "PATTERN",
    sizes: Sequence[Sequence[int]] = ((3, 5, 4), (7,), (1, 6)),
) -> Path:
    """PATTERN or CLUSTER with graphs of these sizes in train, val and test; returns ``raw``."""
    types, classes = {"PATTERN": (3, 2), "CLUSTER": (7, 6)}[name]
    raw = root / name / "raw"
    raw.mkdir(parents=True)
    parts = [
        [
            {
                "x": torch.eye(types)[torch.arange(n) % types],
                "edge_index": cycle(n),
                "y": torch.arange(n) % classes,
            }
            for n in part
        ]
        for part in sizes
    ]
    torch.save(tuple(parts), raw / f"{name}_v2.pt")
    return raw


def write_lrgb(
    root: Path,
    name: str = "peptides-func",
    sizes: Sequence[Sequence[int]] = ((3, 5, 4), (7,), (1, 6)),
) -> Path:
    """Peptides with graphs of these sizes in train, val and test; returns ``raw``."""
    raw = root / name / "raw"
    raw.mkdir(parents=True)
    for file, part in zip(PARTS, sizes, strict=True):
        graphs = []
        for n in part:
            edges = cycle(n)
            target = torch.randn(1, 11) if name == "peptides-struct" else torch.ones(1, 10)
            x = torch.arange(n)[:, None].expand(n, 9) % 2
            graphs.append((x.clone(), edges.t() % 2 @ torch.ones(2, 3).long(), edges, target))
        torch.save(graphs, raw / f"{file}.pt")
    return raw


def write_tu(root: Path, name: str, sizes: Sequence[int], **columns: Sequence[object]) -> Path:
    """A dataset of the TU collection with cycles of these sizes; returns ``raw``.

    Args:
        root: Folder of the datasets.
        name: Of the dataset.
        sizes: Nodes of each graph.
        columns: Rows of further files, such as ``node_labels``.
    """
    raw = root / name / "raw"
    raw.mkdir(parents=True)
    edges, offset = [], 0
    for n in sizes:
        edges += [f"{u + offset + 1}, {v + offset + 1}" for u, v in cycle(n).t().tolist()]
        offset += n
    graph = [number + 1 for number, n in enumerate(sizes) for _ in range(n)]
    for file, rows in {"A": edges, "graph_indicator": graph, **columns}.items():
        (raw / f"{name}_{file}.txt").write_text("".join(f"{row}\n" for row in rows))
    return raw


def write_alchemy(root: Path, num_graphs: int, lists: Sequence[Sequence[int]]) -> Path:
    """Alchemy with cycles of 2 to 5 nodes and these graph numbers in train, val and test; returns ``raw``."""
    sizes = [2 + number % 4 for number in range(num_graphs)]
    nodes, edges = sum(sizes), sum(cycle(n).shape[1] for n in sizes)
    raw = write_tu(
        root,
        "alchemy_full",
        sizes,
        node_labels=[number % 6 for number in range(nodes)],
        node_attributes=["0.5, 1.5, -2.0"] * nodes,
        edge_labels=[number % 4 for number in range(edges)],
        graph_attributes=[
            ", ".join(str(float((number * 7 + column) % 11)) for column in range(12))
            for number in range(num_graphs)
        ],
    )
    for part, numbers in zip(PARTS, lists, strict=True):
        (raw / f"{part}_al_10.index").write_text(",".join(map(str, numbers)) + "\n")
    return raw
