"""Disks that are full, that fail or that can't be written to: one line says so, and nothing is lost."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import torch
from cache_folders import make_workspace, snapshot, unfinish
from cache_writers import GRAPHS_IN_SHARD, Writer, encode_molecules, leftovers, whole
from encoded_folders import contents
from file_operations import WRITING, at_each_file_operation, operations_of

from graphpe import files
from graphpe.transforms import AddRandomWalkPE


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of a run that isn't disturbed."""
    folder = tmp_path_factory.mktemp("filled")
    Writer(folder)()
    return folder


def assert_fails(run: Callable[[], object], folder: Path, is_writable: bool = True) -> None:
    """That there is one line that says where and what to do, and that no lock is held."""
    with pytest.raises(ValueError, match=r"; (make room|give|is there enough space)") as error:
        run()
    assert "\n" not in str(error.value)
    assert str(folder) in str(error.value)
    if is_writable:
        assert_no_lock_is_held(folder)


def assert_no_lock_is_held(folder: Path) -> None:
    entered = []

    def enter() -> None:
        for lock in folder.glob("*/.lock*"):
            with files.exclusive(lock.parent, lock.name):
                entered.append(lock)

    thread = threading.Thread(target=enter, daemon=True)
    thread.start()
    thread.join(10)
    assert entered == list(folder.glob("*/.lock*"))


def assert_nothing_is_half_written(folder: Path, wanted: dict[str, bytes]) -> None:
    """That all files but receipts are as they must be in the end."""
    assert leftovers(folder) == []
    for name, content in contents(folder).items():
        assert wanted.get(name, content) == content
    names = list(folder.glob("*/*/*.safetensors"))
    assert len(names) - len(whole(folder)) <= 1  # the last one may lack its receipt


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A file system in memory."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ("size=36k", "size=8m"),
        ("size=80k", "size=8m"),
        ("nr_inodes=3", "nr_inodes=900"),
        ("nr_inodes=16", "nr_inodes=900"),
    ],
)
def test_a_full_disk(tmp_path: Path, filled: Path, small: str, large: str) -> None:
    with mounted(tmp_path / "disk", small) as folder:
        assert_fails(Writer(folder), folder)
        assert_nothing_is_half_written(folder, contents(filled))
        remount(folder, large)
        before = whole(folder)
        Writer(folder)()
        assert contents(folder) == contents(filled)
        assert before.items() <= whole(folder).items()


