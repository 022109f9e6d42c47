"""The networks have exactly the parameters of the published ones."""

from __future__ import annotations

import pytest
from nn_batches import count_parameters

from graphpe.nn import (
    GINE,
    PNA,
    SPE,
    EigenvectorEncoder,
    EmbeddingEncoder,
    GatedGCN,
    Graphormer,
    GraphormerBias,
    GraphTransformer,
    NodeEncoder,
    NodeMLP,
    Transformer,
)
from graphpe.tasks import Features

ZINC = Features(node_categories=(28,), edge_categories=(4,))
# The first version of the published SPE code numbers the three bond types of ZINC from 0.
ZINC_WITH_THREE_BONDS = Features(node_categories=(28,), edge_categories=(3,))
CLUSTER = Features(node_categories=(7,))
PATTERN = Features(node_categories=(3,))


def linear(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_graph_transformer(norm: str) -> None:
    """Dwivedi and Bresson, tables 1 and 3. The published heads for nodes and for graphs have the same size."""

    def count(features: Features, out: int, hidden: int, k: int | None) -> int:
        encoders = None if k is None else [EigenvectorEncoder(k, hidden)]
        network = GraphTransformer(features, out, hidden, norm=norm, positional_encoders=encoders)
        return count_parameters(network)

    assert count(ZINC, 1, 64, None) == 588_353
    assert count(ZINC, 1, 64, 8) == 588_929
    assert count(CLUSTER, 6, 80, None) == 523_146
    assert count(CLUSTER, 6, 80, 10) == 524_026
    assert count(PATTERN, 2, 80, None) == 522_742
    assert count(PATTERN, 2, 80, 2) == 522_982


def test_graph_transformer_with_full_attention() -> None:
    assert count_parameters(GraphTransformer(ZINC, attention="full")) == 588_353


def test_gine() -> None:
    """Huang et al., row 'No PE' of ZINC: 575k."""
    assert count_parameters(GINE(ZINC_WITH_THREE_BONDS, hidden_channels=200)) == 575_005
    assert count_parameters(GINE(ZINC, hidden_channels=200)) == 575_805


def test_gated_gcn() -> None:
    """Dwivedi et al., "Benchmarking Graph Neural Networks": ZINC with edge features; CLUSTER and PATTERN."""
    assert count_parameters(GatedGCN(ZINC)) == 504_309
    encoders = [EigenvectorEncoder(8, 78)]
    assert count_parameters(GatedGCN(ZINC, positional_encoders=encoders)) == 505_011
    # Without edge features the published edges are a linear layer of the number 1; ours are one vector.
    assert count_parameters(GatedGCN(CLUSTER, 6, level="node")) == 502_615 - 78
    assert count_parameters(GatedGCN(PATTERN, 2, level="node")) == 502_223 - 78


def test_pna() -> None:
    """Dwivedi et al., "Learnable Structural and Positional Representations": PNA without LSPE on ZINC."""
    assert count_parameters(PNA(ZINC)) == 369_235


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_spe_with_all_eigenvectors(norm: str) -> None:
    """Huang et al., row 'SPE Full' of ZINC: 650k, of which a three-layer MLP is never used."""
    published = 650_983
    unused = linear(37, 128) + linear(128, 128) + linear(128, 37) + 2 * 2 * 128
    assert unused == 26_661
    network = GINE(ZINC_WITH_THREE_BONDS, positional_encoders=[SPE(37, 128, norm=norm)])
    assert count_parameters(network) == published - unused


def test_spe_with_eight_eigenvectors() -> None:
    """Huang et al., row 'SPE 8' of ZINC: 635k, of which a three-layer MLP is never used."""
    published = 635_459
    unused = linear(8, 128) + linear(128, 128) + linear(128, 8) + 2 * 2 * 128
    encoder = SPE(8, 128, num_filters=6, phi="deepsets", phi_layers=4, norm="batch")
    network = GINE(ZINC_WITH_THREE_BONDS, positional_encoders=[encoder])
    assert count_parameters(network) == published - unused


def test_spe_without_normalization() -> None:
    """Without normalisation in ρ's nine published perceptrons (one unused) 4,608 parameters fewer; φ's are ours."""
    encoder = SPE(37, 128)
    plain = SPE(37, 128, norm="none")
    rho, phi = 8 * 2 * 2 * 128, 16 * 2 * 2 * 16
    assert count_parameters(encoder) - count_parameters(plain) == rho + phi


@pytest.mark.parametrize("level", ["graph", "node"])
def test_levels_do_not_change_the_published_sizes(level: str) -> None:
    assert count_parameters(GraphTransformer(ZINC, level=level)) == 588_353
    assert count_parameters(GINE(ZINC, hidden_channels=200, level=level)) == 575_805


def test_heads_of_pairs() -> None:
    """The published network for distances: two degrees to 64, no layers, eight linear layers per pair."""
    degrees = Features(node_continuous=2)
    network = NodeMLP(degrees, 1, 64, level="pair", pair_layers=8)
    head = linear(3 * 64, 64) + 6 * linear(64, 64) + 7 * 2 * 64 + linear(64, 1)
    assert count_parameters(network) == linear(2, 64) + head
    halving = linear(64, 32) + linear(32, 16) + linear(16, 1)
    pairs = linear(3 * 64, 64) + 2 * 64 + linear(64, 1)
    expected = 588_353 - halving + pairs
    assert count_parameters(GraphTransformer(ZINC, level="pair")) == expected


def test_transformer() -> None:
    """Spec 1.6: 4 layers of width 256, feed-forward times 4; and a structure of 3 hops of half the width."""
    layer = 4 * linear(256, 256) + linear(256, 1024) + linear(1024, 256) + 2 * 2 * 256
    ends = linear(28, 256) - 256 + linear(256, 1)
    assert count_parameters(Transformer(ZINC)) == 4 * layer + ends
    assert count_parameters(Transformer(ZINC, readout="virtual_node")) == 4 * layer + ends + 256
    structure = linear(3 * 256, 128) + linear(2 * 256, 128) + 4 * linear(3 * 128, 128)
    structure += 2 * 640 + linear(640, 256)
    expected = 4 * (layer + structure) + ends + 4 * 256
    assert count_parameters(Transformer(ZINC, structure_hops=3)) == expected


def test_graphormer() -> None:
    """Ying et al.: 489,321 for Graphormer-slim on ZINC, whose code has larger tables than ZINC's categories need."""
    encoders = [
        EmbeddingEncoder(2, 5, 80),
        GraphormerBias(8, 22, edge_categories=(4,), hidden_channels=8, max_distance=20),
    ]
    # Rows of 80 numbers for atoms and degrees; of 8 for distances and bonds; 8 x 8 for each place on a path.
    fewer_rows = 80 * ((64 - 28) + 2 * (64 - 5)) + 8 * ((40 - 22) + (64 - 4)) + 64 * (40 - 20)
    # The published number leaves out the LayerNorm after the last layer, which the published code has.
    last_norm = 2 * 80
    network = Graphormer(ZINC, positional_encoders=encoders)
    assert count_parameters(network) == 489_321 - fewer_rows + last_norm


def test_linear() -> None:
    assert count_parameters(NodeEncoder(20, 64)) == linear(20, 64)
