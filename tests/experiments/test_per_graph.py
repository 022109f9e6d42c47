"""The code for a single graph that graphpe's speed is measured against gives the same values."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

import graphpe
from graphpe.data import OGBGraphs
from graphpe.transforms import AddLaplacianEigenvectorPE
from graphpe.transforms.distances import AddLandmarkDistancePE, AddShortestPathPE
from graphpe.transforms.hodge import AddHodgePE
from graphpe.transforms.random_features import AddRandomFeaturePropagation, AddRandomFeaturesPE
from graphpe.transforms.sequence import AddOrderedSubsetPE
from graphpe.transforms.structure import AddWeisfeilerLemanSE

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments" / "speed"))

from benchmark_graphs import dataset_of, evenly_spaced, from_lower_to_higher, larger_graphs
from cases import CASES, GROUPS, Case

NOT_COMPARED_ENTRYWISE = (
    AddLaplacianEigenvectorPE,
    AddHodgePE,
    AddWeisfeilerLemanSE,
    AddLandmarkDistancePE,
    AddRandomFeaturesPE,
    AddRandomFeaturePropagation,
    AddOrderedSubsetPE,
)


@pytest.fixture(scope="module")
def graphs(repository: Path) -> list[Data]:
    """Connected molecules, rings with chords (cycles, triangles) and graphs of the benchmark's larger kinds."""
    molecules = OGBGraphs("ogbg-molesol", repository / "datasets" / "bundled")
    chosen = [
        Data(edge_index=data.edge_index, num_nodes=data.num_nodes)
        for data in evenly_spaced(molecules, 12)
        if nx.is_connected(nx.Graph(data.edge_index.T.tolist())) and data.num_nodes > 3
    ]
    assert len(chosen) > 6
    for seed in range(4):
        ring = nx.connected_watts_strogatz_graph(20, 4, 0.3, seed=seed)
        chosen.append(Data(edge_index=from_networkx(ring).edge_index, num_nodes=20))
    return chosen


def test_every_encoding_is_measured() -> None:
    measured = {type(case.encoding) for case in CASES}
    assert measured >= set(graphpe.transforms.all_encodings())
    assert len(measured) == len(CASES)


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if not isinstance(case.encoding, NOT_COMPARED_ENTRYWISE)],
    ids=lambda case: type(case.encoding).__name__,
)
def test_same_values(case: Case, graphs: list[Data]) -> None:
    for ours, theirs in both(case, graphs):
        for own, other in zip(ours, theirs, strict=False):
            assert np.size(own) == np.size(other)
            np.testing.assert_allclose(own, np.reshape(other, own.shape), rtol=2e-5, atol=2e-5)


def test_same_eigenvectors(graphs: list[Data]) -> None:
    case = case_of(AddLaplacianEigenvectorPE)
    for (vectors, values, count, _), (others,) in both(case, graphs):
        is_whole = values[0] < values.max() - 1e-4  # k may cut through the last eigenspace
        assert others.shape[1] == count[0, 0]
        is_compared = is_whole & (np.arange(case.encoding.k) < count[0, 0])
        own, other = vectors[:, is_compared], others[:, is_compared[: others.shape[1]]]
        decay = np.exp(-values[0, is_compared])
        np.testing.assert_allclose(own * decay @ own.T, other * decay @ other.T, atol=1e-5)


def test_same_hodge_coordinates(graphs: list[Data]) -> None:
    case = case_of(AddHodgePE)
    k = case.encoding.k
    compared = np.zeros(3, dtype=int)
    for (own, values, _), (others, other_values) in both(case, graphs):
        np.testing.assert_allclose(values[0], other_values, atol=1e-5)
        for kind in range(3):
            columns = slice(kind * k, (kind + 1) * k)
            # k may cut through the last eigenspace, of harmonics through the only one
            is_whole = np.abs(values[0, columns] - values[0, columns].max()) > 1e-4
            if kind == 0:
                is_whole[:] = not own[:, columns][:, -1].any()
            decay = np.exp(-values[0, columns]) * is_whole
            np.testing.assert_allclose(
                own[:, columns] * decay @ own[:, columns].T,
                others[:, columns] * decay @ others[:, columns].T,
                atol=1e-5,
            )
            compared[kind] += own[:, columns][:, is_whole].any()
    assert (compared >= 3).all()


def test_same_classes_of_weisfeiler_leman_colors(graphs: list[Data]) -> None:
    case = case_of(AddWeisfeilerLemanSE)
    case = replace(  # no colors share a category
        case,
        encoding=replace(case.encoding, categories=None),
        function=partial(case.function, categories=2**62),
    )
    pairs = both(case, graphs)
    ours = np.concatenate([own for (own,), _ in pairs])[:, 0]
    theirs = np.concatenate([other for _, (other,) in pairs])[:, 0]
    colors = {*zip(ours.tolist(), theirs.tolist(), strict=True)}
    assert len(colors) == len(set(ours.tolist())) == len(set(theirs.tolist())) > 20


