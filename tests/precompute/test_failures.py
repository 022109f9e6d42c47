"""Graphs that fail: named, left out, or given NaN, the others being what they are without them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from encoded_folders import with_a_bad_weight
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.data.on_disk_dataset import OnDiskDataset

import graphpe
from graphpe.precompute.cache import plan
from graphpe.transforms import (
    AddEffectiveResistancePE,
    AddLaplacianEigenvectorPE,
    AddRandomWalkPE,
    AddShortestPathPE,
    AddWeisfeilerLemanSE,
)

ENCODINGS = [AddRandomWalkPE(4), AddEffectiveResistancePE(level="edge"), AddShortestPathPE(3)]


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch) -> None:
    monkeypatch.setattr(plan, "_GRAPHS", 7)


class Stored(InMemoryDataset):
    """A list as a dataset in memory."""

    def __init__(self, graphs: list[Data]) -> None:
        super().__init__()
        self._data, self.slices = self.collate(graphs)


def on_disk(graphs: list[Data], folder: Path) -> OnDiskDataset:
    dataset = OnDiskDataset(str(folder))
    dataset.extend(graphs)
    return dataset


def kinds(graphs: list[Data], folder: Path) -> list:
    return [graphs, Stored(graphs), on_disk(graphs, folder)]


def bad_graphs() -> dict[str, tuple[Data, str]]:
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    ones = torch.ones(4)
    nan = torch.tensor([1.0, float("nan"), 1.0, 1.0])
    return {
        "negative": (Data(edge_index=edges, edge_weight=-ones, num_nodes=3), "is -1.0"),
        "nan": (Data(edge_index=edges, edge_weight=nan, num_nodes=3), "is nan"),
        "outside": (Data(edge_index=edges + 1, edge_weight=ones, num_nodes=3), "nodes are 0 to 2"),
        "no nodes": (Data(edge_index=edges, edge_weight=ones, num_nodes=0), "nodes are 0 to -1"),
    }


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("name", list(bad_graphs()))
def test_skip_leaves_out_the_graph_that_can_not_be_read(
    tmp_path: Path, name: str, cached: bool
) -> None:
    bad, reason = bad_graphs()[name]
    good = with_a_bad_weight(19, bad=-1)
    graphs = [*good[:16], bad, *good[16:]]
    clean = graphpe.encode(good, ENCODINGS)
    options = {"cache_dir": tmp_path / "cache"} if cached else {}
    for number, dataset in enumerate(kinds(graphs, tmp_path / "disk")):
        if name == "no nodes" and isinstance(dataset, Stored):
            continue  # PyG's storage has nothing to tell its nodes from
        with pytest.raises(ValueError, match=f"graph 16 .*{reason}"):
            graphpe.encode(dataset, ENCODINGS, **options)
        with pytest.warns(UserWarning, match=r"1 of 20 graphs are left out.*graph 16"):
            encoded = graphpe.encode(dataset, ENCODINGS, on_error="skip", **options)
        assert list(encoded.failures) == [16], number
        assert reason in encoded.failures[16]
        assert len(encoded) == 19
        for got, wanted in zip(encoded, clean, strict=True):
            for field in encoded.fields:
                assert torch.equal(got[field], wanted[field])


@pytest.mark.parametrize("cached", [False, True])
def test_nan_keeps_the_place_of_a_graph(tmp_path: Path, cached: bool) -> None:
    graphs = with_a_bad_weight(20, bad=9)
    encodings = [*ENCODINGS[:2], AddLaplacianEigenvectorPE(2)]
    clean = graphpe.encode(with_a_bad_weight(20, bad=-1), encodings)
    options = {"cache_dir": tmp_path / "cache"} if cached else {}
    for dataset in kinds(graphs, tmp_path / "disk"):
        with pytest.warns(UserWarning, match="have NaN for values"):
            encoded = graphpe.encode(dataset, encodings, on_error="nan", **options)
        assert len(encoded) == 20
        assert list(encoded.failures) == [9]
        for number, (got, wanted) in enumerate(zip(encoded, clean, strict=True)):
            for field in encoded.fields:
                assert got[field].shape == wanted[field].shape
                if number == 9 and got[field].is_floating_point():
                    assert bool(got[field].isnan().all())
                elif number == 9:
                    assert not got[field].any()
                else:
                    assert torch.equal(got[field], wanted[field])


def test_nan_needs_fields_that_have_one() -> None:
    with pytest.raises(ValueError, match=r"is torch.int64, which has no NaN; use on_error='skip'"):
        graphpe.encode(with_a_bad_weight(3, 1), AddWeisfeilerLemanSE(2), on_error="nan")


@dataclass(frozen=True, repr=False)
class AddWalksButNotOfFour(AddRandomWalkPE):
    """Fails for graphs of four nodes."""

    def encode_block(self, block):
        if block.n == 4:
            raise ValueError(
                f"{block.name(0) if hasattr(block, 'name') else 'a graph'} has four nodes"
            )
        return super().encode_block(block)


@pytest.mark.parametrize("cached", [False, True])
def test_a_graph_for_which_one_encoding_fails(tmp_path: Path, cached: bool) -> None:
    graphs = with_a_bad_weight(20, bad=-1)
    graphs[5].num_nodes = graphs[18].num_nodes = 4
    options = {"cache_dir": tmp_path / "cache"} if cached else {}
    encodings = [AddWalksButNotOfFour(3, "odd"), AddLaplacianEigenvectorPE(2)]
    clean = graphpe.encode(graphs, [AddRandomWalkPE(3, "odd"), encodings[1]])
    with pytest.raises(ValueError, match="has four nodes"):
        graphpe.encode(graphs, encodings, **options)
    with pytest.warns(UserWarning, match="2 of 20 graphs"):
        encoded = graphpe.encode(graphs, encodings, on_error="nan", **options)
    assert list(encoded.failures) == [5, 18]
    for number in range(20):
        assert bool(encoded[number].odd.isnan().all()) == (number in (5, 18))
        for field in ("laplacian_eigenvector_pe", *([] if number in (5, 18) else ["odd"])):
            assert torch.equal(encoded[number][field], clean[number][field])


def test_what_failed_is_in_the_cache_until_it_must_not(tmp_path: Path, monkeypatch) -> None:
    graphs = with_a_bad_weight(20, bad=9)
    with pytest.warns(UserWarning, match="graph 9"):
        first = graphpe.encode(graphs, ENCODINGS, cache_dir=tmp_path, on_error="skip")
    with monkeypatch.context() as patch:
        patch.setattr("graphpe.precompute.computing.compute_fields", None)  # nothing is computed
        with pytest.warns(UserWarning, match="graph 9"):
            again = graphpe.encode(graphs, ENCODINGS, cache_dir=tmp_path, on_error="skip")
    assert again.failures == first.failures
    with pytest.raises(ValueError, match="graph 9 is -1"):
        graphpe.encode(graphs, ENCODINGS, cache_dir=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mended = graphpe.encode(with_a_bad_weight(20, -1), ENCODINGS, cache_dir=tmp_path)
    assert mended.failures == {}


def test_all_graphs_fail() -> None:
    graphs = [with_a_bad_weight(1, 0)[0] for _ in range(3)]
    with pytest.raises(ValueError, match="graph 0 is -1"):
        graphpe.encode(graphs, ENCODINGS, on_error="skip")
