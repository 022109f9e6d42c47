"""What a cache holds, read from names, manifests and receipts, none of which is trusted; and its removal."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
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
from graphpe.precompute.cache import json_files
from graphpe.precompute.cache.contents import Contents, StoredEntry
from graphpe.precompute.cache.removal import remove


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two entries, each of several shards."""
    folder = tmp_path_factory.mktemp("filled")
    fill_cache(folder)
    return folder


@pytest.fixture
def cache(filled: Path, tmp_path: Path) -> Path:
    """A copy for each test."""
    return shutil.copytree(filled, tmp_path / "cache")


def walks(cache: Path) -> Path:
    """The folder of one of the entries."""
    return next(cache.glob("*/AddRandomWalkPE-*"))


@pytest.fixture(scope="module")
def ended_process() -> str:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return f"{platform.node()}-{process.pid}"


def test_complete_entries(cache: Path) -> None:
    before = snapshot(cache)
    contents = Contents.read(cache)
    (dataset,) = contents.datasets
    assert contents.foreign == dataset.foreign == ()  # all that encode writes is known
    assert dataset.num_graphs == dataset.num_graphs_seen == len(GRAPHS)
    assert [entry.encoding_class for entry in contents.entries] == [
        "AddLaplacianEigenvectorPE",
        "AddRandomWalkPE",
    ]
    for entry, encoding in zip(contents.entries, ENCODINGS, strict=True):
        assert entry.state == "complete"
        assert entry.manifest.encoding == repr(encoding)
        assert f"{entry.encoding_class}-{entry.key}" == entry.folder.name
        assert [receipt.start for receipt in entry.receipts] == list(range(0, len(GRAPHS), 5))
        sizes = [path.stat() for path in entry.folder.iterdir()]
        assert entry.bytes == sum(each.st_size for each in sizes)
        assert entry.written == max(each.st_mtime for each in sizes)
        assert entry.foreign == entry.workspaces == ()
        assert [reason for _, reason in entry.faults(content=True)] == [None] * len(entry.receipts)
    assert snapshot(cache) == before


def test_an_incomplete_entry_is_known_by_its_receipts(cache: Path) -> None:
    unfinish(walks(cache))
    (walks(cache) / "000000015.json").unlink()
    entry = StoredEntry.read(walks(cache))
    assert entry.state == "incomplete"
    assert [receipt.stop for receipt in entry.receipts] == [5, 10, 15]
    assert Contents.read(cache).datasets[0].num_graphs == len(GRAPHS)  # by the other entry
    unfinish(next(cache.glob("*/AddLaplacian*")))
    (dataset,) = Contents.read(cache).datasets
    assert (dataset.num_graphs, dataset.num_graphs_seen) == (None, len(GRAPHS))


def test_a_newer_receipt_counts_and_not_the_manifest(cache: Path) -> None:
    receipt = StoredEntry.read(walks(cache)).receipts[1]
    newer = receipt._replace(failed={7: "why"})
    (walks(cache) / "000000005.json").write_text(json_files.as_text(newer._asdict()))
    entry = StoredEntry.read(walks(cache))
    assert entry.state == "complete"
    assert entry.receipts[1] == newer
    assert (len(entry.receipts), entry.num_failed) == (4, 1)


