"""The frame that all networks share: embed, add encodings, propagate, pool, predict."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import ClassVar

from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.fields import Field, Level, Symmetry
from graphpe.nn.edges import with_read_edges
from graphpe.nn.encoders import ENCODERS, FieldEncoder
from graphpe.nn.encoders.base import Role
from graphpe.nn.encodings import Encodings
from graphpe.nn.features import FeatureEmbedding
from graphpe.nn.heads import build_head
from graphpe.nn.layout import GraphLayout, graph_layout
from graphpe.nn.readout import ReadoutKind, build_readout
from graphpe.tasks import Features, TaskLevel


class GraphNetwork(nn.Module, ABC):
    """A network that predicts a vector for each graph, or for each node, edge or pair of nodes of a graph.

    The features of the nodes are embedded and the encodings of nodes added; a subclass updates the nodes in
    :meth:`propagate`; a head maps them to the output, see :mod:`graphpe.nn.heads`.

    What happens to the output of an encoder depends on its ``level`` and ``role``:

    | level | role | use | networks |
    |---|---|---|---|
    | node | add | added to the embedded nodes; of width ``hidden_channels`` | all |
    | node | rotate | angles that rotate queries and keys; of width ``hidden_channels / 2`` | Transformer; dense GPS |
    | pair | add | read by the head of pairs | level ``"pair"`` |
    | pair | add | a bias of attention, or (GRIT) added to pairs | Transformer, Graphormer, GRIT; dense GPS |
    | edge | add | mapped and added to the vectors of edges | those that :attr:`reads_edge_encodings` |
    | edge | gate | mapped, and the vectors of edges multiplied by it | those that :attr:`reads_edge_encodings` |
    | edge | add or gate | read by the head of edges | level ``"edge"`` |

    Args:
        features: What the dataset offers.
        out_channels: Number of outputs per row.
        hidden_channels: Width of the nodes.
        level: What a row of the output describes: ``"graph"``, ``"node"``, ``"edge"`` (the columns of ``edge_index``),
            or ``"pair"`` (all ordered pairs of nodes of a graph, row-major, as in a pair field).
        readout: Pools the nodes of each graph, for graphs, edges and pairs: the name of a readout, or a module such as
            :class:`~graphpe.nn.TokenReadout`.
        pair_layers: Number of linear layers of the head of edges and of that of pairs.
        positional_encoders: Encoders, used as the table says. Those of pairs and edges may have any width.
        head: Builds what maps ``[rows, hidden_channels]`` to the output, for graphs and nodes.

    Attributes:
        level: As given.
        attends_to_pairs: Whether :meth:`propagate` uses encodings of pairs, so that networks of any level take them.
        reads_edge_encodings: Whether :meth:`propagate` uses encodings of edges.
        rotates_queries: Whether :meth:`propagate` uses angles.

    Raises:
        TypeError: If ``features`` are no ``Features``, or ``positional_encoders`` is not a list of encoders.
        ValueError: If an encoder of nodes has another width, or an encoder has a level or role that the network
            doesn't use.
    """

    attends_to_pairs: ClassVar[bool] = False
    reads_edge_encodings: ClassVar[bool] = False
    rotates_queries: ClassVar[bool] = False

    def __init__(
        self,
        features: Features,
        out_channels: int,
        hidden_channels: int,
        level: TaskLevel,
        readout: ReadoutKind | nn.Module,
        pair_layers: int,
        positional_encoders: list[FieldEncoder] | None,
        head: Callable[[], nn.Module],
    ) -> None:
        super().__init__()
        if not isinstance(features, Features):
            raise TypeError(
                f"features is a {type(features).__name__}; it must be the Features that a dataset offers, such as "
                "Features(node_categories=(28,))"
            )
        encoders = [] if positional_encoders is None else positional_encoders
        if not isinstance(encoders, list | tuple | nn.ModuleList):
            raise TypeError(
                f"positional_encoders is a {type(encoders).__name__}; it must be a list of encoders, [SPE(...)] say"
            )
        for number, encoder in enumerate(encoders):
            self._check_encoder_fits(number, encoder, hidden_channels, level)
        self.level = level
        self.head = build_head(
            level,
            features,
            readout if isinstance(readout, nn.Module) else build_readout(readout, hidden_channels),
            head,
            hidden_channels,
            out_channels,
            pair_layers,
            _widths(encoders, "edge", "add") + _widths(encoders, "edge", "gate"),
            _widths(encoders, "pair", "add"),
        )
        self.node_embedding = FeatureEmbedding(features, hidden_channels, "node")
        self.positional_encoders = nn.ModuleList(encoders)
        self._warned: set[tuple[int, str]] = set()

    @abstractmethod
    def propagate(self, x: Tensor, data: Data, layout: GraphLayout, encodings: Encodings) -> Tensor:
        """Updates the nodes.

        Args:
            x: ``[N, hidden_channels]`` embedded nodes with encodings.
            data: The batch.
            layout: Where its graphs lie.
            encodings: What else the encoders say.

        Returns:
            ``[N, hidden_channels]``; further rows after those of nodes are for the readout alone.
        """

    def forward(self, batch: Data, rows: Tensor | None = None) -> Tensor:
        """Predicts.

        Args:
            batch: A PyG ``Batch`` (or a ``Data``, one graph) with the features and the fields of the encoders.
            rows: ``[R]`` the rows of the output that are wanted; None: all. The head maps no other edges or pairs.

        Returns:
            ``[R, out_channels]``, one row per graph, node, edge or pair, as ``level`` says.

        Raises:
            ValueError: If the batch lacks a feature, a field, its ``edge_index`` or its ``batch`` vector, or if one
                doesn't fit.
        """
        layout = graph_layout(batch)
        batch = with_read_edges(batch, layout)
        x = self.node_embedding(batch)
        encodings = Encodings()
        for encoder in self.positional_encoders:
            encoding = encoder(batch)
            use = encoder.level, encoder.role
            if use == ("node", "add"):
                x = x + encoding
            else:
                getattr(encodings, _USES[use]).append(encoding)
        x = self.propagate(x, batch, layout, encodings)
        return self.head(x, batch, layout, encodings, rows)

    @property
    def lacks_statistics(self) -> bool:
        """Whether the network still has to learn statistics of the training graphs, see :meth:`learn_statistics`."""
        return False

    def learn_statistics(self, graphs: Iterable[Data]) -> None:
        """Learns what the network has to know of the training graphs as a whole; most networks need nothing.

        It is kept in buffers, so that it is saved with the parameters. Call it before training, once, with the
        training graphs; :class:`~graphpe.training.GraphPredictor` does so if the network lacks statistics.

        Args:
            graphs: The training graphs: a PyG dataset, a loader or a list of ``Data``.
        """

    def encoding_channels(self, level: Level, role: Role) -> list[int]:
        """Width of the output of each encoder of a level and role, in their order."""
        return _widths(self.positional_encoders, level, role)

    def check_fields(self, fields: Mapping[str, Field], carried: Collection[str] = ()) -> None:
        """Checks before training that a dataset has what the encoders read.

        Warns, once per encoder and field, of a symmetry of a field that the encoder does not cover.

        Args:
            fields: The fields of the dataset, by name.
            carried: Attributes that its graphs have. What isn't declared, but carried (written by a transform of PyG,
                say), is checked when a batch comes.

        Raises:
            TypeError: If ``fields`` is not a mapping.
            ValueError: If a field is missing or doesn't fit; the message names the transform to add.
        """
        if not isinstance(fields, Mapping):
            raise TypeError(
                f"fields is a {type(fields).__name__}; it must map names to fields: "
                "{field.name: field for field in encoding.fields()}"
            )
        for number, encoder in enumerate(self.positional_encoders):
            name = type(encoder).__name__
            for requirement in encoder.requires:
                field = fields.get(requirement.name)
                if field is None and requirement.name in carried:
                    continue
                requirement.check(field, name)
                self._warn_of_symmetry(number, encoder, field)

    def _warn_of_symmetry(self, number: int, encoder: FieldEncoder, field: Field) -> None:
        key = number, field.name
        if encoder.covers(field.symmetry) or encoder.learns(field.symmetry) or key in self._warned:
            return
        self._warned.add(key)
        message = f"positional_encoders[{number}]: {_describe_gap(encoder, field)}"
        warnings.warn(message, stacklevel=3)

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
        use = encoder.level, encoder.role
        if use == ("node", "add"):
            _check_width(encoder, hidden_channels, f"it is added to nodes of {hidden_channels=}")
        elif use not in _USES:
            raise ValueError(
                f"{name} encodes {encoder.level}s with the role {encoder.role!r}, which no network uses; give it "
                "another level or role"
            )
        elif use == ("node", "rotate"):
            if not self.rotates_queries:
                raise ValueError(
                    f"{name} rotates queries and keys, but a {type(self).__name__} has none that it could rotate; "
                    "take the Transformer or GPS, or an encoder that is added to nodes"
                )
            angles = hidden_channels // 2
            _check_width(encoder, angles, f"{angles} angles rotate all heads of {hidden_channels=}")
        elif encoder.level == "edge":
            if level != "edge" and not self.reads_edge_encodings:
                raise ValueError(
                    f"{name} encodes edges, but a {type(self).__name__} of level {level!r} has no use for them; take "
                    "level 'edge', GPS, GINE, the GraphTransformer with sparse attention, or an encoder of nodes"
                )
        elif level != "pair" and not self.attends_to_pairs:
            raise ValueError(
                f"{name} encodes pairs, but a {type(self).__name__} of level {level!r} has no use for them; "
                "take level 'pair', GPS, GRIT, Graphormer, the Transformer, the GraphTransformer with full attention, "
                "or an encoder of nodes"
            )


# Where the output of an encoder of that level and role goes, unless it is added to nodes.
_USES: dict[tuple[Level, Role], str] = {
    ("node", "rotate"): "angles",
    ("pair", "add"): "pairs",
    ("edge", "add"): "added_to_edges",
    ("edge", "gate"): "edge_gates",
}


def _widths(encoders: Iterable[FieldEncoder], level: Level, role: Role) -> list[int]:
    return [
        encoder.out_channels
        for encoder in encoders
        if (encoder.level, encoder.role) == (level, role)
    ]


def _check_width(encoder: FieldEncoder, wanted: int, reason: str) -> None:
    if encoder.out_channels != wanted:
        raise ValueError(
            f"{type(encoder).__name__} has out_channels={encoder.out_channels}, but {reason}; "
            f"make it {wanted}"
        )


_FREEDOM: dict[Symmetry, str] = {
    "sign": "the sign of each column",
    "basis": "the basis of each repeated eigenspace",
    "phase": "the phase of each column",
}


def _describe_gap(encoder: FieldEncoder, field: Field) -> str:
    """One sentence on the symmetries that an encoder leaves uncovered, and on the encoders that cover them."""
    name = type(encoder).__name__
    symmetries: list[Symmetry] = [field.symmetry]
    if (
        field.symmetry == "basis"
    ):  # a rotation of a one-dimensional eigenspace is a sign, or a phase
        symmetries.insert(0, "phase" if field.dtype.is_complex else "sign")
    open_ones = [s for s in symmetries if not (encoder.covers(s) or encoder.learns(s))]
    partly = ""
    if encoder.learns("sign"):
        partly = " (only to signs, which it learns)"
    elif encoder.covers("sign"):
        partly = " (only to signs)"
    covering = [
        cls.__name__
        for cls in ENCODERS
        if cls.covers(field.symmetry)
        and cls.reads_complex == field.dtype.is_complex
        and cls.level == encoder.level
    ]
    verb, them = ("is", "it") if len(open_ones) == 1 else ("are", "them")
    remedy = f"; {' or '.join(covering)} is invariant to {them}" if covering else ""
    freedom = " and ".join(_FREEDOM[s] for s in open_ones)
    return f"{freedom} of {field.name!r} {verb} arbitrary, and {name} is not invariant to {them}{partly}{remedy}"
