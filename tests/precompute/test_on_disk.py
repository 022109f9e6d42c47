"""Datasets that are not in memory: the same values, in bounded memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from encoded_folders import ENCODINGS, contents, molecules
from torch_geometric.data import Data, Dataset
from torch_geometric.data.on_disk_dataset import OnDiskDataset

import graphpe
from graphpe.precompute.cache import plan
from graphpe.precompute.stored import GraphsOnDisk, on_disk


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch) -> None:
    monkeypatch.setattr(plan, "_GRAPHS", 100)
    monkeypatch.setattr(on_disk, "_CHUNK", 64)


def refuse(data: Data) -> Data:
    raise AssertionError("the transform ran while encoding")


def test_a_dataset_on_disk_has_the_entries_of_the_same_graphs_in_memory(tmp_path: Path) -> None:
    graphs = list(molecules()[:300])
    stored = OnDiskDataset(str(tmp_path / "disk"))
    stored.extend(graphs)
    stored.transform = refuse
    with pytest.warns(UserWarning, match="has a transform"):
        encoded = graphpe.encode(stored, ENCODINGS, cache_dir=tmp_path / "cache")
    files = contents(tmp_path / "cache")
    wanted = graphpe.encode(graphs, ENCODINGS, cache_dir=tmp_path / "cache")
    assert contents(tmp_path / "cache") == files
    encoded.transform = None
    assert len(encoded) == 300
    for number in (0, 99, 100, 299):
        for field in encoded.fields:
            assert torch.equal(encoded[number][field], wanted[number][field])
        assert torch.equal(encoded[number].x, graphs[number].x)


def test_a_part_of_a_dataset_on_disk(tmp_path: Path) -> None:
    graphs = list(molecules()[:30])
    stored = OnDiskDataset(str(tmp_path / "disk"))
    stored.extend(graphs)
    encoded = graphpe.encode(stored[[7, 3, 29]], ENCODINGS, cache_dir=tmp_path / "cache")
    wanted = graphpe.encode([graphs[number] for number in (7, 3, 29)], ENCODINGS)
    for got, other in zip(encoded, wanted, strict=True):
        assert torch.equal(got.random_walk_pe, other.random_walk_pe)


class Paths(Dataset):
    """Paths of 3 to 9 nodes that are made when they are asked for."""

    def len(self) -> int:
        return 150

    def get(self, idx: int) -> Data:
        n = 3 + idx % 7
        forward = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
        edges = torch.cat([forward, forward.flip(0)], dim=1)
        weight = {"edge_weight": torch.ones(2 * n - 2)} if self.weighted(idx) else {}
        return Data(edge_index=edges, num_nodes=n, **weight)

    def weighted(self, idx: int) -> bool:
        return False


class PathsOfWhichSomeHaveWeights(Paths):
    def weighted(self, idx: int) -> bool:
        return idx >= 64


def test_weights_of_some_graphs_only_are_found_across_chunks() -> None:
    assert len(graphpe.encode(Paths(), ENCODINGS)) == 150
    with pytest.raises(ValueError, match="graph 63 has no edge_weight but graph 64 has one"):
        graphpe.encode(PathsOfWhichSomeHaveWeights(), ENCODINGS)


def test_fingerprints_do_not_depend_on_pieces(monkeypatch) -> None:
    found = []
    for chunk in (1, 64, 1000):
        monkeypatch.setattr(on_disk, "_CHUNK", chunk)
        stored = GraphsOnDisk(Paths(), False, lambda data, number: None)
        found.append(stored.fingerprint())
    assert len(set(found)) == 1


BULKY = """
import resource
import sys
import torch
from torch_geometric.data import Data, Dataset
import graphpe
from graphpe.transforms import AddRandomWalkPE, AddRelativeRandomWalkPE

EDGES = torch.stack([torch.arange(10), (torch.arange(10) + 1) % 10])
EDGES = torch.cat([EDGES, EDGES.flip(0)], dim=1)

class Bulky(Dataset):
    def len(self):
        return 20_000
    def get(self, idx):
        return Data(x=torch.full((10, 2_000), float(idx)), edge_index=EDGES)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

encodings = [AddRandomWalkPE(4), AddRelativeRandomWalkPE(4)]
graphpe.encode([Bulky().get(0)], encodings)
before = peak()
encoded = graphpe.encode(Bulky(), encodings, cache_dir=sys.argv[1], progress=False)
for number in range(0, 20_000, 500):
    assert encoded[number].random_walk_pe.shape == (10, 4)
print(peak() - before)
"""


def test_memory_is_bounded(tmp_path: Path) -> None:
    """All graphs together would take 1,500 MiB, those that are read through at a time 80 MiB."""
    command = [sys.executable, "-c", BULKY, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) < 700
