"""Fields in the collated storage of a dataset."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.data import InMemoryDataset

from graphpe.fields import Field
from graphpe.precompute.encoded.graphs import attach_rows
from graphpe.precompute.sizes import Sizes
from graphpe.ragged import offsets_of, ragged_arange
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import Values, join_to_x, named_values


def attach_to_storage(
    dataset: InMemoryDataset,
    encodings: Sequence[Encoding],
    values: Values,
    sizes: Sizes,
    fields: dict[str, Field],
) -> InMemoryDataset:
    """A dataset of the same class that shares all tensors and has the fields in its collated storage."""
    encoded = copy.copy(dataset)
    encoded._data = copy.copy(dataset._data)
    encoded._data_list = None
    encoded.fields = {**dataset.__dict__.get("fields", {}), **fields}
    if dataset.slices is None:  # PyG keeps a dataset of one graph uncollated
        encoded._data = attach_rows(dataset._data, 0, encodings, values, sizes)
        return encoded
    encoded.slices = dict(dataset.slices)
    chosen = torch.as_tensor(list(dataset.indices()))
    for name, field, value in named_values(encodings, values):
        value, slices = _in_stored_order(value, sizes.rows(field.level), chosen, dataset.len())
        if name is None:
            x = encoded._data.get("x")
            encoded._data.x = join_to_x(x, _fill_rows(value, chosen, dataset))
            encoded.slices.setdefault("x", slices)
        else:
            encoded._data[name] = value
            encoded.slices[name] = slices
    return encoded


def _in_stored_order(
    value: Tensor, rows: Tensor, chosen: Tensor, stored: int
) -> tuple[Tensor, Tensor]:
    """Rows and slices of a field for a storage of which only the graphs ``chosen`` are in the dataset."""
    counts = torch.zeros(stored, dtype=torch.long)
    counts[chosen] = rows.diff()
    slices = offsets_of(counts)
    if bool((chosen[1:] > chosen[:-1]).all()):
        return value, slices
    position = torch.full((stored,), -1)  # of each stored graph in the dataset
    position[chosen] = torch.arange(len(chosen))
    order = position[position >= 0]
    slot, offset = ragged_arange(rows.diff()[order])
    return value[(rows[order][slot] + offset).to(value.device)], slices


def _fill_rows(value: Tensor, chosen: Tensor, dataset: InMemoryDataset) -> Tensor:
    """``value`` for every stored node: zeros for the graphs that are not in the dataset, which nobody sees."""
    x = dataset._data.get("x")
    if x is None or len(value) == len(x):
        return value
    slot, offset = ragged_arange(dataset.slices["x"].diff()[chosen.unique()])
    full = value.new_zeros(len(x), value.shape[1])
    full[(dataset.slices["x"][chosen.unique()][slot] + offset).to(value.device)] = value
    return full
