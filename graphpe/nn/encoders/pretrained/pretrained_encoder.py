"""A pre-trained encoder as part of a network."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.checks import require_boolean
from graphpe.nn.blocks import check_positive
from graphpe.nn.encoders.pretrained.encoder_file import load_encoder
from graphpe.nn.encoders.random_features.base import RandomFeatureEncoder
from graphpe.nn.layout import GraphLayout


class PretrainedEncoder(RandomFeatureEncoder):
    r"""Encodes nodes by an encoder that has been pre-trained to predict encodings: :math:`A h_i + a`.

    :math:`h_i` is the output of the `StructuralEncoder` in a file that `graphpe.training.pretrain` or
    ``graphpe pretrain`` has made; A and a are learned. The network needs no encodings at all, on any dataset.

    A checkpoint of a network holds the weights of this encoder and the seed of its random inputs as well, but building
    the network again needs the file.

    Args:
        path: The file; a relative path is relative to the working directory.
        out_channels: Width of the output.
        frozen: Whether the pre-trained encoder stays as it is: its weights aren't trained, its normalisation keeps its
            statistics, and its random inputs are always those of evaluation. False trains it with the network.
            ``requires_grad_(True)`` of the network lets the weights be trained all the same, as of any module.
        eval_samples: Number of draws of random inputs of which the mean is taken in evaluation; None: as in the file,
            or in a checkpoint that is loaded.

    Raises:
        ValueError: If a setting is invalid, or the file is missing, damaged, or of another kind or version.

    References:
        Cantürk et al., "Graph Positional and Structural Encoder", https://arxiv.org/abs/2307.07107.
    """

    def __init__(
        self,
        path: str | Path,
        out_channels: int,
        frozen: bool = True,
        eval_samples: int | None = None,
    ) -> None:
        check_positive(out_channels=out_channels)
        require_boolean("frozen", frozen)
        encoder, _ = load_encoder(path)
        samples = encoder.eval_samples if eval_samples is None else eval_samples
        super().__init__(encoder.num_features, encoder.distribution, samples, encoder.seed)
        self._takes_saved_samples = eval_samples is None
        self.out_channels = out_channels
        self.frozen = frozen
        self.mixes_graphs_in_training = not frozen
        self.encoder = encoder.requires_grad_(not frozen)
        self.linear = nn.Linear(encoder.out_channels, out_channels)
        self.train()

    def train(self, mode: bool = True) -> PretrainedEncoder:
        """Sets the mode; a frozen encoder stays in that of evaluation."""
        super().train(mode)
        self.encoder.train(mode and not self.frozen)
        return self

    def draw(self, layout: GraphLayout) -> Tensor:
        return self._fixed(layout) if self.frozen else super().draw(layout)

    def encode(self, data: Data, layout: GraphLayout, features: Tensor) -> Tensor:
        return self.linear(self.encoder.encode(data, layout, features))

    def get_extra_state(self) -> Tensor:
        """The seed and the number of samples of evaluation: part of a checkpoint, since the file may change."""
        return torch.tensor([self.seed, self.eval_samples])

    def set_extra_state(self, state: Tensor) -> None:
        """Takes the seed of a checkpoint, and its number of samples if none was given."""
        self.seed, samples = state.tolist()
        if self._takes_saved_samples:
            self.eval_samples = samples
