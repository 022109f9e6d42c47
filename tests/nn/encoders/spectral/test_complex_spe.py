"""Stable and expressive positional encodings from complex eigenvectors."""

from __future__ import annotations

import dataclasses
import math
import warnings

import pytest
import torch
from graph_zoo import random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from nn_batches import FEATURES, featured, largest_error
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe._testing.small_graphs import small_directed_graphs, small_graphs
from graphpe.fields import Field
from graphpe.nn import GINE, ComplexSPE, FieldEncoder, FieldRequirement, NodeEncoder
from graphpe.nn.encoders.spectral.hermitian_products import hermitian_products
from graphpe.nn.layout import graph_layout, node_pairs
from graphpe.transforms import AddMagneticLaplacianPE

TOLERANCE = 1e-9
PE, VALUE, COUNT = "magnetic_eigenvector_pe", "magnetic_eigenvalue", "magnetic_eigenvector_count"
SEVERAL = (0.1, 0.25, 0.4)
VARIANTS = [
    {"rho": rho, "norm": norm} for rho in ("gin", "mlp") for norm in ("layer", "batch", "none")
]


def magnetic(
    graph: Data, k: int, q: float | tuple[float, ...] = 0.1, dtype: str = "float64"
) -> Data:
    return AddMagneticLaplacianPE(k, q=q, dtype=dtype)(graph)


def graphs(k: int, q: float | tuple[float, ...] = 0.1) -> dict[str, Data]:
    every = small_graphs() | small_directed_graphs()
    return {name: magnetic(graph, k, q) for name, graph in every.items()}


def encoder_for(k: int = 6, potentials: int = 1, **options: object) -> ComplexSPE:
    torch.manual_seed(0)
    options = {"hidden_channels": 8, "num_channels": 3, "phi_hidden_channels": 8, **options}
    return ComplexSPE(k, 5, potentials, **options).double()


def directed_cycle(n: int) -> Data:
    start = torch.arange(n)
    return Data(edge_index=torch.stack([start, (start + 1) % n]), num_nodes=n)


def eigenspaces(values: Tensor, count: int) -> list[range]:
    starts = [c for c in range(count) if c == 0 or values[c] - values[c - 1] > 1e-8]
    return [range(a, b) for a, b in zip(starts, [*starts[1:], count], strict=True)]


def mix(graph: Data, seed: int = 0) -> Data:
    """Random unitary matrices inside the eigenspaces of each potential."""
    generator = torch.Generator().manual_seed(seed)
    graph = graph.clone()
    k = graph[PE].size(-1)
    vectors = graph[PE].clone().view(graph.num_nodes, -1, k) if graph.num_nodes else graph[PE]
    for q, values in enumerate(graph[VALUE].view(-1, k) if graph.num_nodes else ()):
        for space in eigenspaces(values, int(graph[COUNT])):
            matrix = torch.randn(
                len(space), len(space), dtype=torch.complex128, generator=generator
            )
            columns = slice(space.start, space.stop)
            vectors[:, q, columns] = vectors[:, q, columns] @ torch.linalg.qr(matrix).Q
    graph[PE] = vectors.view(graph[PE].shape)
    return graph


@pytest.mark.parametrize("rho", ["gin", "mlp", "gin_deepsets"])
@pytest.mark.parametrize(("k", "q"), [(3, 0.1), (6, SEVERAL), (40, SEVERAL), (40, 0.25)])
def test_equals_the_formula_graph_by_graph(rho: str, k: int, q: float | tuple) -> None:
    potentials = len(q) if isinstance(q, tuple) else 1
    encoder = encoder_for(k, potentials, rho=rho)
    every = graphs(k, q)
    sizes = [graph.num_nodes for graph in every.values()]
    got = encoder(Batch.from_data_list(list(every.values()))).split(sizes)
    for graph, rows in zip(every.values(), got, strict=True):
        n, count = graph.num_nodes, int(graph[COUNT])
        vectors = graph[PE].view(n, potentials, k)
        real, imaginary = [], []
        for number, values in enumerate(graph[VALUE].view(potentials, k)):
            weights = encoder.phi(values[:count, None])
            for m in range(3):
                v = vectors[:, number, :count]
                w = v @ torch.diag(weights[:, m]).to(v.dtype) @ v.conj().t()
                real.append(w.real)
                imaginary.append(w.imag)
        channels = torch.stack([*real, *imaginary], dim=-1).flatten(0, 1)
        encoded = encoder.rho(channels, node_pairs(graph_layout(graph)), graph.edge_index)
        expected = encoder.linear(encoded.view(n, n, 8).sum(1))
        assert largest_error(rows, expected) < TOLERANCE


