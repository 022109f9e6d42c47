"""Damaged files: found before a value of them is used, named, and made anew; nothing else is computed."""

from __future__ import annotations

import json
import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from cache_folders import changed, unfinish
from cache_writers import GRAPHS, GRAPHS_IN_SHARD, encode_molecules
from encoded_folders import ENCODINGS, contents
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphpe
from graphpe.precompute.cache import json_files
from graphpe.precompute.cache.contents import Contents
from graphpe.precompute.cache.shard_files import Receipt

SECOND = f"{GRAPHS_IN_SHARD:09d}"  # of the shards


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with two entries of ten shards."""
    folder = tmp_path_factory.mktemp("filled")
    encode_molecules(folder)
    return folder


@pytest.fixture(scope="module")
def truth() -> list:
    """What encode gives without a cache."""
    return encode_molecules(None)


@pytest.fixture
def cache(filled: Path, tmp_path: Path) -> Path:
    """A copy for each test."""
    return shutil.copytree(filled, tmp_path / "cache")


def walks(cache: Path) -> Path:
    """The folder of one of the entries."""
    return next(cache.glob("*/AddRandomWalkPE-*"))


def assert_true(encoded, truth) -> None:
    assert len(encoded) == len(truth)
    for got, wanted in zip(encoded, truth, strict=True):
        for name in ("laplacian_eigenvector_pe", "random_walk_pe"):
            assert torch.equal(got[name], wanted[name])


def flip(path: Path, position: int, bit: int = 2) -> None:
    content = bytearray(path.read_bytes())
    content[position % len(content)] ^= 1 << bit
    path.write_bytes(content)


def cut(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])


def swap(path: Path) -> None:
    other = path.with_name(f"{2 * GRAPHS_IN_SHARD:09d}.safetensors")
    first, second = path.read_bytes(), other.read_bytes()
    path.write_bytes(second)
    other.write_bytes(first)


def of_another_entry(path: Path) -> None:
    shutil.copy(next(path.parents[1].glob(f"AddLaplacian*/{path.name}")), path)


DAMAGE: dict[str, tuple[Callable[[Path], object], int]] = {
    "a bit of a value": (lambda path: flip(path, -3), 1),
    "a bit of the header's size": (lambda path: flip(path, 0), 1),
    "a bit of the header": (lambda path: flip(path, 20), 1),
    "one byte less": (lambda path: cut(path, -1), 1),
    "half": (lambda path: cut(path, path.stat().st_size // 2), 1),
    "half of the header": (lambda path: cut(path, 30), 1),
    "empty": (lambda path: cut(path, 0), 1),
    "one byte more": (lambda path: path.write_bytes(path.read_bytes() + b"\0"), 1),
    "zeros": (lambda path: path.write_bytes(bytes(path.stat().st_size)), 1),
    "random bytes": (
        lambda path: path.write_bytes(random.Random(7).randbytes(path.stat().st_size)),
        1,
    ),
    "removed": (Path.unlink, 1),
    "two swapped": (swap, 2),
    "of another entry": (of_another_entry, 1),
    "a link that leads nowhere": (lambda path: (path.unlink(), path.symlink_to("nowhere")), 1),
}


@pytest.mark.parametrize("verify", [True, False], ids=["verify", "at first use"])
@pytest.mark.parametrize(("damage", "count"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_shard_is_named_and_computed_anew(
    cache: Path, filled: Path, truth, computed, damage, count: int, verify: bool
) -> None:
    path = walks(cache) / f"{SECOND}.safetensors"
    damage(path)
    by_size = not path.exists() or path.stat().st_size != (walks(filled) / path.name).stat().st_size
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        encoded = encode_molecules(cache, verify=verify)
        assert bool(said) == bool(computed) == (verify or by_size)
        assert_true(encoded, truth)
    named = [str(each.message) for each in said if "computed anew" in str(each.message)]
    assert len(named) == count
    assert named[0].startswith(f"{path} ")
    assert computed == [
        (number * GRAPHS_IN_SHARD, GRAPHS_IN_SHARD, ["AddRandomWalkPE"])
        for number in range(1, 1 + count)
    ]
    assert contents(cache) == contents(filled)
