"""The encoders whose stability is measured, with the encodings that they read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphpe.nn import (
    PEG,
    SPE,
    BasisNet,
    BasisPEARL,
    EigenpairDeepSets,
    EigenvectorEncoder,
    FieldEncoder,
    NodeEncoder,
    RandomFeaturePropagation,
    SignNet,
)
from graphpe.transforms import (
    AddHeatKernelSE,
    AddLaplacianEigenvectorPE,
    AddRandomWalkPE,
    Encoding,
)

WIDTH = 32
_SIZES = {"hidden_channels": 32, "num_layers": 3}


@dataclass(frozen=True)
class Case:
    """An encoder to measure.

    Args:
        name: What it is called in tables.
        build: Makes it for k eigenvectors, with random weights.
        signs: Of the eigenvectors: with ``"random"``, those of a graph and of a changed one have nothing to do with
            each other, as from any solver.
        complete: Whether the eigenspace that k cuts through is left out.
        spectral: Whether it reads eigenvectors, so that k matters.
    """

    name: str
    build: Callable[[int], FieldEncoder]
    signs: str = "canonical"
    complete: bool = False
    spectral: bool = True

    def encodings(self, k: int, seed: int) -> list[Encoding]:
        """What the encoder reads; ``seed`` is that of random signs."""
        eigenvectors = AddLaplacianEigenvectorPE(
            k,
            is_undirected=True,
            drop_trivial="none",
            complete_eigenspaces=self.complete,
            signs=self.signs,
            seed=seed,
            dtype="float64",
        )
        return [eigenvectors] if self.spectral else _OTHERS


_OTHERS = [
    AddRandomWalkPE(16, dtype="float64"),
    AddHeatKernelSE(normalization="sym", include_zero=True, dtype="float64"),
]


def _eigenvectors(signs: str) -> Callable[[int], FieldEncoder]:
    return lambda k: EigenvectorEncoder(k, WIDTH, signs=signs)


def _spe(**settings: Any) -> Callable[[int], FieldEncoder]:
    return lambda k: SPE(k, WIDTH, **{"num_filters": 8, **_SIZES, **settings})


CASES = {
    "eigenvectors-as-given": Case(
        "eigenvectors, arbitrary signs", _eigenvectors("as_given"), signs="random"
    ),
    "eigenvectors-canonical": Case("eigenvectors, canonical signs", _eigenvectors("canonical")),
    "eigenvectors-absolute": Case("eigenvectors, absolute values", _eigenvectors("absolute")),
    "deep-sets": Case("DeepSets of eigenpairs", lambda k: EigenpairDeepSets(k, WIDTH)),
    "sign-net": Case("SignNet", lambda k: SignNet(k, WIDTH, **_SIZES)),
    "basis-net": Case("BasisNet", lambda k: BasisNet(k, WIDTH, **_SIZES)),
    "peg": Case("PEG", lambda k: PEG(k, WIDTH)),
    "spe": Case("SPE", _spe()),
    "spe-deepsets": Case("SPE, φ DeepSets", _spe(phi="deepsets")),
    "spe-constant": Case("SPE, φ constant", _spe(phi="constant", num_filters=None)),
    "spe-lipschitz": Case("SPE, φ with Lipschitz constant 1", _spe(lipschitz=1.0)),
    "spe-pairs": Case("SPE of pairs, without messages", _spe(rho="mlp")),
    "spe-complete": Case("SPE, complete eigenspaces only", _spe(), complete=True),
    "rfp": Case(
        "RFP", lambda k: RandomFeaturePropagation(WIDTH, hidden_channels=32), spectral=False
    ),
    "pearl": Case("PEARL, basis", lambda k: BasisPEARL(WIDTH, **_SIZES), spectral=False),
    "walks": Case("walks (RWSE)", lambda k: NodeEncoder(16, WIDTH), spectral=False),
    "heat": Case("heat kernel", lambda k: NodeEncoder(20, WIDTH, "heat_kernel_se"), spectral=False),
}
