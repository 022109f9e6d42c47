"""Packages divided into parts of about given sizes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def split_packages(
    sizes: Mapping[str, int], fractions: Mapping[str, float], seed: int
) -> dict[str, str]:
    """The part of each package.

    Packages are dealt out from large to small. Each goes to a part at random, more often to one that lacks much, among
    those that it doesn't overfill; so the small packages at the end make the parts almost as large as they should be.
    A part that would get no package gets the smallest one of the largest part.

    Args:
        sizes: Number of functions of each package.
        fractions: The share of each part.
        seed: Of the order of equally large packages and the draws.

    Raises:
        ValueError: If there are fewer packages than parts.
    """
    if len(sizes) < len(fractions):
        raise ValueError(
            f"sources have {len(sizes)} top-level packages with functions to use ({', '.join(sizes)}), but a split by "
            f"package needs {len(fractions)}; give the folder that holds the packages, or several folders"
        )
    random = np.random.default_rng(seed)
    names = [sorted(sizes)[i] for i in random.permutation(len(sizes))]
    names.sort(key=lambda name: -sizes[name])
    parts = list(fractions)
    lacking = np.array([fractions[part] for part in parts]) * sum(sizes.values())
    chosen: dict[str, str] = {}
    for name in names:
        weights = np.where(lacking >= sizes[name], lacking, 0.0)
        if not weights.any():
            weights = (lacking == lacking.max()).astype(float)
        part = int(random.choice(len(parts), p=weights / weights.sum()))
        lacking[part] -= sizes[name]
        chosen[name] = parts[part]
    for part in parts:
        if part not in chosen.values():
            taken = list(chosen.values())
            largest = max(parts, key=taken.count)
            chosen[next(name for name in reversed(names) if chosen[name] == largest)] = part
    return chosen
