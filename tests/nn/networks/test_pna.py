"""PNA and the statistics of its training graphs."""

from __future__ import annotations

import io
import math

import lightning
import pytest
import torch
from nn_batches import FEATURES, batch_of, graphs

from graphpe.data import GraphDataModule, InMemorySource
from graphpe.nn import GINE, PNA
from graphpe.tasks import Task
from graphpe.training import GraphPredictor


def network(**settings) -> PNA:
    return PNA(FEATURES, 1, 16, 2, 8, 4, **settings)


def test_without_statistics_it_says_what_to_call() -> None:
    with pytest.raises(
        ValueError, match=r"call network.learn_statistics\(training graphs\)"
    ) as error:
        network()(batch_of())
    assert "\n" not in str(error.value)


def test_statistics_are_those_of_the_training_graphs() -> None:
    """pytorch_geometric#6636: the degrees of the training graphs, not of those that are predicted."""
    train = [graphs()[name] for name in ("path", "complete")]
    model = network()
    assert model.lacks_statistics
    model.learn_statistics(train)
    degrees = torch.cat([torch.bincount(g.edge_index[1], minlength=g.num_nodes) for g in train])
    expected = (degrees + 1).double().log().mean()
    assert math.isclose(model.log_degree.item(), expected, rel_tol=1e-6)
    assert not model.lacks_statistics

    histogram = torch.bincount(degrees).tolist()
    assert torch.equal(network(degree_histogram=histogram).log_degree, model.log_degree)
    before = model.log_degree.clone()
    model.eval()(batch_of())
    assert torch.equal(model.log_degree, before)
    assert not GINE(FEATURES).lacks_statistics


def test_statistics_are_saved() -> None:
    model, file = network(degree_histogram=[0, 1, 2]), io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = network()
    other.load_state_dict(torch.load(file, weights_only=True))
    batch = batch_of()
    assert torch.equal(other.eval()(batch), model.eval()(batch))


@pytest.mark.parametrize(
    ("histogram", "message"),
    [
        ([3], "no node of the training graphs has an incoming edge"),
        ([], "no node of the training graphs has an incoming edge"),
        ([1, -1], "degree_histogram has -1 nodes of in-degree 1"),
        ([1, 0.5], "degree_histogram has 0.5 nodes of in-degree 1"),
    ],
)
def test_bad_histograms(histogram: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        network(degree_histogram=histogram)


def test_training_learns_statistics_once_and_of_the_training_part(tmp_path) -> None:
    every = list(graphs().values())
    for graph in every:
        graph.y = torch.zeros(1, 1)
    train, others = every[:6], every[6:]
    data = GraphDataModule(InMemorySource(train, others, others), batch_size=3)
    task = Task(level="graph", kind="regression", num_targets=1, metric="mae")

    def fit(model: PNA) -> PNA:
        trainer = lightning.Trainer(
            max_epochs=1,
            accelerator="cpu",
            default_root_dir=tmp_path,
            logger=False,
            enable_progress_bar=False,
            enable_checkpointing=False,
            enable_model_summary=False,
        )
        trainer.fit(GraphPredictor(model, task), data)
        return model

    expected = network()
    expected.learn_statistics(train)
    assert torch.equal(fit(network()).log_degree, expected.log_degree)
    given = network(degree_histogram=[0, 5, 5])  # trained elsewhere, say
    before = given.log_degree.clone()
    assert torch.equal(fit(given).log_degree, before)
