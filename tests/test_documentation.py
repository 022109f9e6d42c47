"""Every Python block of the README and the docs runs, and prints what its comments say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from graphpe.nn.encoders import ENCODERS
from graphpe.transforms import Encoding, all_encodings

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


def test_every_encoding_is_in_the_tables() -> None:
    for page in ("README.md", "docs/encodings.md"):
        text = (REPOSITORY / page).read_text()
        missing = [cls.__name__ for cls in all_encodings() if f"`{cls.__name__}" not in text]
        assert not missing, f"{page} lacks {missing}"


def test_the_page_says_which_encodings_have_a_sparse_form() -> None:
    text = (REPOSITORY / "docs" / "encodings.md").read_text()
    for cls in all_encodings():
        (large,) = re.findall(rf"^\| `{cls.__name__}\(.*\|([^|]*)\|$", text, re.MULTILINE)
        has_form = cls.encode_large is not Encoding.encode_large
        assert bool(large.strip()) == has_form, cls.__name__


def test_every_encoder_is_in_the_tables() -> None:
    text = (REPOSITORY / "docs" / "encoders.md").read_text()
    missing = [cls.__name__ for cls in ENCODERS if f"| `{cls.__name__}(" not in text]
    assert not missing, f"docs/encoders.md lacks {missing}"


def test_the_page_says_what_encoders_are_invariant_to() -> None:
    text = (REPOSITORY / "docs" / "encoders.md").read_text()
    section = text.partition("## Eigenvectors")[2].partition("\n## ")[0]
    for name, cell in re.findall(r"^\| `(\w+)\(.*\| ([^|]*) \|[^|]*\|$", section, re.MULTILINE):
        cls = next(cls for cls in ENCODERS if cls.__name__ == name)
        always = set() if ":" in cell else set(cell.split(", "))
        declared = set(cls.invariant_to)
        if cls.reads_complex and declared:
            declared.discard("sign")  # a sign is a phase
        plural = {"sign": "signs", "basis": "bases", "phase": "phases"}
        assert always == {plural[symmetry] for symmetry in declared}, name
