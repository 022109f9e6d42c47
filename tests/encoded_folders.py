"""A small dataset, what it is encoded with, and what a cache holds of it, for tests of bulk encoding."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import torch
from torch_geometric.data import Data

from graphpe.data import OGBGraphs
from graphpe.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE

BUNDLED = Path(__file__).resolve().parent.parent / "datasets" / "bundled"
ENCODINGS = [AddLaplacianEigenvectorPE(4), AddRandomWalkPE(6)]


def molecules() -> OGBGraphs:
    """1,128 molecules."""
    return OGBGraphs("ogbg-molesol", root=BUNDLED)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a cache but its locks."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def shards(folder: Path) -> int:
    """How many shards a cache holds."""
    return len(list(folder.rglob("*.safetensors")))


def with_a_bad_weight(count: int, bad: int) -> list[Data]:
    """Weighted paths of three nodes, one of which has a negative weight."""
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    weights = [torch.full((4,), -1.0 if number == bad else 1.0) for number in range(count)]
    return [Data(edge_index=edges, edge_weight=weight, num_nodes=3) for weight in weights]


@dataclass(frozen=True, repr=False)
class AddWalksAndDie(AddRandomWalkPE):
    """Kills its process the first time that it computes in any, after which a file is there.

    Args:
        marker: The file.
    """

    marker: str = ""

    def encode_block(self, block):
        if self.marker and not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode_block(block)
