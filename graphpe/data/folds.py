"""Splits for cross-validation."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from graphpe.checks import require_positive_integer, require_seed

_FEWEST_FOLDS = 3  # one each for training, validation and test


def check_fold(folds: int, fold: int, seed: int) -> None:
    """Raises a ValueError unless `fold_split` can take these settings."""
    require_positive_integer("folds", folds)
    if folds < _FEWEST_FOLDS:
        raise ValueError(f"folds is {folds}; it must be an integer >= {_FEWEST_FOLDS}")
    if isinstance(fold, bool) or not isinstance(fold, int) or not 0 <= fold < folds:
        raise ValueError(
            f"fold is {fold!r}; it must be an integer from 0 to {folds - 1} (folds - 1)"
        )
    require_seed("seed", seed)


def fold_split(target: Tensor, folds: int, fold: int, seed: int) -> dict[str, Tensor]:
    """Splits graphs into folds of almost equal size, of which one is tested on and the next one chooses the checkpoint.

    Each graph is in the test part of one fold and in the validation part of one fold. Folds are stratified: each has
    almost the same number of graphs of each class. Where the targets are floats, graphs are dealt out at random.

    Args:
        target: ``[G]`` integer classes, or float targets ``[G]`` or ``[G, T]``.
        folds: Number of folds.
        fold: The fold to test on, from 0. The next one, or fold 0 after the last, is for validation.
        seed: Seed of the shuffling.

    Returns:
        Ascending graph numbers of ``"train"``, ``"valid"`` and ``"test"``, int64.

    Raises:
        ValueError: If a setting is out of range, or no class has as many graphs as there are folds.
    """
    from sklearn.model_selection import KFold, StratifiedKFold  # takes a second to import

    check_fold(folds, fold, seed)
    if target.is_floating_point():
        kind, largest, has = KFold, len(target), "there are"
    else:
        kind, has = StratifiedKFold, "no class has more than"
        largest = int(target.unique(return_counts=True)[1].max())
    if largest < folds:
        raise ValueError(f"there are {folds} folds, but {has} {largest} graphs; lower folds")
    # A whole generator, since scikit-learn takes only seeds below 2^32.
    generator = np.random.RandomState(np.random.MT19937(seed))
    splitter = kind(folds, shuffle=True, random_state=generator)
    classes = target.numpy()
    fold_of_graph = torch.empty(len(target), dtype=torch.long)
    for number, (_, members) in enumerate(splitter.split(classes, classes)):
        fold_of_graph[torch.from_numpy(members)] = number
    valid_fold = (fold + 1) % folds
    is_train = (fold_of_graph != fold) & (fold_of_graph != valid_fold)
    parts = {"train": is_train, "valid": fold_of_graph == valid_fold, "test": fold_of_graph == fold}
    return {part: members.nonzero().flatten() for part, members in parts.items()}
