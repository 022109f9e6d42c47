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
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

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


def sparse_forms() -> st.SearchStrategy[tuple[Encoding, ...]]:
    """The sparse form of one of the settings of each class that has one."""
    forms = [
        [form for encoding in encodings if (form := sparse_form(encoding)) is not None]
        for encodings in (
            [SPARSE[cls]] if cls in SPARSE else [usual, *VARIANTS.get(cls, [])]
            for cls, usual in USUAL.items()
        )
    ]
    return st.tuples(*(st.sampled_from(own) for own in forms if own))


class Bulk(Values):
    """The fields of graphs as `graphpe.encode` gives them; those of other graphs are computed alone."""

    def __init__(
        self, encoding: Encoding, graphs: list[SmallGraph], encoded: InMemoryDataset
    ) -> None:
        super().__init__(encoding)
        self.graphs = graphs
        self._encoded = encoded
        self._numbers = {graph: number for number, graph in enumerate(graphs)}

    def of(self, graph: SmallGraph) -> tuple[Tensor, ...]:
        if graph not in self._numbers:
            return super().of(graph)
        number = self._numbers[graph]
        rows = [self._encoded.slices[field.name] for field in self.encoding.fields()]
        return tuple(
            value[own[number] : own[number + 1]]
            for value, own in zip(self.stacked(), rows, strict=True)
        )

    def stacked(self) -> tuple[Tensor, ...]:
        """The fields of all graphs, one graph after the other."""
        return tuple(self._encoded._data[field.name] for field in self.encoding.fields())


def encode(
    graphs: list[SmallGraph], encodings: Collection[Encoding], **options: Any
) -> Iterator[Bulk]:
    """The values of each encoding.

    Raises:
        AssertionError: If encoding fails, with the encoding and the graph.
    """
    for largest in {_LARGEST_WEIGHT.get(type(encoding)) for encoding in encodings}:
        chosen = [one for one in encodings if _LARGEST_WEIGHT.get(type(one)) == largest]
        given = [g for g in graphs if largest is None or max(g.weights or [0.0]) <= largest]
        if not given:
            continue
        dataset = InMemoryDataset()
        dataset.data, dataset.slices = dataset.collate([graph.data() for graph in given])
        try:
            encoded = graphpe.encode(dataset, chosen, workers=1, progress=False, **options)
        except Exception:
            for encoding in chosen:
                check_graphs(check_values, Values(encoding), given)
            raise  # if no graph fails alone
        for encoding in chosen:
            yield Bulk(encoding, given, encoded)


def check_declaration(bulk: Bulk) -> None:
    """Does `check_values` and `check_padding` for all graphs; the former for one only if they aren't all well."""
    rows = {
        "node": sum(graph.num_nodes for graph in bulk.graphs),
        "pair": sum(graph.num_nodes**2 for graph in bulk.graphs),
        "edge": sum(len(graph.edges()[0]) for graph in bulk.graphs),
        "graph": len(bulk.graphs),
    }
    for field, value in zip(bulk.encoding.fields(), bulk.stacked(), strict=True):
        is_well = value.shape == (rows[field.level], *field.row_shape)
        is_well &= value.dtype == field.dtype and bool(torch.isfinite(value).all())
        if field.categories is not None and value.numel():
            is_well &= 0 <= int(value.min()) <= int(value.max()) < field.categories
        if not is_well:
            check_graphs(check_values, bulk, bulk.graphs)
            raise AssertionError(f"{field} of {bulk.encoding} is wrong, but of no graph alone")
    check_graphs(check_padding, bulk, bulk.graphs)


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
        for values in encode(graphs, encodings):
            check_declaration(values)


@examples(1 / 10)
@given(graph_lists(30), sparse_forms())
def test_values_of_sparse_forms_are_finite_and_as_declared(
    graphs: list[SmallGraph], forms: tuple[Encoding, ...]
) -> None:
    for values in encode(graphs, forms):
        check_declaration(values)


@examples(1 / 20)
@given(graph_lists(20), variants())
def test_a_dataset_has_the_bytes_of_the_transform(
    graphs: list[SmallGraph], others: tuple[Encoding, ...]
) -> None:
    for encodings in (USUAL.values(), others):
        for values in encode(graphs, encodings):
            check_graphs(check_alone, values, values.graphs)


@examples(1 / 20)
@given(graph_lists(60))
def test_workers_a_cache_and_dtypes_of_edges_give_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, graphs: list[SmallGraph]
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    encodings = [one for cls, one in USUAL.items() if cls not in _LARGEST_WEIGHT]
    wanted = list(encode(graphs, encodings))
    data = [_in_other_dtypes(graph.data(), number) for number, graph in enumerate(graphs)]
    for options in ({"workers": 2}, {"cache_dir": folder, "workers": 2}, {"cache_dir": folder}):
        encoded = graphpe.encode(data, encodings, progress=False, **options)
        for values in wanted:
            for graph, found in zip(graphs, encoded, strict=True):
                same = map(torch.equal, fields_of(values.encoding, found), values.of(graph))
                assert all(same), f"{values.encoding} with {list(options)} differs on {graph}"


def _in_other_dtypes(data: Data, number: int) -> Data:
    """A graph with dtypes of edges and weights that differ from graph to graph."""
    if number % 3 == 0:
        data.edge_index = data.edge_index.int()
    if number % 2 and data.get("edge_weight") is not None:
        data.edge_weight = data.edge_weight.double()
    return data


@examples(1 / 20)
@given(graph_lists(24, moderate=True), variants())
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
@given(graph_lists(12, moderate=True), sparse_forms())
def test_sparse_forms_agree_with_dense_ones(
    graphs: list[SmallGraph], forms: tuple[Encoding, ...]
) -> None:
    for encoding in forms:
        values = Values(encoding)
        values.compute(graphs)
        check_sparse_agrees(values, graphs)
