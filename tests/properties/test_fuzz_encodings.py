"""Every encoding on thousands of random graphs, through `graphpe.encode`.

`check_encoding` goes through the whole contract on two dozen graphs; here are many more, with weights of all sizes. By
default there are about 2,000. To run it for longer, with other graphs:

    pytest -n 0 tests/properties/test_fuzz_encodings.py --hypothesis-profile long --hypothesis-seed 1

A failure names the encoding and the smallest graph that could be found, as code to paste.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from typing import Any

import pytest
import torch
from fuzz_graphs import graph_lists
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

import graphpe
from graphpe._testing.contract.agreement import check_dtypes, check_sparse_agrees, sparse_form
from graphpe._testing.contract.graphs import SmallGraph
from graphpe._testing.contract.report import check_graphs
from graphpe._testing.contract.symmetry import (
    check_edge_order,
    check_node_order,
    other_edge_order,
    other_node_order,
)
from graphpe._testing.contract.values import Values, fields_of, keep
from graphpe._testing.contract.written import check_values
from graphpe.cli.widths import example
from graphpe.transforms import (
    AddCommuteTimePE,
    AddCycleCountSE,
    AddDegreeSE,
    AddDirectedRandomWalkPE,
    AddDistanceDecayPE,
    AddEffectiveResistancePE,
    AddElectrostaticPE,
    AddElectrostaticSE,
    AddHeatKernelPE,
    AddHeatKernelSE,
    AddHodgePE,
    AddHomomorphismCountSE,
    AddLandmarkDistancePE,
    AddLaplacianEigenvectorPE,
    AddMagneticLaplacianPE,
    AddOrderedSubsetPE,
    AddPersonalizedPageRankPE,
    AddRandomFeaturePropagation,
    AddRandomFeaturesPE,
    AddRandomWalkPE,
    AddRelativeRandomWalkPE,
    AddShortestPathEdgePE,
    AddShortestPathPE,
    AddSingularVectorPE,
    AddSinusoidalPE,
    AddSpectralDensitySE,
    AddSpectralProjectorPE,
    AddTopologicalOrderPE,
    AddWalkProfilePE,
    AddWaveKernelSE,
    AddWeisfeilerLemanSE,
    Encoding,
    MultiQ,
    all_encodings,
)

# Settings that take other ways through the code than the usual ones.
VARIANTS: dict[type[Encoding], list[Encoding]] = {
    AddLaplacianEigenvectorPE: [
        AddLaplacianEigenvectorPE(3, complete_eigenspaces=True, signs="random"),
        AddLaplacianEigenvectorPE(6, normalization="rw", drop_trivial="all"),
        AddLaplacianEigenvectorPE(30, normalization="none", rescale="wavelength"),
        AddLaplacianEigenvectorPE(9, isolated="one", drop_trivial="none", rescale="soft"),
        AddLaplacianEigenvectorPE(4, rescale="wavelength-asin", dtype="float64"),
        AddLaplacianEigenvectorPE(4, normalization="rw", rescale="l1", drop_trivial="none"),
        AddLaplacianEigenvectorPE(1, normalization="none", rescale="max"),
    ],
    AddSpectralProjectorPE: [AddSpectralProjectorPE(70, normalization="none", dtype="float64")],
    AddHeatKernelSE: [AddHeatKernelSE((0.1, 2), space_dimension=2, include_zero=True)],
    AddHeatKernelPE: [
        AddHeatKernelPE((0.5, 30), normalization="rw"),
        AddHeatKernelPE(normalization="sym", dtype="float64"),
    ],
    AddWaveKernelSE: [AddWaveKernelSE(40, width=0.1, smallest=1e-9)],
    AddSpectralDensitySE: [AddSpectralDensitySE(3, dtype="float64")],
    AddElectrostaticSE: [AddElectrostaticSE(compat="graphgps")],
    AddElectrostaticPE: [AddElectrostaticPE(dtype="float64")],
    AddEffectiveResistancePE: [AddEffectiveResistancePE("edge", cap=1e30)],
    AddCommuteTimePE: [AddCommuteTimePE("edge"), AddCommuteTimePE(dtype="float64")],
    AddMagneticLaplacianPE: [
        AddMagneticLaplacianPE(30, q=0.1, normalization="none", two_way="phase"),
        AddMagneticLaplacianPE(5, q=(0.1, 0.3), two_way="average", phase="root"),
        AddMagneticLaplacianPE(2, q=MultiQ(0.05, 3), relative=True, isolated="one"),
        AddMagneticLaplacianPE(3, phase="reference", dtype="float64"),
    ],
    AddSingularVectorPE: [AddSingularVectorPE(30, dtype="float64"), AddSingularVectorPE(1)],
    AddRandomWalkPE: [AddRandomWalkPE(steps=(4, 0, 7), space_dimension=2, samples=8)],
    AddRelativeRandomWalkPE: [AddRelativeRandomWalkPE(21, dtype="float64")],
    AddPersonalizedPageRankPE: [
        AddPersonalizedPageRankPE(0.3, steps=5, sinks="loop"),
        AddPersonalizedPageRankPE(0.3, landmarks=9, strategy="farthest-point", direction="both"),
        AddPersonalizedPageRankPE(steps=3, landmarks=3, strategy="random", direction="backward"),
    ],
    AddDirectedRandomWalkPE: [
        AddDirectedRandomWalkPE(3, level="pair", restart=0.05),
        AddDirectedRandomWalkPE(4, node_values="returns"),
        AddDirectedRandomWalkPE(2, node_values="returns", restart=0.3),
    ],
    AddWalkProfilePE: [AddWalkProfilePE(3, dtype="float64")],
    AddShortestPathPE: [
        AddShortestPathPE(1e6, weighted=True),
        AddShortestPathPE(3, direction="both"),
        AddShortestPathPE(2.5, weighted=True, direction="backward"),
    ],
    AddShortestPathEdgePE: [AddShortestPathEdgePE(1), AddShortestPathEdgePE(30)],
    AddLandmarkDistancePE: [
        AddLandmarkDistancePE(30, strategy="degree", cap=3),
        AddLandmarkDistancePE(2, strategy="farthest-point", weighted=True),
    ],
    AddDegreeSE: [AddDegreeSE(60, directions="undirected")],
    AddCycleCountSE: [AddCycleCountSE((5, 8), logarithm=True)],
    AddHomomorphismCountSE: [AddHomomorphismCountSE((3, 5), 4, logarithm=True)],
    AddWeisfeilerLemanSE: [AddWeisfeilerLemanSE(2, None), AddWeisfeilerLemanSE(1, 10)],
    AddRandomFeaturePropagation: [
        AddRandomFeaturePropagation(4, 3, operator="sym", normalization="qr", trajectories=2),
        AddRandomFeaturePropagation(2, 30, operator="laplacian", distribution="rademacher"),
        AddRandomFeaturePropagation(30, 3, operator="walk", normalization="qr", dtype="float64"),
    ],
    AddRandomFeaturesPE: [
        AddRandomFeaturesPE(3, distribution="uniform"),
        AddRandomFeaturesPE(200, distribution="one-hot"),
    ],
    AddSinusoidalPE: [
        AddSinusoidalPE(6, order="topological"),
        AddSinusoidalPE(4, maximum=500, dtype="float64"),
    ],
    AddOrderedSubsetPE: [AddOrderedSubsetPE(2048, order="topological")],
    AddTopologicalOrderPE: [AddTopologicalOrderPE(2)],
    AddDistanceDecayPE: [AddDistanceDecayPE(2, exponent=1.5, scales=(1, 4.5), cap=3)],
    AddHodgePE: [AddHodgePE(9, invariant=True, dtype="float64")],
}

# The smallest settings will not do for graphs as large as these.
_USUAL = {AddOrderedSubsetPE: AddOrderedSubsetPE(500)}
USUAL = {cls: _USUAL.get(cls) or example(cls) for cls in all_encodings()}

# In sparse form each path of half the length is followed, so that long cycles of dense graphs are refused.
SPARSE = {AddCycleCountSE: AddCycleCountSE((3, 4, 5))}

# Their third field says how many of the k columns of the first two are no padding.
COUNTED = (
    AddLaplacianEigenvectorPE,
    AddMagneticLaplacianPE,
    AddSingularVectorPE,
    AddHodgePE,
    AddSpectralProjectorPE,
)

# A walk counts as the product of the weights of its steps, which float32 cannot hold if they are huge.
_LARGEST_WEIGHT = {AddWalkProfilePE: 10.0}


def examples(share: float) -> Any:
    """Settings of a test that has this share of the examples of the profile.

    Failures are made small by `check_graphs`, which knows what a graph is.
    """
    return settings(
        max_examples=max(2, round(share * settings.default.max_examples)),
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def variants() -> st.SearchStrategy[tuple[Encoding, ...]]:
    """One of the other settings of each class that has some."""
    return st.tuples(*map(st.sampled_from, VARIANTS.values()))


def sparse_forms() -> Iterator[Encoding]:
    """The sparse form of each encoding that has one."""
    for cls, usual in USUAL.items():
        for encoding in (SPARSE[cls],) if cls in SPARSE else (usual, *VARIANTS.get(cls, [])):
            if (sparse := sparse_form(encoding)) is not None:
                yield sparse


class Bulk(Values):
    """The fields of graphs as `graphpe.encode` gives them; those of other graphs are computed alone."""

    def __init__(self, encoding: Encoding, graphs: list[SmallGraph], encoded: list[Data]) -> None:
        super().__init__(encoding)
        self._known = {
            graph: fields_of(encoding, data) for graph, data in zip(graphs, encoded, strict=True)
        }


def encode(
    graphs: list[SmallGraph], encodings: Collection[Encoding], **options: Any
) -> Iterator[tuple[list[SmallGraph], Bulk]]:
    """The values of each encoding, and the graphs that it has been given.

    Raises:
        AssertionError: If encoding fails, with the encoding and the graph.
    """
    for largest in {_LARGEST_WEIGHT.get(type(encoding)) for encoding in encodings}:
        chosen = [one for one in encodings if _LARGEST_WEIGHT.get(type(one)) == largest]
        given = [g for g in graphs if largest is None or max(g.weights or [0.0]) <= largest]
        data = [_data(graph, number) for number, graph in enumerate(given)]
        try:
            encoded = graphpe.encode(data, chosen, **{"workers": 1, "progress": False, **options})
        except Exception:
            for encoding in chosen:
                check_graphs(check_values, Values(encoding), given)
            raise  # if no graph fails alone
        for encoding in chosen:
            yield given, Bulk(encoding, given, encoded)


def _data(graph: SmallGraph, number: int) -> Data:
    """The graph, with another dtype of edges and weights from graph to graph."""
    data = graph.data()
    if number % 3 == 0:
        data.edge_index = data.edge_index.int()
    if number % 2 and data.get("edge_weight") is not None:
        data.edge_weight = data.edge_weight.double()
    return data


def check_padding(values: Values, graph: SmallGraph) -> None:
    """Columns that a graph has too few nodes or eigenvalues for are the declared padding."""
    encoding, found = values.encoding, values.of(graph)
    if isinstance(encoding, COUNTED):
        counts = found[2].flatten()
        if isinstance(encoding, AddSpectralProjectorPE):  # the field has multiplicities
            counts = (counts > 0).sum().view(1)
        padding = torch.arange(encoding.k) >= counts[:, None]  # [1, k]; [3, k] with three kinds
        paddings = [
            padding.expand(field.width // encoding.k, -1) for field in encoding.fields()[:2]
        ]
    elif isinstance(encoding, AddLandmarkDistancePE):
        paddings = [torch.arange(encoding.landmarks)[None] >= graph.num_nodes]
    else:
        return
    for field, value, padding in zip(encoding.fields(), found, paddings, strict=False):
        columns = value.flatten(1)[:, padding.flatten()]
        keep(
            "columns that a graph does not fill have the declared padding",
            bool((columns == field.padding).all()),
            f"{field.name} has other values than {field.padding} there",
        )


def check_alone(bulk: Values, graph: SmallGraph) -> None:
    """The values in a dataset are those that the encoding gives as a transform of the one graph."""
    alone = Values(bulk.encoding).of(graph)
    for field, value, wanted in zip(bulk.encoding.fields(), bulk.of(graph), alone, strict=True):
        keep(
            "graphpe.encode gives the bytes of the transform",
            torch.equal(value, wanted),
            f"{field.name} differs",
        )


@pytest.fixture(autouse=True)
def _without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that directed graphs are symmetrised
        yield


@examples(1 / 5)
@given(graph_lists(200), variants())
def test_values_are_finite_and_as_declared(
    graphs: list[SmallGraph], others: tuple[Encoding, ...]
) -> None:
    for encodings in (USUAL.values(), others):
        for given_graphs, values in encode(graphs, encodings):
            check_graphs(check_values, values, given_graphs)
            check_graphs(check_padding, values, given_graphs)


@examples(1 / 10)
@given(graph_lists(30))
def test_values_of_sparse_forms_are_finite_and_as_declared(graphs: list[SmallGraph]) -> None:
    for encoding in sparse_forms():
        for given_graphs, values in encode(graphs, [encoding]):
            check_graphs(check_values, values, given_graphs)
            check_graphs(check_padding, values, given_graphs)


@examples(1 / 10)
@given(graph_lists(12), variants())
def test_a_dataset_has_the_bytes_of_the_transform(
    graphs: list[SmallGraph], others: tuple[Encoding, ...]
) -> None:
    for encodings in (USUAL.values(), others):
        for given_graphs, values in encode(graphs, encodings):
            check_graphs(check_alone, values, given_graphs)


@examples(1 / 20)
@given(graph_lists(60))
def test_workers_and_a_cache_give_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, graphs: list[SmallGraph]
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    wanted = list(encode(graphs, list(USUAL.values())))
    for options in ({"workers": 2}, {"cache_dir": folder, "workers": 2}, {"cache_dir": folder}):
        found = encode(graphs, list(USUAL.values()), **options)
        for (given_graphs, values), (_, own) in zip(wanted, found, strict=True):
            for graph in given_graphs:
                same = all(map(torch.equal, values.of(graph), own.of(graph)))
                assert same, f"{values.encoding} with {list(options)} differs on {graph}"


@examples(1 / 10)
@given(graph_lists(12, moderate=True), variants())
def test_the_order_of_nodes_and_edges_and_the_dtype_do_not_matter(
    graphs: list[SmallGraph], others: tuple[Encoding, ...]
) -> None:
    for encoding in (*USUAL.values(), *others):
        values = Values(encoding)
        values.compute(graphs)
        check_dtypes(values, graphs)
        if encoding.is_equivariant:
            for check, other in (
                (check_node_order, other_node_order),
                (check_edge_order, other_edge_order),
            ):
                values.compute(graph.reordered(*other(graph)) for graph in graphs)
                check_graphs(check, values, graphs)


@examples(1 / 10)
@given(graph_lists(12, moderate=True))
def test_sparse_forms_agree_with_dense_ones(graphs: list[SmallGraph]) -> None:
    for encoding in sparse_forms():
        values = Values(encoding)
        values.compute(graphs)
        check_sparse_agrees(values, graphs)
