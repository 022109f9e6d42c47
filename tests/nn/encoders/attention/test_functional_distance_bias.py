"""A learned function of relative distances."""

from __future__ import annotations

import math

import pytest
import torch
from nn_batches import FEATURES, featured, largest_error
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe._testing.small_graphs import small_directed_graphs, small_graphs
from graphpe.nn import FunctionalDistanceBias, Transformer
from graphpe.testing import check_encoder
from graphpe.transforms import AddCommuteTimePE, AddEffectiveResistancePE, AddShortestPathPE

CAP = 40
RESISTANCE = AddEffectiveResistancePE(dtype="float64")
KINDS = {
    "hops": (AddShortestPathPE(CAP), {"categories": CAP + 2}),
    "hops of both": (AddShortestPathPE(CAP, direction="both"), {"categories": CAP + 2}),
    "lengths": (AddShortestPathPE(CAP, weighted=True, dtype="float64"), {}),
    "lengths of both": (AddShortestPathPE(weighted=True, direction="both", dtype="float64"), {}),
    "resistance": (RESISTANCE, {}),
}
each_kind = pytest.mark.parametrize(("encoding", "settings"), KINDS.values(), ids=KINDS)


def graphs(encoding) -> list[Data]:
    every = small_graphs()
    if not isinstance(encoding, AddEffectiveResistancePE):
        every |= small_directed_graphs()
    return [encoding(featured(graph)) for graph in every.values()]


def encoder_of(encoding, settings: dict, **more) -> FunctionalDistanceBias:
    (field,) = encoding.fields()
    encoder = FunctionalDistanceBias(
        field.width, 5, field.name, type(encoding).__name__, 6, **settings, **more
    )
    with torch.no_grad():  # columns that differ, and a threshold between the sizes of the graphs
        encoder.log_slope += 0.3 * torch.arange(len(encoder.log_slope)) - 0.5
        encoder.log_threshold -= 0.9
    return encoder.double()


def bias_by_hand(encoder: FunctionalDistanceBias, values: Tensor) -> Tensor:
    """One graph, pair by pair, number by number."""
    pairs = []
    for row in values.tolist():
        if encoder.categories is None:
            pairs.append([(d, flag == 1) for d, flag in zip(row[0::2], row[1::2], strict=True)])
        else:
            pairs.append([(d, d == encoder.categories - 1) for d in row])
    first, last = encoder.function.lins
    biases = []
    for pair in pairs:
        relative, extra = [], torch.zeros(5).double()
        for column, (distance, is_apart) in enumerate(pair):
            slope, threshold = (p[column].exp() for p in (encoder.log_slope, encoder.log_threshold))
            largest = max(0 if other[column][1] else other[column][0] for other in pairs)
            scale = torch.log(slope * torch.clamp(threshold, min=largest) + 1)
            relative.append(torch.log(slope * (0 if is_apart else distance) + 1) / scale)
            if is_apart:
                extra = extra + encoder.no_path.weight[:, column]
        biases.append(last(first(torch.stack(relative)).relu()) + extra)
    return torch.stack(biases) if biases else torch.zeros(0, 5).double()


@each_kind
def test_equals_the_formula_pair_by_pair(encoding, settings: dict) -> None:
    torch.manual_seed(0)
    encoder, every = encoder_of(encoding, settings), graphs(encoding)[:20]
    name = encoder.requires[0].name
    every = [graph for graph in every if graph.num_nodes < 12]
    got = encoder(Batch.from_data_list(every))
    expected = torch.cat([bias_by_hand(encoder, graph[name]) for graph in every])
    assert largest_error(got, expected) < 1e-12
    parameters, towards = list(encoder.parameters()), torch.randn_like(expected)
    for a, b in zip(
        torch.autograd.grad(got, parameters, towards),
        torch.autograd.grad(expected, parameters, towards),
        strict=True,
    ):
        assert largest_error(a, b) < 1e-10
        assert a.abs().sum() > 0


@each_kind
def test_reads_the_fields_of_encodings(encoding, settings: dict) -> None:
    encoder = encoder_of(encoding, settings)
    encoder.requires[0].check(encoding.fields()[0], "FunctionalDistanceBias")


def test_keeps_the_contract_with_floats() -> None:
    every = dict(enumerate(graphs(RESISTANCE)))
    check_encoder(encoder_of(RESISTANCE, {}), every)


def test_sees_only_the_relative_distance_above_the_threshold() -> None:
    """A path twice as long, in a unit half as long: the same, but for ψ, which c undoes."""
    encoder = encoder_of(RESISTANCE, {}, threshold=0.1)
    graph = RESISTANCE(small_graphs()["path"])
    before = encoder(graph)
    graph.effective_resistance_pe[:, 0] *= 2
    with torch.no_grad():
        encoder.log_slope -= math.log(2)
    assert largest_error(encoder(graph), before) < 1e-12


