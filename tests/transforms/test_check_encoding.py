"""`check_encoding` finds an encoding that breaks a promise, on a graph that is as small as can be."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from graphpe import Field
from graphpe._testing.contract.graphs import SmallGraph, generic_graph, has_simple_spectrum
from graphpe._testing.contract.reduction import reduce
from graphpe.blocks import Block, LargeGraph
from graphpe.testing import check_encoding
from graphpe.transforms import AddRandomWalkPE, Encoding


@dataclass(frozen=True, repr=False)
class Toy(Encoding):
    """Degree: right, and the base of wrong ones."""

    attr_name: str | None = "toy"

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", 2, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (block.degree[..., None],)


# --- what is written -----------------------------------------------------------------------------------------------


class NotWritten(Toy):
    def forward(self, data: Data) -> Data:
        return data


class TooFewValues(Toy):
    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return ()


class WrongShape(Toy):
    def forward(self, data: Data) -> Data:
        data = super().forward(data)
        data.toy = data.toy[:, 0]
        return data


class WrongDtype(Toy):
    def forward(self, data: Data) -> Data:
        data = super().forward(data)
        data.toy = data.toy.half()
        return data


class TooManyCategories(Toy):
    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", 1, torch.int64, categories=3),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return ((block.adjacency > 0).sum(dim=-1, keepdim=True),)


class NotFinite(Toy):
    """Divides by the degree."""

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (1 / block.degree[..., None],)


class FailsWithoutNodes(Toy):
    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (block.degree[..., None] / block.degree.max(),)


class RefusesDirectedWithoutAWord(Toy):
    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        if block.is_directed.any():
            raise ValueError("the matrix is bad")
        return super().encode_block(block)


class RefusesLoops(Toy):
    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        if block.adjacency.diagonal(dim1=1, dim2=2).any():
            raise ValueError("no loops, please")
        return super().encode_block(block)


# --- what must stay ------------------------------------------------------------------------------------------------


class Inplace(Toy):
    def forward(self, data: Data) -> Data:
        data = super().forward(data)
        data.edge_index.clamp_(max=0)
        return data


class Random(Toy):
    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (torch.rand(len(block), block.n, 1),)


class Seeds(Toy):
    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        torch.manual_seed(0)
        return super().encode_block(block)


# --- company -------------------------------------------------------------------------------------------------------


class Leaky(Toy):
    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (block.degree[..., None] + len(block),)


class MostOfTheBlock(Toy):
    """Divides by the largest degree of all graphs."""

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (block.degree[..., None] / (1 + block.degree.sum()),)


class Greedy(Toy):
    """Changes what it shares with other encodings."""

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        degree = block.degree[..., None].clone()
        block.adjacency.fill_(1.0)
        return (degree,)


class SharesTooMuch(Toy):
    """Keeps what depends on the dtype as if it didn't."""

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (block.shared(Cosine(self)),)


