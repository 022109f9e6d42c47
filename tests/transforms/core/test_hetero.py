"""Encodings of HeteroData: the homogenised graph, written to the types."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numbers_encoding import Numbers
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset

import graphpe
from graphpe.precompute.encoded import EncodedList
from graphpe.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE, PerEdgeType

WRITES = ("author", "writes", "paper")
CITES = ("paper", "cites", "paper")


def hetero(authors: int, papers: int, writes: list, cites: list) -> HeteroData:
    data = HeteroData()
    data["author"].x = torch.arange(authors).float()[:, None]
    data["paper"].x = torch.arange(papers).float()[:, None]
    data[WRITES].edge_index = torch.tensor(writes, dtype=torch.long).view(-1, 2).t()
    data[CITES].edge_index = torch.tensor(cites, dtype=torch.long).view(-1, 2).t()
    return data


@st.composite
def heteros(draw: st.DrawFn) -> HeteroData:
    authors, papers = draw(st.integers(0, 4)), draw(st.integers(1, 4))
    author, paper = st.integers(0, max(authors - 1, 0)), st.integers(0, papers - 1)
    writes = draw(st.lists(st.tuples(author, paper), max_size=6)) if authors else []
    return hetero(authors, papers, writes, draw(st.lists(st.tuples(paper, paper), max_size=5)))


def same(one: HeteroData, other: HeteroData, name: str) -> None:
    for kind in ("author", "paper"):
        assert torch.equal(one[kind][name], other[kind][name])


@given(heteros())
def test_the_values_of_the_homogenised_graph(data: HeteroData) -> None:
    encoding = Numbers()
    plain = encoding(data.to_homogeneous(node_attrs=[], edge_attrs=[]))
    encoded = encoding(data)
    nodes = torch.cat([encoded[kind].numbers_own for kind in data.node_types])
    edges = torch.cat([encoded[kind].numbers_edge for kind in data.edge_types])
    assert torch.equal(nodes, plain.numbers_own)
    assert torch.equal(edges, plain.numbers_edge)
    assert torch.equal(encoded.numbers_pair, plain.numbers_pair)
    assert torch.equal(encoded.numbers_graph, plain.numbers_graph)
    assert "numbers_own" not in data["author"]


@given(st.lists(heteros(), min_size=1, max_size=4))
def test_a_batch_is_its_graphs_one_by_one(graphs: list[HeteroData]) -> None:
    encoding = Numbers()
    batch = encoding(Batch.from_data_list(graphs))
    for got, data in zip(batch.to_data_list(), graphs, strict=True):
        alone = encoding(data)
        same(got, alone, "numbers_own")
        for kind in (WRITES, CITES):
            assert torch.equal(got[kind].numbers_edge, alone[kind].numbers_edge)
        assert torch.equal(got.numbers_pair, alone.numbers_pair)
        assert torch.equal(got.numbers_graph, alone.numbers_graph)


def test_encoded_graphs_can_be_batched() -> None:
    graphs = [hetero(2, 1, [(0, 0)], []), hetero(1, 3, [(0, 2)], [(0, 1)])]
    encoding = Numbers()
    one = Batch.from_data_list([encoding(data) for data in graphs])
    same(one, encoding(Batch.from_data_list(graphs)), "numbers_own")


@given(heteros())
def test_each_edge_type_on_its_own(data: HeteroData) -> None:
    encoded = PerEdgeType(AddRandomWalkPE(3))(data)
    assert "random_walk_pe__paper__cites__paper" not in encoded["author"]
    papers = Data(edge_index=data[CITES].edge_index, num_nodes=data["paper"].num_nodes)
    assert torch.equal(
        encoded["paper"].random_walk_pe__paper__cites__paper,
        AddRandomWalkPE(3)(papers).random_walk_pe,
    )
    both = data.edge_type_subgraph([WRITES]).to_homogeneous(node_attrs=[], edge_attrs=[])
    wanted = AddRandomWalkPE(3)(both).random_walk_pe
    name = "random_walk_pe__author__writes__paper"
    got = torch.cat([encoded["author"][name], encoded["paper"][name]])
    assert torch.equal(got, wanted)


def test_weights_are_used() -> None:
    data = hetero(2, 1, [(0, 0), (1, 0)], [])
    data[WRITES].edge_weight = torch.tensor([1.0, 3.0])
    data[CITES].edge_weight = torch.empty(0)
    data["paper", "by", "author"].edge_index = data[WRITES].edge_index.flip(0)
    data["paper", "by", "author"].edge_weight = data[WRITES].edge_weight
    assert AddRandomWalkPE(2)(data)["author"].random_walk_pe[:, 1].tolist() == [0.25, 0.75]
    del data[CITES].edge_weight
    with pytest.raises(ValueError, match=r"'cites', 'paper'\) has no edge_weight but"):
        AddRandomWalkPE(2)(data)


def test_concatenated_to_x() -> None:
    data = hetero(2, 1, [(0, 0)], [(0, 0)])
    encoded = AddRandomWalkPE(2, None)(data)
    assert encoded["author"].x.shape == (2, 3)
    assert encoded["paper"].x.tolist() == [[0.0, 1.0, 1.0]]
    batch = AddRandomWalkPE(2, None)(Batch.from_data_list([data, data]))
    assert torch.equal(batch.to_data_list()[1]["author"].x, encoded["author"].x)


def test_a_directed_relation_is_symmetrised_by_a_laplacian() -> None:
    with pytest.warns(UserWarning, match="were symmetrised"):
        encoded = AddLaplacianEigenvectorPE(2)(hetero(2, 1, [(0, 0), (1, 0)], []))
    assert encoded.laplacian_eigenvalue.tolist() == [[pytest.approx(1.0), pytest.approx(2.0)]]


def test_bad_input_names_the_type() -> None:
    data = hetero(2, 1, [(0, 3)], [])
    with pytest.raises(ValueError, match="names node 3 of type 'paper', which has 1 nodes"):
        AddRandomWalkPE(2)(data)
    data[WRITES].edge_index = torch.zeros(2, 1)
    with pytest.raises(TypeError, match=r"edge type .*'writes'.*: edge_index has dtype"):
        AddRandomWalkPE(2)(data)
    with pytest.raises(ValueError, match="no node types"):
        AddRandomWalkPE(2)(HeteroData())
    data = hetero(2, 1, [(0, 0)], [])
    data["author"].x = data["author"].x.long()
    with pytest.raises(ValueError, match="which cannot hold it"):
        AddRandomWalkPE(2, None)(data)
    with pytest.raises(TypeError, match="got a Data; it encodes one HeteroData"):
        PerEdgeType(AddRandomWalkPE(2))(Data(num_nodes=1))
    with pytest.raises(ValueError, match="give the encoding an attr_name"):
        PerEdgeType(AddRandomWalkPE(2, None))


class InMemory(InMemoryDataset):
    def __init__(self, graphs: list[HeteroData]) -> None:
        super().__init__()
        self._data, self.slices = self.collate(graphs)


GRAPHS = [
    hetero(2, 1, [(0, 0), (1, 0)], []),
    hetero(0, 3, [], [(0, 1), (1, 2)]),
    hetero(1, 3, [(0, 2)], [(0, 1)]),
]


@pytest.mark.parametrize("make", [list, InMemory, lambda graphs: InMemory(graphs)[[2, 0]]])
def test_datasets(make) -> None:
    encoding = Numbers()
    dataset = make(GRAPHS)
    encoded = graphpe.encode(dataset, [encoding, AddRandomWalkPE(2, None)])
    assert type(encoded) in (EncodedList, InMemory)
    assert "numbers_pair" in encoded.fields
    for got, data in zip(encoded, list(dataset), strict=True):
        alone = encoding(AddRandomWalkPE(2, None)(data))
        assert got.keys() == alone.keys()
        for one, other in zip(got.stores, alone.stores, strict=True):
            for name, value in other.items():
                assert torch.equal(one[name], value), name


def test_datasets_of_one_kind_only() -> None:
    with pytest.raises(TypeError, match="graph 1 is a Data, but graph 0 is a HeteroData"):
        graphpe.encode([GRAPHS[0], Data(num_nodes=1)], AddRandomWalkPE(2))
    other = HeteroData()
    other["author"].num_nodes = 1
    with pytest.raises(ValueError, match="graph 1 has the types"):
        graphpe.encode([GRAPHS[0], other], AddRandomWalkPE(2))


def test_edge_types_that_cannot_be_in_a_name_are_refused_before_anything_is_written() -> None:
    data = hetero(2, 1, [(0, 0)], [])
    data["paper", "index", "author"].edge_index = torch.zeros(2, 1, dtype=torch.long)
    keys = data.to_dict().keys()
    with pytest.raises(
        ValueError, match=r"edge type \('paper', 'index', 'author'\) cannot be in a name"
    ):
        PerEdgeType(AddRandomWalkPE(2))(data)
    assert data.to_dict().keys() == keys
    data = hetero(2, 1, [(0, 0)], [])
    for relation in ("x_y", "x.y"):
        data["paper", relation, "author"].edge_index = torch.zeros(2, 1, dtype=torch.long)
    with pytest.raises(ValueError, match="differ only in signs"):
        PerEdgeType(AddRandomWalkPE(2))(data)