def test_faults_name_the_shard(cache: Path) -> None:
    folder = walks(cache)
    content = bytearray((folder / "000000005.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "000000005.safetensors").write_bytes(content)
    (folder / "000000010.safetensors").unlink()
    entry = StoredEntry.read(folder)
    by_size = [reason for _, reason in entry.faults(content=False)]
    assert [reason is None for reason in by_size] == [True, True, False, True]
    by_content = [reason for _, reason in entry.faults(content=True)]
    assert f"{folder / '000000005.safetensors'} has another checksum" in by_content[1]
    assert by_content[2] == f"{folder / '000000010.safetensors'} is missing"


def test_a_shard_that_cannot_be_read_is_a_fault(cache: Path, monkeypatch) -> None:
    def checksum(path: Path) -> str:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("graphpe.precompute.cache.shard_files.checksum", checksum)
    for receipt, reason in StoredEntry.read(walks(cache)).faults(content=True):
        assert reason == f"{walks(cache) / receipt.file} can't be read (Input/output error)"


def changed_shard(**changes) -> dict:
    return {"shards": lambda shards: [{**shards[0], **changes}, *shards[1:]]}


GARBAGE = {
    "nothing": b"",
    "binary": bytes(range(256)),
    "a list": b"[1, 2]",
    "a number": b"7",
    "deep": b"[" * 100_000,
    "infinite": b'{"layout": 1e999}',
    "a pickle": b"cos\nsystem\n(S'touch %s'\ntR.",
    "layout": {"layout": lambda layout: layout + 1},
    "no layout": {"layout": lambda layout: None},
    "num_graphs": {"num_graphs": lambda number: "many"},
    "a huge number": {"num_graphs": lambda number: 10**4000},
    "negative": {"num_graphs": lambda number: -1},
    "encoding": {"encoding": lambda encoding: {"os": "system"}},
    "versions": {"versions": lambda versions: "all"},
    "shards": {"shards": lambda shards: 3},
    "dtype": {"fields": lambda fields: [{**fields[0], "dtype": "no_dtype"}]},
    "above": changed_shard(file="../../outside.safetensors"),
    "absolute": changed_shard(file="/etc/passwd"),
    "no name": changed_shard(file=None),
    "start": changed_shard(start="0"),
    "bytes": changed_shard(bytes=[1]),
    "checksum": changed_shard(checksum=0),
    "failed": changed_shard(failed=["0"]),
    "more": changed_shard(more=1),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_a_damaged_manifest_is_named_and_leads_nowhere(cache: Path, garbage) -> None:
    outside = cache.parent / "outside.safetensors"
    outside.write_bytes(b"precious")
    manifest = walks(cache) / "manifest.json"
    manifest.write_bytes(garbage if isinstance(garbage, bytes) else changed(manifest, garbage))
    entry = StoredEntry.read(walks(cache))
    assert entry.state == "damaged manifest"
    assert str(manifest) in entry.damage
    assert "\n" not in entry.damage
    assert list(entry.faults(content=True)) == []
    assert remove(walks(cache).parent, lambda entry: entry.state == "damaged manifest").entries == 1
    assert outside.read_bytes() == b"precious"
    assert not list(cache.glob("*/AddRandomWalkPE-*"))


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"file": "000000005.safetensors"}', id="too little"),
        pytest.param({"file": "../../outside.safetensors"}, id="above"),
        pytest.param({"file": "000000010.safetensors"}, id="another shard"),
        pytest.param({"start": "5"}, id="start"),
        pytest.param({"bytes": -1}, id="bytes"),
    ],
)
def test_a_damaged_receipt_counts_as_none(cache: Path, garbage) -> None:
    unfinish(walks(cache))
    path = walks(cache) / "000000005.json"
    path.write_bytes(garbage if isinstance(garbage, bytes) else changed(path, garbage))
    assert [receipt.start for receipt in StoredEntry.read(walks(cache)).receipts] == [0, 10, 15]


def test_workspaces_and_whose_they_are(cache: Path, ended_process: str) -> None:
    folder = walks(cache)
    made = [
        make_workspace(folder, process, name)
        for process, name in (
            (ended_process, "000000005.safetensors"),
            (f"{platform.node()}-{os.getpid()}", "manifest.json"),
            ("another-machine-7-12", "000000005.safetensors"),
        )
    ]
    (folder / ".link.safetensors.host-1-1.partial").symlink_to(cache)
    entry = StoredEntry.read(folder)
    found = {each.path: each for each in entry.workspaces}
    assert [found[path].process for path in made] == ["gone", "running", "elsewhere"]
    assert {each.bytes for each in entry.workspaces} == {100}
    assert {each.path for each in entry.leftovers} == {made[0], made[2]}
    assert [path.name for path in entry.foreign] == [".link.safetensors.host-1-1.partial"]


