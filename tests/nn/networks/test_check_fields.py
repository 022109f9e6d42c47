"""Whether a dataset has the fields that the encoders of a network read, and which symmetries are not covered."""

from __future__ import annotations

import dataclasses
import warnings

import pytest
import torch
from nn_batches import FEATURES

from graphpe.fields import Field
from graphpe.nn import (
    GINE,
    SPE,
    EigenvectorEncoder,
    NodeEncoder,
    NodeMLP,
)

K = 6
FIELDS = {
    "laplacian_eigenvector_pe": Field("laplacian_eigenvector_pe", "node", K, symmetry="basis"),
    "laplacian_eigenvalue": Field("laplacian_eigenvalue", "graph", K),
    "laplacian_eigenvector_count": Field("laplacian_eigenvector_count", "graph", 1, torch.int64),
}


def spe(hidden: int) -> SPE:
    return SPE(K, hidden, hidden_channels=8, num_layers=2, num_filters=3)


class TestCheckFields:
    def test_all_is_well(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            GINE(FEATURES, hidden_channels=8, positional_encoders=[spe(8)]).check_fields(FIELDS)
            GINE(FEATURES).check_fields({})

    def test_missing_field(self) -> None:
        network = GINE(FEATURES, hidden_channels=8, positional_encoders=[NodeEncoder(4, 8)])
        with pytest.raises(ValueError, match=r"'random_walk_pe'.*AddRandomWalkPE"):
            network.check_fields(FIELDS)

    def test_what_the_graphs_carry_need_not_be_declared(self) -> None:
        encoders = [NodeEncoder(4, 8), EigenvectorEncoder(K, 8)]
        network = GINE(FEATURES, hidden_channels=8, positional_encoders=encoders)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # of symmetries nothing is known
            network.check_fields({}, ["x", "random_walk_pe", "laplacian_eigenvector_pe"])
        with pytest.raises(ValueError, match="'laplacian_eigenvector_pe', which is not there"):
            network.check_fields({}, ["x", "random_walk_pe"])
        with pytest.raises(ValueError, match="has 6 columns, but"):  # declared is checked
            NodeMLP(
                FEATURES, hidden_channels=8, positional_encoders=[EigenvectorEncoder(8, 8)]
            ).check_fields(FIELDS, FIELDS.keys())

    def test_wrong_width(self) -> None:
        encoder = EigenvectorEncoder(8, 8)
        network = GINE(FEATURES, hidden_channels=8, positional_encoders=[encoder])
        with pytest.raises(
            ValueError, match="has 6 columns, but EigenvectorEncoder was built for 8"
        ):
            network.check_fields(FIELDS)

    def test_wrong_level(self) -> None:
        encoder = NodeEncoder(K, 8, "laplacian_eigenvalue")
        network = GINE(FEATURES, hidden_channels=8, positional_encoders=[encoder])
        with pytest.raises(ValueError, match="as a node field, but it is a graph field"):
            network.check_fields(FIELDS)

    @pytest.mark.parametrize(
        ("name", "dtype", "message"),
        [
            ("laplacian_eigenvector_pe", torch.int64, "SPE needs floats; .* convert it by float"),
            ("laplacian_eigenvector_count", torch.float32, "SPE needs integers"),
        ],
    )
    def test_wrong_kind_of_numbers(self, name: str, dtype: torch.dtype, message: str) -> None:
        fields = FIELDS | {name: dataclasses.replace(FIELDS[name], dtype=dtype)}
        network = GINE(FEATURES, hidden_channels=8, positional_encoders=[spe(8)])
        with pytest.raises(ValueError, match=f"'{name}' is {dtype}, but {message}"):
            network.check_fields(fields)

    @pytest.mark.parametrize(
        ("encoder", "partly"),
        [
            (NodeEncoder(K, 8, "laplacian_eigenvector_pe"), ""),
            (EigenvectorEncoder(K, 8), r" \(only to signs, which it learns\)"),
            (EigenvectorEncoder(K, 8, signs="absolute"), r" \(only to signs\)"),
        ],
    )
    def test_uncovered_symmetry_warns_once_and_names_spe(self, encoder, partly: str) -> None:
        network = GINE(FEATURES, hidden_channels=8, positional_encoders=[encoder])
        name = type(encoder).__name__
        freedom, it = "the basis of each repeated eigenspace of '.*' is", "it"
        if not partly:  # a basis field has arbitrary signs, too
            freedom = (
                "the sign of each column and the basis of each repeated eigenspace of '.*' are"
            )
            it = "them"
        expected = (
            rf"{freedom} arbitrary, and {name} is not invariant to {it}{partly}; "
            rf".*\bSPE\b.* is invariant to {it}$"
        )
        with pytest.warns(UserWarning, match=expected):
            network.check_fields(FIELDS)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            network.check_fields(FIELDS)

    def test_each_encoder_warns(self) -> None:
        """Two of one class may differ in what they do about signs; only the first had its warning."""
        encoders = [
            EigenvectorEncoder(K, 8),
            EigenvectorEncoder(K, 8, signs="as_given"),
            EigenvectorEncoder(K, 8, signs="canonical"),
        ]
        network = GINE(FEATURES, hidden_channels=8, positional_encoders=encoders)
        with pytest.warns(UserWarning, match="is not invariant") as caught:
            network.check_fields(FIELDS)
        basis, signs, canonical = (str(warning.message) for warning in caught)
        assert basis.startswith("positional_encoders[0]: the basis of each repeated eigenspace of")
        assert signs.startswith("positional_encoders[1]: the sign of each column and the basis of")
        assert canonical.startswith("positional_encoders[2]: the sign of each column and the basis")
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            network.check_fields(FIELDS)

    @pytest.mark.parametrize("fields", [tuple(FIELDS.values()), list(FIELDS.values()), None])
    def test_fields_by_name(self, fields: object) -> None:
        network = GINE(FEATURES, hidden_channels=8, positional_encoders=[spe(8)])
        with pytest.raises(TypeError, match=r"^fields is a .*field.name: field for field in"):
            network.check_fields(fields)

    def test_signs_are_learned(self) -> None:
        fields = {"v": Field("v", "node", K, symmetry="sign")}
        network = GINE(
            FEATURES, hidden_channels=8, positional_encoders=[EigenvectorEncoder(K, 8, "v")]
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            network.check_fields(fields)
