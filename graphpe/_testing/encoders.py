"""The contract of an encoder as a test."""

from __future__ import annotations

import copy
import io
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe._testing.encoder_graphs import (
    LAPLACIAN,
    MAGNETIC,
    SpectralNames,
    add_fields,
    in_float64,
    num_rows,
    permute,
    random_phases,
    random_signs,
    rotate_eigenspaces,
    with_other_padding,
)
from graphpe._testing.small_graphs import random_graphs, small_directed_graphs, small_graphs
from graphpe.nn.encoders import FieldEncoder, RandomFeatureEncoder
from graphpe.nn.layout import graph_layout

# Everything is computed in float64, so that a difference above this is no rounding error.
_TOLERANCE = 1e-6

# Of the norm of all outputs: bfloat16 has eight bits, and a normalisation makes the errors of small numbers large.
_BFLOAT16_TOLERANCE = 0.2


def check_encoder(
    encoder: FieldEncoder,
    graphs: Mapping[str, Data] | None = None,
    *,
    eigenvectors: str | None = None,
    eigenvalues: str | None = None,
    count: str | None = None,
    seed: int = 0,
    compiled: bool = True,
) -> None:
    """Tests that an encoder keeps the contract of :class:`~graphpe.nn.FieldEncoder` and what it declares.

    On graphs of all sorts, among them some with fewer nodes than columns, one node or none, and random ones, with
    float64 copies of the encoder:

    - finite output of the declared shape, and dependence on all its fields;
    - invariance to the symmetries in ``invariant_to``, in evaluation;
    - equivariance to node permutations; for encoders that draw random features, if these are permuted too;
    - independence of the other graphs in the batch in evaluation, and in training unless ``mixes_graphs_in_training``;
    - independence of the columns that the count field says are padding, in evaluation and training;
    - new numbers in each training step where it declares ``augments`` or draws random features, and the mean over
      several draws of them;
    - finite gradients for all trainable parameters and fields, also at repeated eigenvalues and where fields are zero;
    - saving and loading the state, an error for each missing field, and a batch that is left as it is;
    - about the same output under ``torch.autocast`` to bfloat16, and finite gradients;
    - the same output when compiled by ``torch.compile`` (graph breaks are allowed), unless its ``compile_exception``
      says why not.

    Args:
        encoder: The encoder, with its initial or trained parameters; it is not changed.
        graphs: Graphs by name with the fields of the encoder; by default a collection of small ones, some directed,
            with the spectrum of the symmetric normalised Laplacian, or of the magnetic one where an encoder reads
            complex fields, and random numbers for all other fields.
        eigenvectors: Name of the node field that signs, phases and rotations (unitary matrices where it is complex)
            are applied to. None, for this name and the next two: those of ``AddLaplacianEigenvectorPE``, or of
            ``AddMagneticLaplacianPE`` where the encoder reads complex fields.
        eigenvalues: Name of the graph field that tells which eigenvectors share an eigenspace.
        count: Name of the graph field with the number of eigenvectors that are not padding.
        seed: Seed of all random choices.
        compiled: Whether to compile it too, which takes some seconds.

    Raises:
        AssertionError: If the encoder breaks the contract; the message says where and by how much.
        TypeError: If it is no encoder, or ``graphs`` is no mapping.
        ValueError: If the encoder declares an invariance that cannot be tested on its fields.
    """
    if not isinstance(encoder, FieldEncoder):
        got = (
            f"the class {encoder.__name__}" if isinstance(encoder, type) else type(encoder).__name__
        )
        raise TypeError(f"encoder is {got}; it must be an instance of a FieldEncoder")
    if graphs is not None and not (isinstance(graphs, Mapping) and graphs):
        raise TypeError(
            f"graphs is a {type(graphs).__name__} of {len(graphs)}; it must be a dictionary of graphs by name"
        )
    is_complex = any(need.kind == "complex" for need in encoder.requires)
    usual = MAGNETIC if is_complex else LAPLACIAN
    names = SpectralNames(
        eigenvectors or usual.eigenvectors, eigenvalues or usual.eigenvalues, count or usual.count
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if graphs is None:
            graphs = small_graphs() | random_graphs() | small_directed_graphs()
            for graph in graphs.values():
                add_fields(graph, encoder.requires, names)
        graphs = {name: in_float64(graph) for name, graph in graphs.items()}
        encoder = copy.deepcopy(encoder).cpu().double()
        check = _Check(encoder, graphs, names)
        check.output()
        check.missing_fields()
        check.invariance()
        check.permutation_equivariance()
        check.batch_independence()
        check.padding()
        check.chance()
        check.gradients()
        check.state()
        check.autocast()
        if compiled and not encoder.compile_exception:
            check.compiling()


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
    names: SpectralNames
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
            shape = (num_rows(graph, self.encoder.level), self.encoder.out_channels)
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
                    vectors = vectors * random_signs(vectors.shape[1:])
                elif symmetry == "phase":
                    vectors = vectors * random_phases(vectors.shape[1:])
                else:
                    vectors = rotate_eigenspaces(graph, self.names)
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
            permuted, new_node, rows = permute(graph, self.encoder)
            if isinstance(self.encoder, RandomFeatureEncoder):
                layout = graph_layout(graph)
                features = self.encoder.draw(layout)
                moved = torch.empty_like(features)
                moved[new_node] = features
                got = self.encoder.encode(permuted, layout, moved)
            else:
                got = self.encode([permuted])
            self.compare(got[rows], name, "a permutation of the nodes, undone on the output,")

    @torch.no_grad()
    def batch_independence(self) -> None:
        modes = [False] if self.encoder.mixes_graphs_in_training else [False, True]
        graphs = list(self.graphs.values())
        rows = [num_rows(graph, self.encoder.level) for graph in graphs]
        for training in modes:
            self.encoder.train(training)
            mode = "training" if training else "evaluation"
            together = self.encode(graphs).split(rows)
            for (name, graph), in_batch in zip(self.graphs.items(), together, strict=True):
                what = f"the company of other graphs in a batch, in {mode},"
                self.compare(in_batch, name, what)
                self.compare(self.encode([graph]), name, f"switching to {mode}")
        self.encoder.eval()

    @torch.no_grad()
    def padding(self) -> None:
        """Other numbers in the columns that are padding change nothing, also in the statistics of a normalisation."""
        spectral = {self.names.eigenvectors, self.names.eigenvalues, self.names.count}
        read = {need.name for need in self.encoder.requires}
        if self.names.count not in read:
            return
        graphs = list(self.graphs.values())
        changed = [with_other_padding(graph, self.names, spectral & read) for graph in graphs]
        for training in (False, True):
            self.encoder.train(training)
            encoded = []
            for version in (graphs, changed):
                torch.manual_seed(0)  # for what is random in training
                encoded.append(self.encode(version))
            expected, got = encoded
            if got.numel():
                error = float((got - expected).abs().max() / expected.abs().max().clamp(min=1))
                mode = "training" if training else "evaluation"
                assert error < _TOLERANCE, (
                    f"other numbers in columns that are padding change the output, in {mode}, by {error:.1e}"
                )
        self.encoder.eval()

    @torch.no_grad()
    def chance(self) -> None:
        """What is drawn in training is new each time, and several draws of random features are averaged."""
        draws = isinstance(self.encoder, RandomFeatureEncoder)
        if not (draws or self.encoder.augments):
            return
        everything = list(self.graphs.values())
        self.encoder.train()
        differ = not torch.equal(self.encode(everything), self.encode(everything))
        self.encoder.eval()
        is_random = bool(self.encoder.augments) or self.encoder.mixes_graphs_in_training
        what = "draws random features" if draws else f"augments {sorted(self.encoder.augments)}"
        assert differ or not is_random, (
            f"the encoder {what}, but two training steps give the same output"
        )
        if draws:
            batch = Batch.from_data_list(everything)
            layout = graph_layout(batch)
            first = self.encoder.draw(layout)
            second = torch.randn_like(first)
            mean = (
                self.encoder.encode(batch, layout, first)
                + self.encoder.encode(batch, layout, second)
            ) / 2
            together = self.encoder.encode(batch, layout, torch.cat([first, second], dim=1))
            error = float((together - mean).abs().max() / mean.abs().max().clamp(min=1))
            assert error < _TOLERANCE, (
                f"the output for two draws is not the mean of those for each; they differ by {error:.1e}"
            )

    def gradients(self) -> None:
        self.encoder.train()
        everything = list(self.graphs.values())
        zero = [_with_zero_fields(graph, self.encoder) for graph in everything]
        for name, graphs in [
            *((name, [graph]) for name, graph in self.graphs.items()),
            ("all in a batch, with zero fields", zero),
            ("all in a batch", everything),
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
        for value in (*self.encoder.parameters(), *self.encoder.buffers()):
            if value.is_floating_point():
                value.normal_()
        self.encoder.load_state_dict(torch.load(buffer, weights_only=True))
        assert torch.equal(self.encode(everything), before), (
            "saving and loading the state changes the output"
        )

    def autocast(self) -> None:
        """In bfloat16, which has the range of float32 but eight bits."""
        encoder = copy.deepcopy(self.encoder).float()
        batch = Batch.from_data_list(list(self.graphs.values()))
        outputs = []
        for enabled in (False, True):
            encoder.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
                outputs.append(encoder(batch).float())
            if outputs[-1].requires_grad:  # there may be no parameters
                outputs[-1].sum().backward()
        expected, got = (output.detach() for output in outputs)
        assert bool(got.isfinite().all()), "under autocast to bfloat16 the output is not finite"
        error = float((got - expected).norm() / expected.norm().clamp(min=1e-6))
        assert error < _BFLOAT16_TOLERANCE, (
            f"autocast to bfloat16 changes the output by {error:.0%} of its norm"
        )
        for name, parameter in encoder.named_parameters():
            finite = parameter.grad is None or bool(parameter.grad.isfinite().all())
            assert finite, f"under autocast to bfloat16 the gradient of {name!r} is not finite"

    @torch.no_grad()
    def compiling(self) -> None:
        torch._dynamo.reset()
        # Captures the graph and its derivative, as every backend needs, without a C++ compiler.
        compiled = torch.compile(self.encoder, backend="aot_eager")
        everything = list(self.graphs.values())
        expected = self.encode(everything)
        with _quiet("torch._dynamo"):  # it tells of each graph break
            got = compiled(Batch.from_data_list(everything))
        torch._dynamo.reset()
        error = float((got - expected).abs().max() / expected.abs().max().clamp(min=1))
        assert error < _TOLERANCE, f"compiling changes the output by {error:.1e}"


def _are_equal(a: object, b: object) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return False
        return bool(((a == b) | (a.isnan() & b.isnan())).all())  # a label may be NaN
    return not isinstance(a, Tensor) and not isinstance(b, Tensor)


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Silences a logger but for errors."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _with_zero_fields(graph: Data, encoder: FieldEncoder) -> Data:
    """All float and complex fields are zero; a bare norm has no gradient there."""
    graph = graph.clone()
    for need in encoder.requires:
        if need.kind != "integer":
            graph[need.name] = torch.zeros_like(graph[need.name])
    return graph
