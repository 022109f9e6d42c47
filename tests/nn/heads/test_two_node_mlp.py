"""Heads of pairs and of edges: a perceptron of a concatenation that is never made."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from nn_batches import FEATURES, batch_of, count_parameters
from torch import Tensor, nn
from torch_geometric.data import Batch

from graphpe.nn import EdgeHead, Encodings, PairHead, Readout, TokenReadout, graph_layout
from graphpe.tasks import Features

NAMES = ("path", "no nodes", "one node", "complete", "two nodes", "no nodes", "parallel edges")
NO_FEATURES = Features((28,))


def batch() -> Batch:
    return batch_of(*NAMES)


def all_pairs(of: Batch) -> Tensor:
    """Source and target of all pairs, ``[P, 2]``."""
    ptr = of.ptr.tolist()
    return torch.tensor(
        [
            (u, v)
            for start, end in pairwise(ptr)
            for u in range(start, end)
            for v in range(start, end)
        ]
    )


def by_concatenation(
    head: PairHead | EdgeHead, x: Tensor, of: Batch, rows: Tensor, others: list[Tensor]
) -> Tensor:
    """The head as its formula says, row after row."""
    graphs = head.readout(x, graph_layout(of))
    out = []
    for row, (u, v) in enumerate(rows.tolist()):
        parts = [x[u], x[v], graphs[of.batch[u]], *(w[row] for w in others)]
        y = nn.functional.linear(torch.cat(parts), head.first.weight, head.first.bias)
        out.append(head.rest(y))
    return torch.stack(out)


@pytest.mark.parametrize("readout", ["mean", "sum", "virtual_node"])
@pytest.mark.parametrize("widths", [(), (3,), (3, 1)])
@pytest.mark.parametrize("num_layers", [1, 2, 4])
def test_heads_are_perceptrons_of_the_concatenation(
    readout: str, widths: tuple[int, ...], num_layers: int
) -> None:
    of = batch()
    layout = graph_layout(of)
    module = TokenReadout() if readout == "virtual_node" else Readout(readout)
    x = torch.randn(of.num_nodes + (of.num_graphs if readout == "virtual_node" else 0), 4).double()

    pairs = all_pairs(of)
    head = PairHead(module, 4, 2, num_layers, widths).double()
    others = [torch.randn(len(pairs), width).double() for width in widths]
    expected = by_concatenation(head, x, of, pairs, others)
    torch.testing.assert_close(head(x, of, layout, Encodings(pairs=others)), expected)

    edges = of.edge_index.T
    others = [torch.randn(len(edges), width).double() for width in widths]
    encodings = Encodings(added_to_edges=others[:1], edge_gates=others[1:])
    head = EdgeHead(NO_FEATURES, module, 4, 2, num_layers, widths).double()
    expected = by_concatenation(head, x, of, edges, others)
    torch.testing.assert_close(head(x, of, layout, encodings), expected)

    head = EdgeHead(FEATURES, module, 4, 2, num_layers, widths).double()
    expected = by_concatenation(head, x, of, edges, [head.embedding(of), *others])
    torch.testing.assert_close(head(x, of, layout, encodings), expected)


def test_layers() -> None:
    head = PairHead(Readout("mean"), 8, 3, num_layers=3, pair_channels=(5,))
    kinds = [type(module).__name__ for module in head.rest]
    assert kinds == ["LayerNorm", "ReLU", "Linear"] * 2
    assert count_parameters(head) == (29 * 8 + 8) + 16 + (8 * 8 + 8) + 16 + (8 * 3 + 3)
    head = EdgeHead(FEATURES, Readout("mean"), 8, 3, num_layers=2, edge_channels=(5,))
    assert count_parameters(head) == (37 * 8 + 8) + 16 + (8 * 3 + 3) + 4 * 8


def test_many_rows_are_mapped_in_blocks() -> None:
    of = batch_of(*["grid, larger"] * 6)
    layout, x = graph_layout(of), torch.randn(180, 8).double()
    pairs = all_pairs(of)
    head = PairHead(Readout("mean"), 8, 3, 3).double()
    whole = head.rest(head._apply_first(x, layout, pairs[:, 0], pairs[:, 1], []))
    assert whole.shape == (5400, 3)
    torch.testing.assert_close(head(x, of, layout, Encodings()), whole)


def test_the_concatenation_is_never_held() -> None:
    of = batch_of("grid, larger")
    head, x = PairHead(Readout("mean"), 8, 1, 2, (5,)), torch.randn(30, 8, requires_grad=True)
    held: list[tuple[int, ...]] = []

    def note(tensor: Tensor) -> Tensor:
        held.append(tuple(tensor.shape))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        head(x, of, graph_layout(of), Encodings(pairs=[torch.randn(900, 5)]))
    assert (900, 8) in held
    assert not [shape for shape in held if len(shape) == 2 and shape[0] == 900 and shape[1] > 8]


def test_bad_sizes_are_refused() -> None:
    for build in (
        lambda *sizes: PairHead(Readout("mean"), *sizes),
        lambda *sizes: EdgeHead(FEATURES, Readout("mean"), *sizes),
    ):
        with pytest.raises(ValueError, match="pair_layers is 0; it must be an integer >= 1"):
            build(8, 1, 0)
        with pytest.raises(ValueError, match="hidden_channels is 1, and LayerNorm"):
            build(1, 1, 2)
