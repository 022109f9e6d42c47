"""`check_encoder` accepts encoders that keep the contract and refuses those that break it."""

from __future__ import annotations

import pytest
import torch
from nn_batches import graphs
from torch import nn

from graphpe.nn import (
    FieldEncoder,
    FieldRequirement,
    NodeEncoder,
)
from graphpe.nn.blocks import normalization
from graphpe.nn.encoders import RandomFeatureEncoder
from graphpe.nn.layout import graph_layout
from graphpe.testing import check_encoder


class Encoder(FieldEncoder):
    """Good as it is; each test breaks one thing."""

    def __init__(self) -> None:
        super().__init__()
        self.requires = (FieldRequirement("laplacian_eigenvector_pe", "node", 6, "AddPE"),)
        self.out_channels = 3
        self.linear = nn.Linear(6, 3)

    def vectors(self, data):
        return self.read(data, graph_layout(data))[0]

    def forward(self, data):
        return self.linear(self.vectors(data))


def test_accepts_the_encoder_that_the_others_break() -> None:
    check_encoder(Encoder())


class ClaimsSigns(Encoder):
    invariant_to = frozenset({"sign"})


class ClaimsBasis(Encoder):
    """Invariant to signs, but not to rotations."""

    invariant_to = frozenset({"basis"})

    def forward(self, data):
        return self.linear(self.vectors(data).abs())


class ComplexEncoder(FieldEncoder):
    """Good as it is, on complex fields."""

    requires = (
        FieldRequirement("magnetic_eigenvector_pe", "node", 12, "AddPE", "complex", (2, 6)),
    )
    out_channels = 3

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(12, 3)

    def vectors(self, data):
        return self.read(data, graph_layout(data))[0].flatten(1)

    def forward(self, data):
        vectors = self.vectors(data)
        return self.linear(vectors.real) + self.linear(vectors.imag)


def test_accepts_the_complex_encoder_that_the_others_break() -> None:
    check_encoder(ComplexEncoder())


class ClaimsPhases(ComplexEncoder):
    """Invariant to signs, but not to phases."""

    invariant_to = frozenset({"phase"})

    def forward(self, data):
        return self.linear(self.vectors(data).real.abs())


class ClaimsUnitaryBasis(ComplexEncoder):
    """Invariant to phases, but not to rotations inside eigenspaces of several dimensions."""

    invariant_to = frozenset({"basis"})

    def forward(self, data):
        return self.linear(self.vectors(data).abs().square())


class ClaimsRealBasis(ComplexEncoder):
    """V Vᵀ in place of V Vᴴ: invariant to orthogonal matrices, not to unitary ones."""

    invariant_to = frozenset({"sign", "basis"})

    def forward(self, data):
        squares = self.vectors(data).square().view(-1, 2, 6).sum(2).real
        return self.linear(squares.repeat(1, 6))


class DependsOnOrder(Encoder):
    def forward(self, data):
        layout = graph_layout(data)
        position = torch.arange(layout.num_nodes) - layout.ptr[layout.batch]
        return super().forward(data) + position[:, None]


class TakesEdgesForBothDirections(Encoder):
    """Those from a node to one after it: right where each edge is there in both directions, and only there."""

    def forward(self, data):
        out = super().forward(data)
        forward = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
        source, target = torch.cat([forward, forward.flip(0)], dim=1)
        return out.index_add(0, target, out[source])


class MixesGraphs(Encoder):
    def forward(self, data):
        out = super().forward(data)
        return out + out.sum(0)


class MixesGraphsInTraining(Encoder):
    """Batch normalisation that is not declared."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = normalization("batch", 3)

    def forward(self, data):
        return self.norm(super().forward(data))


class NoiseInTraining(Encoder):
    def forward(self, data):
        return nn.functional.dropout(super().forward(data), training=self.training)


class WrongWidth(Encoder):
    def __init__(self) -> None:
        super().__init__()
        self.out_channels = 4


class NotFinite(Encoder):
    def forward(self, data):
        return super().forward(data) / self.vectors(data).norm(dim=1, keepdim=True).floor()


class GradientNotFinite(Encoder):
    """The norm of a zero row has no gradient."""

    def forward(self, data):
        squared = self.linear(self.vectors(data)).square().sum(1, keepdim=True)
        return self.linear(self.vectors(data)) + (squared * 0).sqrt()


class UnusedParameter(Encoder):
    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Linear(2, 2)


class IgnoresItsField(Encoder):
    def forward(self, data):
        return self.linear(self.vectors(data) * 0)


class ParameterThatIsNotRegistered(Encoder):
    """As the published BasisNet on a GPU: `Parameter(...).to(device)` is a plain tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 3)) * 1

    def forward(self, data):
        return super().forward(data) + self.vectors(data) @ self.weight


