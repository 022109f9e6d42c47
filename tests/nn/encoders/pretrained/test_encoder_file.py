from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from nn_batches import batch_of
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from graphpe.nn import PretrainedEncoder, RandomPEARL, StructuralEncoder
from graphpe.nn.encoders.pretrained import load_encoder, save_encoder
from graphpe.nn.encoders.pretrained.encoder_file import require_writable

KEY = "graphpe.StructuralEncoder"


@pytest.fixture
def encoder() -> StructuralEncoder:
    encoder = StructuralEncoder(8, 2, 5, eval_samples=2, seed=3)
    encoder(batch_of())  # running statistics of its own
    return encoder.eval()


@pytest.fixture
def path(tmp_path: Path, encoder: StructuralEncoder) -> Path:
    path = tmp_path / "folder" / "encoder.safetensors"
    save_encoder(path, encoder, {"dataset": "molecules"})
    return path


def rewrite(path: Path, header: object = None, tensors: dict | None = None) -> None:
    """Writes another header or other tensors into the file."""
    if header is None:
        settings = StructuralEncoder(8, 2, 5, eval_samples=2, seed=3).settings
        header = {"version": 1, "settings": settings, "description": {}}
    text = header if isinstance(header, str) else json.dumps(header)
    save_file(tensors or load_file(path), path, {KEY: text})


def test_gives_back_what_was_saved(path: Path, encoder: StructuralEncoder) -> None:
    loaded, description = load_encoder(path)
    assert description == {"dataset": "molecules"}
    assert loaded.settings == encoder.settings
    assert not loaded.training
    assert torch.equal(loaded(batch_of()), encoder(batch_of()))


def test_the_same_encoder_gives_the_same_bytes(path: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.safetensors"
    save_encoder(again, *load_encoder(path))
    assert again.read_bytes() == path.read_bytes()


def test_any_dtype_is_saved_in_float32(tmp_path: Path, encoder: StructuralEncoder) -> None:
    save_encoder(tmp_path / "double", encoder.double(), {})
    loaded, _ = load_encoder(tmp_path / "double")
    assert {parameter.dtype for parameter in loaded.parameters()} == {torch.float32}


def test_the_weights_do_not_depend_on_the_file(path: Path, encoder: StructuralEncoder) -> None:
    loaded, _ = load_encoder(path)
    content = bytearray(path.read_bytes())
    content[-4000:] = bytes(4000)
    with path.open("r+b") as file:
        file.write(content)
    assert torch.equal(loaded(batch_of()), encoder(batch_of()))


def test_an_interrupted_write_leaves_the_old_file(
    path: Path, encoder: StructuralEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()

    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(ValueError, match=r"can't write .*No space left"):
        save_encoder(path, StructuralEncoder(16, 1, 5), {})
    assert [child.name for child in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_refuses_a_folder_in_the_way(tmp_path: Path, encoder: StructuralEncoder) -> None:
    with pytest.raises(ValueError, match="can't write"):
        save_encoder(tmp_path, encoder, {})
    assert not list(tmp_path.parent.glob(".*.partial"))
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="can't write"):
        save_encoder(tmp_path / "file" / "x", encoder, {})


def test_refuses_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no file '.*absent'.*graphpe pretrain"):
        load_encoder(tmp_path / "absent")


@pytest.mark.parametrize("length", [0, 5, 300, -1])
def test_refuses_a_truncated_file(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match="not a safetensors file, or it is damaged"):
        load_encoder(path)


def test_never_unpickles(path: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "sprung",))

    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match="not a safetensors file"):
        load_encoder(path)
    assert not (tmp_path / "sprung").exists()


def test_refuses_tensors_of_others(path: Path) -> None:
    save_file({"weight": torch.zeros(3)}, path)
    with pytest.raises(ValueError, match="not a pre-trained encoder of graphpe"):
        load_encoder(path)


@pytest.mark.parametrize(
    "header", ["{", "[]", "{}", '{"version": 1, "settings": {}}', "[" * 10**5 + "]" * 10**5]
)
def test_refuses_a_damaged_description(path: Path, header: str) -> None:
    rewrite(path, header)
    with pytest.raises(ValueError, match=r"description in .* is damaged"):
        load_encoder(path)


