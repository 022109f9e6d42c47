"""The words of a function's name."""

from __future__ import annotations

import re

_RUN = re.compile(r"\d+|[^\W\d_]+")


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case: ``"_parseHTTPHeader2"`` gives ``["parse", "http", "header", "2"]``.

    A word ends at an underscore, between letters and digits, before a capital that follows a small letter, and before
    the last capital of several that a small letter follows. A name of underscores only has no words.
    """
    return [word.lower() for run in _RUN.findall(name) for word in _camel_case(run)]


def is_special(name: str) -> bool:
    """Whether Python gives the name a meaning of its own, such as ``__init__``."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def _camel_case(letters: str) -> list[str]:
    starts = [0]
    for i in range(1, len(letters)):
        after_small = letters[i].isupper() and not letters[i - 1].isupper()
        last_capital = letters[i - 1].isupper() and letters[i].isupper()
        last_capital = last_capital and letters[i + 1 : i + 2].islower()
        if after_small or last_capital:
            starts.append(i)
    return [letters[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
