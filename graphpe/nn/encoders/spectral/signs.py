"""Signs of eigenvectors: random ones, and those that an eigenvector settles by itself."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from graphpe.nn.layout import GraphLayout

# Entries that differ by less, relative to the largest of the column, count as equal: rounding of float32 in the field.
_TIE_TOLERANCE = 1e-5


def random_signs(layout: GraphLayout, columns: int) -> Tensor:
    """Draws a sign for each graph and column, from torch's default generator.

    Args:
        layout: Where the graphs lie.
        columns: Number of columns, k.

    Returns:
        ``[N, k]`` int64, ±1; the nodes of a graph share theirs.
    """
    shape = (layout.num_graphs, columns)
    signs = 1 - 2 * torch.randint(0, 2, shape, device=layout.batch.device)
    return signs[layout.batch]


@torch.no_grad()
def canonical_signs(vectors: Tensor, layout: GraphLayout) -> Tensor:
    """Finds the signs that make the largest entry of each column of each graph positive.

    The entries of v and of −v are compared from the largest on, and the first that differ decide: the sign is that of
    the column whose entry is larger. So it depends on the entries, and not on the order of the nodes. It isn't
    determined where v and −v have the same entries; there it is 1.

    Args:
        vectors: ``[N, k]``.
        layout: Where the graphs lie.

    Returns:
        ``[N, k]`` int64, ±1.
    """
    batch = layout.batch
    ascending, order = vectors.sort(dim=0)
    by_graph = batch[order].argsort(dim=0, stable=True)
    ascending = ascending.gather(0, by_graph)
    # Row r of a graph holds the r-th smallest entry, and the mirrored row the r-th largest.
    row = torch.arange(len(batch), device=batch.device)
    mirrored = layout.ptr[batch] + layout.ptr[batch + 1] - 1 - row
    excess = ascending[mirrored] + ascending
    largest = scatter(vectors.abs(), batch, dim_size=layout.num_graphs, reduce="max")[batch]
    decides = excess.abs() > _TIE_TOLERANCE * largest
    # The first row that decides, and in the last bit which way; an even number beyond all if none does.
    which = (2 * row)[:, None] + (excess < 0)
    which = torch.where(decides, which, 2 * len(batch))
    first = scatter(which, batch, dim_size=layout.num_graphs, reduce="min")
    return (1 - 2 * (first % 2))[batch]
