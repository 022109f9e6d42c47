"""What makes AddLaplacianEigenvectorPE free up to a basis of each eigenspace, in every setting: scales and ties."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

import networkx
import numpy as np
import pytest
import torch
from graph_zoo import from_networkx, graph, random_graphs
from hypothesis import given
from hypothesis import strategies as st
from spectral_oracles import adjacency, components, laplacian
from torch_geometric.data import Batch, Data

from graphpe.nn import PEG, SPE, BasisNet
from graphpe.transforms import AddLaplacianEigenvectorPE

K = 9
DENSE_LIMITS = pytest.mark.parametrize("dense_limit", [500, 2], ids=["dense", "sparse"])
CYCLE_3 = [(0, 1), (1, 2), (2, 0)]
UNIQUE_LARGEST = {
    "cycle": from_networkx(networkx.cycle_graph(6)),
    "K4 with a pendant": from_networkx(networkx.lollipop_graph(4, 1)),
    "star": from_networkx(networkx.star_graph(5)),
    "grid": from_networkx(networkx.grid_2d_graph(3, 3)),
    "spider": graph(7, [(0, 1), (1, 2), (0, 3), (3, 4), (0, 5), (5, 6)]),
    "path and isolated nodes": graph(9, [(0, 1), (1, 2), (2, 3), (4, 5)]),
    "one node": graph(1),
}
SEVERAL_LARGEST = {
    "P3 and C3": graph(6, [(0, 1), (1, 2), (3, 4), (4, 5), (5, 3)]),
    "C3 and C3": graph(6, CYCLE_3 + [(u + 3, v + 3) for u, v in CYCLE_3]),
    "no edges": graph(5),
    "pairs and an isolated node": graph(7, [(0, 1), (2, 3), (4, 5)]),
    "P4, star and K3": graph(
        11, [(0, 1), (1, 2), (2, 3), (4, 5), (4, 6), (4, 7), (8, 9), (9, 10), (10, 8)]
    ),
}
RESCALES = ("l2", "l1", "max", "wavelength", "soft")


def renumbered(data: Data, seed: int) -> tuple[Data, torch.Tensor]:
    """The graph with node i called ``order[i]``."""
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(seed))
    return Data(edge_index=order[data.edge_index], num_nodes=data.num_nodes), order


def largest_change(data: Data, **settings) -> float:
    """Of the outputs of three invariant encoders, when nodes get other numbers."""
    encoding = AddLaplacianEigenvectorPE(K, dtype="float64", **settings)
    torch.manual_seed(0)
    encoders = [SPE(K, 6, 8, 1), BasisNet(K, 6, 8, 2), PEG(K, 6, 8)]
    largest = 0.0
    for encoder in encoders:
        encoder.double().eval()
        expected = encoder(encoding(data.clone()))
        for seed in range(4):
            other, order = renumbered(data, seed)
            got = encoder(encoding(other))
            if encoder.level == "node":
                got = got[order]
            if got.numel():
                largest = max(largest, float((got - expected).detach().abs().max()))
    return largest


# --- invariant encoders --------------------------------------------------------------------------------------------


@DENSE_LIMITS
@pytest.mark.parametrize("rescale", RESCALES)
@pytest.mark.parametrize("normalization", ["sym", "rw", "none"])
def test_invariant_encoders_do_not_depend_on_node_numbers(
    normalization: str, rescale: str, dense_limit: int
) -> None:
    for name, data in UNIQUE_LARGEST.items():
        change = largest_change(
            data,
            normalization=normalization,
            rescale=rescale,
            drop_trivial="none",
            dense_limit=dense_limit,
        )
        assert change < 1e-7, name


@DENSE_LIMITS
@pytest.mark.parametrize(
    "settings", [{}, {"normalization": "rw"}, {"rescale": "max"}, {"isolated": "one"}], ids=str
)
def test_invariant_encoders_where_several_components_are_the_largest(
    settings: dict, dense_limit: int
) -> None:
    for name, data in {**SEVERAL_LARGEST, **UNIQUE_LARGEST}.items():
        change = largest_change(
            data, complete_eigenspaces=True, dense_limit=dense_limit, **settings
        )
        assert change < 1e-7, name


def test_isolated_nodes_at_one_share_an_eigenspace_with_others() -> None:
    """C4 has the eigenvalue 1 twice."""
    data = graph(9, [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6)])
    for normalization in ("sym", "rw"):
        for rescale in RESCALES:
            settings = {"normalization": normalization, "rescale": rescale, "isolated": "one"}
            assert largest_change(data, drop_trivial="none", **settings) < 1e-9


def test_the_arcsine_is_invariant_for_no_encoder() -> None:
    cycle = UNIQUE_LARGEST["cycle"]
    assert largest_change(cycle, drop_trivial="none", rescale="wavelength-asin") > 1e-3


# --- one scale for an eigenspace -----------------------------------------------------------------------------------


def eigenspaces(data: Data, normalization: str) -> Iterator[tuple[float, np.ndarray]]:
    """Eigenvalue and projector of each eigenspace but that of 0, by numpy."""
    values, vectors = np.linalg.eigh(laplacian(data, normalization))
    zeros = len(components(data))
    values, vectors = values[zeros:], vectors[:, zeros:]
    for place in np.split(np.arange(len(values)), np.flatnonzero(np.diff(values) > 1e-6) + 1):
        if len(place):
            yield float(values[place].mean()), vectors[:, place] @ vectors[:, place].T


def size(row: np.ndarray, value: float, rescale: str) -> float:
    """By which a single eigenvector with entries of modulus ``row`` is divided in GraphGPS and graphium."""
    softmax = np.exp(row) / np.exp(row).sum()
    return {
        "l2": 1.0,
        "l1": row.sum(),
        "max": row.max(),
        "wavelength": 2 / math.pi * row.max() * math.sqrt(value),
        "soft": (softmax * row).sum() * math.sqrt(value),
    }[rescale]


def nonzero_pairs(data: Data, **settings) -> tuple[np.ndarray, np.ndarray]:
    encoding = AddLaplacianEigenvectorPE(
        data.num_nodes, drop_trivial="all", dtype="float64", **settings
    )
    encoded = encoding(data)
    count = int(encoded.laplacian_eigenvector_count)
    return (
        encoded.laplacian_eigenvalue[0, :count].numpy(),
        encoded.laplacian_eigenvector_pe[:, :count].numpy(),
    )


@DENSE_LIMITS
@pytest.mark.parametrize("rescale", RESCALES)
@pytest.mark.parametrize("normalization", ["sym", "rw", "none"])
def test_scales_of_eigenspaces_from_their_projectors(
    normalization: str, rescale: str, dense_limit: int
) -> None:
    for data in {**SEVERAL_LARGEST, **UNIQUE_LARGEST}.values():
        values, vectors = nonzero_pairs(
            data, normalization=normalization, rescale=rescale, dense_limit=dense_limit
        )
        symmetric = "none" if normalization == "none" else "sym"
        for value, projector in eigenspaces(data, symmetric):
            multiplicity = round(np.trace(projector))
            if normalization == "rw":
                degree = adjacency(data).sum(1)
                root = 1 / np.sqrt(np.where(degree > 0, degree, 1.0))
                projector = projector * np.outer(root, root)
                projector *= multiplicity / np.trace(projector)
            row = np.sqrt(np.diag(projector).clip(0) / multiplicity)
            own = vectors[:, abs(values - value) < 1e-6]
            assert own.shape[1] == multiplicity
            expected = projector / size(row, value, rescale) ** 2
            np.testing.assert_allclose(own @ own.T, expected, atol=1e-9 * (1 + abs(expected).max()))


@given(random_graphs(max_nodes=14), st.sampled_from([500, 2]))
def test_single_eigenvalues_have_the_scales_of_graphgps(data: Data, dense_limit: int) -> None:
    for normalization in ("sym", "none"):
        values, plain = nonzero_pairs(data, normalization=normalization, dense_limit=dense_limit)
        gaps = np.diff(values, prepend=-1.0, append=np.inf)
        for rescale in RESCALES:
            scaled = nonzero_pairs(
                data, normalization=normalization, rescale=rescale, dense_limit=dense_limit
            )[1]
            for j in np.flatnonzero((gaps[:-1] > 1e-3) & (gaps[1:] > 1e-3)):
                expected = plain[:, j] / size(abs(plain[:, j]), values[j], rescale)
                np.testing.assert_allclose(scaled[:, j], expected, rtol=1e-9, atol=1e-12)


@DENSE_LIMITS
@pytest.mark.parametrize("settings", [{"normalization": "rw"}, {"rescale": "l1"}], ids=str)
def test_zero_modes_are_scaled_one_by_one(settings: dict, dense_limit: int) -> None:
    """A component's own mode does not change with other components."""
    encoding = AddLaplacianEigenvectorPE(
        3, drop_trivial="none", dtype="float64", dense_limit=dense_limit, **settings
    )
    vectors = encoding(graph(6, [(0, 1), (1, 2), (3, 4)])).laplacian_eigenvector_pe
    order = 2 if "normalization" in settings else 1
    torch.testing.assert_close(vectors.norm(p=order, dim=0), torch.ones(3).double())