@pytest.mark.parametrize("limit", [100, 1200, 3000])
def test_a_limit_on_the_size_of_files(tmp_path: Path, filled: Path, limit: int) -> None:
    """Python ignores the signal that goes with it. The manifest is the largest file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        assert_fails(Writer(tmp_path), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert_nothing_is_half_written(tmp_path, contents(filled))
    Writer(tmp_path)()
    assert contents(tmp_path) == contents(filled)


SMALL = partial(Writer, graphs=2 * GRAPHS_IN_SHARD, encodings=(AddRandomWalkPE(4),))


@pytest.mark.parametrize("lasts", [True, False], ids=["from there on", "once"])
def test_each_call_that_writes_may_find_the_disk_full(tmp_path: Path, lasts: bool) -> None:
    raised = _fail_at_each_call(tmp_path, OSError(errno.ENOSPC, "No space left on device"), lasts)
    for error in raised:
        assert isinstance(error, ValueError)
        assert "\n" not in str(error)
        assert str(tmp_path) in str(error)
        assert "No space left on device" in str(error)
        assert any(remedy in str(error) for remedy in ("; make room", "; give", "enough space"))


def test_each_call_that_writes_may_be_interrupted(tmp_path: Path) -> None:
    raised = _fail_at_each_call(tmp_path, KeyboardInterrupt(), lasts=False)
    assert all(isinstance(error, KeyboardInterrupt) for error in raised)


def _fail_at_each_call(folder: Path, error: BaseException, lasts: bool) -> list[BaseException]:
    """Has each call that writes fail in a run of its own, after which another run must complete the cache.

    Returns:
        What the runs raised. Some don't: it doesn't matter if a folder that is there can't be made.
    """
    SMALL(folder / "clean")()
    wanted = contents(folder / "clean")
    calls = operations_of(SMALL(folder / "counted"), WRITING)
    raised: list[BaseException] = []
    for number in range(1, calls + 1):
        cache = folder / str(number)

        def fail(current: int, number: int = number) -> None:
            if current == number or (lasts and current > number):
                raise error

        try:
            with at_each_file_operation(fail, WRITING):
                SMALL(cache)()
        except (ValueError, KeyboardInterrupt) as found:
            raised.append(found)
        assert_no_lock_is_held(cache)
        assert_nothing_is_half_written(cache, wanted)
        before = whole(cache)
        SMALL(cache)()
        assert contents(cache) == wanted
        assert before.items() <= whole(cache).items()
    assert calls > 20
    assert len(raised) >= calls - 5
    return raised


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """A copy of a folder that can't be written to, by a system administrator either."""
    place = folder.with_name("read_only")
    if os.geteuid() == 0:
        with mounted(place, "size=8m"):
            shutil.copytree(folder, place, dirs_exist_ok=True)
            remount(place, "ro")
            yield place
        return
    shutil.copytree(folder, place)
    folders = [place, *(path for path in place.rglob("*") if path.is_dir())]
    for each in folders:
        each.chmod(0o555)
    try:
        yield place
    finally:
        for each in folders:
            each.chmod(0o755)


def test_a_complete_cache_may_be_read_only(filled: Path, tmp_path: Path, computed) -> None:
    truth = encode_molecules(None)
    cache = shutil.copytree(filled, tmp_path / "cache")
    computed.clear()
    with read_only(cache) as place:
        before = snapshot(place)
        encoded = encode_molecules(place, verify=True)
        for got, wanted in zip(encoded, truth, strict=True):
            assert torch.equal(got.random_walk_pe, wanted.random_walk_pe)
        assert snapshot(place) == before
    assert not computed


def test_what_a_killed_process_left_does_not_matter_where_it_cannot_be_removed(
    filled: Path, tmp_path: Path, computed
) -> None:
    cache = shutil.copytree(filled, tmp_path / "cache")
    walks = next(cache.glob("*/AddRandomWalkPE-*"))
    manifest = (walks / "manifest.json").read_bytes()
    unfinish(walks)
    (walks / "manifest.json").write_bytes(manifest)
    make_workspace(walks, "another-machine-12")
    with read_only(cache) as place:
        assert len(encode_molecules(place)[3].random_walk_pe)
    assert not computed


def test_what_lacks_cannot_be_written_where_all_is_read_only(filled: Path, tmp_path: Path) -> None:
    cache = shutil.copytree(filled, tmp_path / "cache")
    next(cache.glob("*/AddRandomWalkPE-*/manifest.json")).unlink()
    with read_only(cache) as place:
        assert_fails(lambda: encode_molecules(place), place, is_writable=False)


@pytest.mark.parametrize("verify", [True, False])
def test_damage_is_named_also_where_it_cannot_be_mended(
    filled: Path, tmp_path: Path, verify: bool
) -> None:
    cache = shutil.copytree(filled, tmp_path / "cache")
    path = sorted(cache.glob("*/AddRandomWalkPE-*/*.safetensors"))[1]
    path.write_bytes(bytes(path.stat().st_size))
    with (
        read_only(cache) as place,
        pytest.warns(UserWarning, match=rf"{path.parent.name}/{path.name} has another checksum"),
    ):
        assert_fails(
            lambda: encode_molecules(place, verify=verify)[GRAPHS_IN_SHARD].random_walk_pe,
            place,
            is_writable=False,
        )