def test_refuses_another_version(path: Path) -> None:
    rewrite(path, {"version": 2, "settings": {"new": 1}, "description": {}})
    with pytest.raises(ValueError, match=r"version 2 .* reads version 1"):
        load_encoder(path)


@pytest.mark.parametrize(
    "settings",
    [
        {"width": 3},
        {"hidden_channels": -1},
        [],
        {"norm": "group"},
        {"hidden_channels": 10**12},
        {"num_layers": 10**9},
        {"num_layers": "many"},
    ],
)
def test_refuses_settings_that_build_nothing(path: Path, settings: object) -> None:
    rewrite(path, {"version": 1, "settings": settings, "description": {}})
    with pytest.raises(ValueError, match=r"settings in .* don't fit"):
        load_encoder(path)


def test_a_size_that_does_not_fit_takes_no_memory(path: Path) -> None:
    settings = {"hidden_channels": 10**6, "num_layers": 2}
    rewrite(path, {"version": 1, "settings": settings, "description": {}})
    with pytest.raises(
        ValueError, match=r"'input.weight' is \[8, 5\] of float32, not \[1000000, 20\]"
    ):
        load_encoder(path)


def test_refuses_weights_that_do_not_fit(path: Path) -> None:
    tensors = load_file(path)
    for name, other in (
        ("input.bias", None),
        ("input.bias", torch.zeros(9)),
        ("input.bias", torch.zeros(8, dtype=torch.float64)),
        ("extra", torch.zeros(1)),
    ):
        changed = {key: value for key, value in tensors.items() if key != name}
        rewrite(path, tensors=changed if other is None else {**changed, name: other})
        with pytest.raises(ValueError, match=f"doesn't fit its own settings: '{name}'"):
            load_encoder(path)


def test_refuses_weights_that_are_not_finite(path: Path) -> None:
    rewrite(path, tensors={**load_file(path), "input.bias": torch.full((8,), torch.nan)})
    with pytest.raises(ValueError, match=r"'input.bias' in .* is not finite"):
        load_encoder(path)


def test_every_flipped_bit_of_the_weights_is_found(path: Path) -> None:
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")  # of the weights, after the header
    for position in range(start, len(content), max(1, (len(content) - start) // 50)):
        path.write_bytes(
            content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]
        )
        with pytest.raises(ValueError, match="is damaged"):
            load_encoder(path)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_the_default_dtype_does_not_matter(path: Path, dtype: torch.dtype) -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        loaded, _ = load_encoder(path)
    finally:
        torch.set_default_dtype(before)
    assert {p.dtype for p in loaded.parameters()} == {torch.float32}


def test_damage_of_settings_and_description_is_found(path: Path) -> None:
    content = path.read_bytes()
    for old, new in ((rb"seed\": 3", rb"seed\": 4"), (b"molecules", b"molecular")):
        assert content.count(old) == 1
        path.write_bytes(content.replace(old, new))
        with pytest.raises(ValueError, match="is damaged: its content isn't what was written"):
            load_encoder(path)


def test_negative_variances_are_found(path: Path) -> None:
    tensors = load_file(path)
    name = "layers.0.norm.module.running_var"
    with safe_open(path, framework="pt") as file:
        header = file.metadata()[KEY]
    rewrite(path, header, {**tensors, name: -tensors[name]})
    with pytest.raises(ValueError, match="is damaged"):
        load_encoder(path)


def test_settings_are_those_of_now(path: Path, encoder: StructuralEncoder) -> None:
    encoder.eval_samples, encoder.seed = np.int64(9), 4
    save_encoder(path, encoder, {})
    loaded, _ = load_encoder(path)
    assert (loaded.eval_samples, loaded.seed) == (9, 4)


def test_a_compiled_encoder_is_saved_as_the_encoder(path: Path, encoder: StructuralEncoder) -> None:
    before = path.read_bytes()
    save_encoder(path, torch.compile(encoder, backend="eager"), {"dataset": "molecules"})
    assert path.read_bytes() == before


def test_a_description_is_saved_as_it_is_read(path: Path, encoder: StructuralEncoder) -> None:
    """Keys that are numbers become texts, which have another order."""
    save_encoder(path, encoder, {10: 1, 9: (1, 2)})
    assert load_encoder(path)[1] == {"10": 1, "9": [1, 2]}


@pytest.mark.parametrize(
    "description",
    [{"a": np.int64(3)}, {"a": torch.ones(1)}, {1: 2, "a": 3}, None, [1], {"a": 10**5000}],
    ids=["numpy", "tensor", "mixed keys", "None", "list", "huge"],
)
def test_refuses_a_description_that_is_not_plain(
    path: Path, encoder: StructuralEncoder, description: object
) -> None:
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"^description ") as error:
        save_encoder(path, encoder, description)
    assert "\n" not in str(error.value)
    assert path.read_bytes() == before


