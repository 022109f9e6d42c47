"""The bundled molecules and a small experiment on them, run through the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import yaml


@pytest.fixture(scope="session")
def molecules(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """A writable folder with ogbg-molesol."""
    root = tmp_path_factory.mktemp("molecules")
    shutil.copytree(repository / "datasets" / "bundled" / "ogbg_molesol", root / "ogbg_molesol")
    return root


@pytest.fixture
def experiment(tmp_path: Path, molecules: Path, repository: Path) -> dict:
    """The configuration of an experiment that takes seconds."""
    card = yaml.safe_load((repository / "datasets" / "ogbg-molesol.yaml").read_text())
    card["data"]["dataset"]["init_args"]["root"] = str(molecules)
    return {
        **card,
        "experiment": {"name": "small", "folder": str(tmp_path / "runs")},
        "data": {
            **card["data"],
            "encodings": [{"class_path": "AddRandomWalkPE", "init_args": {"walk_length": 4}}],
            "batch_size": 64,
        },
        "model": {
            "lr": 0.01,
            "network": {
                "class_path": "GraphTransformer",
                "init_args": {
                    "hidden_channels": 8,
                    "num_layers": 1,
                    "heads": 2,
                    "positional_encoders": [
                        {
                            "class_path": "NodeEncoder",
                            "init_args": {"in_channels": 4, "out_channels": 8},
                        }
                    ],
                },
            },
        },
        "trainer": {"max_epochs": 2, "accelerator": "cpu", "devices": 1},
    }


@pytest.fixture
def write_config(tmp_path: Path) -> Callable[[dict], str]:
    """Writes a configuration and returns its path."""

    def write(config: dict, name: str = "config.yaml") -> str:
        path = tmp_path / name
        path.write_text(yaml.safe_dump(config))
        return str(path)

    return write


@pytest.fixture
def graphpe_process(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `graphpe` as a user does, in a process of its own."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "graphpe.cli", *arguments],
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120"},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


@pytest.fixture(autouse=True)
def _global_settings() -> Iterator[None]:
    """Puts back what the command line sets for the whole process."""
    format_warning = warnings.formatwarning
    yield
    warnings.formatwarning = format_warning
    torch.use_deterministic_algorithms(False)
