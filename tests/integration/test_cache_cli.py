"""`graphpe cache`: lists, verifies and removes entries, and nothing else."""

from __future__ import annotations

import io
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from cache_folders import (
    ENCODINGS,
    GRAPHS,
    changed,
    fill_cache,
    make_workspace,
    snapshot,
    unfinish,
)

import graphpe
from graphpe import files
from graphpe.cli import main
from graphpe.precompute.cache.contents import Contents

FIRST = "AddLaplacianEigenvectorPE"
SECOND = "AddRandomWalkPE"
OF_ANOTHER_MACHINE = "another-machine-12"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two entries of one dataset, and one of another."""
    folder = tmp_path_factory.mktemp("filled")
    fill_cache(folder)
    graphpe.encode(GRAPHS[:4], ENCODINGS[1], cache_dir=folder)
    return folder


@pytest.fixture
def cache(filled: Path, tmp_path: Path) -> Path:
    return shutil.copytree(filled, tmp_path / "cache")


@pytest.fixture
def run(cache: Path, capsys):
    """Runs a command on the cache; its exit code, stdout, and stderr."""

    def run(command: str, *options: str) -> tuple[int, str, str]:
        code = main(["cache", command, "--cache-dir", str(cache), *options])
        return code, *capsys.readouterr()

    return run


def entry(cache: Path, name: str = FIRST) -> Path:
    """The folder of an entry; of the larger dataset."""
    return max(cache.glob(f"*/{name}-*"), key=lambda path: len(list(path.iterdir())))


def names(cache: Path) -> list[str]:
    """The classes of the entries that there are."""
    return sorted(entry.encoding_class for entry in Contents.read(cache).entries)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def row(output: str, folder: Path) -> str:
    """The line of the table about an entry."""
    name, _, key = folder.name.rpartition("-")
    (line,) = [line for line in output.splitlines() if f"  {name}-{key[:8]} " in line]
    return line


def test_list(cache: Path, run) -> None:
    before = snapshot(cache)
    code, output, errors = run("list")
    assert (code, errors) == (0, "")
    for folder in cache.glob("*/Add*"):
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1000
        assert f" {size:.1f} kB " in row(output, folder)
    assert row(output, entry(cache)).split()[1] == "4"
    assert "complete" in row(output, entry(cache))
    assert time.strftime("%Y-") in row(output, entry(cache))
    for dataset in Contents.read(cache).datasets:
        assert f"{dataset.fingerprint[:8]}  {dataset.num_graphs} graphs" in output
    for encoding in ENCODINGS:
        assert f"    {encoding!r} " in output
    assert "3 entries, " in output
    assert snapshot(cache) == before  # also one that can't be written to can be listed


def test_list_long(cache: Path, run) -> None:
    folder = entry(cache)
    assert folder.name not in run("list")[1]
    output = run("list", "--long")[1]
    (line,) = [line for line in output.splitlines() if folder.name in line]
    assert f"torch {torch.__version__}" in line
    assert f"{folder.parent.name}  {len(GRAPHS)} graphs" in output


def test_list_what_is_not_complete(cache: Path, run) -> None:
    unfinish(entry(cache))
    (entry(cache) / "000000005.json").unlink()
    (entry(cache, SECOND) / "000000005.safetensors").unlink()
    small = min(cache.glob(f"*/{SECOND}-*"), key=lambda path: len(list(path.iterdir())))
    (small / "manifest.json").write_text("{")
    make_workspace(entry(cache), OF_ANOTHER_MACHINE)
    code, output, _ = run("list")
    assert code == 0
    assert "incomplete: 3 shards so far" in row(output, entry(cache))
    assert "1 shard damaged" in row(output, entry(cache, SECOND))
    assert "damaged manifest" in row(output, small)
    assert f"{small / 'manifest.json'} is broken" in output
    assert f"{small.parent.name[:8]}  at least 0 graphs" in output
    assert "on other machines: 1 folder, 100 bytes" in output


def test_list_failures_and_names_with_brackets(cache: Path, run) -> None:
    path = entry(cache) / "manifest.json"
    failed = {"failed": {"0": "why", "3": "why"}}
    changes = {
        "encoding": "Own(['[bold]', '[/x]'])",
        "shards": lambda shards: [{**shards[0], **failed}, *shards[1:]],
    }
    path.write_bytes(changed(path, changes))
    output = run("list")[1]
    assert row(output, entry(cache)).split()[4] == "2"
    assert "Own(['[bold]', '[/x]'])" in output


def test_list_nothing(tmp_path: Path, capsys) -> None:
    assert main(["cache", "list", "--cache_dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path} holds no encodings\n"


@pytest.mark.parametrize("command", ["list", "verify", "remove"])
@pytest.mark.parametrize("kind", ["absent", "not a cache"])
def test_no_cache(tmp_path: Path, capsys, command: str, kind: str) -> None:
    folder = tmp_path / "absent"
    if kind == "not a cache":
        folder = tmp_path
        (folder / "thesis.tex").write_text("mine")
    options = ["--all", "--yes"] if command == "remove" else []
    assert main(["cache", command, "--cache-dir", str(folder), *options]) == 2
    errors = capsys.readouterr().err
    assert "that `encode` got as cache_dir" in errors
    assert len(errors.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] in ([], ["thesis.tex"])


def test_verify(cache: Path, run) -> None:
    code, output, errors = run("verify")
    assert (code, errors) == (0, "")
    assert output.startswith("verified 9 shards of 3 entries, ")


def test_verify_names_what_is_damaged_and_encode_mends_it(cache: Path, run, monkeypatch) -> None:
    flipped = entry(cache) / "000000005.safetensors"
    flip(flipped)
    missing = entry(cache, SECOND) / "000000010.safetensors"
    missing.unlink()
    code, output, errors = run("verify")
    assert code == 1
    assert output.splitlines() == [
        f"{flipped} has another checksum than when it was written",
        f"{missing} is missing",
    ]
    assert "2 files damaged or not readable, among 9 shards of 3 entries" in errors
    assert "encode --verify" in errors
    assert run("verify", FIRST)[1].splitlines() == output.splitlines()[:1]
    monkeypatch.setattr("graphpe.precompute.cache.plan._GRAPHS", 5)
    with pytest.warns(UserWarning, match="computed anew"):
        graphpe.encode(GRAPHS, ENCODINGS, cache_dir=cache, verify=True)
    assert run("verify")[0] == 0


def test_verify_goes_by_receipts_without_a_manifest(cache: Path, run) -> None:
    unfinish(entry(cache))
    (entry(cache) / "000000000.json").unlink()
    code, output, _ = run("verify", FIRST)
    assert code == 0
    assert output.startswith("verified 3 shards of 1 entry")
    assert "1 entry incomplete" in output
    flip(entry(cache) / "000000005.safetensors")
    assert run("verify", FIRST)[0] == 1


def test_verify_names_a_damaged_manifest(cache: Path, run) -> None:
    (entry(cache) / "manifest.json").write_text("[]")
    code, output, _ = run("verify")
    assert code == 1
    assert f"{entry(cache) / 'manifest.json'} is broken" in output


def test_remove_a_class(cache: Path, run) -> None:
    code, output, _ = run("remove", SECOND, "--yes")
    assert code == 0
    assert names(cache) == [FIRST]
    assert len(list(cache.iterdir())) == 1  # the dataset that had nothing else went, too
    shown = [line for line in output.splitlines() if line.startswith("  ")]
    assert len(shown) == 2
    assert all("complete, " in line for line in shown)
    assert output.splitlines()[-1].startswith("removed 2 entries, ")


@pytest.mark.parametrize("word", ["name", "beginning", "dataset"])
def test_remove_by_other_words(cache: Path, run, word: str) -> None:
    folder = entry(cache, SECOND)
    words = {"name": folder.name, "beginning": folder.name[:-5], "dataset": folder.parent.name[:9]}
    assert run("remove", "--yes", words[word])[0] == 0
    assert names(cache) == ([SECOND] if word == "dataset" else [FIRST, SECOND])
    assert not folder.exists()


def test_remove_several(cache: Path, run) -> None:
    assert run("remove", FIRST, "--yes", SECOND)[0] == 0
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["Add"], "'Add' fits 3: "),
        (["AddRandomWalkPE-"], "'AddRandomWalkPE-' fits 2: "),
        ([FIRST, "AddRandomWalk"], "'AddRandomWalk' fits 2: "),
        (["AddRandomWalkPF"], "did you mean 'AddRandomWalkPE'?"),
        (["../outside"], "no entry '../outside'"),
        ([], "say what to remove"),
        ([FIRST, "--all"], "say what to remove"),
        (["--all", "--incomplete"], "say what to remove"),
        (["--everything"], "--everything"),
    ],
)
def test_what_is_unclear_removes_nothing(cache: Path, run, options: list, message: str) -> None:
    before = snapshot(cache)
    code, _, errors = run("remove", "--yes", *options)
    assert code == 2
    assert message in errors
    assert len(errors.splitlines()) == 1
    assert snapshot(cache) == before


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_remove_without_a_terminal_needs_yes(cache: Path, run, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    code, output, errors = run("remove", FIRST)
    assert code == 2
    assert FIRST in output
    assert "add --yes" in errors
    assert len(names(cache)) == 3


@pytest.mark.parametrize("answer", ["y\n", "n\n", "\n", ""])
def test_remove_asks_on_a_terminal(cache: Path, run, monkeypatch, answer: str) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    code, output, _ = run("remove", FIRST)
    assert code == (0 if answer == "y\n" else 1)
    assert (FIRST in names(cache)) == (answer != "y\n")
    assert ("nothing is removed" in output) == (answer != "y\n")


def test_remove_incomplete(cache: Path, run) -> None:
    unfinish(entry(cache))
    left = make_workspace(entry(cache, SECOND), OF_ANOTHER_MACHINE)
    make_workspace(entry(cache), OF_ANOTHER_MACHINE)
    (entry(cache) / "notes.txt").write_text("mine")
    empty = cache / ("0" * 32)
    empty.mkdir()
    (empty / ".lock").touch()
    kept = snapshot(entry(cache, SECOND))
    folder = entry(cache)
    code, output, _ = run("remove", "--incomplete", "--yes")
    assert code == 0
    assert names(cache) == [SECOND, SECOND]
    assert not left.exists()
    assert not empty.exists()
    assert snapshot(entry(cache, SECOND)).items() <= kept.items()
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert "removed 1 entry and 1 folder of killed processes, " in output
    assert f"left {folder / 'notes.txt'}, which is not of the cache" in output
    assert run("remove", "--incomplete")[:2] == (0, f"nothing to remove in {cache}\n")


def test_an_entry_that_another_process_finishes_stays(cache: Path, run) -> None:
    folder = entry(cache)
    manifest = (folder / "manifest.json").read_bytes()
    unfinish(folder)
    codes = []
    with files.exclusive(folder.parent, ".lock"):
        thread = threading.Thread(
            target=lambda: codes.append(run("remove", "--incomplete", "--yes")[0])
        )
        thread.start()
        time.sleep(0.3)
        (folder / "manifest.json").write_bytes(manifest)
    thread.join(10)
    assert codes == [0]
    assert len(names(cache)) == 3


def test_remove_all(cache: Path, run) -> None:
    assert run("remove", "--all", "--yes")[0] == 0
    assert list(cache.iterdir()) == []
    assert run("list")[0] == run("verify")[0] == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_that_cannot_be_written_to(cache: Path, run) -> None:
    folders = [cache, *cache.glob("*"), *cache.glob("*/*")]
    for path in cache.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    cache.chmod(0o555)
    try:
        assert run("list")[0] == run("verify")[0] == 0
        code, _, errors = run("remove", "--all", "--yes")
        assert code == 1
        assert len(errors.splitlines()) == 1
    finally:
        for path in folders:
            path.chmod(0o755)
    assert len(names(cache)) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lists"], "did you mean 'list'?"),
        (["list"], "--cache-dir"),
        (["list", "--cache-dir", "x", "AddRandomWalkPE"], "AddRandomWalkPE"),
    ],
)
def test_wrong_command_lines(capsys, words: list, message: str) -> None:
    assert main(["cache", *words]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_help(capsys, words: list) -> None:
    assert main(["cache", *words]) == 0
    output = capsys.readouterr().out
    assert all(name in output for name in ("list", "verify", "remove", "ENTRY", "--incomplete"))
