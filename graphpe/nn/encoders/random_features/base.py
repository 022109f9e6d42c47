"""The base class of encoders that start from random numbers per node."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphpe.checks import require_choice, require_seed
from graphpe.linalg.draws.random_numbers import combine, normal, rademacher
from graphpe.nn.blocks import check_positive
from graphpe.nn.edges import with_read_edges
from graphpe.nn.encoders.base import FieldEncoder
from graphpe.nn.layout import GraphLayout, graph_layout

Distribution = Literal["normal", "rademacher"]

_DRAWS = {"normal": normal, "rademacher": rademacher}


class RandomFeatureEncoder(FieldEncoder):
    """An encoder that starts from random numbers per node: :meth:`forward` draws them, :meth:`encode` does the rest.

    In training the numbers are new at each forward pass, from the default generator of torch. In evaluation they are a
    function of the seed, the sample and the position of the node in its graph, so that a graph is encoded in the same
    way in any batch, by any process and on any device; the output is the mean over ``eval_samples`` draws.

    The mean over the draws respects the symmetry of nodes, one draw does not: another numbering of the nodes is another
    draw. :meth:`encode` itself is equivariant, if the numbers are permuted with the nodes.

    Two encoders with the same seed and distribution start from the same numbers in evaluation; give the encoders of a
    network different seeds if their draws are to be independent.

    Args:
        num_features: Random numbers per node in a sample.
        distribution: ``"normal"`` (mean 0, variance 1) or ``"rademacher"`` (1 or -1).
        eval_samples: Number of draws of which the mean is taken in evaluation.
        seed: Seed of the numbers in evaluation, from 0 to 2^63 - 1.

    Raises:
        ValueError: For invalid settings.
    """

    requires = ()
    mixes_graphs_in_training = True

    def __init__(
        self, num_features: int, distribution: Distribution, eval_samples: int, seed: int
    ) -> None:
        super().__init__()
        check_positive(eval_samples=eval_samples)
        require_choice("distribution", distribution, tuple(_DRAWS))
        require_seed("seed", seed)
        self.num_features = num_features
        self.distribution = distribution
        self.eval_samples = eval_samples
        self.seed = seed

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        data = with_read_edges(data, layout)
        return self.encode(data, layout, self.draw(layout))

    @abstractmethod
    def encode(self, data: Data, layout: GraphLayout, features: Tensor) -> Tensor:
        """Encodes given random numbers.

        Args:
            data: The batch; its edges have been read by :func:`~graphpe.nn.edges.read_edges`.
            layout: Where its graphs lie.
            features: ``[N, samples, num_features]`` as :meth:`draw` returns them; any number of samples >= 1.

        Returns:
            ``[rows, out_channels]``, the mean over the samples.
        """

    def draw(self, layout: GraphLayout) -> Tensor:
        """Draws random numbers for all nodes, in the dtype of the parameters.

        Args:
            layout: Where the graphs of the batch lie.

        Returns:
            ``[N, samples, num_features]``; one sample in training, ``eval_samples`` in evaluation.
        """
        if not self.training:
            return self._fixed(layout)
        like = next(self.parameters())
        shape = (layout.num_nodes, 1, self.num_features)
        numbers = torch.randn(shape, dtype=like.dtype, device=like.device)
        return numbers if self.distribution == "normal" else 1 - 2 * (numbers < 0).to(like.dtype)

    def _fixed(self, layout: GraphLayout) -> Tensor:
        """The numbers of evaluation, ``[N, eval_samples, num_features]``."""
        # Made on the CPU, so that they are the same on every device.
        sizes = layout.sizes.cpu()
        largest = int(sizes.max()) if len(sizes) else 0
        samples = torch.arange(self.eval_samples)
        keys = combine(torch.full_like(samples, self.seed), samples)
        table = _DRAWS[self.distribution](keys, largest, self.num_features)
        position = torch.arange(layout.num_nodes) - layout.ptr.cpu()[layout.batch.cpu()]
        like = next(self.parameters())
        return table[:, position].transpose(0, 1).to(like.device, like.dtype)
