"""MagLapNet, and what it does and does not respect."""

from __future__ import annotations

import math
import warnings

import pytest
import torch
from nn_batches import FEATURES, largest_error
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe._testing.small_graphs import small_directed_graphs, small_graphs
from graphpe.nn import GINE, MagLapNet
from graphpe.testing import check_encoder
from graphpe.transforms import AddMagneticLaplacianPE

PE, VALUE, COUNT = "magnetic_eigenvector_pe", "magnetic_eigenvalue", "magnetic_eigenvector_count"
SEVERAL = (0.1, 0.25)
VARIANTS = [
    {"element": element, "sign_net": sign_net, "heads": heads, "scale_by_size": heads == 0}
    for element in ("mlp", "gnn")
    for sign_net in ("none", "published", "all")
    for heads in (0, 4)
]


def magnetic(graph: Data, k: int, q: float | tuple[float, ...] = SEVERAL) -> Data:
    return AddMagneticLaplacianPE(k, q=q, dtype="float64")(graph)


def graphs(k: int, q: float | tuple[float, ...] = SEVERAL) -> dict[str, Data]:
    every = small_graphs() | small_directed_graphs()
    every["directed cycle of 5"] = directed_cycle(5)
    return {name: magnetic(graph, k, q) for name, graph in every.items()}


def directed_cycle(n: int) -> Data:
    start = torch.arange(n)
    return Data(edge_index=torch.stack([start, (start + 1) % n]), num_nodes=n)


def encoder_for(k: int, potentials: int = 2, **options: object) -> MagLapNet:
    torch.manual_seed(0)
    return MagLapNet(
        k, 5, potentials, **{"element_channels": 6, "dropout": 0.0, **options}
    ).double()


def attended(encoder: MagLapNet, rows: Tensor) -> Tensor:
    """The attention over the valid eigenvectors of one node ``[t, width]``, head by head."""
    network = encoder.attention
    query, key, value = network.project(rows).chunk(3, dim=1)
    size = query.size(1) // network.heads
    results = []
    for head in range(network.heads):
        own = slice(head * size, (head + 1) * size)
        weights = (query[:, own] @ key[:, own].t() / math.sqrt(size)).softmax(1)
        results.append(weights @ value[:, own])
    return rows + network.out(torch.cat(results, dim=1))


def by_the_formula(encoder: MagLapNet, graph: Data, potentials: int, k: int) -> Tensor:
    n, count = graph.num_nodes, int(graph[COUNT])
    vectors, values = graph[PE].view(n, potentials, k), graph[VALUE].view(potentials, k)
    if encoder.scale_by_size:
        vectors = math.sqrt(n) * vectors
    width = encoder.norm.weight.numel()
    outputs = []
    for v in range(n):
        rows = []
        for q in range(potentials):
            for j in range(count):

                def z(u: int, q: int = q, j: int = j) -> Tensor:
                    return torch.stack([vectors[u, q, j].real, vectors[u, q, j].imag])

                numbers = z(v)
                if encoder.uses_edges:
                    incoming, outgoing = torch.zeros(2, 2, dtype=torch.float64)
                    for a, b in graph.edge_index.t().tolist():
                        incoming = incoming + z(a) * (b == v)
                        outgoing = outgoing + z(b) * (a == v)
                    numbers = torch.cat([numbers, incoming, outgoing])
                encoded = encoder.element(numbers).clamp(min=0)
                if encoder.sign_net == "all" or (encoder.sign_net == "published" and j > 0):
                    encoded = encoded + encoder.element(-numbers).clamp(min=0)
                rows.append(encoder.norm(torch.cat([encoded, values[q, j, None]])))
        hidden = torch.stack(rows)
        if encoder.attention is not None:
            hidden = attended(encoder, hidden)
        padded = torch.zeros(potentials, k, width, dtype=torch.float64)
        padded[:, :count] = hidden.view(potentials, count, width)
        outputs.append(encoder.linear(padded.flatten()).clamp(min=0))
    return torch.stack(outputs) if outputs else torch.zeros(0, 5, dtype=torch.float64)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_equals_the_formula_graph_by_graph(variant: dict) -> None:
    """In one batch with all others; the counts go from 0 to k."""
    encoder = encoder_for(5, **variant)
    every = [graph for graph in graphs(5).values() if graph.num_nodes < 9]
    with torch.no_grad():
        got = encoder(Batch.from_data_list(every)).split([graph.num_nodes for graph in every])
        for graph, rows in zip(every, got, strict=True):
            assert largest_error(rows, by_the_formula(encoder, graph, 2, 5)) < 1e-10


