"""From a table of SMILES to arrays on disk, a few thousand molecules at a time."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from graphpe import files
from graphpe.data.downloaded.pcqm4mv2.growing_array import GrowingArray
from graphpe.data.molecules import (
    ATOM_COLUMNS,
    BOND_COLUMNS,
    MoleculeArrays,
    import_rdkit,
    molecule_arrays,
)
from graphpe.processes import in_processes

MOLECULES_PER_CHUNK = 2000

# The arrays: dtype and shape of a row. Slices say where each molecule starts.
ARRAYS: dict[str, tuple[np.dtype, tuple[int, ...]]] = {
    "x": (np.dtype(np.int64), (ATOM_COLUMNS,)),
    "edges": (np.dtype(np.int64), (2,)),
    "edge_attr": (np.dtype(np.int64), (BOND_COLUMNS,)),
    "y": (np.dtype(np.float32), ()),
    "atom_slices": (np.dtype(np.int64), ()),
    "edge_slices": (np.dtype(np.int64), ()),
}
_MANIFEST = "manifest.json"

# Raise it when the arrays change, so that none of an older form are continued.
_VERSION = 1


class _Chunk(NamedTuple):
    first: int
    smiles: list[str]
    targets: np.ndarray


def convert(table: Path, target: Path, expected: int, workers: int) -> None:
    """Writes the molecules of a table as the `ARRAYS`, ``<name>.npy`` in the folder ``target``.

    What is finished is kept when the process ends early, and continued by the next one on the same machine: an
    unfinished folder beside ``target`` has the arrays so far and ``manifest.json``, which says how much of them counts.

    Args:
        table: ``data.csv.gz`` with the columns ``smiles`` and ``homolumogap``.
        target: The folder, which appears when it is complete.
        expected: How many molecules there should be, for the progress bar.
        workers: Processes that convert.

    Raises:
        ValueError: If the table is broken or has a SMILES that can't be read, or the folder can't be written to.
    """
    unfinished = target.with_name(f".{target.name}.{platform.node()}.partial")
    settings = _settings(table)
    try:
        arrays = _open_arrays(unfinished, settings)
    except OSError as error:
        raise ValueError(
            f"cannot write to {target.parent} ({error.strerror}); copy the dataset to a folder where you may write "
            "and give that as root"
        ) from error
    try:
        chunks = _chunks(table, arrays["y"].rows)
        with _progress(arrays["y"].rows, expected) as advance:
            for molecules, targets in in_processes(
                _converted, chunks, workers, "converts molecules"
            ):
                _append(arrays, molecules, targets)
                _save_manifest(arrays, settings, unfinished)
                advance(len(targets))
        for array in arrays.values():
            array.close()
        _move(unfinished, target)
    except OSError as error:
        raise ValueError(
            f"could not write {target} ({files.one_line(error)}); is there enough space?"
        ) from error
    finally:
        for array in arrays.values():
            array.abandon()


@contextmanager
def _progress(done: int, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar, and what advances it."""
    columns = (
        TextColumn("Converting molecules"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total, completed=done)
        yield lambda molecules: bar.advance(task, molecules)


def _converted(chunk: _Chunk) -> tuple[MoleculeArrays, np.ndarray]:
    return molecule_arrays(chunk.smiles, chunk.first), chunk.targets


def _append(
    arrays: dict[str, GrowingArray], molecules: MoleculeArrays, targets: np.ndarray
) -> None:
    arrays["atom_slices"].append(arrays["x"].rows + molecules.num_atoms.cumsum())
    arrays["edge_slices"].append(arrays["edges"].rows + molecules.num_edges.cumsum())
    arrays["x"].append(molecules.x)
    arrays["edges"].append(molecules.edges)
    arrays["edge_attr"].append(molecules.edge_attr)
    arrays["y"].append(targets)


def _chunks(table: Path, done: int) -> Iterator[_Chunk]:
    """The rows of the table after the first ``done`` ones."""
    import pandas

    first = done
    try:
        with pandas.read_csv(
            table,
            usecols=["smiles", "homolumogap"],
            dtype={"smiles": str, "homolumogap": np.float64},
            skiprows=range(1, 1 + done),
            chunksize=MOLECULES_PER_CHUNK,
        ) as reader:
            for rows in reader:
                # A missing SMILES is an empty one, which nothing can be read from.
                smiles = rows["smiles"].fillna("").tolist()
                yield _Chunk(first, smiles, rows["homolumogap"].to_numpy(np.float32))
                first += len(rows)
    except (OSError, EOFError, ValueError, LookupError, zlib.error) as error:
        raise ValueError(
            f"raw file {table} is broken or truncated after {first:,} molecules ({files.one_line(error)}); put a "
            "complete copy there"
        ) from error


def _open_arrays(folder: Path, settings: dict[str, Any]) -> dict[str, GrowingArray]:
    """The arrays of an unfinished folder as far as they are complete, or empty ones."""
    rows = dict.fromkeys(ARRAYS, 0)
    try:
        manifest = json.loads((folder / _MANIFEST).read_text())
        if manifest["settings"] == settings:
            rows = manifest["rows"]
    except (OSError, ValueError, LookupError, TypeError):
        pass  # nothing there, or nothing of use
    try:
        return _grow(folder, rows)
    except ValueError:  # an array lacks rows
        return _grow(folder, dict.fromkeys(ARRAYS, 0))


def _grow(folder: Path, rows: dict[str, int]) -> dict[str, GrowingArray]:
    if not any(rows.values()):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    arrays = {
        name: GrowingArray(folder / f"{name}.npy", dtype, shape, rows[name])
        for name, (dtype, shape) in ARRAYS.items()
    }
    for name in ("atom_slices", "edge_slices"):
        if not arrays[name].rows:
            arrays[name].append(np.zeros(1))
    return arrays


def _save_manifest(arrays: dict[str, GrowingArray], settings: dict[str, Any], folder: Path) -> None:
    for array in arrays.values():
        array.flush()
    rows = {name: array.rows for name, array in arrays.items()}
    files.save_text(json.dumps({"settings": settings, "rows": rows}), folder / _MANIFEST)


def _settings(table: Path) -> dict[str, Any]:
    """What unfinished arrays must have been made from, to be continued."""
    content = hashlib.sha256(table.read_bytes()).hexdigest()
    return {"version": _VERSION, "rdkit": import_rdkit().__version__, "table": content}


def _move(folder: Path, target: Path) -> None:
    try:
        os.replace(folder, target)
    except OSError:
        if not target.exists():  # otherwise another machine was faster
            raise
        shutil.rmtree(folder)
