"""Encodings of undirected graphs say once what they do with directed ones, and what to take instead."""

from __future__ import annotations

import warnings

import pytest
from graph_zoo import graph

import graphpe
from graphpe.transforms import (
    AddCommuteTimePE,
    AddHeatKernelSE,
    AddLaplacianEigenvectorPE,
    AddRandomWalkPE,
)

PATH = graph(3, [(0, 1), (1, 2)], directed=True)
ALTERNATIVES = ("AddMagneticLaplacianPE", "AddDirectedRandomWalkPE")


@pytest.mark.parametrize(
    ("encoding", "part"),
    [
        (AddHeatKernelSE(), "set directed='error' to refuse such graphs"),
        (AddLaplacianEigenvectorPE(2), "set is_undirected=True to refuse such graphs"),
        (AddRandomWalkPE(3), "their encoding is zero"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("dense_limit", [1, 500])
def test_warnings_name_the_directed_encodings(encoding, part: str, dense_limit: int) -> None:
    if dense_limit == 1 and not encoding.has_sparse_form:
        return
    with pytest.warns(UserWarning, match=type(encoding).__name__) as caught:
        type(encoding)(**{**vars(encoding), "dense_limit": dense_limit})(PATH.clone())
    (message,) = {str(warning.message) for warning in caught}
    for name in (*ALTERNATIVES, part):
        assert name in message


def test_the_directed_encodings_exist() -> None:
    for name in ALTERNATIVES:
        assert hasattr(graphpe.transforms, name)


def test_undirected_graphs_and_cyclic_walks_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AddHeatKernelSE()(graph(3, [(0, 1), (1, 2)]))
        AddRandomWalkPE(3)(graph(3, [(0, 1), (1, 2), (2, 0)], directed=True))


def test_once_per_process_and_class() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")  # what Python does unless told otherwise
        for encoding in (AddHeatKernelSE(), AddCommuteTimePE(), AddHeatKernelSE(times=[2.0])):
            for _ in range(3):
                encoding(PATH.clone())
                graphpe.encode([PATH, PATH.clone()], [encoding], workers=2, progress=False)
    assert [str(warning.message).split(":")[0] for warning in caught] == [
        "AddHeatKernelSE",
        "AddCommuteTimePE",
    ]