class StateThatIsNotSaved(Encoder):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("counter", torch.zeros(()), persistent=False)

    def forward(self, data):
        self.counter += 1e-4
        return super().forward(data) + self.counter


class BufferThatIsNotSaved(Encoder):
    """Random numbers of the constructor, which another process draws anew."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("frequencies", torch.randn(6), persistent=False)

    def forward(self, data):
        return self.linear(self.vectors(data) * self.frequencies)


class AugmentsNothing(Encoder):
    augments = frozenset({"sign"})


class RandomEncoder(RandomFeatureEncoder):
    """Good as it is."""

    out_channels = 3

    def __init__(self) -> None:
        super().__init__(4, "normal", 2, 0)
        self.linear = nn.Linear(4, 3)

    def encode(self, data, layout, features):
        return self.linear(features.mean(1))


def test_accepts_the_random_encoder_that_the_others_break() -> None:
    check_encoder(RandomEncoder(), compiled=False)


class FirstDrawAlone(RandomEncoder):
    def encode(self, data, layout, features):
        return self.linear(features[:, 0])


class SumOfDraws(RandomEncoder):
    def encode(self, data, layout, features):
        return self.linear(features.sum(1))


class SameDrawsInTraining(RandomEncoder):
    def draw(self, layout):
        return self._fixed(layout).to(self.linear.weight.dtype)


class ReadsPadding(Encoder):
    """Although it knows which columns are padding."""

    def __init__(self) -> None:
        super().__init__()
        count = FieldRequirement("laplacian_eigenvector_count", "graph", 1, "AddPE", "integer")
        self.requires = (*self.requires, count)


class CountsPaddingInTraining(Encoder):
    """As the published SPE: padding enters the statistics of a batch normalisation, in training alone."""

    mixes_graphs_in_training = True

    def __init__(self) -> None:
        super().__init__()
        count = FieldRequirement("laplacian_eigenvector_count", "graph", 1, "AddPE", "integer")
        self.requires = (*self.requires, count)
        self.norm = normalization("batch", 1)

    def forward(self, data):
        layout = graph_layout(data)
        vectors, count = self.read(data, layout)
        normalized = self.norm(vectors.reshape(-1, 1)).view(vectors.shape)
        valid = torch.arange(6) < count[layout.batch]
        return self.linear(normalized * valid)


class NormOfZeroRows(Encoder):
    """The norm of a row has no gradient where the row is zero."""

    def forward(self, data):
        return super().forward(data) + self.vectors(data).square().sum(1, keepdim=True).sqrt()


class LosesItselfInBfloat16(Encoder):
    """1 + x and 1 are the same number in bfloat16 for a small x."""

    def forward(self, data):
        out = super().forward(data) * 1e-3
        return ((1 + out) - 1) * 1e3


class DoesNotCompile(Encoder):
    """What a graph break at the wrong place may do: a value of the time of compiling stays."""

    def forward(self, data):
        return super().forward(data) + float(torch.compiler.is_compiling())


class SilentAboutMissingFields(Encoder):
    def forward(self, data):
        vectors = data.get("laplacian_eigenvector_pe")
        if vectors is None:
            vectors = self.linear.weight.new_zeros(data.num_nodes, 6)
        return self.linear(vectors)


class UnhelpfulAboutMissingFields(Encoder):
    def forward(self, data):
        vectors = data.get("laplacian_eigenvector_pe")
        if vectors is None:
            raise ValueError("laplacian_eigenvector_pe is missing")
        return self.linear(vectors)


class DeletesItsField(Encoder):
    def forward(self, data):
        out = super().forward(data)
        del data["laplacian_eigenvector_pe"]
        return out


class ChangesItsField(Encoder):
    """Only in training, and in place."""

    def forward(self, data):
        out = super().forward(data)
        if self.training:
            with torch.no_grad():
                data["laplacian_eigenvector_pe"].neg_()
        return out


class ChangesTheTypeOfItsField(Encoder):
    def forward(self, data):
        data["laplacian_eigenvector_pe"] = self.vectors(data).to(torch.complex128)
        return self.linear(data["laplacian_eigenvector_pe"].real)


class ChangesTheEdges(Encoder):
    def forward(self, data):
        data.edge_index = data.edge_index.flip(0)
        return super().forward(data)


class LeavesSomethingBehind(Encoder):
    def forward(self, data):
        data.encoded = super().forward(data)
        return data.encoded


class ReplacesByAnEqualField(Encoder):
    """Which nobody can see."""

    def forward(self, data):
        data["laplacian_eigenvector_pe"] = self.vectors(data) * 1
        return super().forward(data)


def test_accepts_a_field_replaced_by_an_equal_one() -> None:
    check_encoder(ReplacesByAnEqualField())


def test_an_integer_field_gets_integers() -> None:
    class Embedding(Encoder):
        def __init__(self) -> None:
            super().__init__()
            self.requires = (
                *self.requires,
                FieldRequirement("degree", "node", 2, "AddDegree", "integer"),
            )
            self.embedding = nn.EmbeddingBag(2, 3, mode="sum")

        def forward(self, data):
            vectors, degree = self.read(data, graph_layout(data))
            return self.linear(vectors) + self.embedding(degree)

    check_encoder(Embedding())


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (DeletesItsField, "the encoder changes 'laplacian_eigenvector_pe' of the batch"),
        (ChangesItsField, "the encoder changes 'laplacian_eigenvector_pe' of the batch"),
        (ChangesTheTypeOfItsField, "the encoder changes 'laplacian_eigenvector_pe' of the batch"),
        (ChangesTheEdges, "the encoder changes 'edge_index' of the batch"),
        (LeavesSomethingBehind, "the encoder changes 'encoded' of the batch"),
        (ClaimsSigns, "a change of signs changes the output"),
        (ClaimsBasis, "a rotation inside eigenspaces changes the output"),
        (ClaimsPhases, "a change of phases changes the output"),
        (ClaimsUnitaryBasis, "a rotation inside eigenspaces changes the output"),
        (ClaimsRealBasis, "a rotation inside eigenspaces changes the output"),
        (DependsOnOrder, "a permutation of the nodes.*changes the output"),
        (TakesEdgesForBothDirections, "a permutation of the nodes.*changes the output"),
        (MixesGraphs, "other graphs in a batch, in evaluation, changes the output"),
        (MixesGraphsInTraining, "in training"),
        (NoiseInTraining, "in training"),
        (WrongWidth, r"shape \[1, 3\], not \[1, 4\]|shape \[0, 3\], not \[0, 4\]"),
        (NotFinite, "the output is not finite"),
        (GradientNotFinite, "the gradient of '.*' is not finite"),
        (UnusedParameter, "'unused.weight' doesn't influence the output"),
        (IgnoresItsField, "doesn't depend on 'laplacian_eigenvector_pe'"),
        (StateThatIsNotSaved, "changes the output"),
        (BufferThatIsNotSaved, "saving and loading the state changes the output"),
        (AugmentsNothing, "augments .'sign'., but two training steps give the same output"),
        (FirstDrawAlone, "two draws is not the mean"),
        (SumOfDraws, "two draws is not the mean"),
        (SameDrawsInTraining, "draws random features, but two training steps give the same output"),
        (ReadsPadding, "columns that are padding change the output, in evaluation"),
        (CountsPaddingInTraining, "columns that are padding change the output, in training"),
        (NormOfZeroRows, "the gradient of 'laplacian_eigenvector_pe' is not finite"),
        (LosesItselfInBfloat16, "autocast to bfloat16 changes the output by"),
        (DoesNotCompile, "compiling changes the output"),
        (SilentAboutMissingFields, "nothing is raised when 'laplacian_eigenvector_pe' is missing"),
        (UnhelpfulAboutMissingFields, "doesn't name 'AddPE'"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_refuses_bad_encoders(bad: type[FieldEncoder], message: str) -> None:
    torch.manual_seed(0)
    with pytest.raises(AssertionError, match=message):
        check_encoder(bad())


def test_refuses_parameters_that_are_not_registered() -> None:
    """They stay behind in float32 or cannot be copied."""
    with pytest.raises(RuntimeError):
        check_encoder(ParameterThatIsNotRegistered())


def test_rotations_need_the_eigenvalues() -> None:
    every = graphs(6)
    for graph in every.values():
        del graph.laplacian_eigenvalue
    with pytest.raises(ValueError, match="graph 'no nodes' has no 'laplacian_eigenvalue'"):
        check_encoder(ClaimsBasis(), every)


def test_a_transform_that_is_not_known_is_not_looked_for() -> None:
    check_encoder(NodeEncoder(5, 7, field="own_pe"))


@pytest.mark.parametrize("wrong", [None, nn.Linear(1, 1), Encoder], ids=str)
def test_what_is_no_encoder_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="it must be an instance of a FieldEncoder"):
        check_encoder(wrong)


@pytest.mark.parametrize("wrong", [{}, []], ids=str)
def test_graphs_must_be_named(wrong: object) -> None:
    with pytest.raises(TypeError, match="it must be a dictionary of graphs by name"):
        check_encoder(Encoder(), wrong)


def test_untestable_claims_are_refused() -> None:
    class Phase(Encoder):
        invariant_to = frozenset({"phase"})

    class Elsewhere(NodeEncoder):
        invariant_to = frozenset({"sign"})

    with pytest.raises(ValueError, match="cannot test invariance to 'phase'"):
        check_encoder(Phase())
    with pytest.raises(ValueError, match="doesn't read 'laplacian_eigenvector_pe'"):
        check_encoder(Elsewhere(5, 7))
