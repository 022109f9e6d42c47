"""The pairs are what they are said to be: different, and the same to the Weisfeiler-Leman tests."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import pytest
import torch
from torch import Tensor

from graphpe.data.equivalent_graphs import CSL_SKIPS, GraphPair, equivalent_pairs

PAIRS = equivalent_pairs()
each_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)


def adjacency(graph) -> Tensor:
    matrix = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.long)
    matrix[tuple(graph.edge_index)] = 1
    return matrix


def same_colours(pair: GraphPair, folklore: bool) -> bool:
    """Refines colours of both graphs together: of pairs (u, v), by all w, if folklore, otherwise of nodes."""
    matrices = [adjacency(pair.first), adjacency(pair.second)]
    size = len(matrices[0])
    colours = [
        matrix + 2 * torch.eye(size, dtype=torch.long) if folklore else torch.zeros(size).long()
        for matrix in matrices
    ]
    while True:
        number = int(torch.cat(colours).max()) + 1
        signatures = []
        for matrix, colour in zip(matrices, colours, strict=True):
            if folklore:
                seen = colour[:, None, :] * number + colour.t()[None, :, :]
            else:
                seen = torch.where(matrix == 1, colour, -1)
            signature = torch.cat([colour[..., None], seen.sort(-1).values], dim=-1)
            signatures.append(signature.flatten(0, -2))
        kinds, refined = torch.unique(torch.cat(signatures), dim=0, return_inverse=True)
        refined = [c.view(colours[0].shape) for c in refined.chunk(2)]
        if len(kinds) == number:
            first, second = (torch.bincount(c.flatten(), minlength=number) for c in refined)
            return torch.equal(first, second)
        colours = refined


@each_pair
def test_graphs_are_simple_and_undirected(pair: GraphPair) -> None:
    for graph in (pair.first, pair.second):
        matrix = adjacency(graph)
        assert torch.equal(matrix, matrix.t())
        assert not matrix.diagonal().any()
        assert matrix.sum() == graph.num_edges
    assert pair.first.num_nodes == pair.second.num_nodes


@each_pair
def test_colour_refinement_takes_them_for_the_same(pair: GraphPair) -> None:
    assert same_colours(pair, folklore=False)


@pytest.mark.parametrize(
    "pair", [pair for pair in PAIRS if pair.group != "CSL"], ids=lambda pair: pair.name
)
def test_the_three_dimensional_test_tells_apart_what_it_should(pair: GraphPair) -> None:
    assert same_colours(pair, folklore=True) == (pair.group == "3-WL")


@each_pair
def test_the_graphs_are_not_isomorphic(pair: GraphPair) -> None:
    first, second = (nx.from_numpy_array(adjacency(g).numpy()) for g in (pair.first, pair.second))
    if pair.group == "3-WL" and "Cai" not in pair.name:  # quicker than a search
        cliques = [Counter(map(len, nx.find_cliques(graph))) for graph in (first, second)]
        assert cliques[0] != cliques[1]
    else:
        assert not nx.is_isomorphic(first, second)


def test_there_are_as_many_as_the_docstring_says() -> None:
    assert Counter(pair.group for pair in PAIRS) == {"1-WL": 5, "CSL": 45, "3-WL": 9}
    assert len({pair.name for pair in PAIRS}) == len(PAIRS)
    assert len(CSL_SKIPS) == 10
