"""Which pairs of graphs a network with an encoding tells apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.data.equivalent_graphs import GraphPair
from graphpe.nn import GraphNetwork
from graphpe.precompute import encode
from graphpe.transforms import Encoding

Outcome = Literal["separated", "same", "depends on numbering"]

# Differences in units of the largest output. Rounding in float64 is below the first; what a network tells apart by more
# than rounding is above the second, even if it comes from one walk of twenty.
_ROUNDING = 1e-9
_DIFFERENT = 1e-7
_GRAPHS_AT_A_TIME = 64


def separations(
    build: Callable[[], GraphNetwork],
    encodings: Sequence[Encoding],
    pairs: Sequence[GraphPair],
    seeds: Sequence[int] = (0, 1, 2),
    copies: int = 3,
) -> list[Outcome]:
    """Tells for each pair whether an untrained network of level "graph" gives different outputs to the two graphs.

    Each graph also comes with its nodes in other orders. If the outputs of these copies differ, a difference between
    graphs says nothing, and the outcome is ``"depends on numbering"``: so it is with signs and bases of eigenvectors
    that the encoder isn't invariant to, and with random features. Otherwise a pair is ``"separated"`` if the outputs
    differ for some seed, and ``"same"`` if they are equal up to rounding for all.

    All is computed in float64.

    Args:
        build: Builds the network; its parameters are drawn after ``torch.manual_seed``.
        encodings: What the network reads.
        pairs: Pairs of graphs.
        seeds: Of parameters and orders.
        copies: How many other orders of each graph there are.

    Raises:
        RuntimeError: If a difference is neither rounding nor clear.
    """
    generator = torch.Generator().manual_seed(0)
    graphs = [
        copy
        for pair in pairs
        for graph in (pair.first, pair.second)
        for copy in [graph, *(_reordered(graph, generator) for _ in range(copies))]
    ]
    graphs = encode(graphs, list(encodings), progress=False) if encodings else graphs
    found: list[set[Outcome]] = [set() for _ in pairs]
    for seed in seeds:
        # [pairs, 2, copies + 1, channels]
        outputs = _outputs(build, list(graphs), seed).unflatten(0, (len(pairs), 2, copies + 1))
        for outcomes, output in zip(found, outputs, strict=True):
            outcomes.add(_outcome(output))
    ranking: tuple[Outcome, ...] = ("depends on numbering", "separated", "same")
    return [next(outcome for outcome in ranking if outcome in outcomes) for outcomes in found]


def _outputs(build: Callable[[], GraphNetwork], graphs: list[Data], seed: int) -> Tensor:
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        network = build().double().eval()
        return torch.cat(
            [
                network(Batch.from_data_list(graphs[start : start + _GRAPHS_AT_A_TIME]))
                for start in range(0, len(graphs), _GRAPHS_AT_A_TIME)
            ]
        )


def _outcome(output: Tensor) -> Outcome:
    """Of the outputs of a pair, ``[2, copies + 1, channels]``."""
    scale = float(output.abs().max())
    within = float((output - output[:, :1]).abs().max())
    if within > _ROUNDING * scale:
        return "depends on numbering"
    between = float((output[0, 0] - output[1, 0]).abs().max())
    if between > _DIFFERENT * scale:
        return "separated"
    if between > _ROUNDING * scale:
        raise RuntimeError(
            f"outputs differ by {between / scale:.1e} of their size, which is neither rounding nor a clear difference; "
            "take a network of fewer layers, or another one"
        )
    return "same"


def _reordered(graph: Data, generator: torch.Generator) -> Data:
    order = torch.randperm(graph.num_nodes, generator=generator)
    return Data(edge_index=order[graph.edge_index], num_nodes=graph.num_nodes)
