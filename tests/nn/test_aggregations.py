"""Aggregations of PyG on rows in any order, with groups without rows."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch_geometric.nn import aggr

from graphpe.nn.aggregations import GroupAggregation

BY_HAND = {
    "sum": lambda rows: rows.sum(0),
    "mean": lambda rows: rows.mean(0),
    "max": lambda rows: rows.amax(0),
    "min": lambda rows: rows.amin(0),
    "mul": lambda rows: rows.prod(0),
    "var": lambda rows: rows.var(0, correction=0),
    "std": lambda rows: rows.std(0, correction=0),
    "softmax": lambda rows: (rows.softmax(0) * rows).sum(0),
    "median": lambda rows: rows.median(0).values,
}
LEARNED = {
    "softmax": lambda: aggr.SoftmaxAggregation(learn=True),
    "attention": lambda: aggr.AttentionalAggregation(nn.Linear(6, 1)),
    "Set2Set": lambda: aggr.Set2Set(6, 2),
    "DeepSets": lambda: aggr.DeepSetsAggregation(nn.Linear(6, 5)),
    "SetTransformer": lambda: aggr.SetTransformerAggregation(6, heads=2),
    "quantiles": lambda: aggr.QuantileAggregation([0.1, 0.9]),
    "sort": lambda: aggr.SortAggregation(2),
}
GROUP = torch.tensor([3, 1, 3, 5, 1, 3, 3])  # groups 0, 2, 4, 6 have no rows


def rows() -> torch.Tensor:
    return torch.randn(len(GROUP), 6).double()


@pytest.mark.parametrize("kind", [*BY_HAND, ["sum", "max"], ["median", "mul", "std"]])
def test_equals_a_loop(kind: str | list[str]) -> None:
    values, names = rows(), [kind] if isinstance(kind, str) else kind
    expected = torch.zeros(7, 6 * len(names)).double()
    for group in (1, 3, 5):
        own = values[group == GROUP]
        expected[group] = torch.cat([BY_HAND[name](own) for name in names])
    # PyG takes a deviation under 0.003 for 0
    module = GroupAggregation(kind, 6, "aggregation")
    torch.testing.assert_close(module(values, GROUP, 7), expected)
    assert module.out_channels == expected.size(1)


@pytest.mark.parametrize("build", LEARNED.values(), ids=LEARNED)
def test_order_and_other_groups_do_not_matter(build) -> None:
    module, values = GroupAggregation(build(), 6, "aggregation").double().eval(), rows()
    full = module(values, GROUP, 7)
    assert full.shape == (7, module.out_channels)
    order = torch.randperm(len(GROUP))
    torch.testing.assert_close(module(values[order], GROUP[order], 7), full)
    own = values[GROUP == 3]
    torch.testing.assert_close(module(own, torch.zeros(len(own), dtype=torch.long), 1)[0], full[3])
    assert not full[[0, 2, 4, 6]].any()


@pytest.mark.parametrize("kind", [*BY_HAND, ["sum", "max"]])
@pytest.mark.parametrize("groups", [0, 3])
def test_no_rows(kind: str | list[str], groups: int) -> None:
    module = GroupAggregation(kind, 6, "aggregation")
    got = module(torch.zeros(0, 6), torch.zeros(0, dtype=torch.long), groups)
    assert got.shape == (groups, module.out_channels)
    assert not got.any()


@pytest.mark.parametrize("build", LEARNED.values(), ids=LEARNED)
def test_no_rows_with_parameters(build) -> None:
    module = GroupAggregation(build(), 6, "aggregation")
    got = module(torch.zeros(0, 6), torch.zeros(0, dtype=torch.long), 3)
    assert not got.any()
    if got.requires_grad:
        got.sum().backward()
    assert all(p.grad is not None for p in module.parameters() if module.is_plain is False)


def test_sums_in_half_precision() -> None:
    """In bfloat16, 256 + 1 is 256."""
    module = GroupAggregation("sum", 1, "aggregation")
    got = module(torch.ones(1000, 1).bfloat16(), torch.zeros(1000, dtype=torch.long), 1)
    assert got.dtype == torch.bfloat16
    assert got.item() == 1000


def test_an_instance_is_copied_and_keeps_its_mode() -> None:
    given = aggr.SoftmaxAggregation(learn=True)
    module = GroupAggregation(given, 6, "aggregation")
    assert module.aggregation is not given
    assert module.aggregation.t is not given.t
    assert module.training
    assert given.training


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("nothing", ValueError, "rho is 'nothing', which PyG can't make an aggregation of"),
        ("quantile", ValueError, "rho is 'quantile', which PyG can't"),
        ([], ValueError, r"rho is \[\], which PyG can't"),
        (
            "summ",
            ValueError,
            r"\(Could not resolve 'summ'\); give a name \('max', 'mean', 'median', 'min', 'mul', 'softmax', 'std', "
            r"'sum', 'var'\), a list of names, or an Aggregation$",
        ),
        (["sum", "nothing"], ValueError, "which PyG can't make an aggregation of"),
        (3, TypeError, "rho is a int; it must be the name"),
        (
            aggr.LSTMAggregation(6, 4),
            ValueError,
            "LSTMAggregation, which depends on the order of rows",
        ),
        (aggr.MLPAggregation(6, 4, 3, num_layers=1), ValueError, "MLPAggregation, which depends"),
    ],
)
def test_what_is_no_aggregation_of_sets(kind: object, error: type, message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        GroupAggregation(kind, 6, "rho")
    assert "\n" not in str(caught.value)
