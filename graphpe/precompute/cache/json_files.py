"""JSON that holds a checksum of itself, so that a damaged file is known, whatever is damaged in it."""

from __future__ import annotations

import json
from typing import Any

import xxhash

_NAME = "checksum_of_this"


def as_text(content: dict[str, Any], indent: int | None = None) -> str:
    """The text of a file.

    Args:
        content: What is in it, of the kinds that JSON knows.
        indent: Spaces for each level; None: all in one line.
    """
    return json.dumps({**content, _NAME: _checksum(content)}, indent=indent) + "\n"


def of_text(text: str) -> dict[str, Any]:
    """What `as_text` was made of.

    Raises:
        ValueError: If the text is something else.
    """
    try:
        content = json.loads(text)
        if not isinstance(content, dict) or _NAME not in content:
            raise ValueError("it is not one that graphpe writes")
        if content.pop(_NAME) != _checksum(content):
            raise ValueError("it has another checksum than when it was written")
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return content


def _checksum(content: dict[str, Any]) -> str:
    return xxhash.xxh3_128_hexdigest(json.dumps(content).encode())
