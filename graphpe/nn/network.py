"""The frame that all networks share: embed, add encodings, propagate, pool, predict."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.fields import Field, Symmetry
from graphpe.nn.encoders import ENCODERS, FieldEncoder
from graphpe.nn.features import FeatureEmbedding
from graphpe.nn.heads import build_head
from graphpe.nn.layout import GraphLayout, graph_layout
from graphpe.tasks import Features, TaskLevel


class GraphNetwork(nn.Module, ABC):
    """A network that predicts a vector for each graph, for each node or for each pair of nodes of a graph.

    The features of the nodes are embedded and the encodings of nodes added; a subclass updates the nodes in
    :meth:`propagate`; a head maps them to the output, see :mod:`graphpe.nn.heads`.

    Args:
        features: What the dataset offers.
        out_channels: Number of outputs per row.
        hidden_channels: Width of the nodes.
        level: What a row of the output describes: ``"graph"``, ``"node"``, or ``"pair"`` (all ordered pairs of nodes
            of a graph, row-major, as in a pair field).
        readout: Pools the nodes of each graph, for graphs and pairs.
        pair_layers: Number of linear layers of the head of pairs.
        positional_encoders: Encoders of nodes, whose output is added to the embedded nodes, so that their
            ``out_channels`` must be ``hidden_channels``; and encoders of pairs of any width, which the head of pairs
            reads.
        head: Builds what maps ``[rows, hidden_channels]`` to the output, for graphs and nodes.

    Attributes:
        level: As given.
        attends_to_pairs: Whether :meth:`propagate` uses encodings of pairs, so that networks of any level take them.

    Raises:
        TypeError: If ``positional_encoders`` is not a list of encoders.
        ValueError: If an encoder of nodes has another width, or an encoder has a level that the network doesn't use.
    """

    attends_to_pairs: ClassVar[bool] = False

    def __init__(
        self,
        features: Features,
        out_channels: int,
        hidden_channels: int,
        level: TaskLevel,
        readout: nn.Module,
        pair_layers: int,
        positional_encoders: list[FieldEncoder] | None,
        head: Callable[[], nn.Module],
    ) -> None:
        super().__init__()
        encoders = [] if positional_encoders is None else positional_encoders
        if not isinstance(encoders, list | tuple | nn.ModuleList):
            raise TypeError(
                f"positional_encoders is a {type(encoders).__name__}; it must be a list of encoders, [SPE(...)] say"
            )
        for number, encoder in enumerate(encoders):
            self._check_encoder_fits(number, encoder, hidden_channels, level)
        pair_channels = [encoder.out_channels for encoder in encoders if encoder.level == "pair"]
        self.level = level
        self.head = build_head(
            level, readout, head, hidden_channels, out_channels, pair_layers, pair_channels
        )
        self.node_embedding = FeatureEmbedding(features, hidden_channels, "node")
        self.positional_encoders = nn.ModuleList(encoders)
        self._warned: set[str] = set()

    @abstractmethod
    def propagate(
        self, x: Tensor, data: Data, layout: GraphLayout, pair_encodings: list[Tensor]
    ) -> Tensor:
        """Updates the nodes.

        Args:
            x: ``[N, hidden_channels]`` embedded nodes with encodings.
            data: The batch.
            layout: Where its graphs lie.
            pair_encodings: ``[P, width]`` output of each encoder of pairs.

        Returns:
            ``[N, hidden_channels]``; further rows after those of nodes are for the readout alone.
        """

    def forward(self, batch: Data) -> Tensor:
        """Predicts.

        Args:
            batch: A PyG ``Batch`` (or a ``Data``, one graph) with the features and the fields of the encoders.

        Returns:
            ``[rows, out_channels]``, one row per graph, node or pair, as ``level`` says.

        Raises:
            ValueError: If the batch lacks a feature, a field, its ``edge_index`` or its ``batch`` vector, or if one
                doesn't fit.
        """
        edge_index = _read_edges(batch)
        if edge_index is not batch.edge_index:
            batch = copy.copy(batch)  # shares its tensors; the caller's batch stays as it is
            batch.edge_index = edge_index
        layout = graph_layout(batch)
        x = self.node_embedding(batch)
        pair_encodings = []
        for encoder in self.positional_encoders:
            if encoder.level == "pair":
                pair_encodings.append(encoder(batch))
            else:
                x = x + encoder(batch)
        x = self.propagate(x, batch, layout, pair_encodings)
        return self.head(x, layout, pair_encodings)

    def check_fields(self, fields: Mapping[str, Field]) -> None:
        """Checks before training that a dataset has what the encoders read.

        Warns, once per encoder and field, of a symmetry of a field that the encoder does not cover.

        Args:
            fields: The fields of the dataset, by name.

        Raises:
            ValueError: If a field is missing or doesn't fit; the message names the transform to add.
        """
        for encoder in self.positional_encoders:
            name = type(encoder).__name__
            for requirement in encoder.requires:
                field = fields.get(requirement.name)
                requirement.check(field, name)
                self._warn_of_symmetry(encoder, field)

    def _warn_of_symmetry(self, encoder: FieldEncoder, field: Field) -> None:
        name = type(encoder).__name__
        key = f"{name} {field.name}"
        if encoder.covers(field.symmetry) or encoder.learns(field.symmetry) or key in self._warned:
            return
        self._warned.add(key)
        warnings.warn(_describe_gap(encoder, field), stacklevel=3)

    def _check_encoder_fits(
        self, number: int, encoder: FieldEncoder, hidden_channels: int, level: TaskLevel
    ) -> None:
        name = type(encoder).__name__
        if not isinstance(encoder, FieldEncoder):
            got = f"the class {encoder.__name__}" if isinstance(encoder, type) else f"a {name}"
            raise TypeError(
                f"positional_encoders[{number}] is {got}; it must be an encoder, such as "
                f"NodeEncoder(16, {hidden_channels})"
            )
        if encoder.level == "pair":
            if level != "pair" and not self.attends_to_pairs:
                raise ValueError(
                    f"{name} encodes pairs, but a {type(self).__name__} of level {level!r} has no use for them; "
                    "take level 'pair', the Transformer, or an encoder of nodes"
                )
        elif encoder.level != "node":
            raise ValueError(
                f"{name} encodes {encoder.level}s, but positional_encoders are added to nodes"
            )
        elif encoder.out_channels != hidden_channels:
            raise ValueError(
                f"{name} has out_channels={encoder.out_channels}, but it is added to nodes of "
                f"hidden_channels={hidden_channels}; make them equal"
            )


_FREEDOM: dict[Symmetry, str] = {
    "sign": "the sign of each column",
    "basis": "the basis of each repeated eigenspace",
    "phase": "the phase of each column",
}


def _describe_gap(encoder: FieldEncoder, field: Field) -> str:
    """One sentence on a symmetry that an encoder leaves uncovered, and on the encoders that cover it."""
    name = type(encoder).__name__
    partly = " (only to signs, which it learns)" if encoder.learns("sign") else ""
    covering = [
        cls.__name__
        for cls in ENCODERS
        if cls.covers(field.symmetry) and cls.reads_complex == field.dtype.is_complex
    ]
    remedy = f"; {' or '.join(covering)} is invariant to it" if covering else ""
    freedom = f"{_FREEDOM[field.symmetry]} of {field.name!r} is arbitrary"
    return f"{freedom}, and {name} is not invariant to it{partly}{remedy}"


def _read_edges(batch: Data) -> Tensor:
    """The ``edge_index`` of a batch as int64, checked since torch takes node -1 for the last one."""
    edge_index = batch.edge_index
    if edge_index is None:
        raise ValueError("the batch has no 'edge_index'; a graph without edges has [2, 0]")
    if edge_index.is_floating_point() or edge_index.dim() != 2 or len(edge_index) != 2:
        dtype = str(edge_index.dtype).removeprefix("torch.")
        raise ValueError(
            f"'edge_index' is {list(edge_index.shape)} of {dtype}; it must be [2, edges] of int64"
        )
    if edge_index.numel():
        lowest, highest = torch.stack(edge_index.aminmax()).tolist()
        if lowest < 0 or highest >= batch.num_nodes:
            node = lowest if lowest < 0 else highest
            raise ValueError(
                f"'edge_index' has node {node}, but the batch has {batch.num_nodes} nodes, numbered from 0; "
                "correct edge_index, or give 'x' a row for each node"
            )
    return edge_index.long()