@pytest.mark.parametrize("rho", ["gin", "mlp", "gin_deepsets"])
def test_pairs_and_edges_by_the_formula(rho: str) -> None:
    """The linear layer is the same: nodes are the sum of their pairs, edges are pairs."""
    node, pair, edge = (
        encoder_for(6, 3, rho=rho, level=level).eval() for level in ("node", "pair", "edge")
    )
    every = list(graphs(6, SEVERAL).values())
    batch = Batch.from_data_list(every)
    by_graph = pair(batch).split([graph.num_nodes**2 for graph in every])
    edges = edge(batch).split([graph.num_edges for graph in every])
    nodes = node(batch).split([graph.num_nodes for graph in every])
    for graph, of_pairs, of_edges, of_nodes in zip(every, by_graph, edges, nodes, strict=True):
        n = graph.num_nodes
        matrix = of_pairs.view(n, n, 5)
        assert largest_error(of_edges, matrix[graph.edge_index[0], graph.edge_index[1]]) < TOLERANCE
        bias = pair.linear.bias
        assert largest_error(of_nodes, (matrix - bias).sum(1) + bias) < TOLERANCE


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("q", [0.25, SEVERAL], ids=str)
def test_unitary_mixing_inside_eigenspaces_changes_nothing(q: float | tuple, variant: dict) -> None:
    encoder = encoder_for(40, len(q) if isinstance(q, tuple) else 1, **variant)
    every = list(graphs(40, q).values())
    before = Batch.from_data_list(every)
    after = Batch.from_data_list([mix(graph, seed) for seed, graph in enumerate(every)])
    assert (before[PE] - after[PE]).abs().max() > 0.1
    for training in (True, False):
        encoder.train(training)
        assert largest_error(encoder(after), encoder(before)) < 1e-8


def twins(count: int = 4) -> Data:
    """A node with edges to some that look the same, and one from another."""
    edges = [(0, i) for i in range(1, count + 1)] + [(count + 1, 0)]
    return Data(edge_index=torch.tensor(edges).t().contiguous(), num_nodes=count + 2)


@pytest.mark.parametrize(
    ("graph", "sizes"),
    [(directed_cycle(6), [2, 2, 2]), (twins(), [1, 4, 1])],
    ids=["cycle", "twins"],
)
def test_mixing_in_true_eigenspaces(graph: Data, sizes: list[int]) -> None:
    """At q = 1/4 a directed cycle of 6 has three double eigenvalues; four twins share one."""
    encoder = encoder_for(6).eval()
    graph = magnetic(graph, 6, 0.25)
    assert [len(space) for space in eigenspaces(graph[VALUE][0], 6)] == sizes
    expected = encoder(graph)
    mixed = mix(graph)
    projections = [vectors.abs().square() for vectors in (graph[PE], mixed[PE])]
    assert (projections[0] - projections[1]).abs().max() > 0.05  # more than phases
    assert largest_error(encoder(mixed), expected) < TOLERANCE
    # The test can fail: mixing across eigenspaces is seen.
    across = graph.clone()
    across[VALUE] = torch.zeros_like(graph[VALUE])
    across = mix(across)
    across[VALUE] = graph[VALUE]
    assert largest_error(encoder(across), expected) > 1e-4


