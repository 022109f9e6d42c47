from __future__ import annotations

import copy
import io
from pathlib import Path

import pytest
import torch
from nn_batches import FEATURES, batch_of, largest_error
from torch_geometric.data import Batch

from graphpe.nn import GINE, PretrainedEncoder, StructuralEncoder
from graphpe.nn.encoders.pretrained import load_encoder, save_encoder


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
    constant = ("running_mean", "_extra_state")
    state = PretrainedEncoder(path, 7).state_dict()
    names = {name for name in state if not name.endswith(constant)}
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
    with pytest.raises(ValueError, match="eval_samples is 0"):
        PretrainedEncoder(path, 7, eval_samples=0)
    with pytest.raises(ValueError, match="no file"):
        PretrainedEncoder(tmp_path / "absent", 7)


def saved(path: Path, **settings: int) -> Path:
    """The encoder of the file in another one, with other settings."""
    encoder, _ = load_encoder(path)
    other = StructuralEncoder(**{**encoder.settings, **settings})
    other.load_state_dict(encoder.state_dict())
    new = path.with_name(f"{settings}.safetensors")
    save_encoder(new, other, {})
    return new


@pytest.mark.parametrize("frozen", [True, False])
def test_samples_are_those_of_the_argument_or_the_file(path: Path, frozen: bool) -> None:
    batch = batch_of()

    def outputs(path: Path, **settings: int) -> torch.Tensor:
        torch.manual_seed(0)
        return PretrainedEncoder(path, 7, frozen, **settings).eval()(batch)

    expected = outputs(saved(path, eval_samples=5))
    assert torch.equal(outputs(path, eval_samples=5), expected)
    assert not torch.equal(outputs(path), expected)
    torch.manual_seed(0)
    encoder = PretrainedEncoder(path, 7, frozen).eval()
    encoder.eval_samples = 5
    assert torch.equal(encoder(batch), expected)


@pytest.mark.parametrize("frozen", [True, False])
def test_a_checkpoint_fixes_the_evaluation(path: Path, frozen: bool) -> None:
    """The file may be another one by the time the network is built again."""
    model, batch = network(PretrainedEncoder(path, 7, frozen)).eval(), batch_of()
    other = saved(path, eval_samples=3, seed=8)
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    again = network(PretrainedEncoder(other, 7, frozen)).eval()
    again.load_state_dict(torch.load(buffer, weights_only=True))
    assert torch.equal(again(batch), model(batch))
    given = PretrainedEncoder(other, 7, frozen, eval_samples=4)
    network(given).load_state_dict(model.state_dict())
    assert (given.seed, given.eval_samples) == (0, 4)
