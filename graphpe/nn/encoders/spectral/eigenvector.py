"""A linear map of eigenvectors, and what it does about their signs."""

from __future__ import annotations

from typing import Literal, get_args

from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.checks import require_choice
from graphpe.fields import Symmetry
from graphpe.nn.blocks import check_positive
from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement
from graphpe.nn.encoders.spectral.signs import canonical_signs, random_signs
from graphpe.nn.layout import graph_layout

Signs = Literal["flip", "absolute", "canonical", "as_given"]


class EigenvectorEncoder(FieldEncoder):
    r"""Maps eigenvectors by a linear layer, :math:`W (s \odot v_i) + b`, with signs :math:`s` of each graph and column.

    The sign of an eigenvector is arbitrary. Four ways to live with it:

    - ``"flip"``: in training each graph draws its own sign per column at each forward pass, from torch's default
      generator, and the network learns to be invariant. In evaluation the stored signs are used, so that predictions
      are reproducible. (The published code draws one sign vector for the whole batch, in evaluation as well.)
    - ``"absolute"``: :math:`W |v_i| + b`, which is invariant to signs and declared so, but can no longer tell the two
      sides of a cut.
    - ``"canonical"``: the largest entry in absolute value is made positive; where two of opposite sign tie, the next
      ones decide, and so on. That depends on the entries of the column alone, not on the order of the nodes. The sign
      isn't determined, and stays as stored, where v and −v have the same entries, as often on a graph with a symmetry:
      every other eigenvector of a path, for example. So no invariance is declared.
    - ``"as_given"``: the stored signs, in training as well.

    None of them is invariant to the choice of a basis in a repeated eigenspace; :class:`~graphpe.nn.SPE` is.

    Args:
        k: Number of eigenvectors.
        out_channels: Width of the output.
        field: Name of the node field of eigenvectors.
        transform: The transform that writes the field, for error messages.
        signs: ``"flip"``, ``"absolute"``, ``"canonical"`` or ``"as_given"``: see above.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` if the field is missing or doesn't fit.

    References:
        Dwivedi and Bresson, "A Generalization of Transformer Networks to Graphs", https://arxiv.org/abs/2012.09699.
    """

    augments: frozenset[Symmetry] = frozenset({"sign"})

    def __init__(
        self,
        k: int,
        out_channels: int,
        field: str = "laplacian_eigenvector_pe",
        transform: str = "AddLaplacianEigenvectorPE",
        signs: Signs = "flip",
    ) -> None:
        super().__init__()
        check_positive(k=k, out_channels=out_channels)
        require_choice("signs", signs, get_args(Signs))
        self.requires = (FieldRequirement(field, "node", k, transform),)
        self.out_channels = out_channels
        self.signs = signs
        self.mixes_graphs_in_training = signs == "flip"
        if signs != "flip":
            self.augments = frozenset()
        if signs == "absolute":
            self.invariant_to = frozenset({"sign"})
        self.linear = nn.Linear(k, out_channels)

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        (vectors,) = self.read(data, layout)
        if self.signs == "absolute":
            vectors = vectors.abs()
        elif self.signs == "canonical":
            vectors = vectors * canonical_signs(vectors, layout)
        elif self.signs == "flip" and self.training:
            vectors = vectors * random_signs(layout, vectors.size(1))
        return self.linear(vectors)