def test_a_directed_cycle_in_closed_form() -> None:
    """Its eigenvectors are the Fourier basis, with the eigenvalues 1 - cos 2π(j/n + q)."""
    n, q = 7, 0.1
    encoder = encoder_for(n).eval()
    cycle = magnetic(directed_cycle(n), n, q)
    j = torch.arange(n, dtype=torch.float64)
    fourier = cycle.clone()
    angles = 2 * math.pi * j[:, None] * j / n
    fourier[PE] = torch.polar(torch.full_like(angles, n**-0.5), angles)
    fourier[VALUE] = (1 - torch.cos(2 * math.pi * (j / n + q)))[None]
    assert largest_error(encoder(fourier), encoder(cycle)) < TOLERANCE


def test_random_phases_change_nothing() -> None:
    encoder = encoder_for(6, 3).eval()
    for graph in graphs(6, SEVERAL).values():
        expected = encoder(graph)
        turned = graph.clone()
        angles = 2 * math.pi * torch.rand(3, 6, dtype=torch.float64)
        turned[PE] = graph[PE] * torch.polar(torch.ones_like(angles), angles)
        assert largest_error(encoder(turned), expected) < TOLERANCE


@settings(max_examples=20, deadline=None)
@given(random_graphs(max_nodes=10, weighted=False, directed=True), st.integers(0, 2**31))
def test_random_graphs(graph: Data, seed: int) -> None:
    """Renumbering before the encoding is computed renumbers the output, loops and parallel edges included."""
    encoder = encoder_for(10, 3).eval()
    expected = encoder(magnetic(graph, 10, SEVERAL))
    new = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(seed))
    permuted = Data(edge_index=new[graph.edge_index], num_nodes=graph.num_nodes)
    assert largest_error(encoder(magnetic(permuted, 10, SEVERAL))[new], expected) < 1e-6


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("rho", ["gin", "mlp"])
def test_graphs_of_a_batch_do_not_mix(rho: str, training: bool) -> None:
    encoder = encoder_for(6, 3, rho=rho).train(training)
    every = list(graphs(6, SEVERAL).values())
    together = encoder(Batch.from_data_list(every)).split([graph.num_nodes for graph in every])
    for graph, rows in zip(every, together, strict=True):
        assert largest_error(rows, encoder(graph)) < TOLERANCE


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_padding_is_not_seen(norm: str, training: bool) -> None:
    """The parameters do not depend on k, so the width of the padding can be changed; nor does its content matter."""
    narrow, wide = encoder_for(30, 3, norm=norm), encoder_for(45, 3, norm=norm)
    wide.load_state_dict(narrow.state_dict())
    outputs = []
    for encoder, k in ((narrow, 30), (wide, 45)):
        batch = Batch.from_data_list(list(graphs(k, SEVERAL).values()))
        outputs.append(encoder.train(training)(batch))
        padding = torch.arange(k) >= batch[COUNT]
        batch[VALUE] = batch[VALUE].masked_fill(padding[:, None], 7.0)
        outputs.append(encoder(batch))
    for output in outputs[1:]:
        assert largest_error(output, outputs[0]) < TOLERANCE


@pytest.mark.parametrize("n", [0, 1, 2])
def test_tiny_graphs(n: int) -> None:
    encoder = encoder_for(6, 3)
    graph = magnetic(Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=n), 6, SEVERAL)
    graph[PE].requires_grad_()
    output = encoder(graph)
    assert output.shape == (n, 5)
    output.sum().backward()
    for parameter in encoder.parameters():
        assert bool(parameter.grad.isfinite().all())
    assert bool(graph[PE].grad.isfinite().all())


def test_gradients_are_those_of_differences() -> None:
    encoder = encoder_for(4, 2)
    graph = magnetic(small_directed_graphs()["twins (one eigenvalue many times)"], 4, (0.1, 0.25))

    def encode(vectors: Tensor, values: Tensor) -> Tensor:
        changed = graph.clone()
        changed[PE], changed[VALUE] = vectors, values
        return encoder(changed)

    inputs = graph[PE].clone().requires_grad_(), graph[VALUE].clone().requires_grad_()
    assert torch.autograd.gradcheck(encode, inputs, fast_mode=True)


