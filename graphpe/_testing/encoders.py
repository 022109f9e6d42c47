"""The contract of an encoder as a test."""

from __future__ import annotations

import copy
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe._testing.small_graphs import small_directed_graphs, small_graphs
from graphpe.nn.encoders import FieldEncoder, FieldRequirement
from graphpe.transforms import AddMagneticLaplacianPE

# Everything is computed in float64, so that a difference above this is no rounding error.
_TOLERANCE = 1e-6


def check_encoder(
    encoder: FieldEncoder,
    graphs: Mapping[str, Data] | None = None,
    *,
    eigenvectors: str | None = None,
    eigenvalues: str | None = None,
    count: str | None = None,
    seed: int = 0,
) -> None:
    """Tests that an encoder keeps the contract of :class:`~graphpe.nn.FieldEncoder` and what it declares.

    On graphs of all sorts, with float64 copies of the encoder: finite output of the declared shape, dependence on all
    its fields, invariance to the symmetries in ``invariant_to``, equivariance to node permutations, independence of the
    other graphs in the batch in evaluation (and in training unless ``mixes_graphs_in_training``), finite gradients for
    all trainable parameters, saving and loading, an error for each missing field, and a batch that is left as it is.

    Args:
        encoder: The encoder, with its initial or trained parameters; it is not changed.
        graphs: Graphs by name with the fields of the encoder; by default a collection of small ones, with the spectrum
            of the symmetric normalised Laplacian, and random numbers for all other fields. Where an encoder reads
            complex fields: also directed ones, with the spectrum of the magnetic Laplacian.
        eigenvectors: Name of the node field that signs, phases and rotations (unitary matrices where it is complex)
            are applied to. None, for this name and the next two: those of ``AddLaplacianEigenvectorPE``, or of
            ``AddMagneticLaplacianPE`` where the encoder reads complex fields.
        eigenvalues: Name of the graph field that tells which eigenvectors share an eigenspace.
        count: Name of the graph field with the number of eigenvectors that are not padding.
        seed: Seed of all random choices.

    Raises:
        AssertionError: If the encoder breaks the contract; the message says where and by how much.
        ValueError: If the encoder declares an invariance that cannot be tested on its fields.
    """
    is_complex = any(need.kind == "complex" for need in encoder.requires)
    usual = _MAGNETIC if is_complex else _LAPLACIAN
    names = _SpectralNames(
        eigenvectors or usual.eigenvectors, eigenvalues or usual.eigenvalues, count or usual.count
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if graphs is None:
            graphs = small_graphs() | (small_directed_graphs() if is_complex else {})
            for graph in graphs.values():
                _add_fields(graph, encoder.requires, names)
        graphs = {name: _in_float64(graph) for name, graph in graphs.items()}
        encoder = copy.deepcopy(encoder).cpu().double()
        check = _Check(encoder, graphs, names)
        check.output()
        check.missing_fields()
        check.invariance()
        check.permutation_equivariance()
        check.batch_independence()
        check.gradients()
        check.state()


@dataclass(frozen=True)
class _SpectralNames:
    eigenvectors: str
    eigenvalues: str
    count: str


_LAPLACIAN = _SpectralNames(
    "laplacian_eigenvector_pe", "laplacian_eigenvalue", "laplacian_eigenvector_count"
)
_MAGNETIC = _SpectralNames(
    "magnetic_eigenvector_pe", "magnetic_eigenvalue", "magnetic_eigenvector_count"
)

# What a test of an invariance does to the eigenvectors.
_CHANGES = {
    "sign": "a change of signs",
    "basis": "a rotation inside eigenspaces",
    "phase": "a change of phases",
}


@dataclass
class _Check:
    encoder: FieldEncoder
    graphs: dict[str, Data]
    names: _SpectralNames
    expected: dict[str, Tensor] = field(init=False)

    def __post_init__(self) -> None:
        self.encoder.eval()
        with torch.no_grad():
            self.expected = {name: self.encode([graph]) for name, graph in self.graphs.items()}

    def encode(self, graphs: list[Data]) -> Tensor:
        return self.forward(Batch.from_data_list(graphs))

    def forward(self, batch: Batch) -> Tensor:
        """Calls the encoder; fails if that changes the batch."""
        before = batch.clone()
        output = self.encoder(batch)
        for name in sorted({*before.keys(), *batch.keys()}):
            assert _are_equal(before.get(name), batch.get(name)), (
                f"the encoder changes {name!r} of the batch, which others read after it; it must leave the batch as "
                "it is"
            )
        return output

    def compare(self, got: Tensor, name: str, what: str) -> None:
        """Fails unless the output for a graph is as expected."""
        expected = self.expected[name]
        assert got.shape == expected.shape, (
            f"graph {name!r}: {what} changes the shape from {list(expected.shape)} to {list(got.shape)}"
        )
        if got.numel():
            scale = float(expected.abs().max().clamp(min=1))
            error = float((got - expected).abs().max()) / scale
            assert error < _TOLERANCE, f"graph {name!r}: {what} changes the output by {error:.1e}"

    @torch.no_grad()
    def output(self) -> None:
        for name, graph in self.graphs.items():
            shape = (_num_rows(graph, self.encoder.level), self.encoder.out_channels)
            got = self.expected[name]
            assert got.shape == shape, (
                f"graph {name!r}: the output has shape {list(got.shape)}, not {list(shape)}"
            )
            assert bool(got.isfinite().all()), f"graph {name!r}: the output is not finite"

    def missing_fields(self) -> None:
        for requirement in self.encoder.requires:
            graphs = [graph.clone() for graph in self.graphs.values()]
            for graph in graphs:
                del graph[requirement.name]
            try:
                self.encode(graphs)
            except ValueError as error:
                message = str(error)
                for part in filter(None, (requirement.name, requirement.transform)):
                    assert part in message, (
                        f"the error for a missing {requirement.name!r} doesn't name {part!r}: {message}"
                    )
            else:
                raise AssertionError(f"nothing is raised when {requirement.name!r} is missing")

    @torch.no_grad()
    def invariance(self) -> None:
        for symmetry in sorted(self.encoder.invariant_to):
            if symmetry not in _CHANGES:
                raise ValueError(
                    f"check_encoder cannot test invariance to {symmetry!r}, only to {', '.join(map(repr, _CHANGES))}"
                )
            if self.names.eigenvectors not in {need.name for need in self.encoder.requires}:
                raise ValueError(
                    f"the encoder declares invariance to {symmetry!r} but doesn't read "
                    f"{self.names.eigenvectors!r}; give check_encoder the name of its eigenvectors"
                )
            if symmetry == "basis":
                self._require_spectrum()
            if symmetry == "phase":
                self._require_complex()
            for name, graph in self.graphs.items():
                changed = graph.clone()
                vectors = graph[self.names.eigenvectors]
                if symmetry == "sign":
                    vectors = vectors * _random_signs(vectors.shape[1:])
                elif symmetry == "phase":
                    vectors = vectors * _random_phases(vectors.shape[1:])
                else:
                    vectors = _rotate_eigenspaces(graph, self.names)
                changed[self.names.eigenvectors] = vectors
                self.compare(self.encode([changed]), name, _CHANGES[symmetry])

    def _require_complex(self) -> None:
        for name, graph in self.graphs.items():
            if not graph[self.names.eigenvectors].is_complex():
                raise ValueError(
                    f"check_encoder cannot test invariance to 'phase': {self.names.eigenvectors!r} of graph {name!r} "
                    "is real; declare 'sign', or give it complex eigenvectors"
                )

    def _require_spectrum(self) -> None:
        for name, graph in self.graphs.items():
            for needed in (self.names.eigenvalues, self.names.count):
                if needed not in graph:
                    raise ValueError(
                        f"graph {name!r} has no {needed!r}, which tells the eigenspaces to rotate in"
                    )

    @torch.no_grad()
    def permutation_equivariance(self) -> None:
        for name, graph in self.graphs.items():
            permuted, rows = _permute(graph, self.encoder)
            got = self.encode([permuted])
            self.compare(got[rows], name, "a permutation of the nodes, undone on the output,")

    @torch.no_grad()
    def batch_independence(self) -> None:
        modes = [False] if self.encoder.mixes_graphs_in_training else [False, True]
        graphs = list(self.graphs.values())
        rows = [_num_rows(graph, self.encoder.level) for graph in graphs]
        for training in modes:
            self.encoder.train(training)
            mode = "training" if training else "evaluation"
            together = self.encode(graphs).split(rows)
            for (name, graph), in_batch in zip(self.graphs.items(), together, strict=True):
                what = f"the company of other graphs in a batch, in {mode},"
                self.compare(in_batch, name, what)
                self.compare(self.encode([graph]), name, f"switching to {mode}")
        self.encoder.eval()

    def gradients(self) -> None:
        self.encoder.train()
        everything = list(self.graphs.values())
        for name, graphs in [(name, [graph]) for name, graph in self.graphs.items()] + [
            ("all in a batch", everything)
        ]:
            batch = Batch.from_data_list(graphs)
            fields = {
                need.name: batch[need.name].requires_grad_()
                for need in self.encoder.requires
                if need.kind != "integer"
            }
            self.encoder.zero_grad()
            output = self.forward(batch)
            (output * torch.randn_like(output)).sum().backward()
            for parameter_name, parameter in self.encoder.named_parameters():
                if not parameter.requires_grad:
                    continue
                assert parameter.grad is not None, (
                    f"graphs {name!r}: the parameter {parameter_name!r} doesn't influence the output"
                )
                assert bool(parameter.grad.isfinite().all()), (
                    f"graphs {name!r}: the gradient of {parameter_name!r} is not finite"
                )
            for field_name, value in fields.items():
                assert value.grad is None or bool(value.grad.isfinite().all()), (
                    f"graphs {name!r}: the gradient of {field_name!r} is not finite"
                )
        for field_name, value in fields.items():  # of the batch of all graphs
            used = value.grad is not None and bool((value.grad != 0).any())
            assert used, f"the output doesn't depend on {field_name!r}, which the encoder requires"
        self.encoder.eval()

    @torch.no_grad()
    def state(self) -> None:
        # In training, a normalisation may have changed its running statistics.
        everything = list(self.graphs.values())
        before = self.encode(everything)
        buffer = io.BytesIO()
        torch.save(self.encoder.state_dict(), buffer)
        buffer.seek(0)
        for parameter in self.encoder.parameters():
            parameter.normal_()
        self.encoder.load_state_dict(torch.load(buffer, weights_only=True))
        assert torch.equal(self.encode(everything), before), (
            "saving and loading the state changes the output"
        )


def _add_fields(graph: Data, requires: tuple[FieldRequirement, ...], names: _SpectralNames) -> None:
    """Attaches what an encoder requires: the spectrum under its names, random numbers otherwise."""
    for requirement in requires:
        shape = (_num_rows(graph, requirement.level), *_row_shape(requirement))
        dtype = {"float": torch.float64, "complex": torch.complex128}.get(requirement.kind)
        graph[requirement.name] = (
            torch.randint(0, 2, shape) if dtype is None else torch.randn(shape, dtype=dtype)
        )
    spectral = [need for need in requires if need.name in (names.eigenvectors, names.eigenvalues)]
    if any(need.kind == "complex" for need in spectral):
        _add_magnetic_spectrum(graph, _row_shape(spectral[0]), names)
    elif spectral:
        values, vectors, count = _spectrum(graph, _row_shape(spectral[0])[-1])
        graph[names.eigenvalues], graph[names.eigenvectors] = values, vectors
        graph[names.count] = count


def _row_shape(requirement: FieldRequirement) -> tuple[int, ...]:
    return requirement.shape or (requirement.width or 8,)


def _add_magnetic_spectrum(graph: Data, shape: tuple[int, ...], names: _SpectralNames) -> None:
    """Attaches the first eigenpairs of the magnetic Laplacian: ``shape`` is [k], or [Q, k] for Q potentials."""
    potentials = tuple(0.1 * number for number in range(1, shape[0] + 1))
    encoding = AddMagneticLaplacianPE(
        shape[-1],
        names.eigenvectors,
        q=0.1 if len(shape) == 1 else potentials,
        eigenvalue_name=names.eigenvalues,
        count_name=names.count,
        dtype="float64",
    )
    encoded = encoding(graph)
    for name in (names.eigenvectors, names.eigenvalues, names.count):
        graph[name] = encoded[name]


def _spectrum(graph: Data, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The first k eigenpairs of the symmetric normalised Laplacian, padded, and their number."""
    n = graph.num_nodes
    adjacency = torch.zeros(n, n, dtype=torch.float64)
    adjacency.index_put_(
        (graph.edge_index[0], graph.edge_index[1]),
        torch.ones(graph.num_edges, dtype=torch.float64),
        accumulate=True,
    )
    adjacency.fill_diagonal_(0)
    degree = adjacency.sum(1)
    scale = torch.where(degree > 0, degree, 1).rsqrt()
    laplacian = torch.diag((degree > 0).double()) - scale[:, None] * adjacency * scale
    values, vectors = torch.linalg.eigh(laplacian)
    count = min(n, k)
    padded_values = torch.zeros(1, k, dtype=torch.float64)
    padded_values[0, :count] = values[:count]
    padded_vectors = torch.zeros(n, k, dtype=torch.float64)
    padded_vectors[:, :count] = vectors[:, :count]
    return padded_values, padded_vectors, torch.tensor([[count]])


def _in_float64(graph: Data) -> Data:
    def convert(value: Tensor) -> Tensor:
        if value.is_complex():
            return value.to(torch.complex128)
        return value.double() if value.is_floating_point() else value

    return graph.clone().apply(convert)


def _are_equal(a: object, b: object) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return False
        return bool(((a == b) | (a.isnan() & b.isnan())).all())  # a label may be NaN
    return not isinstance(a, Tensor) and not isinstance(b, Tensor)


def _random_signs(shape: tuple[int, ...]) -> Tensor:
    return 1.0 - 2.0 * torch.randint(0, 2, shape)


def _random_phases(shape: tuple[int, ...]) -> Tensor:
    return torch.polar(torch.ones(shape).double(), 2 * torch.pi * torch.rand(shape).double())


def _rotate_eigenspaces(graph: Data, names: _SpectralNames) -> Tensor:
    """The eigenvectors, with a random orthogonal or unitary matrix applied to those of each eigenvalue."""
    vectors = graph[names.eigenvectors].clone()
    # [n, Q, k] and [Q, k], with Q = 1 where there are no potentials; views
    by_potential = vectors if vectors.dim() == 3 else vectors[:, None]
    eigenvalues = graph[names.eigenvalues].view(by_potential.shape[1:])
    count = int(graph[names.count])
    for q, values in enumerate(eigenvalues):
        starts = [c for c in range(count) if c == 0 or values[c] - values[c - 1] > 1e-8]
        for start, end in pairwise([*starts, count]):
            size = end - start
            rotation, _ = torch.linalg.qr(torch.randn(size, size, dtype=vectors.dtype))
            by_potential[:, q, start:end] @= rotation
    return vectors


def _permute(graph: Data, encoder: FieldEncoder) -> tuple[Data, Tensor]:
    """A graph with its nodes and edges in another order, and the new row of each old row of the output."""
    n, num_edges = graph.num_nodes, graph.num_edges
    new_node = torch.randperm(n)
    new_edge = torch.randperm(num_edges)
    new_rows = {
        "node": new_node,
        "edge": new_edge,
        "pair": (new_node[:, None] * n + new_node).flatten(),
        "graph": torch.zeros(1, dtype=torch.long),
    }
    permuted = graph.clone()
    permuted.edge_index = torch.empty_like(graph.edge_index)
    permuted.edge_index[:, new_edge] = new_node[graph.edge_index]
    for requirement in encoder.requires:
        value = graph[requirement.name]
        moved = torch.empty_like(value)
        moved[new_rows[requirement.level]] = value
        permuted[requirement.name] = moved
    return permuted, new_rows[encoder.level]


def _num_rows(graph: Data, level: str) -> int:
    n = graph.num_nodes
    return {"node": n, "edge": graph.num_edges, "pair": n * n, "graph": 1}[level]
