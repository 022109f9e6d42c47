"""Names made of words, as numbers: the targets of a sub-token task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from graphpe.checks import require_positive_integer

# More words than training names have, so that a task alone says how many of them are classes.
MOST_WORDS = 1_000_000


@dataclass(frozen=True)
class SubtokenVocabulary:
    """The words of names, numbered from the most frequent one on.

    Make it with `of`, from the names of the training part only.

    Args:
        words: The word of each number. Frequent words come first and equally frequent ones in alphabetical order.
        size: Largest number of words. The numbers of all other words start here, also if there are fewer words.

    Raises:
        ValueError: If ``size`` is not positive, there are more words than that, or a word is there twice.
    """

    words: tuple[str, ...]
    size: int

    def __post_init__(self) -> None:
        require_positive_integer("size", self.size)
        if len(self.words) > self.size:
            raise ValueError(f"there are {len(self.words)} words, but size is {self.size}")
        word, count = max(Counter(self.words).items(), key=lambda item: item[1], default=("", 0))
        if count > 1:
            raise ValueError(f"words has {word!r} {count} times; give each word once")

    @classmethod
    def of(cls, names: Iterable[Sequence[str]], size: int) -> SubtokenVocabulary:
        """The most frequent words of some names.

        Args:
            names: Names as lists of words.
            size: Largest number of words.

        Raises:
            ValueError: If ``size`` is not positive.
            TypeError: If a name is a string instead of a list of words.
        """
        require_positive_integer("size", size)
        counts = Counter(chain.from_iterable(_checked(names)))
        by_frequency = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(tuple(by_frequency[:size]), size)

    def encode(self, names: Sequence[Sequence[str]]) -> Tensor:
        """The words of names as numbers ``[names, words of the longest name]``, int64.

        Numbers below ``size`` are words of the vocabulary. Each other word has a number of its own from ``size`` on, so
        that two words of a call are the same if and only if their numbers are; another call may number them otherwise.
        After the end of a name the number is -1.

        Args:
            names: Names as lists of words.

        Raises:
            TypeError: If a name is a string instead of a list of words.
        """
        numbers = {word: number for number, word in enumerate(self.words)}
        outside = self.size - len(numbers)  # what takes the next free number to `size` and up
        lengths, flat = [], []
        for name in _checked(names):
            lengths.append(len(name))
            flat += [numbers.setdefault(word, len(numbers) + outside) for word in name]
        length = torch.tensor(lengths, dtype=torch.long)[:, None]
        encoded = torch.full((len(lengths), max(lengths, default=0)), -1)
        encoded[torch.arange(encoded.shape[1]) < length] = torch.tensor(flat, dtype=torch.long)
        return encoded

    def word(self, number: int) -> str:
        """The word of a number.

        Raises:
            ValueError: If no word of the vocabulary has it.
        """
        if not 0 <= number < len(self.words):
            known = f"the words 0 to {len(self.words) - 1}" if self.words else "no words"
            raise ValueError(f"number is {number}, but the vocabulary has {known}")
        return self.words[number]


def _checked(names: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    for number, name in enumerate(names):
        if isinstance(name, str):
            raise TypeError(
                f"name {number} is the string {name!r}; give lists of words, such as {name.split()!r}"
            )
        yield name
