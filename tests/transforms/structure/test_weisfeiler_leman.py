"""AddWeisfeilerLemanSE: categories that mean the same in every graph and batch."""

from __future__ import annotations

import networkx
import pytest
import torch
from graph_zoo import from_networkx, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphpe.testing import check_encoding
from graphpe.transforms.structure import AddWeisfeilerLemanSE

INSTANCES = [
    AddWeisfeilerLemanSE(3),
    AddWeisfeilerLemanSE(2, None, dense_limit=7),
    AddWeisfeilerLemanSE(1, 10),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddWeisfeilerLemanSE) -> None:
    check_encoding(encoding)


@given(st.lists(random_graphs(max_nodes=10), min_size=1, max_size=4), st.randoms())
def test_colors_do_not_depend_on_company_or_numbering(graphs: list[Data], random) -> None:
    graphs = [Data(edge_index=data.edge_index, num_nodes=data.num_nodes) for data in graphs]
    encoding = AddWeisfeilerLemanSE(3, None)
    batch = encoding(Batch.from_data_list(graphs)).to_data_list()
    for got, data in zip(batch, graphs, strict=True):
        order = list(range(data.num_nodes))
        random.shuffle(order)
        position = torch.argsort(torch.tensor(order))
        renumbered = Data(edge_index=position[data.edge_index], num_nodes=data.num_nodes)
        color = encoding(renumbered).weisfeiler_leman_se
        assert torch.equal(color, got.weisfeiler_leman_se[order])


def test_as_many_colors_as_neighborhoods() -> None:
    path = AddWeisfeilerLemanSE(4)(zoo()["path"]).weisfeiler_leman_se.flatten().tolist()
    assert path == path[::-1]
    assert len(set(path)) == 5
    assert len(AddWeisfeilerLemanSE(1)(zoo()["path"]).weisfeiler_leman_se.unique()) == 2


def test_the_same_neighborhood_in_two_graphs() -> None:
    """The end of a path looks the same for as many rounds as the path is long."""
    short, long = (from_networkx(networkx.path_graph(n)) for n in (8, 30))
    encoding = AddWeisfeilerLemanSE(3, dense_limit=20)  # one dense, one sparse
    assert encoding(short).weisfeiler_leman_se[0] == encoding(long).weisfeiler_leman_se[29]


def test_categories_are_declared_and_kept() -> None:
    field = AddWeisfeilerLemanSE(2, 50).fields()[0]
    assert field.categories == 50
    data = from_networkx(networkx.gnp_random_graph(400, 0.01, seed=0))
    color = AddWeisfeilerLemanSE(4, 50)(data).weisfeiler_leman_se
    assert color.min() >= 0
    assert color.max() == 49
    assert len(color.unique()) > 40  # spread evenly
    assert AddWeisfeilerLemanSE(2, None).fields()[0].categories is None


def test_the_folded_color_is_the_hash_modulo_categories() -> None:
    data = zoo()["large"]
    whole = AddWeisfeilerLemanSE(3, None)(data.clone()).weisfeiler_leman_se
    folded = AddWeisfeilerLemanSE(3, 1000)(data.clone()).weisfeiler_leman_se
    assert folded.tolist() == [[color % 1000] for color in whole.flatten().tolist()]


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="rounds is 0"):
        AddWeisfeilerLemanSE(0)
    with pytest.raises(ValueError, match="categories is -1"):
        AddWeisfeilerLemanSE(2, -1)
    with pytest.raises(ValueError, match=r"categories is 10+; it must be an integer from 1 to"):
        AddWeisfeilerLemanSE(2, 10**30)
