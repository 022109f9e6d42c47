"""Damaged files: found before a value of them is used, named, and made anew; nothing else is computed."""

from __future__ import annotations

import errno
import random
import shutil
import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
import torch
from cache_folders import changed, unfinish
from cache_writers import GRAPHS, GRAPHS_IN_SHARD, encode_molecules
from encoded_folders import ENCODINGS, contents, with_a_bad_weight
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphpe
from graphpe.precompute.cache import shard_files

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
@pytest.mark.parametrize(("damage", "number"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_shard_is_named_and_computed_anew(
    cache: Path, filled: Path, truth, computed, damage, number: int, verify: bool
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
    assert len(named) == number
    assert named[0].startswith(f"{path} ")
    assert computed == [
        (shard * GRAPHS_IN_SHARD, GRAPHS_IN_SHARD, ["AddRandomWalkPE"])
        for shard in range(1, 1 + number)
    ]
    assert contents(cache) == contents(filled)


def recovers(cache: Path, filled: Path, truth) -> list[str]:
    """Asserts that values are true and the files those of a clean run in the end; what was said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert_true(encode_molecules(cache), truth)
    assert contents(cache) == contents(filled)
    return [str(each.message) for each in said]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_bit_anywhere_or_an_end_that_is_missing(
    filled: Path, truth, tmp_path_factory, data: st.DataObject
) -> None:
    """Of shards and of manifests, and of receipts and shards where there is no manifest yet."""
    cache = shutil.copytree(filled, tmp_path_factory.mktemp("damaged") / "cache")
    if data.draw(st.booleans(), label="unfinished"):
        unfinish(walks(cache))
    path = data.draw(st.sampled_from(sorted(cache.glob("*/*/*.*"))), label="file")
    position = data.draw(st.integers(0, path.stat().st_size - 1), label="position")
    if data.draw(st.booleans(), label="cut"):
        cut(path, position)
    else:
        flip(path, position, data.draw(st.integers(0, 7), label="bit"))
    said = recovers(cache, filled, truth)
    is_receipt = path.suffix == ".json" and path.name != "manifest.json"
    assert is_receipt or any(str(path) in each for each in said)


def of_first_shard(**changes) -> dict[str, Callable]:
    return {"shards": lambda shards: [{**shards[0], **changes}, *shards[1:]]}


# What a manifest might say, with the checksum that fits; and bytes that aren't one.
NO_MANIFEST = {
    "empty": b"",
    "zeros": bytes(900),
    "binary": bytes(range(256)),
    "a list": b"[1, 2]",
    "deep": b"[" * 100_000,
    "a pickle": b"cos\nsystem\n(S'touch %s'\ntR.",
    "older layout": {"layout": 1},
    "newer layout": {"layout": 99},
    "layout of another kind": {"layout": [3]},
    "infinite": {"num_graphs": float("inf")},
    "not a number": {"num_graphs": float("nan")},
    "huge": {"num_graphs": 10**4000},
    "more graphs": {"graphs": "0" * 32},
    "other settings": {"settings": lambda settings: {**settings, "walk_length": 7}},
    "no shards": {"shards": None},
    "unknown": {"more": 1},
    "above": of_first_shard(file="../../outside.safetensors"),
    "absolute": of_first_shard(file="/outside.safetensors"),
    "another file": of_first_shard(file="manifest.json"),
    "start": of_first_shard(start=True),
    "stop": of_first_shard(stop=float(GRAPHS_IN_SHARD)),
    "bytes of another kind": of_first_shard(bytes=[1]),
    "infinite bytes": of_first_shard(bytes=float("inf")),
    "checksum": of_first_shard(checksum=None),
    "failed": of_first_shard(failed=["0"]),
    "failed elsewhere": of_first_shard(failed={str(GRAPHS - 1): "why"}),
    "failed for no reason": of_first_shard(failed={"0": None}),
}


@pytest.mark.parametrize("content", NO_MANIFEST.values(), ids=NO_MANIFEST)
def test_a_damaged_manifest_is_named_and_made_anew(
    cache: Path, filled: Path, truth, content
) -> None:
    path = walks(cache) / "manifest.json"
    path.write_bytes(content if isinstance(content, bytes) else changed(path, content))
    said = recovers(cache, filled, truth)
    assert all(str(path) in each and "computed anew" in each for each in said)
    assert said
    assert all("\n" not in each for each in said)


def test_a_manifest_of_another_entry_does_not_count(cache: Path, filled: Path, truth) -> None:
    shutil.copy(next(cache.glob("*/AddLaplacian*/manifest.json")), walks(cache))
    assert "another entry" in recovers(cache, filled, truth)[0]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b'{"file": "000000004.safetensors"}', id="without a checksum"),
        pytest.param({"file": "../../outside.safetensors"}, id="above"),
        pytest.param({"file": "000000008.safetensors"}, id="another shard"),
        pytest.param({"start": 8, "stop": 12, "file": "000000008.safetensors"}, id="swapped"),
        pytest.param({"start": float("nan")}, id="not a number"),
        pytest.param({"bytes": 1 << 70}, id="huge"),
        pytest.param({"failed": {"-1": "why"}}, id="failed"),
    ],
)
def test_a_damaged_receipt_counts_as_none(
    cache: Path, filled: Path, truth, computed, content
) -> None:
    unfinish(walks(cache))
    path = walks(cache) / f"{SECOND}.json"
    path.write_bytes(content if isinstance(content, bytes) else changed(path, content))
    recovers(cache, filled, truth)
    assert computed == [(GRAPHS_IN_SHARD, GRAPHS_IN_SHARD, ["AddRandomWalkPE"])]


def test_no_other_graph_is_left_out_where_a_manifest_is_damaged(tmp_path: Path) -> None:
    """A wrong number in it would leave a graph without values among the others."""
    graphs = with_a_bad_weight(8, bad=5)
    options = {"cache_dir": tmp_path, "on_error": "skip", "progress": False}
    with pytest.warns(UserWarning, match="graph 5"):
        assert list(graphpe.encode(graphs, ENCODINGS[1], **options).failures) == [5]
    (manifest,) = tmp_path.glob("*/*/manifest.json")
    text = manifest.read_text()
    assert text.count('"5"') == 1
    manifest.write_text(text.replace('"5"', '"7"'))
    with pytest.warns(UserWarning, match="computed anew"):
        encoded = graphpe.encode(graphs, ENCODINGS[1], **options)
    assert list(encoded.failures) == [5]
    assert not any(data.random_walk_pe.isnan().any() for data in encoded)


def test_a_shard_that_the_disk_cannot_read_is_computed_anew(
    cache: Path, filled: Path, truth, computed, monkeypatch
) -> None:
    path = walks(cache) / f"{SECOND}.safetensors"
    inode, real = path.stat().st_ino, shard_files.checksum

    def checksum(shard: Path) -> str:
        if shard.stat().st_ino == inode:
            raise OSError(errno.EIO, "Input/output error")
        return real(shard)

    monkeypatch.setattr(shard_files, "checksum", checksum)
    said = recovers(cache, filled, truth)
    assert said == [f"{path} can't be read (Input/output error); it is computed anew"]
    assert computed == [(GRAPHS_IN_SHARD, GRAPHS_IN_SHARD, ["AddRandomWalkPE"])]


def test_a_shard_that_is_damaged_again_and_again_is_an_error(cache: Path, monkeypatch) -> None:
    """As on a disk that is at its end: no value of it is used."""
    encoded = encode_molecules(cache)
    checksums = count()
    monkeypatch.setattr(shard_files, "checksum", lambda path: str(next(checksums)))
    with (
        pytest.warns(UserWarning, match="computed anew"),
        pytest.raises(ValueError, match=r"a shard in .* can't be read, even made anew") as error,
    ):
        encoded[GRAPHS_IN_SHARD]
    assert "\n" not in str(error.value)
