"""Files of datasets: made next to their final name and moved there whole, by one process at a time."""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import pickle
import platform
import re
import shutil
import tempfile
import threading
import urllib.request
import zipfile
import zlib
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.status import Status

# Seconds without an answer after which a server counts as out of reach.
_NETWORK_TIMEOUT = 10
_CHUNK = 1 << 20

# What file systems without locks say when they are asked for one.
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)

# What to do about a dataset whose folder cannot be written to.
_COPY = "copy the dataset to a folder where you may write and give that as root"


def status(text: str) -> Status:
    """A line on stderr while something runs; gone afterwards, and not shown where there is no terminal."""
    return Console(stderr=True).status(text)


@contextmanager
def exclusive(folder: Path, lock_file: str | None = None) -> Iterator[None]:
    """Only one process at a time prepares ``folder``; others wait here.

    Args:
        folder: What is prepared.
        lock_file: Name of the lock, a file in ``folder``, which is made. So processes of all machines that see the
            folder wait for each other, where its file system has locks. None: a lock of this machine and user, so
            that nothing is left beside the data. `workspace` makes sure that others never read a half-written file.

    Raises:
        ValueError: If the folder cannot be written to.
    """
    if lock_file is None:
        user = os.getuid() if hasattr(os, "getuid") else ""
        key = hashlib.sha256(f"{user}:{folder.resolve()}".encode()).hexdigest()[:16]
        path = Path(tempfile.gettempdir()) / f"graphpe-{key}.lock"
    else:
        path = folder / lock_file
    # Not with the file that stands in for a lock elsewhere: that of a killed process would have others wait forever.
    lock = FileLock(path, fallback_to_soft=False)
    try:
        try:
            _acquire(lock, folder)
        except OSError as error:
            raise ValueError(
                f"cannot write to {folder} ({error.strerror or one_line(error)}); give a folder where you may write"
            ) from error
        yield
    finally:
        lock.release()


def _acquire(lock: FileLock, folder: Path) -> None:
    """Waits for a lock, whose folder is made, and made anew if who had the lock has removed it.

    Goes on without where the file system has none.
    """
    try:
        _wait_for(lock, folder)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


def _wait_for(lock: FileLock, folder: Path) -> None:
    while not lock.is_locked:
        Path(lock.lock_file).parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            try:
                lock.acquire(timeout=0)
            except Timeout:
                with status(f"Waiting for another process that prepares {folder}"):
                    lock.acquire()


@contextmanager
def workspace(target: Path, remedy: str = _COPY) -> Iterator[Path]:
    """An empty folder beside ``target`` in which to make it, to be moved with ``os.replace`` when complete.

    The folder is removed at the end with all that is still in it, and so is what a killed process left behind.

    Args:
        target: What is made.
        remedy: What to do where the folder of ``target`` cannot be written to, for the error.

    Raises:
        ValueError: If the folder of ``target`` cannot be written to.
    """
    owner = f"{platform.node()}-{os.getpid()}-{threading.get_native_id()}"
    work = target.parent / f".{target.name}.{owner}.partial"
    new_folders = [
        folder for folder in (target.parent, *target.parent.parents) if not folder.exists()
    ]
    try:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            remove_leftovers(target.parent, (target.name,))
            if work.exists():  # of a killed process whose numbers were those of this thread
                shutil.rmtree(work)
            work.mkdir()
        except OSError as error:
            raise ValueError(
                f"cannot write to {target.parent} ({error.strerror}); {remedy}"
            ) from error
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        for folder in new_folders:
            with suppress(OSError):  # not empty: then it is wanted
                folder.rmdir()


def remove_leftovers(folder: Path, names: Container[str]) -> None:
    """Removes workspaces of killed processes of this machine.

    Args:
        folder: Where they are.
        names: Of what was made in them.
    """
    for leftover in folder.glob(".*.partial"):
        name, _, owner = leftover.name[1:].rpartition(f".{platform.node()}-")
        if name in names and not is_running(owner):
            shutil.rmtree(leftover, ignore_errors=True)


