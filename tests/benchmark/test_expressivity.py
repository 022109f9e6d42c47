"""Which encodings separate which pairs."""

from __future__ import annotations

from collections import defaultdict

import pytest
import torch

from graphpe.benchmark import expressivity
from graphpe.benchmark.expressivity import separations
from graphpe.data.equivalent_graphs import equivalent_pairs
from graphpe.nn import GINE, SPE, EigenvectorEncoder, NodeEncoder
from graphpe.tasks import Features
from graphpe.transforms import (
    AddCycleCountSE,
    AddLaplacianEigenvectorPE,
    AddRandomWalkPE,
)


def outcomes(encodings: list, *encoders) -> dict[str, set[str]]:
    def build() -> GINE:
        return GINE(
            Features(),
            4,
            16,
            4,
            norm="none",
            readout="sum",
            positional_encoders=[encoder() for encoder in encoders],
        )

    pairs = [pair for pair in equivalent_pairs() if "CSL" not in pair.name or "41, 2)" in pair.name]
    found = defaultdict(set)
    for pair, outcome in zip(
        pairs, separations(build, encodings, pairs, seeds=(0, 1)), strict=True
    ):
        found[pair.group].add(outcome)
    return dict(found)


def test_message_passing_alone_separates_none() -> None:
    assert outcomes([]) == {"1-WL": {"same"}, "CSL": {"same"}, "3-WL": {"same"}}


def test_walks_and_spectra_separate_what_the_three_dimensional_test_separates() -> None:
    """Both are functions of the colours of pairs that it ends with."""
    expected = {"1-WL": {"separated"}, "CSL": {"separated"}, "3-WL": {"same"}}
    assert outcomes([AddRandomWalkPE(16, dtype="float64")], lambda: NodeEncoder(16, 16)) == expected
    spectrum = AddLaplacianEigenvectorPE(41, drop_trivial="none", dtype="float64")
    assert outcomes([spectrum], lambda: SPE(41, 16, 8, 2, 4)) == expected


def test_long_cycles_separate_strongly_regular_graphs() -> None:
    encoding = AddCycleCountSE(dtype="float64")
    (field,) = encoding.fields()
    found = outcomes([encoding], lambda: NodeEncoder(field.width, 16, field.name))
    assert "separated" in found["3-WL"]


def test_arbitrary_signs_and_bases_are_no_separation() -> None:
    encoding = AddLaplacianEigenvectorPE(8, dtype="float64")
    found = outcomes([encoding], lambda: EigenvectorEncoder(8, 16))
    assert set().union(*found.values()) == {"depends on numbering"}


def test_a_difference_that_is_neither_is_an_error() -> None:
    output = torch.ones(2, 4, 1, dtype=torch.float64)
    assert expressivity._outcome(output) == "same"
    output[1] += 1e-8
    with pytest.raises(RuntimeError, match="neither rounding nor a clear difference"):
        expressivity._outcome(output)
    output[1] += 1e-6
    assert expressivity._outcome(output) == "separated"
    output[1, 2] += 1e-6
    assert expressivity._outcome(output) == "depends on numbering"
