"""Embeddings of node and edge features."""

from __future__ import annotations

import math

import pytest
import torch
from torch_geometric.data import Data

from graphpe.nn import FeatureEmbedding
from graphpe.nn.features import Sinusoids, has_edge_features
from graphpe.tasks import Features


def edges(edge_attr: torch.Tensor) -> Data:
    """Loops of one node, one for each row of ``edge_attr``."""
    return Data(edge_index=torch.zeros(2, len(edge_attr), dtype=torch.long), edge_attr=edge_attr)


def test_categories_are_summed_over_columns() -> None:
    embedding = FeatureEmbedding(Features(node_categories=(3, 5)), 4)
    x = torch.tensor([[0, 4], [2, 0]])
    first, second = embedding.embedding.weight.split([3, 5])
    expected = torch.stack([first[0] + second[4], first[2] + second[0]])
    torch.testing.assert_close(embedding(Data(x=x)), expected)
    assert embedding.embedding.weight.numel() == (3 + 5) * 4


@pytest.mark.parametrize("dtype", [torch.long, torch.int32, torch.uint8, torch.bool])
def test_any_integer_type(dtype: torch.dtype) -> None:
    embedding = FeatureEmbedding(Features(node_categories=(2,)), 4)
    x = torch.tensor([[0], [1]])
    assert torch.equal(embedding(Data(x=x.to(dtype))), embedding(Data(x=x)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_floats_go_through_a_linear_layer(dtype: torch.dtype) -> None:
    """B39: five float columns of x."""
    embedding = FeatureEmbedding(Features(node_continuous=5), 4)
    x = torch.ones(3, 5, dtype=dtype)
    torch.testing.assert_close(embedding(Data(x=x)), embedding.linear(torch.ones(3, 5)))


@pytest.mark.parametrize("level", ["node", "edge"])
def test_one_dimension_is_one_column(level: str) -> None:
    """B39: one-dimensional edge_attr."""
    graph = {"node": lambda x: Data(x=x), "edge": edges}[level]
    integers = FeatureEmbedding(Features(**{f"{level}_categories": (4,)}), 3, level)
    floats = FeatureEmbedding(Features(**{f"{level}_continuous": 1}), 3, level)
    for embedding, values in ((integers, torch.tensor([3, 0])), (floats, torch.tensor([1.0, 2.0]))):
        assert torch.equal(embedding(graph(values)), embedding(graph(values[:, None])))


@pytest.mark.parametrize(
    ("columns", "channels", "base"), [(1, 8, 10_000.0), (2, 16, 26.0), (3, 17, 26.0), (2, 7, 5.0)]
)
def test_ordinal_columns_become_sinusoids(columns: int, channels: int, base: float) -> None:
    """Spec 1.9: sinusoids of each column, the first half sines and the second half cosines, then a linear layer."""
    features = Features(node_ordinal=columns, ordinal_base=base)
    embedding = FeatureEmbedding(features, channels).double()
    x = torch.randint(0, 50, (6, columns))
    width = channels // columns
    rows = []
    for row in x.tolist():
        numbers = []
        for position in row:
            angles = [position * base ** (-2 * i / width) for i in range(width // 2)]
            numbers += [math.sin(angle) for angle in angles] + [math.cos(a) for a in angles]
        rows.append(numbers)
    expected = embedding.linear(torch.tensor(rows).double())
    torch.testing.assert_close(embedding(Data(x=x)), expected)
    assert expected.shape == (6, channels)


def test_ordinal_columns_may_have_any_size_and_integer_type() -> None:
    embedding = FeatureEmbedding(Features(node_ordinal=1), 8)
    x = torch.tensor([0, 1, 100])
    expected = embedding(Data(x=x))
    assert torch.equal(embedding(Data(x=x[:, None])), expected)
    assert torch.equal(embedding(Data(x=x.to(torch.uint8))), expected)
    assert embedding(Data(x=torch.tensor([10**6]))).isfinite().all()
    half = embedding.bfloat16()(Data(x=x))
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), expected, rtol=0.05, atol=0.05)


def test_wavelengths_of_ordinal_columns() -> None:
    """From 2π to about 2π times the base."""
    sinusoids = Sinusoids(1, 64, 100.0)
    period = torch.tensor([[0.0], [2 * math.pi], [2 * math.pi * 100 ** (62 / 64)]])
    start, shortest, longest = sinusoids(period, torch.float64)
    torch.testing.assert_close(shortest[[0, 32]], start[[0, 32]], atol=1e-5, rtol=0)
    torch.testing.assert_close(longest[[31, 63]], start[[31, 63]], atol=1e-5, rtol=0)


def test_sinusoids_are_exact_in_half_precision() -> None:
    """1001 is 1000 in bfloat16."""
    numbers, sinusoids = torch.tensor([[1001]]), Sinusoids(1, 8, 100.0)
    half = sinusoids(numbers, torch.bfloat16)
    torch.testing.assert_close(half.double(), sinusoids(numbers, torch.float64), rtol=0, atol=5e-3)


def test_too_few_channels_for_sinusoids() -> None:
    with pytest.raises(ValueError, match=r"node_ordinal is 3.*only 5 channels.*at least 6"):
        FeatureEmbedding(Features(node_ordinal=3), 5)


def test_nodes_without_features_share_a_learned_vector() -> None:
    embedding = FeatureEmbedding(Features(), 4)
    out = embedding(Data(num_nodes=3))
    assert out.shape == (3, 4)
    out.sum().backward()
    assert torch.equal(embedding.constant.grad, torch.full((4,), 3.0))


@pytest.mark.parametrize(
    ("features", "level", "data", "message"),
    [
        (Features(node_categories=(3,)), "node", Data(), "no 'x', but features.node_categories"),
        (Features(edge_continuous=2), "edge", Data(), "no 'edge_attr', but features.edge_cont"),
        (
            Features(node_categories=(3,)),
            "node",
            Data(x=torch.zeros(2, 5)),
            "'x' has 5 float32 columns, but features.node_categories declares 1 integer column",
        ),
        (
            Features(node_continuous=5),
            "node",
            Data(x=torch.zeros(2, 1, dtype=torch.long)),
            "'x' has 1 int64 column, but features.node_continuous declares 5 float columns",
        ),
        (
            Features(node_continuous=5),
            "node",
            Data(x=torch.zeros(2, 4)),
            "'x' has 4 float32 columns",
        ),
        (
            Features(node_continuous=5),
            "node",
            Data(x=torch.zeros(2, 5, 1)),
            r"'x' has shape \[2, 5, 1\]",
        ),
        (
            Features(node_continuous=1),
            "node",
            Data(x=torch.zeros(2, 1, dtype=torch.complex64)),
            "'x' has 1 complex64 column",
        ),
        (Features(), "node", Data(x=torch.zeros(2, 1)), "declares no node features"),
        (
            Features(edge_categories=(4, 2)),
            "edge",
            edges(torch.tensor([[3, 1], [3, 2]])),
            r"'edge_attr' has category 2 in column 1 \(row 1\), but features.edge_categories\[1\] is 2",
        ),
        (
            Features(node_categories=(4,)),
            "node",
            Data(x=torch.tensor([[-1]])),
            "'x' has category -1 in column 0",
        ),
        (
            Features(node_ordinal=2),
            "node",
            Data(x=torch.tensor([[3, 1], [0, -2]])),
            r"'x' is -2 in column 1 \(row 1\), but features.node_ordinal declares ordinal columns",
        ),
        (
            Features(node_ordinal=1),
            "node",
            Data(x=torch.zeros(2, 1)),
            "'x' has 1 float32 column, but features.node_ordinal declares 1 integer column",
        ),
        (Features(node_ordinal=2), "node", Data(), "no 'x', but features.node_ordinal"),
    ],
)
def test_what_does_not_fit_is_named(
    features: Features, level: str, data: Data, message: str
) -> None:
    """B39: say what is missing or of the wrong type or width."""
    with pytest.raises(ValueError, match=message):
        FeatureEmbedding(features, 4, level)(data)


@pytest.mark.parametrize("rows", [1, 3, 5])
@pytest.mark.parametrize(
    ("features", "dtype"),
    [(Features(edge_continuous=2), torch.float), (Features(edge_categories=(2, 2)), torch.long)],
)
def test_one_row_per_edge(features: Features, dtype: torch.dtype, rows: int) -> None:
    """One row for all edges was broadcast; also when edge_attr was set first, from which PyG then counts edges."""
    embedding = FeatureEmbedding(features, 3, "edge")
    values = torch.zeros(rows, 2, dtype=dtype)
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    attribute_first = Data()
    attribute_first.edge_attr = values
    attribute_first.edge_index = edge_index
    for data in (Data(edge_index=edge_index, edge_attr=values), attribute_first):
        with pytest.raises(
            ValueError, match=f"'edge_attr' has {rows} rows, but the batch has 4 edges; give one"
        ):
            embedding(data)


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_one_row_per_node(rows: int) -> None:
    embedding = FeatureEmbedding(Features(node_continuous=2), 3)
    with pytest.raises(ValueError, match=f"'x' has {rows} rows, but the batch has 3 nodes"):
        embedding(Data(x=torch.zeros(rows, 2), num_nodes=3))


def test_no_edges() -> None:
    embedding = FeatureEmbedding(Features(edge_categories=(4, 4)), 3, "edge")
    for shape in ((0, 2), (0, 2)):
        out = embedding(edges(torch.zeros(*shape, dtype=torch.long)))
        assert out.shape == (0, 3)
    out.sum().backward()
    assert embedding.embedding.weight.grad is not None


def test_zeros_is_category_zero_or_the_number_zero() -> None:
    for features in (Features(edge_categories=(4, 2)), Features(edge_continuous=2)):
        embedding = FeatureEmbedding(features, 3, "edge")
        dtype = torch.long if features.edge_categories else torch.float
        expected = embedding(edges(torch.zeros(5, 2, dtype=dtype)))
        assert torch.equal(embedding.zeros(5), expected)


def test_edges_without_features_have_no_embedding() -> None:
    assert not has_edge_features(Features(node_categories=(3,)))
    assert has_edge_features(Features(edge_continuous=1))
    with pytest.raises(ValueError, match="no edge features"):
        FeatureEmbedding(Features(), 4, "edge")