def test_products_are_hermitian_and_a_partition_of_one() -> None:
    """With all eigenvectors and weights 1 the products are the identity; W_ji is the conjugate of W_ij."""
    graph = magnetic(small_directed_graphs()["acyclic, larger"], 20, SEVERAL)
    n, layout = 20, graph_layout(graph)
    pairs = node_pairs(layout)
    ones = torch.ones(1, 3, n, 1, dtype=torch.float64)
    every = torch.eye(6, dtype=torch.float64)
    real, imaginary = (
        hermitian_products(graph[PE], ones, every, layout, pairs).view(n, n, 2, 3).unbind(2)
    )
    assert largest_error(real, torch.eye(n).double()[..., None].expand(n, n, 3)) < TOLERANCE
    assert imaginary.abs().max() < TOLERANCE
    weights = torch.randn(1, 3, n, 2, dtype=torch.float64)
    real, imaginary = (
        hermitian_products(graph[PE], weights, torch.eye(12).double(), layout, pairs)
        .view(n, n, 2, 6)
        .unbind(2)
    )
    assert largest_error(real, real.transpose(0, 1)) < TOLERANCE
    assert largest_error(imaginary, -imaginary.transpose(0, 1)) < TOLERANCE
    assert imaginary.abs().max() > 0.01


def test_reversing_all_edges_conjugates() -> None:
    graph = small_directed_graphs()["acyclic, larger"]
    backwards = Data(edge_index=graph.edge_index.flip(0), num_nodes=20)
    weights = torch.linspace(0, 1, 20, dtype=torch.float64).view(1, 1, 20, 1)
    products = []
    for one in (graph, backwards):
        one = magnetic(one, 20)
        layout = graph_layout(one)
        every = torch.eye(2, dtype=torch.float64)
        pairs = node_pairs(layout)
        products.append(hermitian_products(one[PE][:, None], weights, every, layout, pairs))
    assert largest_error(products[1], products[0] * torch.tensor([1.0, -1.0])) < TOLERANCE


def test_directions_are_seen() -> None:
    """Without messages along edges, only the imaginary parts tell the two ends of a directed path apart."""
    encoder = encoder_for(6, rho="mlp").eval()
    path = small_directed_graphs()["directed path"]
    undirected, directed = (encoder(magnetic(path.clone(), 6, q)) for q in (0.0, 0.1))
    assert largest_error(undirected[0], undirected[5]) < TOLERANCE
    assert largest_error(directed[0], directed[5]) > 1e-3


@pytest.mark.parametrize(("k", "is_cut"), [(1, True), (2, False), (3, True), (4, False)])
def test_a_cut_eigenspace_is_not_invariant(k: int, is_cut: bool) -> None:
    """A directed cycle of 6 at q = 1/4 has three double eigenvalues; k >= n cuts none."""
    cycle = magnetic(directed_cycle(6), 6, 0.25)

    def first(graph: Data) -> Data:
        graph = graph.clone()
        graph[PE], graph[VALUE] = graph[PE][:, :k], graph[VALUE][:, :k]
        graph[COUNT] = torch.tensor([[k]])
        return graph

    encoder = encoder_for(k).eval()
    change = largest_error(encoder(first(mix(cycle))), encoder(first(cycle)))
    assert change > 1e-5 if is_cut else change < TOLERANCE


def test_a_list_of_one_potential_is_one_potential() -> None:
    """`q=[0.1]` writes rows [1, k], `q=0.1` rows [k]."""
    encoder = encoder_for(6)
    graph = small_directed_graphs()["acyclic, larger"]
    one, listed = magnetic(graph.clone(), 6, 0.1), magnetic(graph.clone(), 6, (0.1,))
    assert one[PE].dim() == 2
    assert listed[PE].dim() == 3
    assert torch.equal(encoder(one), encoder(listed))
    for q in (0.1, (0.1,)):
        fields = {field.name: field for field in AddMagneticLaplacianPE(6, q=q).fields()}
        for requirement in encoder.requires:
            requirement.check(fields[requirement.name], "ComplexSPE")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_output_has_the_type_of_the_parameters(dtype: torch.dtype) -> None:
    encoder = encoder_for(6, 3)
    batch = Batch.from_data_list(list(graphs(6, SEVERAL).values()))
    expected = encoder(batch)
    got = encoder.to(dtype)(batch)
    assert got.dtype == dtype
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-4}.get(dtype, 0.5)
    assert largest_error(got.double(), expected) < tolerance


