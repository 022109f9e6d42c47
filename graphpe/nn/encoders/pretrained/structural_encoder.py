"""A message-passing network on random node inputs: what is pre-trained to predict encodings."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import ResGatedGraphConv

from graphpe.nn.blocks import Normalization, check_positive, normalization
from graphpe.nn.encoders.random_features.base import RandomFeatureEncoder
from graphpe.nn.layout import GraphLayout
from graphpe.nn.sums import mean_by_group


class StructuralEncoder(RandomFeatureEncoder):
    r"""Encodes nodes by gated message passing on random inputs, with a state per graph that all its nodes share.

    .. math::
        h_i = A r_i + a, \qquad r_i \sim N(0, I), \qquad s = 0

    and then, in each layer,

    .. math::
        s \leftarrow s + \mathrm{MLP}\big(\mathrm{mean}_i\, h_i,\, s,\, \log(1 + n)\big), \qquad z_i = h_i + s

        h_i \leftarrow h_i + \mathrm{ReLU}\Big(\mathrm{norm}\Big(W_1 z_i
            + \sum_{j \to i} \sigma(W_3 z_i + W_4 z_j) \odot W_2 z_j + b\Big)\Big)

    The state s does what a virtual node does that is linked to all n nodes of its graph. The random inputs tell nodes
    apart that message passing alone can't. The network reads edges only, never ``x``, ``edge_attr`` or
    ``edge_weight``, so that what it has learned on one dataset can be used on another: `graphpe.training.pretrain`
    trains it, and `PretrainedEncoder` makes use of that.

    The published network (GPSE) has ``hidden_channels=512, num_layers=20``.

    Args:
        hidden_channels: Width of the nodes, and of the output.
        num_layers: Number of layers.
        num_features: Number of random inputs of each node.
        norm: Normalisation in the layers; ``"batch"`` as published.
        eval_samples: Number of draws of random inputs of which the mean is taken in evaluation.
        seed: Seed of the random inputs in evaluation.

    Raises:
        ValueError: For invalid settings.

    References:
        Cantürk et al., "Graph Positional and Structural Encoder", https://arxiv.org/abs/2307.07107;
        Bresson and Laurent, "Residual Gated Graph ConvNets", https://arxiv.org/abs/1711.07553.
    """

    def __init__(
        self,
        hidden_channels: int = 64,
        num_layers: int = 6,
        num_features: int = 20,
        norm: Normalization = "batch",
        eval_samples: int = 1,
        seed: int = 0,
    ) -> None:
        check_positive(
            hidden_channels=hidden_channels, num_layers=num_layers, num_features=num_features
        )
        super().__init__(int(num_features), "normal", eval_samples, seed)
        # PyG and JSON know no integers of NumPy.
        hidden_channels, num_layers = int(hidden_channels), int(num_layers)
        self.out_channels = hidden_channels
        self.norm = norm
        self.input = nn.Linear(num_features, hidden_channels)
        self.layers = nn.ModuleList(_Layer(hidden_channels, norm) for _ in range(num_layers))

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments that build an encoder of this kind, in plain values."""
        return {
            "hidden_channels": self.out_channels,
            "num_layers": len(self.layers),
            "num_features": self.num_features,
            "norm": self.norm,
            "eval_samples": int(self.eval_samples),
            "seed": int(self.seed),
        }

    def encode(self, data: Data, layout: GraphLayout, features: Tensor) -> Tensor:
        samples = [self._encode_one(data, layout, sample) for sample in features.unbind(1)]
        return torch.stack(samples).mean(0)

    def _encode_one(self, data: Data, layout: GraphLayout, features: Tensor) -> Tensor:
        """Encodes one draw, ``[N, num_features]`` to ``[N, hidden_channels]``."""
        x = self.input(features)
        state = x.new_zeros(layout.num_graphs, x.size(1))
        for layer in self.layers:
            x, state = layer(x, state, data.edge_index, layout)
        return x


class _Layer(nn.Module):
    """Updates the state of each graph, and then the nodes.

    Args:
        channels: Width of nodes and states.
        norm: Normalisation.
    """

    def __init__(self, channels: int, norm: Normalization) -> None:
        super().__init__()
        self.update = nn.Sequential(
            nn.Linear(2 * channels + 1, channels), nn.ReLU(), nn.Linear(channels, channels)
        )
        # Its default gate is one module for all layers of all encoders, which would share a mode.
        self.conv = ResGatedGraphConv(channels, channels, act=nn.Sigmoid())
        self.norm = normalization(norm, channels)

    def forward(
        self, x: Tensor, state: Tensor, edge_index: Tensor, layout: GraphLayout
    ) -> tuple[Tensor, Tensor]:
        mean = mean_by_group(x, layout.batch, layout.num_graphs)
        size = layout.sizes.to(x.dtype).log1p().unsqueeze(1)
        state = state + self.update(torch.cat([mean, state, size], dim=1))
        conv = self.conv(x + state[layout.batch], edge_index)
        return x + self.norm(conv).relu(), state