def changed(graph: Data, factor: Tensor) -> Data:
    graph = graph.clone()
    graph[PE] = graph[PE] * factor
    return graph


def changes(encoder: MagLapNet, factor: Tensor, k: int) -> float:
    """The largest change of an output when the columns are multiplied by a factor."""
    return max(
        largest_error(encoder(changed(graph, factor)), encoder(graph))
        for graph in graphs(k).values()
    )


@pytest.mark.parametrize("element", ["mlp", "gnn"])
def test_signs(element: str) -> None:
    """Also where eigenvalues repeat; the published variant sees the sign of the first eigenvector."""
    torch.manual_seed(1)
    first = torch.ones(2, 5, dtype=torch.float64)
    first[:, 0] = -1
    others = 1.0 - 2.0 * torch.randint(0, 2, (2, 5)).double()
    others[:, 0] = 1
    assert bool((others < 0).any())
    for sign_net, respects_first, respects_others in (
        ("none", False, False),
        ("published", False, True),
        ("all", True, True),
    ):
        encoder = encoder_for(5, element=element, sign_net=sign_net).eval()
        for factor, respects in ((first, respects_first), (others, respects_others)):
            change = changes(encoder, factor, 5)
            assert change < 1e-12 if respects else change > 1e-3
        assert encoder.covers("sign") == (respects_first and respects_others)


@pytest.mark.parametrize("sign_net", ["none", "published", "all"])
def test_phases_and_bases_are_seen(sign_net: str) -> None:
    encoder = encoder_for(5, sign_net=sign_net).eval()
    turn = torch.polar(torch.ones(()).double(), torch.tensor(0.7).double())
    assert changes(encoder, turn.expand(2, 5), 5) > 1e-3
    encoder = encoder_for(6, 1, sign_net=sign_net).eval()
    cycle = magnetic(directed_cycle(6), 6, 0.25)  # three double eigenvalues
    mixed = cycle.clone()
    rotation = torch.tensor([[0.6, -0.8], [0.8, 0.6]], dtype=torch.complex128)
    mixed[PE] = cycle[PE] @ torch.block_diag(rotation, rotation, rotation)
    assert largest_error(encoder(mixed), encoder(cycle)) > 1e-3
    for symmetry in ("phase", "basis"):
        assert not encoder.covers(symmetry)


@pytest.mark.parametrize("claim", ["sign", "phase", "basis"])
def test_a_false_claim_is_refused(claim: str) -> None:
    """`check_encoder` takes the claim of the instance."""
    encoder = MagLapNet(6, 7, sign_net="published" if claim == "sign" else "all", dropout=0.0)
    check_encoder(encoder)
    encoder.invariant_to = frozenset({claim})
    assert encoder.covers(claim)
    with pytest.raises(AssertionError, match="changes the output"):
        check_encoder(encoder)


def test_a_class_claims_what_all_instances_have() -> None:
    assert not MagLapNet.covers("sign")
    assert MagLapNet.covers("none")
    assert MagLapNet(6, 7, sign_net="all").covers("sign")
    assert not MagLapNet(6, 7).covers("sign")
    assert MagLapNet.covers.__doc__


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_content_of_padding_is_not_seen(variant: dict) -> None:
    encoder = encoder_for(30, **variant)
    batch = Batch.from_data_list(list(graphs(30).values()))
    expected = encoder(batch)
    padding = torch.arange(30) >= batch[COUNT]
    batch[VALUE] = batch[VALUE].masked_fill(padding[:, None], 7.0)
    batch[PE] = batch[PE].masked_fill(padding[batch.batch][:, None], 3.0)
    assert largest_error(encoder(batch), expected) < 1e-12