class Cosine:
    """A function of a block that is the same one for all settings, though it uses them."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cosine)

    def __call__(self, block: Block) -> Tensor:
        return block.degree[..., None].cos().to(self.encoding.torch_dtype)


class Budget(Toy):
    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        return (torch.full((1, graph.n, 1), float(graph.memory_budget)),)


# --- symmetry ------------------------------------------------------------------------------------------------------


class NodeNumber(Toy):
    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (torch.arange(block.n).expand(len(block), -1)[..., None],)


class NodeNumberIfWeighted(Toy):
    """Right on every unweighted graph."""

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        weighted = (block.adjacency.frac() != 0).any(dim=(1, 2))
        return (block.degree[..., None] + weighted[:, None, None] * torch.arange(block.n)[:, None],)


class NotSymmetric(Toy):
    """The distance of two node numbers, as a pair field."""

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "pair", 1, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        number = torch.arange(block.n)
        return ((number[:, None] - number).expand(len(block), -1, -1)[..., None],)


class EdgeNumber(Toy):
    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "edge", 1, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        slot, _, _ = block.edges
        return (torch.arange(len(slot))[:, None] - torch.searchsorted(slot, slot)[:, None],)


@dataclass(frozen=True, repr=False)
class Eigenvectors(Toy):
    """Declared to be free up to signs only, or not at all."""

    symmetry: str = "sign"

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", 3, self.torch_dtype, symmetry=self.symmetry),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (block.eigenpairs("none")[1][..., :3],)


class NumberedEigenvectors(Eigenvectors):
    """Wrong even up to a basis."""

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        (vectors,) = super().encode_block(block)
        return (vectors * (1 + torch.arange(block.n)[:, None]),)


# --- forms ---------------------------------------------------------------------------------------------------------


class Coarse(Toy):
    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        error = 0.01 if self.dtype == "float32" else 0.0
        return (block.degree[..., None] * (1 + error),)


class WrongSparse(Toy):
    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        return (torch.from_numpy(np.diff(graph.adjacency.indptr))[None, :, None],)


class WrongRepr(Toy):
    def __repr__(self) -> str:
        return "WrongRepr(attr_name='other')"


class NoCall(Toy):
    def __repr__(self) -> str:
        return "<NoCall>"


class LosesItsName(Toy):
    def __reduce__(self) -> tuple:
        return (type(self), ("another",))


class NeverJoins(Toy):
    def forward(self, data: Data) -> Data:
        return data if self.attr_name is None else super().forward(data)


class CutsNumbers(Toy):
    """Puts what it can into an x of integers."""

    def forward(self, data: Data) -> Data:
        dtype = data.x.dtype if data.x is not None else None
        if self.attr_name is None:
            data.x = data.x.float()
        data = super().forward(data)
        if self.attr_name is None:
            data.x = data.x.to(dtype)
        return data


# The encoding, what the message says, and how many nodes and directed edges the smallest graph has at most.
WRONG = [
    (NotWritten(), "declared fields are written.*'toy'.*missing", 0, 0),
    (TooFewValues(), "every graph is encoded", 0, 0),
    (WrongShape(), r"shape of their level and width.*node field of width 2 .* \(0, 2\)", 0, 0),
    (WrongDtype(), "declared dtype.*toy is torch.float16, declared torch.float32", 0, 0),
    (TooManyCategories(), "values from . to 3 and declares 3 categories", 4, 6),
    (NotFinite(), "every value is finite", 1, 0),
    (FailsWithoutNodes(), "every graph is encoded.*RuntimeError", 0, 0),
    (RefusesDirectedWithoutAWord(), "directed one may be refused.*the matrix is bad", 2, 1),
    (RefusesLoops(), "every graph is encoded.*no loops, please", 1, 1),
    (Inplace(), "the input is not changed", 2, 2),
    (Random(), "same graph gives the same bytes.*differs between two calls", 1, 0),
    (Seeds(), "global random numbers", 0, 0),
    (Leaky(), "a batch has the same bytes as its graphs alone", 1, 0),
    (MostOfTheBlock(), "a batch has the same bytes as its graphs alone", 2, 2),
    (Greedy(), "changes what other encodings compute", 2, 0),
    (SharesTooMuch(), "is a setting missing among the arguments of block.shared", 2, 2),
    (Budget(), "depends on memory_budget", 4, 0),
    (NodeNumber(), "permutation equivariant.*toy differs by 1 after renumbering", 2, 0),
    (NodeNumberIfWeighted(), "permutation equivariant", 2, 2),
    (NotSymmetric(), "permutation equivariant", 2, 0),
    (EdgeNumber(), "edge fields follow their edges.*after reordering", 2, 2),
    (Eigenvectors(), "permutation equivariant.*up to its symmetry, 'sign'", 3, 2),
    (NumberedEigenvectors(symmetry="basis"), "equivariant.*up to its symmetry, 'basis'", 4, 10),
    (Coarse(), "dtype='float32' and dtype='float64' agree", 2, 2),
    (WrongSparse(), r"the sparse form \(encode_large\) agrees with the dense one", 4, 4),
    (WrongRepr(), "repr is the call that makes the encoding.*has become", 7, 18),
    (NoCall(), "repr is the call.*SyntaxError", 7, 18),
    (LosesItsName(), "copy.copy copies the encoding", 7, 18),
    (NeverJoins(), "concatenates the first field to x", 7, 18),
    (CutsNumbers(), "refuses an x of integers", 7, 18),
]


@pytest.mark.parametrize(
    ("encoding", "complaint", "nodes", "edges"), WRONG, ids=lambda value: type(value).__name__
)
def test_a_broken_promise_is_found_and_shown_on_a_small_graph(
    encoding: Encoding, complaint: str, nodes: int, edges: int
) -> None:
    with pytest.raises(AssertionError) as caught:
        check_encoding(encoding)
    message = str(caught.value)
    assert re.search(complaint, message, re.DOTALL), message
    smallest = eval(message.rpartition("Smallest graph found: ")[2], {"torch": torch, "Data": Data})
    assert smallest.num_nodes <= nodes, message
    assert smallest.num_edges <= edges, message


def test_the_check_accepts_a_right_encoding() -> None:
    check_encoding(Toy())
    check_encoding(Eigenvectors(symmetry="basis"))


class RefusesDirected(Toy):
    def check(self, part: Block | LargeGraph) -> None:
        if part.directed_graph is not None:
            raise ValueError(f"{part.directed_graph} is directed")


class OnePerNode(NodeNumber):
    @property
    def is_equivariant(self) -> bool:
        return False


@pytest.mark.parametrize("encoding", [RefusesDirected(), OnePerNode()], ids=repr)
def test_what_an_encoding_may_do_if_it_says_so(encoding: Encoding) -> None:
    check_encoding(encoding)


def test_global_random_numbers_stay_as_they_are() -> None:
    torch.manual_seed(5)
    check_encoding(Toy())
    drawn = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(drawn, torch.rand(3))


def test_a_class_that_cannot_be_imported_is_checked_too() -> None:
    @dataclass(frozen=True, repr=False)
    class Local(Toy):
        pass

    check_encoding(Local())


def test_the_check_needs_an_instance_with_a_name() -> None:
    with pytest.raises(ValueError, match="needs an encoding with an attr_name"):
        check_encoding(AddRandomWalkPE(4, attr_name=None))
    with pytest.raises(TypeError, match="takes an instance of a subclass of Encoding"):
        check_encoding(AddRandomWalkPE)


def test_a_failure_is_not_hidden_by_a_warning_filter() -> None:
    """A FutureWarning of torch is not swallowed, as those of the encoding are."""
    with pytest.warns(FutureWarning, match="soon"):
        check_encoding(WarnsOfTheFuture())


class WarnsOfTheFuture(Toy):
    def check(self, part: Block | LargeGraph) -> None:
        warnings.warn("soon", FutureWarning, stacklevel=1)
        warnings.warn("directed", UserWarning, stacklevel=1)


def test_reduction_leaves_what_is_needed() -> None:
    """A triangle with a weight over 2 is all that is left of a graph, unless more of it is needed."""
    links = ((0, 1), (1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 6), (6, 0), (2, 2))
    graph = SmallGraph(9, links, (1.0, 0.5, 3.0, 0.25, 1.5, 2.0, 2.0, 1.0, 1.0))

    def has_heavy_triangle(graph: SmallGraph) -> bool:
        edges = set(graph.links) | {link[::-1] for link in graph.links}
        n = range(graph.num_nodes)
        triangle = any(
            {(u, v), (v, w), (w, u)} <= edges for u in n for v in n for w in n if u < v < w
        )
        return triangle and max(graph.weights or (0.0,)) > 2

    smallest = reduce(graph, has_heavy_triangle)
    assert smallest == SmallGraph(3, ((0, 1), (1, 2), (2, 0)), (1.0, 3.0, 1.0))
    assert str(smallest.data()) == "Data(edge_index=[2, 6], num_nodes=3, edge_weight=[6])"
    assert reduce(graph, lambda other: other == graph) == graph


@pytest.mark.parametrize(
    ("graph", "level", "simple"),
    [
        (generic_graph(), "node", True),
        (generic_graph(), "edge", True),
        (SmallGraph(2, ((0, 1),)), "node", False),  # singular values 1, 1
        (SmallGraph(5, tuple((i, (i + 1) % 5) for i in range(5))), "node", False),
        (SmallGraph(1), "edge", True),
        (SmallGraph(0), "edge", True),
    ],
)
def test_spectra_in_which_eigenvectors_can_be_compared(
    graph: SmallGraph, level: str, simple: bool
) -> None:
    assert has_simple_spectrum(graph, level) == simple
