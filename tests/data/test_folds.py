"""Folds: disjoint, complete, stratified and seeded."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphpe.data.folds import fold_split


@given(
    st.lists(st.integers(0, 2), min_size=12, max_size=60),
    st.integers(3, 6),
    st.integers(0, 2**63 - 1),
)
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_each_graph_is_tested_once_and_validated_once(
    classes: list[int], folds: int, seed: int
) -> None:
    target = torch.tensor(classes)
    if target.bincount().max() < folds:
        return
    splits = [fold_split(target, folds, fold, seed) for fold in range(folds)]
    for split in splits:
        everything = torch.cat(list(split.values()))
        assert everything.sort().values.tolist() == list(range(len(classes)))
        for part in split.values():
            assert part.dtype == torch.long
            assert part.tolist() == sorted(part.tolist())
    for part in ("valid", "test"):
        everything = torch.cat([split[part] for split in splits])
        assert everything.sort().values.tolist() == list(range(len(classes)))
    for fold, split in enumerate(splits):
        assert split["valid"].tolist() == splits[(fold + 1) % folds]["test"].tolist()
        for number in target.unique().tolist():
            members = int((target == number).sum())
            share = int((target[split["test"]] == number).sum())
            assert members // folds <= share <= -(-members // folds)


def test_the_seed_decides() -> None:
    target = torch.arange(60) % 3
    first, again, other = (fold_split(target, 5, 0, seed)["test"] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_float_targets_are_dealt_out() -> None:
    split = fold_split(torch.randn(20, 12), 5, 4, 0)
    assert [len(split[part]) for part in ("train", "valid", "test")] == [12, 4, 4]


@pytest.mark.parametrize(
    ("folds", "fold", "seed", "message"),
    [
        (2, 0, 0, "folds is 2; it must be an integer >= 3"),
        (2.5, 0, 0, r"folds is 2\.5; it must be an integer"),
        (5, 5, 0, r"fold is 5; it must be an integer from 0 to 4 \(folds - 1\)"),
        (5, -1, 0, "fold is -1; it must be an integer from 0 to 4"),
        (5, True, 0, "fold is True; it must be an integer from 0 to 4"),
        (5, 0, -1, "seed is -1; it must be an integer"),
    ],
)
def test_bad_settings(folds: int, fold: int, seed: int, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        fold_split(torch.arange(20) % 2, folds, fold, seed)
    assert "\n" not in str(error.value)


def test_more_folds_than_graphs_of_any_class() -> None:
    with pytest.raises(ValueError, match="10 folds, but no class has more than 4 graphs"):
        fold_split(torch.arange(8) % 2, 10, 0, 0)
    with pytest.raises(ValueError, match="10 folds, but there are 4 graphs"):
        fold_split(torch.randn(4), 10, 0, 0)
