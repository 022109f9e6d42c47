"""What encoders and networks say about settings and fields that can't work."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from nn_batches import FEATURES, batch_of

from graphpe.nn import (
    GINE,
    PEG,
    SPE,
    BasisNet,
    BasisPEARL,
    ComplexSPE,
    EigenpairDeepSets,
    EigenpairTransformer,
    EigenvectorEncoder,
    EmbeddingEncoder,
    FieldRequirement,
    GraphTransformer,
    MagLapNet,
    NodeEncoder,
    NodeMLP,
    PairEncoder,
    SignNet,
    Transformer,
)
from graphpe.nn.encoders.random_features.propagation import RandomFeaturePropagation

COUNT = "laplacian_eigenvector_count"
READ_COUNTS = {
    "SPE": lambda: SPE(6, 8, 8, 2),
    "constant": lambda: SPE(6, 8, 8, 2, phi="constant"),
    "PEG": lambda: PEG(6, 8, 8),
    "SignNet": lambda: SignNet(6, 8, 8, 2),
    "BasisNet": lambda: BasisNet(6, 8, 8, 2),
    "EigenpairDeepSets": lambda: EigenpairDeepSets(6, 8, 8),
    "EigenpairTransformer": lambda: EigenpairTransformer(6, 8, 8),
}
each_reader = pytest.mark.parametrize("name", READ_COUNTS)
NETWORKS = {
    "GINE": GINE,
    "GraphTransformer": GraphTransformer,
    "NodeMLP": NodeMLP,
    "Transformer": Transformer,
}
each_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)


@pytest.mark.parametrize(
    "encoder",
    [SPE, SignNet, BasisNet, EigenpairDeepSets, EigenpairTransformer, ComplexSPE, MagLapNet],
)
@pytest.mark.parametrize("name", [None, 3, "two words", ["a"], ""])
@pytest.mark.parametrize("argument", ["field", "eigenvalue_field", "count_field"])
def test_names_of_fields(encoder: type, argument: str, name: object) -> None:
    """eigenvalue_field=None was accepted, and forward crashed later."""
    with pytest.raises(ValueError, match=f"^{argument} is ") as error:
        encoder(4, 8, **{argument: name})
    assert repr(name) in str(error.value)


def test_a_name_of_eigenvalues_is_needed_only_where_they_are_read() -> None:
    encoder = SPE(6, 8, 8, 2, phi="constant", eigenvalue_field=None)
    assert encoder(batch_of("path")).shape == (6, 8)
    encoder = SignNet(6, 8, 8, 2, eigenvalues=False, eigenvalue_field=None)
    assert encoder(batch_of("path")).shape == (6, 8)
    with pytest.raises(
        ValueError, match=r"encoder reads eigenvalues; give the name.*'laplacian_eigenvalue'"
    ):
        SPE(6, 8, eigenvalue_field=None)


@pytest.mark.parametrize(
    "build",
    [
        lambda name: NodeEncoder(3, 8, field=name),
        lambda name: EigenvectorEncoder(3, 8, field=name),
        lambda name: PairEncoder(3, 8, field=name),
        lambda name: EmbeddingEncoder(2, 3, 8, field=name),
        lambda name: FieldRequirement(name, "node", 3, None),
    ],
)
@pytest.mark.parametrize("name", [None, 3, ["a"], "two words"])
def test_names_of_other_fields(build: Callable, name: object) -> None:
    with pytest.raises(ValueError, match=r"^field is .*; it must be the name of a field"):
        build(name)


def test_name_of_a_transform() -> None:
    with pytest.raises(ValueError, match=r"^transform is 3; it must be the name of the transform"):
        NodeEncoder(3, 8, "walk", transform=3)


@pytest.mark.parametrize(
    ("build", "width"),
    [
        (lambda norm: SPE(3, 8, hidden_channels=1, norm=norm), "hidden_channels"),
        (lambda norm: SPE(3, 8, phi_hidden_channels=1, norm=norm), "phi_hidden_channels"),
        (
            lambda norm: SPE(3, 8, phi="transformer", phi_hidden_channels=1, norm=norm),
            "phi_hidden_channels",
        ),
        (lambda norm: ComplexSPE(3, 8, hidden_channels=1, norm=norm), "hidden_channels"),
        (lambda norm: ComplexSPE(3, 8, phi_hidden_channels=1, norm=norm), "phi_hidden_channels"),
        (lambda norm: SignNet(3, 8, hidden_channels=1, norm=norm), "hidden_channels"),
        (lambda norm: BasisNet(3, 8, hidden_channels=1, norm=norm), "hidden_channels"),
        (lambda norm: PEG(3, 8, hidden_channels=1, norm=norm), "hidden_channels"),
        (lambda norm: EigenpairDeepSets(3, 8, hidden_channels=1, norm=norm), "hidden_channels"),
        (
            lambda norm: NodeEncoder(3, 8, num_layers=2, hidden_channels=1, norm=norm),
            "hidden_channels",
        ),
        (lambda norm: PairEncoder(3, 8, hidden_channels=1, norm=norm), "hidden_channels"),
        (lambda norm: BasisPEARL(8, channels=1, norm=norm), "channels"),
        (lambda norm: GINE(FEATURES, hidden_channels=1, norm=norm), "hidden_channels"),
        (lambda norm: NodeMLP(FEATURES, hidden_channels=1, norm=norm), "hidden_channels"),
    ],
)
def test_layer_norm_of_one_channel(build: Callable, width: str) -> None:
    """It makes all rows the same, so that the encoder was constant without a word."""
    with pytest.raises(ValueError, match=f"^{width} is 1, and LayerNorm makes .*at least 2, or"):
        build("layer")
    build("none")
    build("batch")


@pytest.mark.parametrize(
    "build",
    [
        lambda: EigenpairTransformer(3, 8, hidden_channels=1, heads=1),
        lambda: Transformer(FEATURES, hidden_channels=1, heads=1),
        lambda: NodeMLP(FEATURES, hidden_channels=1, norm="none", level="pair"),
    ],
)
def test_blocks_that_always_have_layer_norm(build: Callable) -> None:
    with pytest.raises(ValueError, match=r"^hidden_channels is 1, and LayerNorm"):
        build()


def test_one_hidden_channel_without_normalisation_of_it() -> None:
    NodeEncoder(3, 8, hidden_channels=1)  # a single layer has no hidden one
    NodeMLP(FEATURES, hidden_channels=1, norm="none")


@pytest.mark.parametrize(
    "encoder",
    [
        lambda: PEG(6, 8),
        lambda: SPE(6, 8, 8, 2),
        lambda: SPE(6, 8, 8, 2, rho="mlp", level="edge"),
        lambda: SignNet(6, 8, 8, 2),
        lambda: BasisPEARL(8, num_layers=1),
        lambda: RandomFeaturePropagation(8),
        lambda: RandomFeaturePropagation(8, heads=0),
    ],
)
def test_edges_are_checked(encoder: Callable) -> None:
    """Node -1 was the last node of the batch, and an edge between graphs mixed them."""
    module = encoder()
    for edge, message in (
        ((0, -1), "has node -1"),
        ((0, 7), "joins node 0 of graph 0"),
        ((0, 99), "has node 99"),
    ):
        batch = batch_of("path", "complete")
        batch.edge_index[:, 0] = torch.tensor(edge)
        with pytest.raises(ValueError, match=message):
            module(batch)
    batch = batch_of("path", "complete")
    batch.edge_index = batch.edge_index.numpy()
    with pytest.raises(ValueError, match="'edge_index' is a ndarray, no torch tensor"):
        module(batch)
    batch.edge_index = None
    with pytest.raises(ValueError, match="has no 'edge_index'"):
        module(batch)


@each_reader
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_counts_are_integers_of_any_size(name: str, dtype: torch.dtype) -> None:
    """uint8 is an old kind of mask in torch, so that looking up by it failed."""
    torch.manual_seed(0)
    encoder = READ_COUNTS[name]().eval()
    batch = batch_of("path", "complete", "one node")
    expected = encoder(batch)
    batch[COUNT] = batch[COUNT].to(dtype)
    assert torch.equal(encoder(batch), expected)


@each_reader
def test_counts_that_cannot_be(name: str) -> None:
    encoder = READ_COUNTS[name]()
    for counts, message in (
        ([6, 6], r"is 6 in graph 1, which has 5 nodes and 6 columns"),
        ([-1, 5], r"is -1 in graph 0"),
        ([7, 5], r"is 7 in graph 0"),
    ):
        batch = batch_of("path", "complete")
        batch[COUNT] = torch.tensor(counts)[:, None]
        with pytest.raises(ValueError, match=f"'{COUNT}' {message}.*AddLaplacian"):
            encoder(batch)
    batch[COUNT] = torch.ones(2, 1, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"is torch.bool, but .* needs integers"):
        encoder(batch)


def test_more_columns_than_the_encoder_reads() -> None:
    """A field of seven nodes and seven columns has counts that an encoder of four can't mean."""
    batch = batch_of("path", k=4)
    batch[COUNT] = torch.tensor([[5]])
    with pytest.raises(ValueError, match="is 5 in graph 0, which has 6 nodes and 4 columns"):
        SPE(4, 8, 8, 2)(batch)