def is_running(owner: str) -> bool:
    """Whether a process of this machine is there, and if it is this one its thread.

    Args:
        owner: Begins with the number of the process, maybe a hyphen and that of the thread.
    """
    numbers = re.match(r"(\d+)(?:-(\d+))?", owner)
    if numbers is None:
        return False
    process, thread = numbers.groups()
    # In a container each process may have the number of the one that was killed there.
    if thread is not None and int(process) == os.getpid():
        return int(thread) in {each.native_id for each in threading.enumerate()}
    if os.name == "nt":  # to ask would end it
        return True
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # not ours, or on a system that can't tell
        return True
    return True


def flush(path: Path) -> None:
    """Has the system put a file or the names in a folder on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems can't for folders, or needn't.
        if error.errno != errno.EINVAL or not path.is_dir():
            raise
    finally:
        os.close(descriptor)


def save(content: Any, path: Path) -> None:
    """``torch.save`` that leaves either the whole file or none.

    Raises:
        ValueError: If the file cannot be written.
    """
    with workspace(path) as work:
        try:
            torch.save(content, work / path.name)
            os.replace(work / path.name, path)
        except (OSError, RuntimeError) as error:
            raise ValueError(
                f"could not write {path} ({one_line(error)}); is there enough space?"
            ) from error


def save_text(content: str, path: Path, remedy: str = _COPY) -> None:
    """Writes a text file that is either whole or not there, also after a power cut.

    Args:
        content: The text.
        path: The file.
        remedy: What to do where its folder cannot be written to, for the error.

    Raises:
        ValueError: If the file cannot be written.
    """
    with workspace(path, remedy) as work:
        try:
            (work / path.name).write_text(content, encoding="utf-8")
            flush(work / path.name)
            os.replace(work / path.name, path)
            flush(path.parent)
        except OSError as error:
            raise ValueError(
                f"could not write {path} ({one_line(error)}); is there enough space?"
            ) from error


def load(path: Path) -> Any:
    """``torch.load`` of a file written by `save`: tensors and plain Python values only.

    Raises:
        ValueError: If the file is broken.
    """
    with broken_processed_file(path):
        return torch.load(path, weights_only=True)


@contextmanager
def broken_processed_file(path: Path) -> Iterator[None]:
    """Turns what ``torch.load`` raises on a broken file into one line that names the file and the remedy."""
    try:
        yield
    except (OSError, EOFError, RuntimeError, LookupError, pickle.UnpicklingError) as error:
        # Without the advice that torch goes on with, such as to load a broken file unsafely.
        reason = one_line(error).split(". ")[0]
        if "weights" in reason.lower():
            reason = "it holds something else"
        raise ValueError(
            f"processed file {path} is broken or truncated ({reason}); delete it, and it is made again"
        ) from error


def download(url: str, path: Path, what: str, remedy: str) -> None:
    """Downloads a file under a progress bar.

    Args:
        url: Where from.
        path: Where to.
        what: What is being downloaded, for the progress bar and the error.
        remedy: What to do when there is no network.

    Raises:
        ValueError: If the server is out of reach, or the connection broke before the end.
    """
    columns = (
        TextColumn(f"Downloading {what}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    received, size = 0, 0
    try:
        with (
            urllib.request.urlopen(url, timeout=_NETWORK_TIMEOUT) as response,
            path.open("wb") as file,
            Progress(*columns, console=Console(stderr=True), transient=True) as bar,
        ):
            size = int(response.headers.get("Content-Length") or 0)
            task = bar.add_task("", total=size or None)
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                received += len(chunk)
                bar.advance(task, len(chunk))
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise ValueError(
            f"{what} could not be downloaded from {url} ({one_line(reason)}); {remedy}"
        ) from error
    if received < size:
        raise ValueError(
            f"the download of {what} from {url} broke off after {received:,} of {size:,} bytes; try again, or {remedy}"
        )


def unpack(archive: Path, folder: Path, what: str) -> None:
    """Unpacks a zip archive, checking the checksums of its files.

    Raises:
        ValueError: If the archive is broken.
    """
    try:
        with zipfile.ZipFile(archive) as file:
            file.extractall(folder)
    except (zipfile.BadZipFile, EOFError, OSError, zlib.error) as error:
        raise ValueError(
            f"the download of {what} ({archive.name}) is not a complete zip archive ({one_line(error)}); try again"
        ) from error


def one_line(error: object) -> str:
    """The first line of a message, or the name of its class."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