@pytest.mark.parametrize("backward_inside", [True, False])
def test_autocast(backward_inside: bool) -> None:
    encoder = encoder_for(6, 3).float()
    batch = Batch.from_data_list(list(graphs(6, SEVERAL).values()))
    with torch.autocast("cpu", torch.bfloat16):
        output = encoder(batch)
        if backward_inside:
            output.float().sum().backward()
    if not backward_inside:
        output.float().sum().backward()
    assert all(bool(p.grad.isfinite().all()) for p in encoder.parameters())


class TestFieldsThatDoNotFit:
    def batch(self) -> Batch:
        return Batch.from_data_list(list(graphs(6, SEVERAL).values()))

    @pytest.mark.parametrize("name", [PE, VALUE, COUNT])
    def test_missing(self, name: str) -> None:
        batch = self.batch()
        del batch[name]
        message = (
            rf"ComplexSPE needs the field '{name}'.*AddMagneticLaplacianPE\(k=6, q=\[...\] with 3"
        )
        with pytest.raises(ValueError, match=message):
            encoder_for(6, 3)(batch)

    def test_real_eigenvectors(self) -> None:
        batch = self.batch()
        batch[PE] = batch[PE].real
        message = f"'{PE}' is torch.float64, but ComplexSPE needs complex numbers"
        with pytest.raises(ValueError, match=message):
            encoder_for(6, 3)(batch)

    @pytest.mark.parametrize(
        ("k", "potentials", "wanted"),
        [(5, 3, r"\[3, 5\]"), (6, 2, r"\[2, 6\]"), (18, 1, r"\[1, 18\]")],
    )
    def test_another_shape(self, k: int, potentials: int, wanted: str) -> None:
        message = rf"'{PE}' has rows of shape \[3, 6\], but ComplexSPE was built for {wanted}"
        encoder = encoder_for(k, potentials)
        with pytest.raises(ValueError, match=message):
            encoder(self.batch())
        field = AddMagneticLaplacianPE(6, q=SEVERAL).fields()[0]
        with pytest.raises(ValueError, match=message):
            encoder.requires[0].check(field, "ComplexSPE")

    def test_columns_for_potentials(self) -> None:
        batch = self.batch()
        batch[VALUE] = batch[VALUE].flatten(1)
        with pytest.raises(ValueError, match=r"rows of shape \[18\], but .* for \[3, 6\]"):
            encoder_for(6, 3)(batch)

    def test_an_encoder_of_columns_refuses_other_rows(self) -> None:
        """The width fits, the shape does not."""
        field = AddMagneticLaplacianPE(6, q=SEVERAL).fields()[1]
        requirement = FieldRequirement(VALUE, "graph", 18, "AddMagneticLaplacianPE")
        with pytest.raises(ValueError, match=r"rows of shape \[3, 6\]; NodeEncoder needs a matrix"):
            requirement.check(field, "NodeEncoder")
        with pytest.raises(ValueError, match="NodeEncoder needs a matrix"):
            requirement.read(self.batch(), graph_layout(self.batch()), "NodeEncoder")

    def test_no_tensor(self) -> None:
        batch = self.batch()
        batch[PE] = [1.0]
        with pytest.raises(
            ValueError, match=r"is a list.*ComplexSPE needs a tensor \[rows, 3, 6\]"
        ):
            encoder_for(6, 3)(batch)

    def test_a_complex_field_for_floats(self) -> None:
        batch = Batch.from_data_list(list(graphs(6).values()))
        with pytest.raises(ValueError, match=r"is torch\.complex128, but NodeEncoder needs floats"):
            NodeEncoder(6, 4, PE)(batch)

    def test_a_shape_of_another_width(self) -> None:
        with pytest.raises(ValueError, match=r"width 5, but rows of shape \(2, 3\)"):
            FieldRequirement("field", "node", 5, None, shape=(2, 3))


