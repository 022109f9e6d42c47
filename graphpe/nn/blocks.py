"""The small blocks that layers and networks are made of: normalisation and multi-layer perceptrons."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Literal

from torch import Tensor, nn
from torch_geometric.nn import MLP, BatchNorm

from graphpe.checks import require_choice, require_number, require_positive_integer

Normalization = Literal["layer", "batch", "none"]

# One row has no variance: it is normalised by the running statistics, which then stay as they are.
_BATCH_NORM: dict[str, Any] = {"allow_single_element": True}
_MLP_ARGUMENTS: dict[str, dict[str, Any]] = {
    "layer": {"norm": "layer_norm", "norm_kwargs": {"mode": "node"}},
    "batch": {"norm": "batch_norm", "norm_kwargs": _BATCH_NORM},
    "none": {"norm": None},
}


def normalization(
    kind: Normalization, channels: int, width_name: str = "hidden_channels"
) -> nn.Module:
    """Builds a normalisation of rows ``[R, channels]``.

    Args:
        kind: ``"layer"`` (each row by itself), ``"batch"`` (each column over the rows; a single row in training is
            normalised by the running statistics) or ``"none"``.
        channels: Number of columns.
        width_name: The argument that sets their number, for error messages.

    Raises:
        ValueError: If there is no such normalisation, or if it leaves nothing of the rows.
    """
    check_normalization(kind)
    if kind == "layer":
        check_layer_norm(channels, width_name)
        return nn.LayerNorm(channels)
    if kind == "batch":
        return BatchNorm(channels, **_BATCH_NORM)
    return nn.Identity()


def mlp(channels: Sequence[int], norm: Normalization, width_name: str = "hidden_channels") -> MLP:
    """Builds linear layers with a normalisation and ReLU after each but the last.

    Args:
        channels: Width of the input, of each hidden layer, and of the output.
        norm: See :func:`normalization`.
        width_name: The argument that sets the width of the hidden layers, for error messages.

    Raises:
        ValueError: If there is no such normalisation, or if it leaves nothing of a hidden layer.
    """
    check_normalization(norm)
    if norm == "layer":
        for width in channels[1:-1]:
            check_layer_norm(width, width_name)
    # In place, since neither the normalisation nor the linear layer before it needs its output in the backward pass.
    return MLP(list(channels), act_kwargs={"inplace": True}, **_MLP_ARGUMENTS[norm])


def halving_mlp(channels: int, out_channels: int) -> nn.Sequential:
    """Builds the head of published benchmarks: two linear layers with ReLU that halve the width, and a last one.

    Args:
        channels: Width of the input.
        out_channels: Width of the output.

    Raises:
        ValueError: If nothing would be left of the width.
    """
    if channels < 4:
        raise ValueError(
            f"hidden_channels is {channels}; it must be at least 4, since the head quarters it"
        )
    return nn.Sequential(
        nn.Linear(channels, channels // 2),
        nn.ReLU(),
        nn.Linear(channels // 2, channels // 4),
        nn.ReLU(),
        nn.Linear(channels // 4, out_channels),
    )


class PartwiseLinear(nn.Linear):
    """A linear layer of a concatenation that is never made: the outputs for its parts are to be summed.

    Args:
        parts: Width of each part.
        out_channels: Width of the output.
    """

    def __init__(self, parts: Sequence[int], out_channels: int) -> None:
        super().__init__(sum(parts), out_channels)
        self.ends = list(accumulate(parts, initial=0))

    def part(self, number: int, x: Tensor) -> Tensor:
        """Maps part ``number``, ``[rows, width]`` to ``[rows, out_channels]``; the first brings the bias."""
        columns = self.weight[:, self.ends[number] : self.ends[number + 1]]
        return nn.functional.linear(x, columns, None if number else self.bias)


def has_batch_normalization(module: nn.Module) -> bool:
    """Whether a row of the output depends, in training, on other rows by their statistics."""
    return any(isinstance(part, BatchNorm) for part in module.modules())


def check_normalization(kind: str) -> None:
    """Refuses a name that is no normalisation."""
    require_choice("norm", kind, list(_MLP_ARGUMENTS))


def check_layer_norm(channels: int, width_name: str = "hidden_channels") -> None:
    """Refuses LayerNorm of rows of one channel, which it makes all the same."""
    if channels == 1:
        raise ValueError(
            f"{width_name} is 1, and LayerNorm makes rows of one channel all the same; make it at least 2, or choose "
            "norm='batch' or 'none' where there is such a choice"
        )


def check_dropout(probability: float) -> None:
    """Refuses a probability of dropout that is not from 0 to less than 1."""
    require_number("dropout", probability, 0.0, below=1.0)


def check_not_negative(**numbers: int) -> None:
    """Refuses sizes, given by name, that are not integers >= 0."""
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise ValueError(f"{name} is {number!r}; it must be an integer >= 0")


def check_positive(**numbers: int) -> None:
    """Refuses sizes, given by name, that are not integers >= 1."""
    for name, number in numbers.items():
        require_positive_integer(name, number)
