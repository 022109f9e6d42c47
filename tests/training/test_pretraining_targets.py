from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from pretraining_graphs import sparse_graphs
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from graphpe import encode
from graphpe.nn import graph_layout
from graphpe.training.pretraining_targets import Target, statistics_of, targets_of
from graphpe.transforms import (
    AddBettiNumberSE,
    AddDegreeSE,
    AddHeatKernelSE,
    AddHodgePE,
    AddLandmarkDistancePE,
    AddLaplacianEigenvectorPE,
    AddMagneticLaplacianPE,
    AddRandomFeaturesPE,
    AddRandomWalkPE,
    AddShortestPathPE,
    AddSingularVectorPE,
    AddSpectralDensitySE,
    Encoding,
)


def targets(*encodings: Encoding) -> dict[str, Target]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {target.field.name: target for target in targets_of(encodings)}


def test_takes_values_and_not_what_is_said_about_them() -> None:
    found = targets(AddLaplacianEigenvectorPE(4), AddRandomWalkPE(3), AddBettiNumberSE())
    absolute = {name: target.is_absolute for name, target in found.items()}
    assert absolute == {
        "laplacian_eigenvector_pe": True,
        "laplacian_eigenvalue": False,
        "random_walk_pe": False,
        "betti_number_se": False,
    }
    assert found["laplacian_eigenvalue"].count_name == "laplacian_eigenvector_count"
    assert found["random_walk_pe"].count_name is None


def test_warns_that_bases_of_eigenspaces_cannot_be_learned() -> None:
    with pytest.warns(UserWarning, match=r"absolute values of 'laplacian_eigenvector_pe'.*equal"):
        targets_of([AddLaplacianEigenvectorPE(4)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        targets_of([AddRandomWalkPE(4)])


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        (AddShortestPathPE(), "AddShortestPathPE writes 'shortest_path_pe', a pair field"),
        (AddHodgePE(4), "AddHodgePE writes 'hodge_pe', an edge field"),
        (AddDegreeSE(8), "AddDegreeSE writes 'degree_se', which holds categories"),
        (AddRandomFeaturesPE(4), "AddRandomFeaturesPE depends on the order of the nodes or on"),
        (AddLandmarkDistancePE(4), "AddLandmarkDistancePE depends on the order"),
        (AddRandomWalkPE(4, attr_name=None), "AddRandomWalkPE has attr_name=None"),
    ],
)
def test_refuses_what_cannot_be_predicted(encoding: Encoding, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        targets_of([AddHeatKernelSE(), encoding])


def test_refuses_none_and_two_of_a_name() -> None:
    with pytest.raises(ValueError, match="encodings is empty"):
        targets_of([])
    with pytest.raises(ValueError, match="both write 'random_walk_pe'"):
        targets_of([AddRandomWalkPE(4), AddRandomWalkPE(8)])


def read(encoding: Encoding, graph: Data) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    batch = Batch.from_data_list([encoding(graph.clone())])
    return {
        name: target.read(batch, graph_layout(batch)) for name, target in targets(encoding).items()
    }


PATH = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)


def test_padding_is_not_valid() -> None:
    found = read(AddLaplacianEigenvectorPE(4), PATH)  # two of three eigenvectors are kept
    vectors, valid = found["laplacian_eigenvector_pe"]
    assert valid.tolist() == [[True, True, False, False]] * 3
    assert bool((vectors >= 0).all())
    assert found["laplacian_eigenvalue"][1].tolist() == [[True, True, False, False]]


def test_several_blocks_of_columns_have_padding_each() -> None:
    value, valid = read(AddMagneticLaplacianPE(4, q=[0.1, 0.2]), PATH)["magnetic_eigenvector_pe"]
    assert value.shape == (3, 8)
    assert value.dtype == torch.float32
    assert valid.tolist() == [[True, True, True, False] * 2] * 3
    value, valid = read(AddSingularVectorPE(3), PATH)["singular_vector_pe"]
    assert valid.tolist() == [[True, True, False] * 2] * 3  # of a path of three, rank 2
    assert bool((value[valid] != 0).any())


def test_absolute_values_do_not_depend_on_signs_and_phases() -> None:
    for encoding in (AddLaplacianEigenvectorPE(2), AddMagneticLaplacianPE(2)):
        name = encoding.attr_name
        batch = Batch.from_data_list([encoding(PATH.clone())])
        layout, target = graph_layout(batch), targets(encoding)[name]
        before, _ = target.read(batch, layout)
        batch[name] = batch[name] * (1j if batch[name].is_complex() else -1)
        assert torch.equal(target.read(batch, layout)[0], before)


def test_statistics_are_those_of_what_is_valid() -> None:
    encodings = [AddLaplacianEigenvectorPE(8), AddRandomWalkPE(3), AddSpectralDensitySE()]
    graphs = encode(sparse_graphs(30), encodings, progress=False)
    for graph in graphs:  # whatever stands in the padding
        count = int(graph.laplacian_eigenvector_count)
        graph.laplacian_eigenvector_pe[:, count:] = 100
        graph.laplacian_eigenvalue[:, count:] = 100
    found = targets(*encodings)
    statistics = statistics_of(list(found.values()), DataLoader(graphs, batch_size=7))
    for target, one in zip(found.values(), statistics, strict=True):
        for column in range(target.field.width):
            values = np.concatenate(
                [
                    graph[target.field.name][:, column].double().numpy()
                    for graph in graphs
                    if target.count_name is None or column < int(graph[target.count_name])
                ]
            )
            values = abs(values) if target.is_absolute else values
            assert float(one.mean[column]) == pytest.approx(values.mean(), rel=1e-5, abs=1e-7)
            if values.std() > 1e-5 * abs(values).max():
                assert float(one.std[column]) == pytest.approx(values.std(), rel=1e-4)
                assert bool(one.varies[column])


def test_constant_columns_do_not_vary() -> None:
    encoding = AddRandomWalkPE(3)  # nobody returns after one step
    graphs = encode(sparse_graphs(20), [encoding], progress=False)
    (one,) = statistics_of(list(targets(encoding).values()), DataLoader(graphs, batch_size=8))
    assert one.varies.tolist() == [False, True, True]
    assert float(one.std[0]) == 1
