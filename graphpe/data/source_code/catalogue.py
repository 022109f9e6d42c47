"""A first reading of all files: which functions there are, their parts, and the vocabularies."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from graphpe.data.source_code.collect import SourceFile, parse_functions
from graphpe.data.source_code.names import is_special, words_of
from graphpe.data.source_code.split import split_packages
from graphpe.data.source_code.syntax_tree import SyntaxTree
from graphpe.data.source_code.vocabulary import AttributeVocabulary
from graphpe.data.subtokens import MOST_WORDS, SubtokenVocabulary

FRACTIONS = {"train": 0.8, "valid": 0.1, "test": 0.1}

UNPARSED = "files that this Python can't parse"
SPECIAL = "functions with special names or names without words"
SMALL = "functions with too few nodes"
LARGE = "functions with too many nodes"
REPEATED = "functions that repeat an earlier one word for word"


class UsableFunction(NamedTuple):
    """A function, and the words of its name."""

    tree: SyntaxTree
    words: list[str]


@dataclass(frozen=True)
class FunctionFilter:
    """Which functions become graphs.

    Args:
        min_nodes: Smallest number of nodes.
        max_nodes: Largest number of nodes.
    """

    min_nodes: int
    max_nodes: int

    def usable(self, content: bytes, left_out: Counter[str]) -> list[UsableFunction]:
        """The functions of a file that become graphs, in the order of the text.

        Args:
            content: The file.
            left_out: Counts what is left out, and why.
        """
        functions = parse_functions(content)
        if functions is None:
            left_out[UNPARSED] += 1
            return []
        usable = []
        for function, is_method in functions:
            words = words_of(function.name)
            tree = SyntaxTree.of(function, is_method)
            if is_special(function.name) or not words:
                left_out[SPECIAL] += 1
            elif len(tree) < self.min_nodes:
                left_out[SMALL] += 1
            elif len(tree) > self.max_nodes:
                left_out[LARGE] += 1
            else:
                usable.append(UsableFunction(tree, words))
        return usable


@dataclass(frozen=True)
class Catalogue:
    """What must be known of all functions before the first graph is made.

    Args:
        files: The files of each part that hold functions to use.
        kept: Which of the usable functions of each file become graphs: those that aren't a copy of an earlier one.
        targets: ``[functions, words of the longest name]`` for each file of each part, see
            `SubtokenVocabulary.encode`.
        attributes: Of the nodes of the training part.
        words: Of the names of the training part.
        left_out: How many files and functions aren't used, and why.
    """

    files: dict[str, list[SourceFile]]
    kept: dict[str, list[list[int]]]
    targets: dict[str, list[Tensor]]
    attributes: AttributeVocabulary
    words: SubtokenVocabulary
    left_out: dict[str, int]

    def __str__(self) -> str:
        functions = sum(len(rows) for part in self.targets.values() for rows in part)
        packages = {part: len({file.package for file in own}) for part, own in self.files.items()}
        left_out = "; ".join(f"{count:,} {reason}" for reason, count in self.left_out.items())
        return (
            f"{functions:,} functions of {sum(map(len, self.files.values())):,} files in "
            f"{' / '.join(map(str, packages.values()))} packages; left out: {left_out or 'nothing'}"
        )


def make_catalogue(
    files: Iterable[SourceFile],
    which: FunctionFilter,
    attributes: int,
    seed: int,
    advance: Callable[[], None],
) -> Catalogue:
    """Reads all files once.

    Args:
        files: The files, in a fixed order.
        which: Which functions become graphs.
        attributes: Largest number of attributes in the vocabulary.
        seed: Of the split.
        advance: Called after each file.

    Raises:
        ValueError: If there is no function to use, or fewer packages than parts.
    """
    left_out: Counter[str] = Counter()
    names: dict[SourceFile, list[list[str]]] = {}
    kept: dict[SourceFile, list[int]] = {}
    seen: set[bytes] = set()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for file in files:
        for number, function in enumerate(which.usable(file.read(), left_out)):
            found = function.tree.attributes()
            identity = _fingerprint(function, found)
            if identity in seen:
                left_out[REPEATED] += 1
                continue
            seen.add(identity)
            names.setdefault(file, []).append(function.words)
            kept.setdefault(file, []).append(number)
            counts[file.package].update(a for a in found if a is not None)
        advance()
    sizes: Counter[str] = Counter()
    for file, own in names.items():
        sizes[file.package] += len(own)
    if not names:
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in left_out.items())
        raise ValueError(
            f"sources hold no function to use ({reasons or 'no function at all'}); give folders with Python code, or "
            "change min_nodes and max_nodes"
        )
    parts = split_packages(sizes, FRACTIONS, seed)
    by_part = {part: [file for file in names if parts[file.package] == part] for part in FRACTIONS}
    training_counts: Counter[str] = Counter()
    for package, own_counts in counts.items():
        if parts[package] == "train":
            training_counts.update(own_counts)
    vocabulary = SubtokenVocabulary.of(
        (name for file in by_part["train"] for name in names[file]), MOST_WORDS
    )
    # In one call, since words outside of the vocabulary are numbered anew in each.
    ordered = [file for own in by_part.values() for file in own]
    encoded = vocabulary.encode([name for file in ordered for name in names[file]])
    rows = iter(encoded.split([len(names[file]) for file in ordered]))
    return Catalogue(
        files=by_part,
        kept={part: [kept[file] for file in own] for part, own in by_part.items()},
        targets={part: [next(rows) for _ in own] for part, own in by_part.items()},
        attributes=AttributeVocabulary.of(training_counts, attributes),
        words=vocabulary,
        left_out=dict(left_out),
    )


def _fingerprint(function: UsableFunction, attributes: list[str | None]) -> bytes:
    tree = function.tree
    content = (function.words, tree.types(), tree.parents, tree.fields, attributes)
    return hashlib.sha256(repr(content).encode()).digest()
