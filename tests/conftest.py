"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

# One thread per kernel: tests run side by side, and more threads than cores only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import pytest
import torch

torch.set_num_threads(1)
hypothesis.settings.register_profile(
    "graphpe", deadline=None, derandomize=True, print_blob=True, max_examples=60
)
hypothesis.settings.load_profile("graphpe")

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """A folder of real datasets in the layout of their original classes; skips where there is none."""
    folder = Path(os.environ.get("GRAPHPE_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("needs real datasets: set GRAPHPE_SHARED_DATA to the folder that holds them")
    return folder


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)