def test_landmark_distances_are_those_of_some_nodes(graphs: list[Data]) -> None:
    case = case_of(AddLandmarkDistancePE)
    distances = graphpe.encode(graphs, AddShortestPathPE(), progress=False)
    for data, both_columns in zip(distances, both(case, graphs), strict=True):
        of_all = data.shortest_path_pe.view(data.num_nodes, data.num_nodes).T.tolist()
        for (columns,) in both_columns:
            assert columns.shape == (data.num_nodes, case.encoding.landmarks)
            landmarks = [of_all.index(column) for column in columns.T.tolist() if min(column) == 0]
            assert len(landmarks) == min(case.encoding.landmarks, data.num_nodes)


@pytest.mark.parametrize("encoding", [AddRandomFeaturesPE, AddRandomFeaturePropagation])
def test_random_features_are_alike(encoding: type, graphs: list[Data]) -> None:
    case = case_of(encoding)
    pairs = both(case, graphs * 8)
    for (own,), (other,) in pairs:
        assert own.shape == other.shape
    for side in zip(*pairs, strict=True):
        values = np.concatenate([values for (values,) in side])[:, : case.encoding.channels]
        assert abs(values.mean()) < 0.05
        assert abs(values.std() - 1) < 0.05


def test_random_features_spread_alike(graphs: list[Data]) -> None:
    """The first step of both is the normalised operator, applied to what each has drawn."""
    case = case_of(AddRandomFeaturePropagation)
    k = case.encoding.channels
    for data, sides in zip(graphs, both(case, graphs), strict=True):
        a = np.eye(data.num_nodes)
        a[tuple(data.edge_index.numpy())] = 1.0
        operator = a / np.sqrt(np.outer(a.sum(0), a.sum(0)))
        for (values,) in sides:
            steps = np.split(values, case.encoding.steps + 1, axis=1)
            for before, after in pairwise(steps):
                spread = operator @ before
                np.testing.assert_allclose(
                    after, spread / np.linalg.norm(spread, axis=0), atol=2e-5
                )
                assert after.shape[1] == k


def test_ordered_subsets_are_alike(graphs: list[Data]) -> None:
    case = case_of(AddOrderedSubsetPE)
    pairs = both(case, graphs * 8)
    for side in zip(*pairs, strict=True):
        for (positions,) in side:
            assert (np.diff(positions[:, 0]) > 0).all()
        positions = np.concatenate([positions for (positions,) in side])
        assert positions.min() >= 0
        assert positions.max() < case.encoding.maximum
        assert abs(positions.mean() / case.encoding.maximum - 0.5) < 0.05


def test_larger_graphs_are_connected_and_sparse() -> None:
    for data in larger_graphs(6):
        graph = nx.Graph(data.edge_index.T.tolist())
        assert nx.is_connected(graph)
        assert 100 <= len(graph) == data.num_nodes <= 500
        assert data.num_edges <= 8 * len(graph)
        assert data.is_undirected()


def test_groups_write_different_fields(graphs: list[Data]) -> None:
    for encodings in GROUPS.values():
        encoded = graphpe.encode(graphs[:2], encodings, progress=False)
        assert len(encoded.fields) == sum(len(encoding.fields()) for encoding in encodings)


def case_of(encoding: type) -> Case:
    return next(case for case in CASES if isinstance(case.encoding, encoding))


def both(case: Case, graphs: list[Data]) -> list[tuple[tuple[np.ndarray, ...], ...]]:
    """Of each graph our fields and the first of them by the code for a single graph."""
    dataset = dataset_of(graphs)
    if case.acyclic:
        dataset = from_lower_to_higher(dataset)
    encoded = graphpe.encode(dataset, case.encoding, progress=False)
    return [
        (
            tuple(own_values(data, field) for field in case.encoding.fields()),
            as_arrays(case.function(plain)),
        )
        for data, plain in zip(encoded, dataset, strict=True)
    ]


def own_values(data: Data, field: graphpe.Field) -> np.ndarray:
    values = data[field.name]
    if field.level == "pair":
        values = values.view(data.num_nodes, data.num_nodes, field.width)
    return values.numpy()


def as_arrays(values: Any) -> tuple[np.ndarray, ...]:
    return tuple(
        value.numpy() if isinstance(value, torch.Tensor) else value
        for value in (values if isinstance(values, tuple) else (values,))
    )