@pytest.mark.parametrize("settings", [{"normalization": "rw"}, {"rescale": "max"}], ids=str)
def test_a_cut_eigenspace_has_the_scale_of_the_whole(settings: dict) -> None:
    data = UNIQUE_LARGEST["K4 with a pendant"]  # a double eigenvalue at columns 2 and 3
    whole, part = (AddLaplacianEigenvectorPE(k, dtype="float64", **settings)(data) for k in (4, 2))
    assert int(part.laplacian_eigenspace_cut) == 1
    assert torch.equal(
        part.laplacian_eigenvector_pe[:, 1].abs(), whole.laplacian_eigenvector_pe[:, 1].abs()
    )


# --- several components are the largest ----------------------------------------------------------------------------


@DENSE_LIMITS
@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("isolated", ["zero", "one"])
def test_the_flag_of_an_arbitrary_first_pair(isolated: str, k: int, dense_limit: int) -> None:
    settings = {"isolated": isolated, "dense_limit": dense_limit}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # more components than k
        for name, data in SEVERAL_LARGEST.items():
            encoded = AddLaplacianEigenvectorPE(k, **settings)(data)
            assert int(encoded.laplacian_eigenspace_cut) == 1, name
            assert int(encoded.laplacian_eigenvector_count) == min(k, data.num_nodes - 1)
    for name, data in SEVERAL_LARGEST.items():
        for drop in ("none", "all"):
            encoded = AddLaplacianEigenvectorPE(20, drop_trivial=drop, **settings)(data)
            assert int(encoded.laplacian_eigenspace_cut) == 0, name
    for name, data in {"no nodes": graph(0), **UNIQUE_LARGEST}.items():
        encoded = AddLaplacianEigenvectorPE(20, **settings)(data)
        assert int(encoded.laplacian_eigenspace_cut) == 0, name


