"""Linear combinations of the entries of V diag(w) Vᴴ for all pairs of nodes: the first half of ComplexSPE."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from graphpe.nn.layout import GraphLayout, NodePairs

# Products of two entries of V in a block: on a CPU a block stays in cache, elsewhere it bounds the memory.
_BLOCK_ON_CPU = 2**18
_BLOCK_ELSEWHERE = 2**26


def hermitian_products(
    vectors: Tensor, weights: Tensor, mixing: Tensor, layout: GraphLayout, pairs: NodePairs
) -> Tensor:
    r"""Mixes the real and imaginary parts of :math:`W_{ijqm} = \sum_k V_{iqk} w_{gqkm} \overline{V_{jqk}}`.

    .. math:: x_{ijh} = \sum_{q,m} a_{hqm}\, \mathrm{Re}\, W_{ijqm} + b_{hqm}\, \mathrm{Im}\, W_{ijqm}

    for all pairs (i, j) of each graph g. W itself is never made; the sum over m comes first:

    .. math:: x_{ijh} = \sum_{q,k} u_{gqkh} \mathrm{Re}(V_{iqk} \overline{V_{jqk}})
        + v_{gqkh} \mathrm{Im}(V_{iqk} \overline{V_{jqk}}), \quad
        u_{gqkh} = \sum_m a_{hqm} w_{gqkm}, \quad v_{gqkh} = \sum_m b_{hqm} w_{gqkm}

    Args:
        vectors: ``[N, Q, k]`` V, complex.
        weights: ``[B, Q, k, m]`` w, real; zero where a graph has fewer than k eigenvectors.
        mixing: ``[h, 2 Q m]``, a (for each q and m), then b.
        layout: Where the graphs lie.
        pairs: The pairs.

    Returns:
        ``[P, h]`` in the dtype of the weights, one row per pair.
    """
    entries = torch.view_as_real(vectors.resolve_conj()).movedim(-1, 0).contiguous()
    # There is no complex arithmetic in half precision, so that the entries, and all that follows, are float32 at least.
    with torch.autocast(weights.device.type, enabled=False):
        mixing = mixing.to(entries.dtype).view(len(mixing), 2, *weights.shape[1::2])
        mixed = torch.einsum("gqkm,hpqm->pgqkh", weights.to(entries.dtype), mixing)
        products = _MixedProducts.apply(entries, mixed, layout, pairs)
    return products.to(weights.dtype)


class _MixedProducts(torch.autograd.Function):
    """Σ_qk u_gqkh Re(V_iqk V̄_jqk) + v_gqkh Im(V_iqk V̄_jqk), a block of pairs at a time.

    The first sum is the same for (i, j) and (j, i), the second has the opposite sign, so that i <= j is enough. The
    products of V are made again for the gradient: autograd would hold 2 Q k numbers for each pair.
    """

    @staticmethod
    def forward(
        ctx: Any, entries: Tensor, mixed: Tensor, layout: GraphLayout, pairs: NodePairs
    ) -> Tensor:
        ctx.save_for_backward(entries, mixed)
        ctx.layout, ctx.pairs = layout, pairs
        output = mixed.new_empty(len(pairs), mixed.size(-1))
        for block in _blocks(entries, layout, pairs):
            symmetric, antisymmetric = (
                block.drop_padding(torch.bmm(products, block.mixed(part)))
                for products, part in zip(_multiply(block.ends(entries)), mixed, strict=True)
            )
            output.index_copy_(0, block.row, symmetric + antisymmetric)
            output.index_copy_(0, block.mirror_row, symmetric.sub_(antisymmetric))
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        entries, mixed = ctx.saved_tensors
        needs_entries, needs_mixed = ctx.needs_input_grad[:2]
        of_entries = torch.zeros_like(entries) if needs_entries else None
        of_mixed = torch.zeros_like(mixed) if needs_mixed else None
        with torch.autocast(gradient.device.type, enabled=False):
            for block in _blocks(entries, ctx.layout, ctx.pairs):
                here = gradient.index_select(0, block.row)
                mirrored = gradient.index_select(0, block.mirror_row)
                of_results = (
                    block.halve_diagonal(block.add_padding(here + mirrored)),
                    block.add_padding(here.sub_(mirrored)),
                )
                ends = block.ends(entries)
                if of_mixed is not None:
                    for part, products, of_result in zip(
                        of_mixed, _multiply(ends), of_results, strict=True
                    ):
                        block.add_mixed(part, torch.bmm(products.mT, of_result))
                if of_entries is not None:
                    of_products = (
                        torch.bmm(of_result, block.mixed(part).mT)
                        for part, of_result in zip(mixed, of_results, strict=True)
                    )
                    block.add_ends(of_entries, _multiply_backward(ends, *of_products))
        return of_entries, of_mixed, None, None


@dataclass(frozen=True)
class _Ends:
    """Re V_i, Im V_i, Re V_j and Im V_j for pairs (i, j), or gradients of them: ``[g, t, Q c]`` each."""

    real_source: Tensor
    imaginary_source: Tensor
    real_target: Tensor
    imaginary_target: Tensor


def _multiply(ends: _Ends) -> tuple[Tensor, Tensor]:
    """The real and the imaginary part of V_i V̄_j."""
    real = ends.real_source * ends.real_target
    real.addcmul_(ends.imaginary_source, ends.imaginary_target)
    imaginary = ends.imaginary_source * ends.real_target
    imaginary.addcmul_(ends.real_source, ends.imaginary_target, value=-1)
    return real, imaginary


def _multiply_backward(ends: _Ends, of_real: Tensor, of_imaginary: Tensor) -> _Ends:
    return _Ends(
        of_real * ends.real_target - of_imaginary * ends.imaginary_target,
        of_real * ends.imaginary_target + of_imaginary * ends.real_target,
        of_real * ends.real_source + of_imaginary * ends.imaginary_source,
        of_real * ends.imaginary_source - of_imaginary * ends.real_source,
    )


@dataclass(frozen=True)
class _Block:
    """Some pairs i <= j of some graphs of similar size.

    Args:
        graphs: ``[g]`` numbers of the graphs.
        nodes: ``[g, w]`` their nodes; any node as padding.
        columns: Number c of eigenvectors that these graphs have at most.
        source: ``[t]`` i, by its position in the graph.
        target: ``[t]`` j.
        kept: Which of the g t pairs are not padding; None if all are.
        row: ``[r]`` row of each kept pair (i, j).
        mirror_row: ``[r]`` row of (j, i).
    """

    graphs: Tensor
    nodes: Tensor
    columns: int
    source: Tensor
    target: Tensor
    kept: Tensor | None
    row: Tensor
    mirror_row: Tensor

    def ends(self, entries: Tensor) -> _Ends:
        """Looks up both ends of all pairs in ``[2, N, Q, k]``."""
        own = entries.index_select(1, self.nodes.flatten())[..., : self.columns]
        real, imaginary = own.reshape(2, *self.nodes.shape, -1)
        return _Ends(
            real.index_select(1, self.source),
            imaginary.index_select(1, self.source),
            real.index_select(1, self.target),
            imaginary.index_select(1, self.target),
        )

    def add_ends(self, entries: Tensor, ends: _Ends) -> None:
        """Adds to the entries ``[2, N, Q, k]`` of both ends."""
        g, w = self.nodes.shape
        for part, source, target in (
            (entries[0], ends.real_source, ends.real_target),
            (entries[1], ends.imaginary_source, ends.imaginary_target),
        ):
            by_node = source.new_zeros(g, w, source.size(2))
            by_node.index_add_(1, self.source, source).index_add_(1, self.target, target)
            own = part[..., : self.columns]
            own.index_add_(0, self.nodes.flatten(), by_node.view(g * w, *own.shape[1:]))

    def mixed(self, part: Tensor) -> Tensor:
        """Looks up the weights of the graphs, ``[B, Q, k, h]`` to ``[g, Q c, h]``."""
        return part.index_select(0, self.graphs)[:, :, : self.columns].flatten(1, 2)

    def add_mixed(self, part: Tensor, own: Tensor) -> None:
        """Adds ``[g, Q c, h]`` to the weights of the graphs ``[B, Q, k, h]``."""
        shape = (len(own), part.size(1), self.columns, part.size(3))
        part[self.graphs, :, : self.columns] += own.view(shape)

    def drop_padding(self, values: Tensor) -> Tensor:
        """``[g, t, h]`` to the rows of kept pairs ``[r, h]``."""
        values = values.flatten(0, 1)
        return values if self.kept is None else values.index_select(0, self.kept)

    def add_padding(self, values: Tensor) -> Tensor:
        """``[r, h]`` to ``[g, t, h]``, zero for padding."""
        g, t = len(self.graphs), len(self.source)
        if self.kept is not None:
            padded = values.new_zeros(g * t, values.size(1))
            values = padded.index_copy_(0, self.kept, values)
        return values.view(g, t, -1)

    def halve_diagonal(self, values: Tensor) -> Tensor:
        """Halves ``[g, t, h]`` where i = j: the pair is its own mirror image."""
        values[:, self.source == self.target] *= 0.5
        return values


def _blocks(entries: Tensor, layout: GraphLayout, pairs: NodePairs) -> Iterator[_Block]:
    """Cuts all pairs i <= j into blocks."""
    potentials, k = entries.shape[2:]
    sizes = layout.sizes
    limit = _BLOCK_ON_CPU if sizes.device.type == "cpu" else _BLOCK_ELSEWHERE
    size_class = _size_classes(sizes)
    for number in size_class.unique().tolist():
        graphs = (size_class == number).nonzero()[:, 0]
        smallest, width = (int(size) for size in sizes[graphs].aminmax())
        if width == 0:
            continue
        columns = min(width, k)  # a graph has no more eigenvectors than nodes
        upper = torch.triu_indices(width, width, device=sizes.device)
        most = max(limit // (potentials * columns), 1)  # pairs in a block
        for some in graphs.split(max(most // upper.size(1), 1)):
            position = torch.arange(width, device=sizes.device)
            nodes = layout.ptr[some, None] + position
            nodes = torch.where(position < sizes[some, None], nodes, 0)
            for source, target in zip(*(end.split(most) for end in upper), strict=True):
                row = (pairs.start[nodes[:, source]] + target).flatten()
                mirror_row = (pairs.start[nodes[:, target]] + source).flatten()
                kept = None
                if smallest < width:
                    kept = (target < sizes[some, None]).flatten().nonzero()[:, 0]
                    row, mirror_row = row[kept], mirror_row[kept]
                yield _Block(some, nodes, columns, source, target, kept, row, mirror_row)


def _size_classes(sizes: Tensor) -> Tensor:
    """``[B]`` classes of sizes that are at most 1/16 wide: exact up to 31, and few for large graphs."""
    exponent = torch.frexp(sizes.double()).exponent
    step = 2 ** (exponent - 5).clamp(min=0).long()
    return (sizes + step - 1) // step * step
