"""Pickles of tensors are read; pickles with anything else are refused before anything runs."""

from __future__ import annotations

import functools
import os
import pickle
from collections import OrderedDict
from pathlib import Path

import pytest
import torch

from graphpe.data.tensor_pickle import load_tensor_pickle


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_tensors_come_back(tmp_path: Path, protocol: int) -> None:
    content = [
        {
            "n": 3,
            "a": torch.arange(3),
            "b": torch.eye(2),
            "c": torch.zeros(0, 2, dtype=torch.uint8),
        },
        (1.5, "text", None, OrderedDict(d=torch.arange(6.0).view(2, 3).t())),
    ]
    path = tmp_path / "content.pickle"
    path.write_bytes(pickle.dumps(content, protocol))
    loaded = load_tensor_pickle(path)
    assert torch.equal(loaded[0]["a"], content[0]["a"])
    assert torch.equal(loaded[0]["b"], content[0]["b"])
    assert loaded[0]["c"].shape == (0, 2)
    assert loaded[0]["c"].dtype == torch.uint8
    assert loaded[1][:3] == (1.5, "text", None)
    assert torch.equal(loaded[1][3]["d"], content[1][3]["d"])


class Call:
    """Pickles as a call."""

    def __init__(self, function, *arguments) -> None:
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    "content",
    [
        Call(os.mkdir, "made-by-a-pickle"),
        Call(eval, "1"),
        Call(functools.partial, os.mkdir),
        Call(getattr, OrderedDict, "fromkeys"),
        Call(getattr, torch._C._VariableFunctionsClass, "__class__"),
        Call(torch.load, "file"),
        Path("x"),
    ],
)
def test_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: object) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "content.pickle"
    path.write_bytes(pickle.dumps([torch.ones(2), content]))
    with pytest.raises(ValueError, match="is no part of a tensor"):
        load_tensor_pickle(path)
    assert [path.name for path in tmp_path.iterdir()] == ["content.pickle"]


def test_code_within_the_bytes_of_a_tensor_is_refused(tmp_path: Path) -> None:
    inner = tmp_path / "inner.pt"
    torch.save(Call(os.mkdir, str(tmp_path / "made")), inner)
    outer = tmp_path / "outer.pickle"
    outer.write_bytes(pickle.dumps(Call(torch.storage._load_from_bytes, inner.read_bytes())))
    with pytest.raises(ValueError, match="mkdir"):
        load_tensor_pickle(outer)
    assert not (tmp_path / "made").exists()
