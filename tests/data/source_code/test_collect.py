"""Finding files and functions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from source_code_snippets import trees

from graphpe.data.source_code.collect import find_files, parse_functions


def write(folder: Path, *names: str, content: str = "x = 1\n") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def test_packages_are_the_first_parts_of_paths(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "b/__init__.py", "b/c/d.py", "b/c/e.txt", "setup.pyi")
    found = [(file.package, file.label) for file in find_files([tmp_path])]
    assert found == [("a", "a.py"), ("b", "b/__init__.py"), ("b", "b/c/d.py")]
    assert [file.label for file in find_files([tmp_path / "b" / "c" / "d.py"])] == ["d.py"]


def test_a_source_may_be_a_package(tmp_path: Path) -> None:
    write(tmp_path, "a/__init__.py", "a/b/c.py", "d/__init__.py")
    found = find_files([tmp_path / "a", tmp_path / "d"])
    assert [(file.package, file.label) for file in found] == [
        ("a", "a/__init__.py"),
        ("a", "a/b/c.py"),
        ("d", "d/__init__.py"),
    ]
    assert found == find_files([tmp_path])


def test_what_is_not_of_the_project_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "a/test/b.py")
    write(tmp_path, ".venv/x.py", "lib/site-packages/x.py", "a/__pycache__/x.py")
    assert [file.label for file in find_files([tmp_path])] == ["a.py", "a/test/b.py"]


def test_the_order_does_not_depend_on_the_sources(tmp_path: Path) -> None:
    write(tmp_path / "one", "b.py", "a/c.py")
    write(tmp_path / "two", "a/b.py")
    one, two = tmp_path / "one", tmp_path / "two"
    assert find_files([one, two]) == find_files([two, one])
    assert find_files([one, one]) == find_files([one])


def test_the_standard_library_comes_without_its_tests() -> None:
    files = find_files(None)
    packages = {file.package for file in files}
    assert {"argparse", "json", "ast", "email"} <= packages
    folders = {part for file in files for part in file.label.split("/")[:-1]}
    assert not {"test", "tests", "idlelib", "lib2to3", "site-packages"} & folders


def test_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(ValueError, match=r"no Python file in .*; give folders"):
        find_files([tmp_path])
    with pytest.raises(ValueError, match=r"no Python file in sources; give folders"):
        find_files([])
    with pytest.raises(ValueError, match=r"missing does not exist; give folders"):
        find_files([tmp_path / "missing"])


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path: Path) -> None:
    write(tmp_path, "a.py")
    (tmp_path / "a.py").chmod(0)
    with pytest.raises(ValueError, match=r"a\.py can't be read .*; make it readable"):
        find_files([tmp_path])


def test_functions_in_the_order_of_the_text() -> None:
    found = trees(
        """
        def a():
            def not_this(): pass
            class A:
                def nor_this(self): pass
        if a:
            class B:
                def b(self): pass
                class C:
                    async def c(self): pass
                try:
                    def d(self): pass
                except E:
                    def e(self): pass
                else:
                    def g(self): pass
                finally:
                    def h(self): pass
        else:
            def i(): pass
        with x:
            match x:
                case 1:
                    def j(): pass
        k = lambda: 0
        """
    )
    names = [(tree.nodes[0].name, tree.is_method) for tree in found]
    methods = [(name, True) for name in "bcdegh"]
    assert names == [("a", False), *methods, ("i", False), ("j", False)]


def test_declared_encodings() -> None:
    text = "# -*- coding: latin-1 -*-\ndef größe(): pass\n"
    (found,) = parse_functions(text.encode("latin-1"))
    assert found.function.name == "größe"
    (found,) = parse_functions(b"\xef\xbb\xbf" + "def größe(): pass".encode())
    assert found.function.name == "größe"


@pytest.mark.parametrize(
    "content",
    [
        b"def f(:\n",
        b"print 'Python 2'\n",
        b"# coding: no-such-encoding\n",
        b"x = '\xff'\n",
        b"x = 1\0\n",
        b"x = " + b"(" * 5000 + b")" * 5000,
        b"x = " + b"-" * 20_000 + b"1",
    ],
    ids=lambda content: repr(content[:12]),
)
def test_files_that_python_can_not_parse(content: bytes) -> None:
    assert parse_functions(content) is None


def test_warnings_of_the_parser_are_not_shown(recwarn: pytest.WarningsRecorder) -> None:
    assert parse_functions(rb"x = '\d'; 1 is 1") == []
    assert not recwarn
