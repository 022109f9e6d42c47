"""Every encoder of graphpe keeps the contract."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from nn_batches import graphs

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
    FunctionalDistanceBias,
    GraphormerBias,
    MagLapNet,
    NodeEncoder,
    PairEncoder,
    PretrainedEncoder,
    RandomFeaturePropagation,
    RandomPEARL,
    RotaryEncoder,
    SignNet,
    StructuralEncoder,
)
from graphpe.nn.encoders import ENCODERS
from graphpe.nn.encoders.pretrained import save_encoder
from graphpe.testing import check_encoder


def pretrained(frozen: bool) -> PretrainedEncoder:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "encoder.safetensors"
        save_encoder(path, StructuralEncoder(8, 2, 4, eval_samples=2), {})
        return PretrainedEncoder(path, 7, frozen)


SMALL = {"hidden_channels": 8, "num_layers": 2, "num_filters": 3}


GOOD = {
    "linear": lambda: NodeEncoder(5, 7),
    "NodeEncoder-batch": lambda: NodeEncoder(5, 7, num_layers=2, norm="batch", raw_norm="batch"),
    "NodeEncoder-layer": lambda: NodeEncoder(5, 7, num_layers=2, raw_norm="layer"),
    "embedding": lambda: EmbeddingEncoder(2, 4, 7),
    **{
        f"EigenvectorEncoder-{signs}": lambda signs=signs: EigenvectorEncoder(6, 7, signs=signs)
        for signs in ("flip", "absolute", "canonical", "as_given")
    },
    **{
        f"{cls.__name__}-{norm}-{k}": lambda cls=cls, k=k, norm=norm, raw_norm=raw_norm: cls(
            k, 7, 8, post_layers=2, norm=norm, raw_norm=raw_norm
        )
        for cls in (EigenpairDeepSets, EigenpairTransformer)
        for k, norm, raw_norm in ((6, "layer", "none"), (40, "batch", "batch"))
    },
    **{
        f"PEG-{norm}-{k}": lambda norm=norm, k=k: PEG(k, 7, 8, norm=norm)
        for norm, k in (("layer", 6), ("batch", 1), ("none", 40))
    },
    "rotary": lambda: RotaryEncoder(6, 7),
    "diagonal": lambda: DiagonalEncoder(5, 7),
    "Graphormer": lambda: GraphormerBias(7, 4),
    "functional distance": lambda: FunctionalDistanceBias(2, 7, "shortest_path_pe", categories=4),
    "SignNet": lambda: SignNet(6, 7, 8, 2, 5),
    "SignNet, batch": lambda: SignNet(40, 7, 8, 2, 5, rho="sum", norm="batch", eigenvalues=False),
    "SignNet, deepsets": lambda: SignNet(1, 7, 8, 1, 5, rho="deepsets", set_layers=2),
    "SignNet, transformer": lambda: SignNet(6, 7, 8, 2, 5, rho="transformer", norm="none"),
    "BasisNet": lambda: BasisNet(40, 7, 8, 3, 5),
    "BasisNet, batch": lambda: BasisNet(6, 7, 8, 2, 5, rho="sum", norm="batch"),
    "BasisNet, deepsets": lambda: BasisNet(1, 7, 8, 1, 5, 1, rho="deepsets", norm="none"),
    "BasisNet, transformer": lambda: BasisNet(6, 7, 8, 2, 5, 2, rho="transformer"),
    **{
        f"SPE-{phi}-{rho}-{norm}-{k}-{level}": (
            lambda phi=phi, rho=rho, norm=norm, k=k, level=level: SPE(
                k,
                7,
                8,
                2,
                num_filters=1 if phi == "constant" else 3,
                phi=phi,
                rho=rho,
                norm=norm,
                level=level,
            )
        )
        for phi, rho, norm, k, level in (
            ("mlp", "gin", "layer", 6, "node"),
            ("mlp", "gin", "batch", 40, "node"),
            ("mlp", "mlp", "none", 1, "edge"),
            ("mlp", "gin_deepsets", "layer", 6, "node"),
            ("deepsets", "gin", "none", 1, "node"),
            ("deepsets", "mlp", "batch", 6, "pair"),
            ("deepsets", "gin_deepsets", "batch", 40, "edge"),
            ("transformer", "gin", "layer", 6, "pair"),
            ("transformer", "mlp", "layer", 40, "node"),
            ("transformer", "gin_deepsets", "batch", 1, "node"),
            ("constant", "gin", "layer", 6, "edge"),
        )
    },
    "SPE-lipschitz": lambda: SPE(6, 7, lipschitz=1.0, **SMALL),
    **{
        f"ComplexSPE-{rho}-{norm}-{k}-{potentials}-{level}": (
            lambda rho=rho, norm=norm, k=k, q=potentials, level=level: ComplexSPE(
                k, 7, q, 8, num_channels=3, phi_hidden_channels=8, rho=rho, norm=norm, level=level
            )
        )
        for rho, norm, k, potentials, level in (
            ("gin", "layer", 6, 2, "node"),
            ("gin", "batch", 40, 1, "node"),
            ("gin", "layer", 1, 1, "pair"),
            ("mlp", "none", 6, 2, "node"),
            ("mlp", "none", 1, 1, "edge"),
            ("gin_deepsets", "layer", 40, 1, "node"),
            ("gin_deepsets", "batch", 6, 2, "edge"),
        )
    },
    **{
        f"MagLapNet-{element}-{sign_net}-{k}-{potentials}-{heads}": (
            lambda element=element, sign_net=sign_net, k=k, q=potentials, heads=heads: MagLapNet(
                k,
                7,
                q,
                element,
                6,
                sign_net,
                scale_by_size=heads == 0,
                heads=heads,
                dropout=0.1 if heads else 0.0,
            )
        )
        for element in ("mlp", "gnn")
        for sign_net in ("none", "published", "all")
        for k, potentials, heads in ((1, 1, 0), (6, 2, 4), (40, 1, 0))
    },
    **{
        f"PairEncoder-{level}-{norm}-{categories}": (
            lambda level=level, norm=norm, categories=categories: PairEncoder(
                3, 7, hidden_channels=8, level=level, norm=norm, categories=categories
            )
        )
        for level in ("pair", "node")
        for norm in ("layer", "batch", "none")
        for categories in (None, 4)
    },
    **{
        f"PairEncoder-raw-{raw_norm}": lambda raw_norm=raw_norm: PairEncoder(
            3, 7, hidden_channels=8, raw_norm=raw_norm
        )
        for raw_norm in ("layer", "batch")
    },
    **{
        f"RandomFeaturePropagation-{normalization}-{trajectories}": (
            lambda normalization=normalization, trajectories=trajectories, operators=operators: (
                RandomFeaturePropagation(
                    7,
                    6,
                    2,
                    operators,
                    normalization=normalization,
                    trajectories=trajectories,
                    hidden_channels=8,
                    eval_samples=2,
                )
            )
        )
        for normalization, trajectories, operators in (
            ("l2", 1, ("sym-loops", "walk")),
            ("qr", 3, ("sym", "laplacian")),
        )
    },
    "RandomPEARL": lambda: RandomPEARL(7, 5, 3, num_layers=2, eval_samples=2),
    "BasisPEARL": lambda: BasisPEARL(7, 3, num_layers=2),
    "StructuralEncoder": lambda: StructuralEncoder(8, 2, 4, "layer"),
    "PretrainedEncoder-frozen": lambda: pretrained(frozen=True),
    "PretrainedEncoder-fine-tuned": lambda: pretrained(frozen=False),
}


# Compiling takes seconds, so one instance of each class must do.
COMPILED = {type(build()): name for name, build in reversed(GOOD.items())}


@pytest.mark.parametrize("name", GOOD)
def test_accepts_our_encoders(name: str) -> None:
    encoder = GOOD[name]()
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    check_encoder(encoder, compiled=COMPILED[type(encoder)] == name)
    for name, value in encoder.state_dict().items():
        assert torch.equal(value, before[name])


def test_every_encoder_is_tested() -> None:
    assert {type(build()) for build in GOOD.values()} == set(ENCODERS)


def test_accepts_own_graphs() -> None:
    check_encoder(SPE(9, 4, **SMALL), graphs(9), compiled=False)


def test_accepts_missing_labels() -> None:
    every = graphs(9)
    for graph in every.values():
        graph.y = torch.tensor([[float("nan"), 1.0]])
    check_encoder(SPE(9, 4, **SMALL), every, compiled=False)


def test_published_size() -> None:
    check_encoder(SPE(37, 16, hidden_channels=32), compiled=False)
