from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from nn_batches import FEATURES, batch_of, largest_error
from torch_geometric.data import Batch

from graphpe.nn import GINE, PretrainedEncoder, StructuralEncoder
from graphpe.nn.encoders.pretrained import save_encoder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    encoder = StructuralEncoder(8, 2, 5)
    encoder(batch_of())
    save_encoder(tmp_path / "encoder.safetensors", encoder, {})
    return tmp_path / "encoder.safetensors"


def network(encoder: PretrainedEncoder) -> GINE:
    return GINE(FEATURES, 1, hidden_channels=7, num_layers=1, positional_encoders=[encoder])


def train(model: GINE, batch: Batch) -> dict[str, torch.Tensor]:
    """Some steps with everything that may be trained; returns the state before."""
    before = copy.deepcopy(model.state_dict())
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(parameters, lr=0.1, weight_decay=0.1)
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    return before


def changed(model: GINE, before: dict[str, torch.Tensor]) -> set[str]:
    """The names, within the encoder, of what is not as before."""
    prefix = "positional_encoders.0."
    return {
        name.removeprefix(prefix)
        for name, value in model.state_dict().items()
        if name.startswith(prefix) and not torch.equal(value, before[name])
    }


def test_a_frozen_encoder_stays_as_it_is(path: Path) -> None:
    model = network(PretrainedEncoder(path, 7))
    before = train(model, batch_of())
    assert changed(model, before) == {"linear.weight", "linear.bias"}


def test_a_frozen_encoder_draws_what_it_draws_in_evaluation(path: Path) -> None:
    encoder = PretrainedEncoder(path, 7)
    batch = batch_of()
    expected = encoder.eval()(batch)
    assert torch.equal(encoder.train()(batch), expected)
    assert not encoder.encoder.training
    assert all(not module.training for module in encoder.encoder.modules())
    assert torch.equal(PretrainedEncoder(path, 7).encoder(batch), encoder.encoder(batch))


def test_a_frozen_encoder_is_not_trained_after_evaluation(path: Path) -> None:
    model = network(PretrainedEncoder(path, 7)).eval()
    before = train(model, batch_of())
    assert changed(model, before) == {"linear.weight", "linear.bias"}


def test_fine_tuning_changes_everything(path: Path) -> None:
    model = network(PretrainedEncoder(path, 7, frozen=False))
    before = train(model, batch_of())
    names = {name for name in PretrainedEncoder(path, 7).state_dict() if "running_mean" not in name}
    assert changed(model, before) >= names
    encoder = model.positional_encoders[0]
    assert encoder.encoder.training
    batch = batch_of()
    assert not torch.equal(encoder(batch), encoder(batch))
    encoder.eval()
    assert torch.equal(encoder(batch), encoder(batch))


def test_is_linear_in_the_saved_encoder(path: Path) -> None:
    encoder = PretrainedEncoder(path, 7)
    batch = batch_of()
    hidden = encoder.encoder(batch)
    expected = hidden @ encoder.linear.weight.T + encoder.linear.bias
    assert largest_error(encoder(batch), expected) < 1e-6


def test_a_checkpoint_of_the_network_holds_the_encoder(path: Path) -> None:
    model = network(PretrainedEncoder(path, 7, frozen=False))
    batch = batch_of()
    train(model, batch)
    again = network(PretrainedEncoder(path, 7, frozen=False))
    again.load_state_dict(model.state_dict())
    assert torch.equal(again.eval()(batch), model.eval()(batch))


def test_leaves_the_file_and_needs_it_no_more(path: Path) -> None:
    before = path.read_bytes()
    model = network(PretrainedEncoder(path, 7, frozen=False))
    train(model, batch_of())
    assert path.read_bytes() == before
    path.unlink()
    copy.deepcopy(model)(batch_of())


def test_refuses_bad_settings(path: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="out_channels is 0"):
        PretrainedEncoder(path, 0)
    with pytest.raises(ValueError, match="frozen is 'yes'"):
        PretrainedEncoder(path, 7, frozen="yes")
    with pytest.raises(ValueError, match="no file"):
        PretrainedEncoder(tmp_path / "absent", 7)
