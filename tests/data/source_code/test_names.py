"""Words of names."""

from __future__ import annotations

import pytest

from graphpe.data.source_code.names import is_special, words_of


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("read", ["read"]),
        ("read_line", ["read", "line"]),
        ("readLine", ["read", "line"]),
        ("_parseHTTPHeader2", ["parse", "http", "header", "2"]),
        ("HTTP", ["http"]),
        ("ABCTest", ["abc", "test"]),
        ("utf8_to_16", ["utf", "8", "to", "16"]),
        ("aB", ["a", "b"]),
        ("größeÄndern", ["größe", "ändern"]),
        ("名前", ["名前"]),
        ("__x__y_", ["x", "y"]),
        ("___", []),
    ],
)
def test_words(name: str, words: list[str]) -> None:
    assert words_of(name) == words


def test_special_names() -> None:
    assert is_special("__init__")
    assert not any(map(is_special, ["_init_", "__private", "____", "_", "init__"]))
