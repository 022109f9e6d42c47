"""`check_encoder` accepts encoders that keep the contract and refuses those that break it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from nn_batches import graphs
from torch import nn

from graphpe.nn import (
    PEG,
    SPE,
    BasisNet,
    BasisPEARL,
    ComplexSPE,
    DiagonalEncoder,
    EigenpairDeepSets,
    EigenpairTransformer,
    EigenvectorEncoder,
    EmbeddingEncoder,
    FieldEncoder,
    FieldRequirement,
    FunctionalDistanceBias,
    GraphormerBias,
    MagLapNet,
    NodeEncoder,
    PairEncoder,
    PretrainedEncoder,
    RandomFeaturePropagation,
    RandomPEARL,
    RotaryEncoder,
    SignNet,
    StructuralEncoder,
)
from graphpe.nn.blocks import normalization
from graphpe.nn.encoders import ENCODERS, RandomFeatureEncoder
from graphpe.nn.encoders.pretrained import save_encoder
from graphpe.nn.layout import graph_layout
from graphpe.testing import check_encoder


def pretrained(frozen: bool) -> PretrainedEncoder:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "encoder.safetensors"
        save_encoder(path, StructuralEncoder(8, 2, 4, eval_samples=2), {})
        return PretrainedEncoder(path, 7, frozen)


SMALL = {"hidden_channels": 8, "num_layers": 2, "num_filters": 3}
GOOD = {
    "linear": lambda: NodeEncoder(5, 7),
    "NodeEncoder-batch": lambda: NodeEncoder(5, 7, num_layers=2, norm="batch", raw_norm="batch"),
    "NodeEncoder-layer": lambda: NodeEncoder(5, 7, num_layers=2, raw_norm="layer"),
    "embedding": lambda: EmbeddingEncoder(2, 4, 7),
    **{
        f"EigenvectorEncoder-{signs}": lambda signs=signs: EigenvectorEncoder(6, 7, signs=signs)
        for signs in ("flip", "absolute", "canonical", "as_given")
    },
    **{
        f"{cls.__name__}-{norm}-{k}": lambda cls=cls, k=k, norm=norm, raw_norm=raw_norm: cls(
            k, 7, 8, post_layers=2, norm=norm, raw_norm=raw_norm
        )
        for cls in (EigenpairDeepSets, EigenpairTransformer)
        for k, norm, raw_norm in ((6, "layer", "none"), (40, "batch", "batch"))
    },
    **{
        f"PEG-{norm}-{k}": lambda norm=norm, k=k: PEG(k, 7, 8, norm=norm)
        for norm, k in (("layer", 6), ("batch", 1), ("none", 40))
    },
    "rotary": lambda: RotaryEncoder(6, 7),
    "diagonal": lambda: DiagonalEncoder(5, 7),
    "Graphormer": lambda: GraphormerBias(7, 4),
    "functional distance": lambda: FunctionalDistanceBias(2, 7, "shortest_path_pe", categories=4),
    "SignNet": lambda: SignNet(6, 7, 8, 2, 5),
    "SignNet, batch": lambda: SignNet(40, 7, 8, 2, 5, rho="sum", norm="batch", eigenvalues=False),
    "SignNet, deepsets": lambda: SignNet(1, 7, 8, 1, 5, rho="deepsets", set_layers=2),
    "SignNet, transformer": lambda: SignNet(6, 7, 8, 2, 5, rho="transformer", norm="none"),
    "BasisNet": lambda: BasisNet(40, 7, 8, 3, 5),
    "BasisNet, batch": lambda: BasisNet(6, 7, 8, 2, 5, rho="sum", norm="batch"),
    "BasisNet, deepsets": lambda: BasisNet(1, 7, 8, 1, 5, 1, rho="deepsets", norm="none"),
    "BasisNet, transformer": lambda: BasisNet(6, 7, 8, 2, 5, 2, rho="transformer"),
    **{
        f"SPE-{phi}-{rho}-{norm}-{k}-{level}": (
            lambda phi=phi, rho=rho, norm=norm, k=k, level=level: SPE(
                k,
                7,
                8,
                2,
                num_filters=1 if phi == "constant" else 3,
                phi=phi,
                rho=rho,
                norm=norm,
                level=level,
            )
        )
        for phi, rho, norm, k, level in (
            ("mlp", "gin", "layer", 6, "node"),
            ("mlp", "gin", "batch", 40, "node"),
            ("mlp", "mlp", "none", 1, "edge"),
            ("mlp", "gin_deepsets", "layer", 6, "node"),
            ("deepsets", "gin", "none", 1, "node"),
            ("deepsets", "mlp", "batch", 6, "pair"),
            ("deepsets", "gin_deepsets", "batch", 40, "edge"),
            ("transformer", "gin", "layer", 6, "pair"),
            ("transformer", "mlp", "layer", 40, "node"),
            ("transformer", "gin_deepsets", "batch", 1, "node"),
            ("constant", "gin", "layer", 6, "edge"),
        )
    },
    "SPE-lipschitz": lambda: SPE(6, 7, lipschitz=1.0, **SMALL),
    **{
        f"ComplexSPE-{rho}-{norm}-{k}-{potentials}-{level}": (
            lambda rho=rho, norm=norm, k=k, q=potentials, level=level: ComplexSPE(
                k, 7, q, 8, num_channels=3, phi_hidden_channels=8, rho=rho, norm=norm, level=level
            )
        )
        for rho, norm, k, potentials, level in (
            ("gin", "layer", 6, 2, "node"),
            ("gin", "batch", 40, 1, "node"),
            ("gin", "layer", 1, 1, "pair"),
            ("mlp", "none", 6, 2, "node"),
            ("mlp", "none", 1, 1, "edge"),
            ("gin_deepsets", "layer", 40, 1, "node"),
            ("gin_deepsets", "batch", 6, 2, "edge"),
        )
    },
    **{
        f"MagLapNet-{element}-{sign_net}-{k}-{potentials}-{heads}": (
            lambda element=element, sign_net=sign_net, k=k, q=potentials, heads=heads: MagLapNet(
                k,
                7,
                q,
                element,
                6,
                sign_net,
                scale_by_size=heads == 0,
                heads=heads,
                dropout=0.1 if heads else 0.0,
            )
        )
        for element in ("mlp", "gnn")
        for sign_net in ("none", "published", "all")
        for k, potentials, heads in ((1, 1, 0), (6, 2, 4), (40, 1, 0))
    },
    **{
        f"PairEncoder-{level}-{norm}-{categories}": (
            lambda level=level, norm=norm, categories=categories: PairEncoder(
                3, 7, hidden_channels=8, level=level, norm=norm, categories=categories
            )
        )
        for level in ("pair", "node")
        for norm in ("layer", "batch", "none")
        for categories in (None, 4)
    },
    **{
        f"PairEncoder-raw-{raw_norm}": lambda raw_norm=raw_norm: PairEncoder(
            3, 7, hidden_channels=8, raw_norm=raw_norm
        )
        for raw_norm in ("layer", "batch")
    },
    **{
        f"RandomFeaturePropagation-{normalization}-{trajectories}": (
            lambda normalization=normalization, trajectories=trajectories, operators=operators: (
                RandomFeaturePropagation(
                    7,
                    6,
                    2,
                    operators,
                    normalization=normalization,
                    trajectories=trajectories,
                    hidden_channels=8,
                    eval_samples=2,
                )
            )
        )
        for normalization, trajectories, operators in (
            ("l2", 1, ("sym-loops", "walk")),
            ("qr", 3, ("sym", "laplacian")),
        )
    },
    "RandomPEARL": lambda: RandomPEARL(7, 5, 3, num_layers=2, eval_samples=2),
    "BasisPEARL": lambda: BasisPEARL(7, 3, num_layers=2),
    "StructuralEncoder": lambda: StructuralEncoder(8, 2, 4, "layer"),
    "PretrainedEncoder-frozen": lambda: pretrained(frozen=True),
    "PretrainedEncoder-fine-tuned": lambda: pretrained(frozen=False),
}


# Compiling takes seconds, so one instance of each class must do.
COMPILED = {type(build()): name for name, build in reversed(GOOD.items())}


@pytest.mark.parametrize("name", GOOD)
def test_accepts_our_encoders(name: str) -> None:
    encoder = GOOD[name]()
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    check_encoder(encoder, compiled=COMPILED[type(encoder)] == name)
    for name, value in encoder.state_dict().items():
        assert torch.equal(value, before[name])


def test_every_encoder_is_tested() -> None:
    assert {type(build()) for build in GOOD.values()} == set(ENCODERS)


def test_accepts_own_graphs() -> None:
    check_encoder(SPE(9, 4, **SMALL), graphs(9), compiled=False)


def test_accepts_missing_labels() -> None:
    every = graphs(9)
    for graph in every.values():
        graph.y = torch.tensor([[float("nan"), 1.0]])
    check_encoder(SPE(9, 4, **SMALL), every, compiled=False)


def test_published_size() -> None:
    check_encoder(SPE(37, 16, hidden_channels=32), compiled=False)


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
