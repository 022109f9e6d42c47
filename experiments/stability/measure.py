"""How much the output of an encoder changes when a graph does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.utils import scatter

from experiments.stability.encoders import Case
from experiments.stability.graphs import Change, gaps, laplacians
from graphpe.nn import FieldEncoder
from graphpe.transforms import AddLaplacianEigenvectorPE

# Bounds between the bins of gaps. Below the first, eigenvalues are equal up to rounding.
GAP_BINS = (1e-8, 1e-3, 1e-2, 3e-2, 1e-1)
QUANTILES = {"median": 0.5, "90 %": 0.9, "largest": 1.0}
# The change of which the ratio to that of the Laplacian is taken.
RATIOS_AT = "0.0001"
_GRAPHS_AT_A_TIME = 50


@dataclass(frozen=True)
class Subject:
    """Some graphs with their changes, and what is known of them for k eigenvectors.

    Args:
        graphs: The graphs.
        changes: Changed graphs, by the name of the change.
        k: Number of eigenvectors; None takes all.
    """

    graphs: list[Data]
    changes: dict[str, Change]
    k: int | None

    @property
    def columns(self) -> int:
        """Number of eigenvectors in a field."""
        return max(graph.num_nodes for graph in self.graphs) if self.k is None else self.k

    def gaps(self) -> dict[str, Tensor]:
        """``[B]`` each: the gap at which k cuts, and the smallest one inside."""
        batch = Batch.from_data_list(self.graphs)
        everything = max(graph.num_nodes for graph in self.graphs)
        pe = AddLaplacianEigenvectorPE(everything, drop_trivial="none", dtype="float64")
        cut, inside = gaps(pe(batch).laplacian_eigenvalue, batch.ptr.diff(), self.k)
        return {"cut": cut, "inside": inside}

    def distances(self) -> dict[str, Tensor]:
        """``[B]`` for each change: the Frobenius norm of the difference of the symmetric Laplacians."""
        before = laplacians(Batch.from_data_list(self.graphs))
        return {
            name: (laplacians(Batch.from_data_list(change.graphs)) - before).flatten(1).norm(dim=1)
            for name, change in self.changes.items()
        }


@torch.no_grad()
def changes_of_output(case: Case, subject: Subject, seeds: list[int]) -> dict[str, Tensor] | None:
    r"""The change of an encoder's output for each change of the graphs.

    .. math:: r(G, G') = \frac{1}{\sigma} \Big( \frac{1}{n} \sum_i \lVert f(G')_i - f(G)_i \rVert^2 \Big)^{1/2},
        \qquad \sigma^2 = \mathrm{mean}_i \lVert f_i - \bar f \rVert^2

    where i are the nodes of the graph (or, for an encoder of edges, the edges that both graphs have), f̄ is the mean
    of the output over the rows of all original graphs and σ² its variance. Outputs that have nothing to do with each
    other have :math:`r \approx \sqrt 2`. The nodes of G' are those of G, so that none have to be matched.

    Args:
        case: The encoder.
        subject: The graphs.
        seeds: Of the encoder's random weights.

    Returns:
        For each change ``[seeds, B]``, or None if the output is the same for all rows (σ = 0).
    """
    before = encoded(case, subject.graphs, subject.columns, seed=0)
    after = {
        name: encoded(case, change.graphs, subject.columns, seed=1)
        for name, change in subject.changes.items()
    }
    found: dict[str, list[Tensor]] = {name: [] for name in subject.changes}
    for seed in seeds:
        torch.manual_seed(seed)
        encoder = case.build(subject.columns).double().eval()
        output = apply(encoder, before)
        spread = (output - output.mean(0)).square().sum(1).mean().sqrt()
        if spread < 1e-8 * output.square().sum(1).mean().sqrt():
            return None
        for name, change in subject.changes.items():
            kept = change.kept if encoder.level == "edge" else slice(None)
            difference = (apply(encoder, after[name]) - output[kept]).square().sum(1)
            graph = _graph_of_rows(subject.graphs, encoder)[kept]
            mean = scatter(difference, graph, dim_size=len(subject.graphs), reduce="mean")
            found[name].append(mean.sqrt() / spread)
    return {name: torch.stack(values) for name, values in found.items()}


def encoded(case: Case, graphs: list[Data], k: int, seed: int) -> list[Batch]:
    """The graphs with the fields of a case, in batches."""
    batches = []
    for start in range(0, len(graphs), _GRAPHS_AT_A_TIME):
        batch = Batch.from_data_list(graphs[start : start + _GRAPHS_AT_A_TIME])
        for encoding in case.encodings(k, seed):
            batch = encoding(batch)
        batches.append(batch)
    return batches


def apply(encoder: FieldEncoder, batches: list[Batch]) -> Tensor:
    return torch.cat([encoder(batch) for batch in batches])


def _graph_of_rows(graphs: list[Data], encoder: FieldEncoder) -> Tensor:
    rows = [g.num_edges if encoder.level == "edge" else g.num_nodes for g in graphs]
    return torch.arange(len(graphs)).repeat_interleave(torch.tensor(rows))


def summary(
    changes: dict[str, Tensor], distances: dict[str, Tensor], found_gaps: dict[str, Tensor]
) -> dict:
    """Quantiles of the changes of the output, and of their ratio to the change of the Laplacian by gap.

    Args:
        changes: From `changes_of_output`.
        distances: ``[B]`` each, the changes of the Laplacian.
        found_gaps: ``[B]`` each, gaps by name.
    """
    ratio = changes[RATIOS_AT] / distances[RATIOS_AT]
    return {
        "change": {name: quantiles(change) for name, change in changes.items()},
        **{
            f"ratio_by_{name}_gap": by_bin(ratio, usable(gap, distances[RATIOS_AT]))
            for name, gap in found_gaps.items()
        },
    }


def usable(gap: Tensor, distance: Tensor) -> Tensor:
    """The gaps, infinite where the Laplacian hasn't changed: that of a single edge doesn't depend on its weight."""
    return gap.masked_fill(distance < 1e-12, torch.inf)


def by_bin(values: Tensor, gap: Tensor) -> list[dict | None]:
    """The quantiles of ``values [seeds, B]`` in each bin of gaps, None for an empty one; infinite gaps are left out."""
    number = torch.bucketize(gap.contiguous(), torch.tensor(GAP_BINS, dtype=gap.dtype))
    number[gap.isinf()] = -1
    groups = [values[:, number == place] for place in range(len(GAP_BINS) + 1)]
    return [quantiles(group) if group.numel() else None for group in groups]


def quantiles(values: Tensor) -> dict[str, float]:
    """Quantiles to three significant digits, and the number of graphs."""
    found = np.quantile(values.numpy(), list(QUANTILES.values()))
    named = {name: float(f"{value:.3g}") for name, value in zip(QUANTILES, found, strict=True)}
    return {"graphs": values.shape[1], **named}
