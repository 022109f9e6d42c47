"""Python files of some folders, and the functions in them; nothing in them is ever run."""

from __future__ import annotations

import ast
import hashlib
import os
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from graphpe import files

Function = ast.FunctionDef | ast.AsyncFunctionDef

# Folders that hold no source of the project itself.
_FOREIGN = {"__pycache__", "site-packages", "dist-packages", "node_modules"}
# Parts of the standard library that are tests, or programs of their own.
_NOT_LIBRARY = {"test", "tests", "idlelib", "lib2to3"}


class SourceFile(NamedTuple):
    """A Python file.

    Args:
        package: The top-level package or module that it belongs to.
        label: Its path, from the package on, with slashes.
        digest: Hash of its content.
        path: Where it is.
    """

    package: str
    label: str
    digest: str
    path: Path

    def read(self) -> bytes:
        """The content.

        Raises:
            ValueError: If it can't be read.
        """
        return _read(self.path)


def find_files(sources: Sequence[Path] | None) -> list[SourceFile]:
    """The Python files of some folders, in an order that depends on neither the file system nor ``sources``.

    A source with ``__init__.py`` is one package. In another one the package of a file is the first part of its path, or
    its name without ``.py``. Folders of other projects (``site-packages``) and hidden ones are left out.

    Args:
        sources: Folders and files; None is the standard library of this Python without its tests, ``idlelib`` and
            ``lib2to3``.

    Raises:
        ValueError: If a source does not exist or can't be read, or there is no Python file in any of them.
    """
    if sources is None:
        found = list(_search(Path(sysconfig.get_path("stdlib")), _FOREIGN | _NOT_LIBRARY))
    else:
        found = [file for source in sources for file in _search(source.expanduser(), _FOREIGN)]
    if not found:
        given = ", ".join(map(str, sources or ())) or "sources"
        raise ValueError(f"no Python file in {given}; give folders that hold .py files")
    return sorted(set(found))


class FoundFunction(NamedTuple):
    """A function, and whether it is a method of a class."""

    function: Function
    is_method: bool


def parse_functions(content: bytes) -> list[FoundFunction] | None:
    """The functions of a file in the order of the text, or None if this Python can't parse it.

    Those that aren't inside of another function: of the module, and methods of its classes.

    Args:
        content: The file, in the encoding that it declares.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escapes and the like
            module = ast.parse(content)
    # ValueError: a null byte. RecursionError and MemoryError: nested deeper than the parser goes.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return list(_functions(module))


def _functions(module: ast.Module) -> Iterator[FoundFunction]:
    waiting: list[tuple[ast.AST, bool]] = [(module, False)]
    while waiting:
        node, in_class = waiting.pop()
        if isinstance(node, Function):
            yield FoundFunction(node, in_class)
            continue
        in_class |= isinstance(node, ast.ClassDef)
        for field in ("finalbody", "orelse", "cases", "handlers", "body"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                waiting += [(child, in_class) for child in reversed(inner)]


def _search(source: Path, skipped: set[str]) -> Iterator[SourceFile]:
    if source.is_file():
        yield _source_file(source, source.name)
        return
    if not source.is_dir():
        raise ValueError(f"sources: {source} does not exist; give folders that hold .py files")
    base = source.parent if (source / "__init__.py").is_file() else source
    for folder, folders, names in os.walk(source):
        folders[:] = [name for name in folders if name not in skipped and name[0] != "."]
        for name in names:
            path = Path(folder) / name
            if name.endswith(".py") and path.is_file():
                yield _source_file(path, path.relative_to(base).as_posix())


def _source_file(path: Path, label: str) -> SourceFile:
    package = label.split("/")[0].removesuffix(".py")
    return SourceFile(package, label, hashlib.sha256(_read(path)).hexdigest(), path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValueError(
            f"sources: {path} can't be read ({files.one_line(error.strerror or error)}); make it readable, or leave "
            "its folder out"
        ) from error
