"""Every Python block of the README and the docs runs, and prints what its comments say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def blocks() -> list:
    return [
        pytest.param(code, id=f"{page.name}-{number}")
        for page in PAGES
        for number, code in enumerate(
            re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
        )
    ]


@pytest.mark.parametrize("code", blocks())
def test_python_block(code: str, monkeypatch, tmp_path) -> None:
    (tmp_path / "datasets").mkdir()
    import shutil

    shutil.copytree(REPOSITORY / "datasets" / "bundled", tmp_path / "datasets" / "bundled")
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "documentation", "exec"), {})
    promised = re.findall(r"print\(.*\)  # (.*)", code)
    lines = printed.getvalue().splitlines()
    assert len(lines) == len(promised)
    for got, wanted in zip(lines, promised, strict=True):
        pattern = re.escape(wanted).replace(re.escape("..."), ".*")
        assert re.fullmatch(pattern, got), f"printed {got!r}, documented {wanted!r}"


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_commands_name_files_that_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"--config (\S+)", page.read_text()):
            assert (REPOSITORY / target).exists() or target.isupper(), f"{page.name} names {target}"