def test_what_is_not_of_the_cache(cache: Path, tmp_path: Path) -> None:
    folder, elsewhere = walks(cache), tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    (cache / "notes.txt").write_text("mine")
    (cache / ("0" * 32)).symlink_to(elsewhere.parent)
    (folder.parent / "old").mkdir()
    other = next(entry.folder for entry in Contents.read(cache).entries)
    (other / "notes.txt").write_text("mine")
    (folder.parent / ("Mine-" + "0" * 24)).mkdir()
    (folder.parent / ("Mine-" + "0" * 24) / "notes.txt").write_text("mine")
    contents = Contents.read(cache)
    (dataset,) = contents.datasets
    assert [entry.folder for entry in contents.entries] == [other]
    assert [path.name for path in contents.foreign] == ["0" * 32, "notes.txt"]
    assert {path.name for path in dataset.foreign} == {folder.name, "old", "notes.txt"}
    assert [path.name for path in contents.entries[0].foreign] == ["notes.txt"]


@pytest.mark.parametrize("kind", ["absent", "file", "other"])
def test_a_folder_that_is_no_cache(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "folder"
    if kind == "file":
        folder.write_text("a file")
    elif kind == "other":
        folder.mkdir()
        (folder / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match="that `encode` got as cache_dir"):
        Contents.read(folder)


def test_an_empty_folder_is_an_empty_cache(tmp_path: Path) -> None:
    assert Contents.read(tmp_path) == Contents(tmp_path, (), ())


def test_entries_that_go_while_they_are_read(cache: Path, monkeypatch) -> None:
    """A listing of a cache that another process removes doesn't fail."""
    from graphpe.precompute.cache import contents

    original = contents._items
    folders = [walks(cache), next(cache.glob("*/AddLaplacian*"))]

    def items(folder: Path) -> list:
        found = original(folder)
        if folder == folders[0].parent:
            shutil.rmtree(folders[0])
        elif folder == folders[1]:
            for path in folder.iterdir():
                path.unlink()
        return found

    monkeypatch.setattr(contents, "_items", items)
    entries = Contents.read(cache).entries
    assert [(entry.state, entry.bytes, entry.receipts) for entry in entries] == [
        ("incomplete", 0, ())
    ] * 2


def test_removal_takes_all_of_an_entry_and_nothing_else(cache: Path) -> None:
    kept = snapshot(next(cache.glob("*/AddLaplacian*")))
    size = sum(path.stat().st_size for path in walks(cache).iterdir())
    removed = remove(walks(cache).parent, lambda entry: entry.encoding_class == "AddRandomWalkPE")
    assert (removed.entries, removed.bytes, removed.foreign) == (1, size, ())
    assert [entry.encoding_class for entry in Contents.read(cache).entries] == [
        "AddLaplacianEigenvectorPE"
    ]
    assert snapshot(next(cache.glob("*/AddLaplacian*"))) == kept
    remove(next(cache.iterdir()), lambda entry: True)
    assert list(cache.iterdir()) == []
    assert len(graphpe.encode(GRAPHS, ENCODINGS, cache_dir=cache)) == len(GRAPHS)


def test_removal_leaves_and_names_foreign_files_and_targets_of_links(
    cache: Path, tmp_path: Path
) -> None:
    folder = walks(cache)
    (folder / "notes.txt").write_text("mine")
    (folder.parent / "notes.txt").write_text("mine")
    outside = tmp_path / "outside.safetensors"
    (folder / "000000005.safetensors").rename(outside)
    (folder / "000000005.safetensors").symlink_to(outside)
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "manifest.json").write_text("{}")
    (folder.parent / f"Linked-{'0' * 24}").symlink_to(linked)
    removed = remove(folder.parent, lambda entry: True)
    assert removed.entries == 2
    assert {path.name for path in removed.foreign} == {"notes.txt", f"Linked-{'0' * 24}"}
    assert len(removed.foreign) == 3
    left = {path.relative_to(folder.parent) for path in folder.parent.rglob("*")}
    names = (f"{folder.name}/notes.txt", "notes.txt", folder.name, f"Linked-{'0' * 24}")
    assert left == set(map(Path, names))
    assert outside.exists()
    assert (linked / "manifest.json").exists()


