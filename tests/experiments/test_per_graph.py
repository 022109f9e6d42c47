"""The code for a single graph that graphpe's speed is measured against writes the same values."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

import graphpe
from graphpe.data import OGBGraphs
from graphpe.transforms import (
    AddLaplacianEigenvectorPE,
    AddMagneticLaplacianPE,
    AddSingularVectorPE,
)
from graphpe.transforms.distances import (
    AddLandmarkDistancePE,
    AddShortestPathEdgePE,
    AddShortestPathPE,
)
from graphpe.transforms.hodge import AddHodgePE
from graphpe.transforms.random_features import AddRandomFeaturePropagation, AddRandomFeaturesPE
from graphpe.transforms.sequence import AddOrderedSubsetPE
from graphpe.transforms.structure import (
    AddDegreeSE,
    AddHomomorphismCountSE,
    AddLocalDegreeProfileSE,
    AddWeisfeilerLemanSE,
)
from graphpe.transforms.walks import AddRandomWalkPE

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments" / "speed"))

from benchmark_graphs import dataset_of, evenly_spaced, from_lower_to_higher, larger_graphs
from cases import CASES, GROUPS, Case

NOT_COMPARED_ENTRYWISE = (
    AddLaplacianEigenvectorPE,
    AddMagneticLaplacianPE,
    AddSingularVectorPE,
    AddHodgePE,
    AddWeisfeilerLemanSE,
    AddLandmarkDistancePE,
    AddShortestPathEdgePE,
    AddRandomFeaturesPE,
    AddRandomFeaturePropagation,
    AddOrderedSubsetPE,
)

# With PyG they are right only for simple graphs: parallel edges are counted as neighbours, and its random walks divide
# weights by the number of edges.
PYG_NEEDS_SIMPLE_GRAPHS = (
    AddDegreeSE,
    AddHomomorphismCountSE,
    AddLocalDegreeProfileSE,
    AddRandomWalkPE,
)


def params(*encodings: type, but: tuple[type, ...] = ()) -> list:
    """A case and the name of one of its ways, of the given encodings or of all of them."""
    return [
        pytest.param(case, kind, id=f"{type(case.encoding).__name__}-{kind}")
        for case in CASES
        for kind in case.pre_transforms()
        if (not encodings or isinstance(case.encoding, encodings))
        and not isinstance(case.encoding, but)
    ]


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


@pytest.fixture(scope="module")
def multigraphs() -> list[Data]:
    """Rings with chords, whose edges have weights and every third of which is given twice."""
    graphs = []
    for seed in range(4):
        ring = nx.connected_watts_strogatz_graph(16, 4, 0.3, seed=seed)
        edges = torch.tensor(list(ring.edges)).T
        edges = torch.cat([edges, edges[:, ::3]], dim=1)
        weight = torch.rand(edges.shape[1], generator=torch.Generator().manual_seed(seed)) + 0.5
        graphs.append(
            Data(
                edge_index=torch.cat([edges, edges.flip(0)], dim=1),
                edge_weight=weight.repeat(2),
                num_nodes=16,
            )
        )
    return graphs


def test_every_encoding_is_measured() -> None:
    measured = {type(case.encoding) for case in CASES}
    assert measured >= set(graphpe.transforms.all_encodings())
    assert len(measured) == len(CASES)


@pytest.mark.parametrize(("case", "kind"), params())
def test_writes_what_a_pre_transform_writes(case: Case, kind: str, graphs: list[Data]) -> None:
    """The graph that was given is as before; names, shapes and dtypes are those of graphpe, of the first fields."""
    dataset = dataset_of(graphs[:1])
    if case.acyclic:
        dataset = from_lower_to_higher(dataset)
    plain = dataset[0]
    before = plain.keys()
    result = case.pre_transforms()[kind](plain)
    (own,) = graphpe.encode(dataset, case.encoding, progress=False)
    assert plain.keys() == before
    theirs, ours = written(result, case), written(own, case)
    assert theirs
    for one, other in zip(theirs, ours, strict=False):
        assert one.dtype == other.dtype
        assert one.shape == other.shape


@pytest.mark.parametrize(("case", "kind"), params(but=NOT_COMPARED_ENTRYWISE))
def test_same_values(case: Case, kind: str, graphs: list[Data]) -> None:
    assert_same_values(case, kind, graphs)


@pytest.mark.parametrize(("case", "kind"), params(but=NOT_COMPARED_ENTRYWISE))
def test_same_values_with_weights_and_parallel_edges(
    case: Case, kind: str, multigraphs: list[Data]
) -> None:
    if kind == "pyg" and isinstance(case.encoding, PYG_NEEDS_SIMPLE_GRAPHS):
        with pytest.raises(AssertionError, match="Not equal"):
            assert_same_values(case, kind, multigraphs)
    else:
        assert_same_values(case, kind, multigraphs)


@pytest.mark.parametrize(("case", "kind"), params(AddLaplacianEigenvectorPE))
@pytest.mark.parametrize("which", ["graphs", "multigraphs"])
def test_same_eigenvectors(
    case: Case, kind: str, which: str, request: pytest.FixtureRequest
) -> None:
    for (vectors, values, count, _), (others, *_) in both(
        case, kind, request.getfixturevalue(which)
    ):
        is_whole = values[0] < values.max() - 1e-4  # k may cut through the last eigenspace
        is_compared = is_whole & (np.arange(case.encoding.k) < count[0, 0])
        assert is_compared.any()
        own, other = vectors[:, is_compared], others[:, is_compared[: others.shape[1]]]
        decay = np.exp(-values[0, is_compared])
        np.testing.assert_allclose(own * decay @ own.T, other * decay @ other.T, atol=1e-5)


@pytest.mark.parametrize(("case", "kind"), params(AddHodgePE))
@pytest.mark.parametrize("which", ["graphs", "multigraphs"])
def test_same_hodge_coordinates(
    case: Case, kind: str, which: str, request: pytest.FixtureRequest
) -> None:
    k = case.encoding.k
    compared = np.zeros(3, dtype=int)
    for (own, values, _), (others, other_values) in both(
        case, kind, request.getfixturevalue(which)
    ):
        np.testing.assert_allclose(values, other_values, atol=1e-5)
        for part in range(3):
            columns = slice(part * k, (part + 1) * k)
            # k may cut through the last eigenspace, of harmonics through the only one
            is_whole = np.abs(values[0, columns] - values[0, columns].max()) > 1e-4
            if part == 0:
                is_whole[:] = not own[:, columns][:, -1].any()
            decay = np.exp(-values[0, columns]) * is_whole
            np.testing.assert_allclose(
                own[:, columns] * decay @ own[:, columns].T,
                others[:, columns] * decay @ others[:, columns].T,
                atol=1e-5,
            )
            compared[part] += own[:, columns][:, is_whole].any()
    assert which == "multigraphs" or (compared >= 3).all()
    assert compared[1] >= 3


@pytest.mark.parametrize(("case", "kind"), params(AddMagneticLaplacianPE))
def test_same_magnetic_eigenvectors(case: Case, kind: str, graphs: list[Data]) -> None:
    compared = 0
    for (own, values, *_), (other, other_values) in both(case, kind, graphs):
        np.testing.assert_allclose(values, other_values, atol=1e-5)
        is_simple = np.diff(values[0], prepend=-1, append=9).clip(0) > 1e-3
        is_simple = is_simple[:-1] & is_simple[1:]
        is_simple[-1] = False  # k may cut through the last eigenspace
        np.testing.assert_allclose(abs(own[:, is_simple]), abs(other[:, is_simple]), atol=1e-4)
        compared += is_simple.sum()
    assert compared > 20


@pytest.mark.parametrize(("case", "kind"), params(AddSingularVectorPE))
def test_same_singular_vectors(case: Case, kind: str, graphs: list[Data]) -> None:
    k = case.encoding.k
    compared = 0
    for (own, _, _, is_cut), (other,) in both(case, kind, graphs):
        if not is_cut[0, 0]:
            one, two = (part[:, :k] @ part[:, k:].T for part in (own, other))
            np.testing.assert_allclose(one, two, atol=1e-5)
            compared += 1
    assert compared > 3


def test_same_classes_of_weisfeiler_leman_colors(graphs: list[Data]) -> None:
    case = case_of(AddWeisfeilerLemanSE)
    case = replace(case, encoding=replace(case.encoding, categories=None))  # none shares one
    pairs = both(case, "pyg", graphs)
    ours = np.concatenate([own for (own,), _ in pairs])[:, 0]
    theirs = np.concatenate([other for _, (other,) in pairs])[:, 0]
    colors = {*zip(ours.tolist(), theirs.tolist(), strict=True)}
    assert len(colors) == len(set(ours.tolist())) == len(set(theirs.tolist())) > 20


@pytest.mark.parametrize(("case", "kind"), params(AddLandmarkDistancePE))
def test_landmark_distances_are_those_of_some_nodes(
    case: Case, kind: str, graphs: list[Data]
) -> None:
    distances = graphpe.encode(graphs, AddShortestPathPE(), progress=False)
    for data, both_columns in zip(distances, both(case, kind, graphs), strict=True):
        of_all = data.shortest_path_pe.view(data.num_nodes, data.num_nodes).T.tolist()
        for (columns,) in both_columns:
            assert columns.shape == (data.num_nodes, case.encoding.landmarks)
            landmarks = [of_all.index(column) for column in columns.T.tolist() if min(column) == 0]
            assert len(landmarks) == min(case.encoding.landmarks, data.num_nodes)


@pytest.mark.parametrize(("case", "kind"), params(AddShortestPathEdgePE))
@pytest.mark.parametrize("which", ["graphs", "multigraphs"])
def test_edges_make_a_shortest_path(
    case: Case, kind: str, which: str, request: pytest.FixtureRequest
) -> None:
    graphs = request.getfixturevalue(which)
    distances = graphpe.encode(graphs, AddShortestPathPE(), progress=False)
    for data, sides in zip(distances, both(case, kind, graphs), strict=True):
        n, (source, target) = data.num_nodes, data.edge_index.numpy()
        distance = data.shortest_path_pe.view(n, n).numpy()
        for (edges,) in sides:
            edges = edges.reshape(n, n, -1)
            np.testing.assert_array_equal((edges >= 0).sum(-1), np.minimum(distance, 5))
            node = np.repeat(np.arange(n)[:, None], n, axis=1)
            for step in range(case.encoding.max_distance):
                start, goal = np.nonzero(edges[..., step] >= 0)
                edge = edges[start, goal, step]
                np.testing.assert_array_equal(source[edge], node[start, goal])
                node[start, goal] = target[edge]
                assert (distance[target[edge], goal] == distance[start, goal] - step - 1).all()


@pytest.mark.parametrize(("case", "kind"), params(AddRandomFeaturesPE, AddRandomFeaturePropagation))
def test_random_features_are_alike(case: Case, kind: str, graphs: list[Data]) -> None:
    pairs = both(case, kind, graphs * 8)
    for (own,), (other,) in pairs:
        assert own.shape == other.shape
    for side in zip(*pairs, strict=True):
        values = np.concatenate([values for (values,) in side])[:, : case.encoding.channels]
        assert abs(values.mean()) < 0.05
        assert abs(values.std() - 1) < 0.05


@pytest.mark.parametrize(("case", "kind"), params(AddRandomFeaturePropagation))
@pytest.mark.parametrize("which", ["graphs", "multigraphs"])
def test_random_features_spread_alike(
    case: Case, kind: str, which: str, request: pytest.FixtureRequest
) -> None:
    """A step of both is the normalised operator, applied to the step before."""
    graphs = request.getfixturevalue(which)
    for data, sides in zip(graphs, both(case, kind, graphs), strict=True):
        a = np.eye(data.num_nodes)
        weight = 1.0 if data.edge_weight is None else data.edge_weight.numpy()
        np.add.at(a, tuple(data.edge_index.numpy()), weight)
        operator = a / np.sqrt(np.outer(a.sum(0), a.sum(0)))
        for (values,) in sides:
            steps = np.split(values, case.encoding.steps + 1, axis=1)
            for before, after in pairwise(steps):
                spread = operator @ before
                np.testing.assert_allclose(
                    after, spread / np.linalg.norm(spread, axis=0), atol=2e-5
                )
                assert after.shape[1] == case.encoding.channels


@pytest.mark.parametrize(("case", "kind"), params(AddOrderedSubsetPE))
def test_ordered_subsets_are_alike(case: Case, kind: str, graphs: list[Data]) -> None:
    pairs = both(case, kind, graphs * 8)
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


def assert_same_values(case: Case, kind: str, graphs: list[Data]) -> None:
    for ours, theirs in both(case, kind, graphs):
        assert theirs
        for own, other in zip(ours, theirs, strict=False):
            np.testing.assert_allclose(own, other, rtol=2e-5, atol=2e-5)


def both(
    case: Case, kind: str, graphs: list[Data]
) -> list[tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]]:
    """Of each graph our fields and those of them that the code for a single graph writes."""
    dataset = dataset_of(graphs)
    if case.acyclic:
        dataset = from_lower_to_higher(dataset)
    encoded = graphpe.encode(dataset, case.encoding, progress=False)
    transform = case.pre_transforms()[kind]
    return [
        (written(own, case), written(transform(plain), case))
        for own, plain in zip(encoded, dataset, strict=True)
    ]


def written(data: Data, case: Case) -> tuple[np.ndarray, ...]:
    names = [field.name for field in case.encoding.fields() if field.name in data]
    # PyG's transform of the degree profile has no name for it.
    return tuple(data[name].numpy() for name in names or ["x"])