def test_arguments_of_the_function_stay_in_the_unit_interval() -> None:
    """On graphs of any size: what was learned on small ones applies to large ones."""
    encoder, seen = encoder_of(*KINDS["hops"]), []
    encoder.function.register_forward_hook(lambda _, inputs, out: seen.append(inputs[0]))
    for n in (2, 10, 100):
        edges = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
        graph = Data(edge_index=torch.cat([edges, edges.flip(0)], 1), num_nodes=n)
        encoder(AddShortestPathPE(CAP)(graph))
        assert seen[-1].min() >= 0
        assert seen[-1].max() <= 1
    assert seen[-1].max() == 1


def test_no_path_is_not_a_distance() -> None:
    """The cap of pairs without path neither counts as the largest distance nor as theirs."""
    graph = RESISTANCE(small_graphs()["isolated nodes"])
    encoder = encoder_of(RESISTANCE, {})
    before = encoder(graph).view(6, 6, 5)
    apart = graph.effective_resistance_pe[:, 1] == 1
    graph.effective_resistance_pe[apart, 0] = 7.0
    assert torch.equal(encoder(graph).view(6, 6, 5), before)
    own, no_path = before[0, 0], encoder.no_path.weight[:, 0]
    torch.testing.assert_close(before[0, 1], own + no_path)


def test_graphs_without_distances_have_finite_gradients() -> None:
    encoding = AddCommuteTimePE(dtype="float64")
    encoder = encoder_of(encoding, {})
    every = [encoding(graph) for graph in small_graphs().values()]
    for chosen in [[graph] for graph in every] + [every]:
        batch = Batch.from_data_list(chosen)
        batch[encoder.requires[0].name].requires_grad_()
        encoder.zero_grad()
        encoder(batch).square().sum().backward()
        assert batch[encoder.requires[0].name].grad.isfinite().all()
        assert all(p.grad.isfinite().all() for p in encoder.parameters())


def test_mixed_precision() -> None:
    encoder, batch = encoder_of(RESISTANCE, {}).float(), Batch.from_data_list(graphs(RESISTANCE))
    with torch.autocast("cpu", torch.bfloat16):
        got = encoder(batch)
    assert largest_error(got.float(), encoder(batch)) < 0.02


def test_biases_attention() -> None:
    encoder, every = encoder_of(RESISTANCE, {}), graphs(RESISTANCE)
    network = Transformer(FEATURES, 2, 16, 2, 4, positional_encoders=[encoder]).double()
    network.check_fields({field.name: field for field in RESISTANCE.fields()})
    together = network(Batch.from_data_list(every))
    for number, graph in enumerate(every):
        assert largest_error(network(graph), together[number : number + 1]) < 1e-12
    together.sum().backward()
    assert all(p.grad.abs().sum() > 0 for p in encoder.parameters())


@pytest.mark.parametrize("value", [-0.5, torch.inf, torch.nan])
def test_what_is_no_distance_is_refused(value: float) -> None:
    graph = RESISTANCE(small_graphs()["path"])
    graph.effective_resistance_pe[3, 0] = value
    with pytest.raises(ValueError, match=f"'effective_resistance_pe' has the distance {value}; di"):
        encoder_of(RESISTANCE, {})(graph)


def test_categories_outside_are_refused() -> None:
    graph = AddShortestPathPE(5)(small_graphs()["isolated nodes"])
    encoder = FunctionalDistanceBias(1, 4, "shortest_path_pe", categories=6)
    with pytest.raises(ValueError, match=r"'shortest_path_pe' has the category 6, .*categories=6"):
        encoder(graph)


def test_settings() -> None:
    with pytest.raises(ValueError, match=r"in_channels is 1, but in a field of floats.*even"):
        FunctionalDistanceBias(1, 4)
    for threshold in (0, -1.0, torch.inf):
        with pytest.raises(ValueError, match=r"threshold is .*; it must be a finite number > 0"):
            FunctionalDistanceBias(2, 4, threshold=threshold)
    for name in ("in_channels", "out_channels", "hidden_channels", "categories"):
        with pytest.raises(ValueError, match=f"^{name} is 0; it must be an integer >= 1$"):
            FunctionalDistanceBias(**{"in_channels": 2, "out_channels": 4, name: 0})
    with pytest.raises(ValueError, match=r"'effective_resistance_pe'.*AddEffectiveResistancePE"):
        FunctionalDistanceBias(2, 4)(small_graphs()["path"])


def test_a_tiny_threshold_and_no_distances() -> None:
    """log(1 + 0) / log(1 + 0) is not a number, and the gradient of 0 / tiny not either."""
    encoder = FunctionalDistanceBias(2, 4, threshold=1e-50)
    graph = small_graphs()["no edges"]
    graph["effective_resistance_pe"] = torch.zeros(graph.num_nodes**2, 2)
    output = encoder(graph)
    assert bool(output.isfinite().all())
    (1e6 * output).sum().backward()
    assert all(bool(p.grad.isfinite().all()) for p in encoder.parameters())