def test_categories_are_integers_of_any_size() -> None:
    encoder = EmbeddingEncoder(2, 3, 4)
    batch = batch_of("path")
    batch.degree_se = torch.randint(0, 3, (6, 2))
    expected = encoder(batch)
    for dtype in (torch.uint8, torch.int16):
        batch.degree_se = batch.degree_se.to(dtype)
        assert torch.equal(encoder(batch), expected)


@pytest.mark.parametrize("convert", [torch.Tensor.numpy, list], ids=["numpy", "list"])
def test_fields_are_tensors(convert: Callable) -> None:
    batch = batch_of("path")
    kind = type(convert(batch.laplacian_eigenvector_pe)).__name__
    for name in ("laplacian_eigenvector_pe", COUNT, "laplacian_eigenvalue"):
        broken = batch.clone()
        broken[name] = convert(batch[name])
        with pytest.raises(
            ValueError, match=f"'{name}' is a {kind}, no torch tensor.*torch.as_tensor"
        ):
            SPE(6, 8, 8, 2)(broken)
    for name in ("x", "edge_attr"):
        broken = batch.clone()
        broken[name] = convert(batch[name])
        with pytest.raises(ValueError, match=f"'{name}' is a {kind}, no torch tensor"):
            GINE(FEATURES, hidden_channels=8)(broken)