def test_leftovers_go_and_entries_that_have_them_stay(cache: Path, ended_process: str) -> None:
    folder = walks(cache)
    before = snapshot(folder)
    left = [
        make_workspace(folder, ended_process),
        make_workspace(folder, "another-machine-7-12", "manifest.json"),
    ]
    busy = make_workspace(folder, f"{platform.node()}-{os.getpid()}")
    removed = remove(folder.parent, lambda entry: entry.state == "incomplete", leftovers=True)
    assert (removed.entries, removed.workspaces, removed.bytes) == (0, 2, 200)
    assert removed.busy == (busy,)
    assert busy.exists()
    assert not any(path.exists() for path in left)
    assert before.items() <= snapshot(folder).items()


@pytest.mark.parametrize("finished", [True, False])
def test_killed_in_the_middle_an_entry_looks_never_complete(
    cache: Path, finished: bool, monkeypatch
) -> None:
    """After each file that is removed, the next run would compute what lacks."""
    if not finished:
        unfinish(walks(cache))
    original, states = Path.unlink, []

    def unlink(path: Path, missing_ok: bool = False) -> None:
        original(path, missing_ok)
        if path.suffix in (".json", ".safetensors"):
            entry = StoredEntry.read(walks(cache))
            states.append(entry.state)
            assert all(reason is None for _, reason in entry.faults(content=True))

    monkeypatch.setattr(Path, "unlink", unlink)
    remove(walks(cache).parent, lambda entry: entry.encoding_class == "AddRandomWalkPE")
    assert states == ["incomplete"] * (5 if finished else 8)


def test_what_cannot_be_removed_is_named(cache: Path, monkeypatch) -> None:
    def unlink(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", unlink)
        with pytest.raises(ValueError, match=r"cannot remove .*manifest.json \(Permission denied"):
            remove(walks(cache).parent, lambda entry: True)
    assert {entry.state for entry in Contents.read(cache).entries} == {"complete"}


@pytest.mark.parametrize("lock", [".lock", ".lock-1-of-2", ".lock-of-manifests"])
def test_removal_waits_for_a_process_that_writes(cache: Path, lock: str) -> None:
    dataset = walks(cache).parent
    with files.exclusive(dataset, lock):
        thread = threading.Thread(target=remove, args=(dataset, lambda entry: True))
        thread.start()
        time.sleep(0.2)
        assert thread.is_alive()
        assert len(Contents.read(cache).entries) == 2
        assert {entry.state for entry in Contents.read(cache).entries} == {"complete"}
    thread.join(10)
    assert list(cache.iterdir()) == []


def test_removal_waits_for_a_process_that_comes_while_it_waits(cache: Path) -> None:
    dataset = walks(cache).parent
    thread = threading.Thread(target=remove, args=(dataset, lambda entry: True))
    with ExitStack() as second:
        with files.exclusive(dataset, ".lock-1-of-2"):
            thread.start()
            time.sleep(0.2)
            second.enter_context(files.exclusive(dataset, ".lock-2-of-2"))
        time.sleep(0.2)
        assert len(Contents.read(cache).entries) == 2
    thread.join(10)
    assert list(cache.iterdir()) == []


def test_who_waits_for_a_dataset_goes_on_when_it_was_removed(cache: Path) -> None:
    dataset, entered = walks(cache).parent, []

    def wait() -> None:
        with files.exclusive(dataset, ".lock"):
            entered.append(dataset.exists())

    with files.exclusive(dataset, ".lock"):
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.2)
        for path in sorted(dataset.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        dataset.rmdir()
        time.sleep(0.2)
    thread.join(10)
    assert entered == [True]