@DENSE_LIMITS
@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("isolated", ["zero", "one"])
def test_complete_eigenspaces_then_leave_all_zero_modes_out(
    isolated: str, k: int, dense_limit: int
) -> None:
    settings = {"complete_eigenspaces": True, "isolated": isolated, "dense_limit": dense_limit}
    for data in SEVERAL_LARGEST.values():
        first, all_dropped = (
            AddLaplacianEigenvectorPE(k, drop_trivial=drop, **settings)(data)
            for drop in ("first", "all")
        )
        for name in (
            "laplacian_eigenvector_pe",
            "laplacian_eigenvalue",
            "laplacian_eigenvector_count",
        ):
            assert torch.equal(first[name], all_dropped[name])
        assert int(first.laplacian_eigenspace_cut) == 1
    for data in UNIQUE_LARGEST.values():
        plain, complete = (
            AddLaplacianEigenvectorPE(
                20, complete_eigenspaces=each, isolated=isolated, dense_limit=dense_limit
            )(data)
            for each in (False, True)
        )
        assert torch.equal(plain.laplacian_eigenvector_pe, complete.laplacian_eigenvector_pe)


def test_a_batch_of_ties_and_others() -> None:
    """Graphs of one size are encoded together."""
    encoding = AddLaplacianEigenvectorPE(8, complete_eigenspaces=True)
    cycle = UNIQUE_LARGEST["cycle"]
    graphs = [cycle, SEVERAL_LARGEST["P3 and C3"], SEVERAL_LARGEST["C3 and C3"], graph(6), cycle]
    together = encoding(Batch.from_data_list(graphs))
    assert together.laplacian_eigenspace_cut.flatten().tolist() == [0, 1, 1, 1, 0]
    assert together.laplacian_eigenvector_count.flatten().tolist() == [5, 4, 4, 0, 5]
    for got, data in zip(together.to_data_list(), graphs, strict=True):
        alone = encoding(data).laplacian_eigenvector_pe
        assert torch.equal(got.laplacian_eigenvector_pe, alone)


def test_a_large_graph_of_very_many_equal_components() -> None:
    """All its zero modes would take 14 GiB."""
    pairs = torch.arange(60_000).view(-1, 2).t()
    data = Data(edge_index=torch.cat([pairs, pairs.flip(0)], 1), num_nodes=60_000)
    encoded = AddLaplacianEigenvectorPE(4, complete_eigenspaces=True)(data)
    assert int(encoded.laplacian_eigenvector_count) == 0
    assert int(encoded.laplacian_eigenspace_cut) == 1