@pytest.mark.parametrize("option", [{"level": "edge", "rho": "mlp"}, {"rho": "gin"}], ids=str)
def test_edges_that_join_graphs_or_nothing_are_refused(option: dict) -> None:
    encoder = encoder_for(6, **option)
    batch = Batch.from_data_list([magnetic(directed_cycle(3), 6), magnetic(directed_cycle(4), 6)])
    batch.edge_index = torch.tensor([[0, 5], [1, 2]])
    message = "edge 1 of 'edge_index' joins node 5 of graph 1 and node 2 of graph 0"
    with pytest.raises(ValueError, match=message):
        encoder(batch)
    batch.edge_index = torch.tensor([[7], [0]])
    with pytest.raises(ValueError, match="'edge_index' has node 7, but the batch has 7 nodes"):
        encoder(batch)


SIZES = {
    "k": 3,
    "out_channels": 8,
    "potentials": 2,
    "hidden_channels": 8,
    "num_layers": 2,
    "num_channels": 3,
    "phi_hidden_channels": 4,
    "phi_layers": 2,
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("size", [0, -1, 2.0, True])
def test_sizes_are_positive_integers(name: str, size: object) -> None:
    with pytest.raises(ValueError, match=f"^{name} is {size}; it must be an integer >= 1$"):
        ComplexSPE(**SIZES | {name: size})


def test_choices() -> None:
    with pytest.raises(ValueError, match="rho is 'gat'; it must be 'gin', 'mlp' or 'gin_deepsets'"):
        ComplexSPE(6, 4, rho="gat")
    with pytest.raises(ValueError, match="level is 'graph'; it must be 'node', 'pair' or 'edge'"):
        ComplexSPE(6, 4, level="graph")
    with pytest.raises(ValueError, match="norm is 'group'; it must be 'layer', 'batch' or 'none'"):
        ComplexSPE(6, 4, norm="group")


class Magnitudes(FieldEncoder):
    """Reads complex eigenvectors and covers no symmetry."""

    requires = (FieldRequirement(PE, "node", 6, "AddMagneticLaplacianPE", "complex"),)
    out_channels = 8
    reads_complex = True

    def forward(self, data: Data) -> Tensor:
        raise NotImplementedError


def test_networks_accept_it_and_recommend_it_for_complex_fields_only() -> None:
    fields = {field.name: field for field in AddMagneticLaplacianPE(6).fields()}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        GINE(FEATURES, hidden_channels=8, positional_encoders=[ComplexSPE(6, 8)]).check_fields(
            fields
        )
    network = GINE(FEATURES, hidden_channels=8, positional_encoders=[Magnitudes()])
    with pytest.warns(
        UserWarning, match="phase.*basis.* Magnitudes is not .*; ComplexSPE is invariant to them$"
    ):
        network.check_fields(fields)
    network = GINE(FEATURES, hidden_channels=8, positional_encoders=[NodeEncoder(6, 8, "v")])
    with pytest.warns(UserWarning, match="NodeEncoder is not .*; SPE.* is invariant to them$"):
        network.check_fields({"v": Field("v", "node", 6, symmetry="basis")})
    changed = fields | {PE: dataclasses.replace(fields[PE], symmetry="phase")}
    network = GINE(FEATURES, hidden_channels=8, positional_encoders=[ComplexSPE(6, 8)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        network.check_fields(changed)


def test_a_network_trains_with_it() -> None:
    torch.manual_seed(0)
    every = [featured(magnetic(graph, 6, SEVERAL, "float32")) for graph in graphs(6).values()]
    encoder = ComplexSPE(6, 8, 3, hidden_channels=8, num_channels=3)
    network = GINE(FEATURES, hidden_channels=8, positional_encoders=[encoder])
    network(Batch.from_data_list(every)).square().sum().backward()
    for parameter in encoder.parameters():
        assert bool(parameter.grad.isfinite().all())
    assert bool((encoder.phi.lins[0].weight.grad != 0).any())