@each_network
@pytest.mark.parametrize("dropout", ["0.1", None, True, float("nan"), -0.1, 1.0, 2])
def test_dropout_of_networks(network: type, dropout: object) -> None:
    with pytest.raises(
        ValueError, match=r"^dropout is .*; it must be a finite number >= 0 and < 1$"
    ):
        network(FEATURES, dropout=dropout)


@each_network
@pytest.mark.parametrize("features", [None, {"node_categories": [28]}, 28])
def test_features_of_networks(network: type, features: object) -> None:
    with pytest.raises(
        TypeError, match=r"^features is a .*; it must be the Features that a dataset"
    ):
        network(features)


@each_network
def test_choices_that_are_lists(network: type) -> None:
    with pytest.raises(ValueError, match=r"^readout is \[4\]; it must be 'mean', 'sum'"):
        network(FEATURES, readout=[4])
    if network is not Transformer:
        with pytest.raises(ValueError, match=r"^norm is \[4\]; it must be "):
            network(FEATURES, norm=[4])


def test_graph_transformer_has_a_normalisation() -> None:
    with pytest.raises(ValueError, match=r"^norm is 'none'; it must be 'batch' or 'layer'$"):
        GraphTransformer(FEATURES, norm="none")


@pytest.mark.parametrize(
    ("encoder", "mixes"),
    [
        (lambda: PEG(4, 8, num_layers=1, norm="batch"), False),
        (lambda: PEG(4, 8, num_layers=2, norm="batch"), True),
        (lambda: SPE(4, 8, 8, 1, phi="constant", rho="mlp", norm="batch"), False),
        (lambda: SPE(4, 8, 8, 1, phi="deepsets", rho="mlp", norm="batch"), False),
        (lambda: SPE(4, 8, 8, 1, phi_layers=1, rho="mlp", norm="batch"), False),
        (lambda: SPE(4, 8, 8, 1, lipschitz=1.0, rho="mlp", norm="batch"), False),
        (lambda: SPE(4, 8, 8, 1, phi="transformer", rho="mlp", norm="batch"), True),
        (lambda: SPE(4, 8, 8, 1, phi="constant", rho="gin", norm="batch"), True),
        (lambda: SPE(4, 8, 8, 1, rho="mlp", norm="batch"), True),
        (lambda: SPE(4, 8, 8, 2, norm="layer"), False),
        (lambda: BasisNet(4, 8, 8, num_layers=1, rho_layers=1, norm="batch"), False),
        (lambda: BasisNet(4, 8, 8, num_layers=1, rho_layers=2, norm="batch"), True),
    ],
)
def test_declares_exactly_whether_graphs_mix_in_training(encoder: Callable, mixes: bool) -> None:
    torch.manual_seed(0)
    module = encoder().double()
    assert module.mixes_graphs_in_training == mixes
    alone = module(batch_of("path", k=4))
    together = module(batch_of("path", "complete", k=4))[: len(alone)]
    assert torch.allclose(alone, together, atol=1e-9) != mixes


def test_complex_spe_declares_exactly_whether_graphs_mix() -> None:
    options = {"num_layers": 1, "rho": "mlp", "norm": "batch"}
    assert not ComplexSPE(4, 8, phi_layers=1, **options).mixes_graphs_in_training
    assert ComplexSPE(4, 8, phi_layers=2, **options).mixes_graphs_in_training
