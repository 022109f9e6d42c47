"""Each encoder at a published size, or at the default one where none is published."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from per_graph_encoders import OneGraphAtATime, PaddedSignNet, PaddedSPE
from torch import nn

from graphpe.nn import (
    PEG,
    SPE,
    BasisNet,
    BasisPEARL,
    ComplexSPE,
    DiagonalEncoder,
    EigenpairDeepSets,
    EigenpairTransformer,
    EigenvectorEncoder,
    EmbeddingEncoder,
    FieldEncoder,
    FunctionalDistanceBias,
    GraphormerBias,
    MagLapNet,
    NodeEncoder,
    PairEncoder,
    RandomFeaturePropagation,
    RandomPEARL,
    RotaryEncoder,
    SignNet,
)
from graphpe.nn.encoders.pretrained import PretrainedEncoder, StructuralEncoder, save_encoder
from graphpe.transforms import (
    AddDegreeSE,
    AddEffectiveResistancePE,
    AddLaplacianEigenvectorPE,
    AddMagneticLaplacianPE,
    AddRandomWalkPE,
    AddRelativeRandomWalkPE,
    AddShortestPathEdgePE,
    AddShortestPathPE,
    Encoding,
    MultiQ,
)

# Of the largest molecule of ZINC-12k's training set.
LARGEST = 37

# Kinds of bonds of ogbg-molesol; ZINC has four.
BOND_TYPES = 5


@dataclass(frozen=True)
class Case:
    """An encoder and the fields that it reads.

    Attributes:
        encoder: Class of the encoder, or a function that makes one.
        encodings: That write the fields.
        settings: Arguments of the encoder.
        padded: The same network as published code computes it, from the encoder.
    """

    encoder: Callable[..., FieldEncoder]
    encodings: tuple[Encoding, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    padded: Callable[[Any], nn.Module] | None = None

    def build(self) -> FieldEncoder:
        return self.encoder(**self.settings)

    def methods(self, encoder: FieldEncoder) -> dict[str, nn.Module]:
        """The encoder, and the same by other means."""
        if self.padded is None:
            return {"graphpe": encoder}
        padded = self.padded(encoder)
        return {"graphpe": encoder, "published": padded, "one by one": OneGraphAtATime(padded)}


def pretrained(out_channels: int, **settings: Any) -> FieldEncoder:
    """An encoder from a file, as if it had been pre-trained; its weights don't matter here."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "encoder.safetensors"
        save_encoder(path, StructuralEncoder(**settings), {})
        return PretrainedEncoder(path, out_channels)


def _eigenvectors(k: int) -> tuple[Encoding, ...]:
    """With the trivial one, as published."""
    return (AddLaplacianEigenvectorPE(k, drop_trivial="none"),)


_SIGN_NET = {"hidden_channels": 120, "num_layers": 8, "rho_layers": 8, "eigenvalues": False}
_BASIS_NET = {"out_channels": 120, "hidden_channels": 120, "eigenvalues": False}

CASES = {
    "SPE-37": Case(
        SPE,
        _eigenvectors(37),
        {"k": 37, "out_channels": 128, "num_filters": 16, "phi": "mlp"},
        PaddedSPE,
    ),
    "SPE-8": Case(
        SPE,
        _eigenvectors(8),
        {"k": 8, "out_channels": 128, "num_filters": 6, "phi": "deepsets", "phi_layers": 4},
        PaddedSPE,
    ),
    "SignNet-8": Case(
        SignNet,
        _eigenvectors(8),
        {"k": 8, "out_channels": 120, "phi_channels": 4, "rho": "concatenate", **_SIGN_NET},
        PaddedSignNet,
    ),
    "SignNet-37": Case(
        SignNet,
        _eigenvectors(37),
        {"k": 37, "out_channels": 120, "phi_channels": 120, "rho": "sum", **_SIGN_NET},
        PaddedSignNet,
    ),
    "BasisNet-8": Case(BasisNet, _eigenvectors(8), {"k": 8, **_BASIS_NET}),
    "BasisNet-37": Case(BasisNet, _eigenvectors(37), {"k": 37, **_BASIS_NET}),
    "PEG": Case(PEG, _eigenvectors(8), {"k": 8, "out_channels": 150, "hidden_channels": 150}),
    "EigenvectorEncoder": Case(
        EigenvectorEncoder, (AddLaplacianEigenvectorPE(8),), {"k": 8, "out_channels": 64}
    ),
    "EigenpairDeepSets": Case(
        EigenpairDeepSets,
        (AddLaplacianEigenvectorPE(10, normalization="none"),),
        {"k": 10, "out_channels": 16, "hidden_channels": 16, "norm": "none"},
    ),
    "EigenpairTransformer": Case(
        EigenpairTransformer,
        (AddLaplacianEigenvectorPE(10),),
        {"k": 10, "out_channels": 8, "hidden_channels": 8},
    ),
    "NodeEncoder": Case(
        NodeEncoder,
        (AddRandomWalkPE(20),),
        {"in_channels": 20, "out_channels": 28, "raw_norm": "batch"},
    ),
    "EmbeddingEncoder": Case(
        EmbeddingEncoder, (AddDegreeSE(64),), {"columns": 2, "categories": 65, "out_channels": 80}
    ),
    "PairEncoder": Case(
        PairEncoder,
        (AddRelativeRandomWalkPE(21),),
        {
            "in_channels": 21,
            "out_channels": 64,
            "field": "relative_random_walk_pe",
            "num_layers": 1,
        },
    ),
    "DiagonalEncoder": Case(
        DiagonalEncoder, (AddRelativeRandomWalkPE(21),), {"in_channels": 21, "out_channels": 64}
    ),
    "GraphormerBias": Case(
        GraphormerBias,
        (AddShortestPathPE(20), AddShortestPathEdgePE(5)),
        {"out_channels": 8, "edge_categories": (BOND_TYPES,), "hidden_channels": 80},
    ),
    "FunctionalDistanceBias": Case(
        FunctionalDistanceBias,
        (AddEffectiveResistancePE(),),
        {"in_channels": 2, "out_channels": 8},
    ),
    "RotaryEncoder": Case(
        RotaryEncoder, (AddLaplacianEigenvectorPE(8),), {"in_channels": 8, "out_channels": 32}
    ),
    "RandomFeaturePropagation": Case(RandomFeaturePropagation, (), {"out_channels": 64}),
    "RandomPEARL": Case(
        RandomPEARL,
        (),
        {"out_channels": 128, "num_samples": 120, "num_powers": 1, "num_layers": 8},
    ),
    "BasisPEARL": Case(BasisPEARL, (), {"out_channels": 128, "num_powers": 7, "num_layers": 8}),
    "StructuralEncoder": Case(StructuralEncoder),
    "PretrainedEncoder": Case(pretrained, (), {"out_channels": 64}),
    "ComplexSPE": Case(
        ComplexSPE,
        (AddMagneticLaplacianPE(32, q=MultiQ(0.1, 5)),),
        {"k": 32, "out_channels": 64, "potentials": 5},
    ),
    "MagLapNet": Case(
        MagLapNet,
        (AddMagneticLaplacianPE(25),),
        {"k": 25, "out_channels": 256, "dropout": 0.15, "scale_by_size": False},
    ),
}
