"""What a training step takes of memory."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch_geometric.data import Batch

_MIB = 2**20


def step_memory(network: nn.Module, batch: Batch, head_width: int) -> dict[str, float | int]:
    """What tensors of a step on a CPU take, in MiB.

    Args:
        network: In training.
        batch: Its input.
        head_width: Channels of a head of attention; graphs of no more nodes are not looked for among pairs, since
            ``[..., w, w]`` could be queries.

    Returns:
        ``kept_mib``: what autograd keeps from the forward pass for the backward pass, without parameters and the
        batch. ``kept_of_pairs_mib``: what of it has numbers for pairs of nodes, as weights of attention and masks of
        pairs have. ``peak_mib``: the most that a step has allocated at a time.
    """
    own = {_storage(t) for t in [*network.parameters(), *network.buffers()]}
    own |= {_storage(value) for _, value in batch if isinstance(value, Tensor)}
    widths = {size for size in batch.ptr.diff().tolist() if size > head_width}
    squares = {width * width for width in widths}
    pairs = int(batch.ptr.diff().square().sum())
    kept: dict[int, int] = {}
    of_pairs: dict[int, int] = {}

    def is_of_pairs(shape: torch.Size) -> bool:
        if len(shape) < 2:
            return False
        is_square = shape[-1] == shape[-2] and shape[-1] in widths
        return is_square or shape[-1] in squares or shape[0] >= pairs

    def remember(tensor: Tensor) -> Tensor:
        if _storage(tensor) not in own:
            kept[_storage(tensor)] = tensor.untyped_storage().nbytes()
            if is_of_pairs(tensor.shape):
                of_pairs[_storage(tensor)] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(remember, lambda tensor: tensor):
        loss = network(batch).abs().mean()
    loss.backward()
    del loss
    return {
        "kept_mib": sum(kept.values()) / _MIB,
        "kept_of_pairs_mib": sum(of_pairs.values()) / _MIB,
        "peak_mib": _peak(network, batch) / _MIB,
    }


def _peak(network: nn.Module, batch: Batch) -> int:
    """Most bytes allocated at a time in a step, less those at its beginning."""
    network.zero_grad()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        network(batch).abs().mean().backward()
    # The profiler has no public list of allocations in their order.
    events = profiled.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
