"""The result stays on the device of the graph and agrees with the CPU."""

from __future__ import annotations

import pytest
import torch
from graph_zoo import zoo
from torch_geometric.data import Batch

from graphpe.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE, Encoding

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.gpu
@needs_cuda
@pytest.mark.parametrize(
    "encoding",
    [
        AddLaplacianEigenvectorPE(6, drop_trivial="none"),
        AddLaplacianEigenvectorPE(6, dense_limit=20),
        AddRandomWalkPE(12),
        AddRandomWalkPE(12, dense_limit=20),
    ],
    ids=repr,
)
def test_cuda_agrees_with_the_cpu(encoding: Encoding) -> None:
    batch = Batch.from_data_list(list(zoo().values()))
    on_cpu, on_cuda = encoding(batch), encoding(batch.to("cuda"))
    for field in encoding.fields():
        value = on_cuda[field.name]
        assert value.device.type == "cuda"
        if field.symmetry == "none":  # eigenvectors may turn inside an eigenspace
            torch.testing.assert_close(value.cpu(), on_cpu[field.name], atol=1e-6, rtol=0)
    again = encoding(batch.to("cuda"))
    for field in encoding.fields():
        assert torch.equal(again[field.name], on_cuda[field.name])


def test_bookkeeping_stays_on_the_cpu_whatever_the_device_of_the_graph() -> None:
    """What can be shown without a GPU: a batch on another device splits into its graphs again."""
    batch = AddRandomWalkPE(3)(Batch.from_data_list([zoo()["path"], zoo()["triangle"]]))
    assert batch._slice_dict["random_walk_pe"].device.type == "cpu"
    assert [data.random_walk_pe.shape[0] for data in batch.to_data_list()] == [9, 3]