def test_zero_eigenvalues_are_not_padding() -> None:
    """The published code tells padding by an eigenvalue of 0, and so hides the second component of a graph."""
    encoder = encoder_for(6, 1)
    graph = magnetic(small_directed_graphs()["equal directed components"], 6, 0.1)
    assert int((graph[VALUE].abs() < 1e-9).sum()) > 1
    without = graph.clone()
    without[PE] = graph[PE] * (torch.arange(6) != 1)
    assert largest_error(encoder(without), encoder(graph)) > 1e-3


def test_dropout_only_in_training() -> None:
    graph = magnetic(directed_cycle(6), 6)
    encoder = encoder_for(6, dropout=0.5)
    assert encoder.mixes_graphs_in_training
    assert not torch.equal(encoder(graph), encoder(graph))
    encoder.eval()
    assert torch.equal(encoder(graph), encoder(graph))


def test_gradients_are_those_of_differences() -> None:
    encoder = encoder_for(4, element="gnn", sign_net="all")
    graph = magnetic(small_directed_graphs()["twins (one eigenvalue many times)"], 4)

    def encode(vectors: Tensor, values: Tensor) -> Tensor:
        given = graph.clone()
        given[PE], given[VALUE] = vectors, values
        return encoder(given)

    inputs = graph[PE].clone().requires_grad_(), graph[VALUE].clone().requires_grad_()
    assert torch.autograd.gradcheck(encode, inputs, fast_mode=True)


def test_a_network_warns_once_and_names_the_remedy() -> None:
    fields = {field.name: field for field in AddMagneticLaplacianPE(6).fields()}
    network = GINE(FEATURES, hidden_channels=8, positional_encoders=[MagLapNet(6, 8)])
    with pytest.warns(
        UserWarning, match="MagLapNet is not invariant.*; ComplexSPE is invariant to them$"
    ):
        network.check_fields(fields)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        network.check_fields(fields)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_output_has_the_type_of_the_parameters(dtype: torch.dtype) -> None:
    encoder = encoder_for(6, element="gnn")
    batch = Batch.from_data_list(list(graphs(6).values()))
    expected = encoder(batch)
    got = encoder.to(dtype)(batch)
    assert got.dtype == dtype
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-4}.get(dtype, 0.5)
    assert largest_error(got.double(), expected) < tolerance


def test_choices() -> None:
    with pytest.raises(ValueError, match="element is 'gin'; it must be 'mlp' or 'gnn'"):
        MagLapNet(6, 4, element="gin")
    with pytest.raises(ValueError, match="sign_net is True; it must be 'none', 'published' or"):
        MagLapNet(6, 4, sign_net=True)
    with pytest.raises(ValueError, match="scale_by_size is 1; it must be True or False"):
        MagLapNet(6, 4, scale_by_size=1)
    with pytest.raises(ValueError, match=r"heads is 18, but an eigenvector has .* = 17 numbers"):
        MagLapNet(6, 4, heads=18)
    for dropout in (-0.1, 1.0, "0.1", float("nan"), True, None):
        with pytest.raises(
            ValueError, match=r"^dropout is .*; it must be a finite number >= 0 and < 1"
        ):
            MagLapNet(6, 4, dropout=dropout)
    for name in ("k", "out_channels", "potentials", "element_channels"):
        with pytest.raises(ValueError, match=rf"^{name} is 0; it must be an integer >= 1$"):
            MagLapNet(**{"k": 6, "out_channels": 4, name: 0})
    with pytest.raises(ValueError, match=r"^heads is -1; it must be an integer >= 1$"):
        MagLapNet(6, 4, heads=-1)
