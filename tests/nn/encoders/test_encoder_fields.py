"""What every encoder says about fields that are missing or do not fit."""

from __future__ import annotations

import pytest
import torch
from nn_batches import batch_of

from graphpe.nn import SPE, EigenvectorEncoder, FieldEncoder, FieldRequirement, NodeEncoder
from graphpe.nn.encoders import ENCODERS

SMALL_SPE = {"hidden_channels": 8, "num_layers": 2, "num_filters": 3}


def test_missing_field_names_field_and_transform() -> None:
    """LRGB#2: a configuration silently lacked its encoding and lost half the score."""
    batch = batch_of("path")
    with pytest.raises(
        ValueError, match=r"NodeEncoder needs the field 'random_walk_pe'.*AddRandom"
    ):
        NodeEncoder(4, 8)(batch)
    for name in ("pe", "value", "count"):
        broken = batch_of("path")
        attribute = {
            "pe": "laplacian_eigenvector_pe",
            "value": "laplacian_eigenvalue",
            "count": "laplacian_eigenvector_count",
        }[name]
        del broken[attribute]
        with pytest.raises(ValueError, match=f"'{attribute}'.*AddLaplacianEigenvectorPE"):
            SPE(6, 8, **SMALL_SPE)(broken)


def test_wrong_width_names_both() -> None:
    with pytest.raises(ValueError, match="has 6 columns, but EigenvectorEncoder was built for 8"):
        EigenvectorEncoder(8, 4)(batch_of("path"))


def test_wrong_rows_are_refused() -> None:
    batch = batch_of("path", "complete")
    batch.laplacian_eigenvalue = batch.laplacian_eigenvalue[:1]
    with pytest.raises(ValueError, match="has 1 rows, but a graph field of this batch has 2"):
        SPE(6, 8, **SMALL_SPE)(batch)


@pytest.mark.parametrize("value", [torch.zeros(6), [1.0] * 6])
def test_a_field_is_a_matrix(value: object) -> None:
    batch = batch_of("path")
    batch.laplacian_eigenvector_pe = value
    with pytest.raises(ValueError, match="EigenvectorEncoder needs a matrix"):
        EigenvectorEncoder(6, 4)(batch)


@pytest.mark.parametrize("level", ["node", "edge", "pair", "graph"])
def test_rows_of_each_level(level: str) -> None:
    class Sum(FieldEncoder):
        requires = (FieldRequirement("field", level, None, "AddField"),)
        out_channels = 1

        def forward(self, data):
            from graphpe.nn.layout import graph_layout

            return self.read(data, graph_layout(data))[0]

    batch = batch_of("path", "complete")
    rows = {"node": 11, "edge": 10 + 20, "pair": 36 + 25, "graph": 2}[level]
    batch.field = torch.ones(rows, 3)
    assert Sum()(batch).shape == (rows, 3)
    batch.field = torch.ones(rows + 1, 3)
    with pytest.raises(ValueError, match=f"a {level} field of this batch has {rows}"):
        Sum()(batch)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_fields_take_the_type_of_the_parameters(dtype: torch.dtype) -> None:
    batch = batch_of("path")
    batch.laplacian_eigenvector_pe = batch.laplacian_eigenvector_pe.to(dtype)
    assert EigenvectorEncoder(6, 4)(batch).dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_other_numbers_than_floats_are_refused(dtype: torch.dtype) -> None:
    batch = batch_of("path")
    batch.random_walk_pe = torch.ones(6, 4).to(dtype)
    message = f"'random_walk_pe' is {dtype}, but NodeEncoder needs floats"
    with pytest.raises(ValueError, match=message):
        NodeEncoder(4, 8)(batch)


def test_a_count_is_an_integer() -> None:
    batch = batch_of("path")
    batch.laplacian_eigenvector_count = batch.laplacian_eigenvector_count.float()
    with pytest.raises(ValueError, match=r"_count' is torch.float32, but SPE needs integers"):
        SPE(6, 8, **SMALL_SPE)(batch)


@pytest.mark.parametrize(
    ("encoder", "arguments"),
    [
        (NodeEncoder, {"in_channels": 3, "out_channels": 8}),
        (EigenvectorEncoder, {"k": 3, "out_channels": 8}),
        (
            SPE,
            {
                "k": 3,
                "out_channels": 8,
                "hidden_channels": 8,
                "num_layers": 2,
                "num_filters": 3,
                "phi_hidden_channels": 4,
                "phi_layers": 2,
            },
        ),
    ],
)
@pytest.mark.parametrize("size", [0, -1, 2.0, True])
def test_sizes_are_positive_integers(
    encoder: type[FieldEncoder], arguments: dict, size: object
) -> None:
    encoder(**arguments)
    for name in arguments:
        with pytest.raises(ValueError, match=f"^{name} is {size}; it must be an integer >= 1$"):
            encoder(**arguments | {name: size})


def test_symmetries() -> None:
    assert SPE.covers("basis")
    assert SPE.covers("sign")
    assert not SPE.covers("phase")
    assert not EigenvectorEncoder.covers("sign")
    assert EigenvectorEncoder.learns("sign")
    assert not EigenvectorEncoder.learns("basis")
    assert all(encoder.covers("none") for encoder in ENCODERS)