def test_refuses_to_save_what_is_no_encoder(path: Path) -> None:
    for other in (RandomPEARL(8), None, PretrainedEncoder(path, 8)):
        with pytest.raises(TypeError, match=r"encoder is a .*; it must be a StructuralEncoder"):
            save_encoder(path, other, {})


def test_refuses_to_save_what_could_not_be_read(tmp_path: Path) -> None:
    encoder = StructuralEncoder(8, 2, 5).double()
    torch.nn.init.constant_(encoder.input.weight, 1e300)  # which float32 doesn't have
    with pytest.raises(ValueError, match=r"'input.weight' in encoder is not finite"):
        save_encoder(tmp_path / "x", encoder, {})
    with torch.device("meta"):
        encoder = StructuralEncoder(8, 2, 5)
    with pytest.raises(ValueError, match=r"'input.weight' in encoder is on the device 'meta'"):
        save_encoder(tmp_path / "x", encoder, {})
    encoder = StructuralEncoder(8, 2, 5)
    encoder.input = torch.nn.Linear(5, 8, bias=False)
    with pytest.raises(ValueError, match=r"encoder doesn't fit its own settings: 'input.bias'"):
        save_encoder(tmp_path / "x", encoder, {})
    encoder.seed = -1
    with pytest.raises(ValueError, match="settings in encoder don't fit: seed is -1"):
        save_encoder(tmp_path / "x", encoder, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", ["", ".", "/", "a\0", None, 3, b"a"])
def test_refuses_what_is_no_path(path: object, encoder: StructuralEncoder) -> None:
    with pytest.raises(ValueError, match=r"^path is .*; it must be the name of a file$"):
        save_encoder(path, encoder, {})
    with pytest.raises(ValueError, match=r"^path is .*; it must be the name of a file$"):
        load_encoder(path)


def test_refuses_paths_that_the_system_refuses(tmp_path: Path, encoder: StructuralEncoder) -> None:
    long, nobody = tmp_path / ("a" * 300), "~nobody-of-this-name/a"
    with pytest.raises(ValueError, match=r"can't read .*too long"):
        load_encoder(long)
    for function in (lambda path: save_encoder(path, encoder, {}), require_writable):
        with pytest.raises(ValueError, match=r"can't write .*too long"):
            function(long)
        with pytest.raises(ValueError, match="there is no such user"):
            function(nobody)
    with pytest.raises(ValueError, match="there is no such user"):
        load_encoder(nobody)
    assert not list(tmp_path.iterdir())


def test_a_name_may_be_as_long_as_names_go(tmp_path: Path, encoder: StructuralEncoder) -> None:
    path = tmp_path / ("a" * 255)
    require_writable(path)
    save_encoder(path, encoder, {})
    load_encoder(path)


def test_whether_a_file_can_be_written_is_found_without_a_trace(tmp_path: Path) -> None:
    require_writable(tmp_path / "new" / "folders" / "x")
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("kept")
    require_writable(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "kept"
    for path in (tmp_path / "file" / "x", tmp_path / "new" / ("a" * 300)):
        with pytest.raises(ValueError, match="can't write"):
            require_writable(path)
    with pytest.raises(ValueError, match="is a folder; give the name of a file"):
        require_writable(tmp_path)
    assert [child.name for child in tmp_path.iterdir()] == ["file"]
