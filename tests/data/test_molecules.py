"""SMILES as graphs: equal to OGB's own conversion."""

from __future__ import annotations

import builtins
import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from graphpe.data import smiles_to_graph
from graphpe.data.molecules import molecule_arrays

rdkit = pytest.importorskip("rdkit", reason="needs RDKit: pip install 'graphpe[chem]'")

SMILES = [
    "CCO",
    "C",  # no bond
    "[Na+].[Cl-]",  # two components, no bond
    "Cl[C@H](/C=C/C)Br",  # chirality and bond stereo
    "Cl[C@@H](/C=C\\C)Br",
    "c1ccccc1C#N",  # aromatic, triple
    "[CH3]",  # a radical
    "[U](F)(F)(F)(F)(F)F",
    "*C",  # no element
    "[NH4+]",
    "CC(=O)[O-]",
    "O1C=C[C@H]([C@H]1O2)c3c2cc(OC)c4c3OC(=O)C5=C4CCC(=O)5",
    "N->[Pt](Cl)(Cl)<-N",  # bonds of a kind that OGB counts as others
]


def require_ogbs(smiles: str) -> None:
    from ogb.utils.mol import smiles2graph

    graph, wanted = smiles_to_graph(smiles), smiles2graph(smiles)
    for name, key in (("x", "node_feat"), ("edge_index", "edge_index"), ("edge_attr", "edge_feat")):
        value, of_ogb = graph[name], torch.from_numpy(np.ascontiguousarray(wanted[key]))
        assert value.dtype == of_ogb.dtype == torch.int64
        assert value.shape == of_ogb.shape
        assert torch.equal(value, of_ogb)


@pytest.mark.parametrize("smiles", SMILES)
def test_equals_ogbs_graph(smiles: str) -> None:
    require_ogbs(smiles)


def test_equals_ogbs_graph_on_real_molecules(shared_data: Path) -> None:
    with gzip.open(shared_data / "zinc" / "smiles.csv.gz", "rt") as file:
        for row in list(csv.DictReader(file))[::60]:
            require_ogbs(row["smiles"])


def test_several_molecules_are_one_after_the_other() -> None:
    arrays = molecule_arrays(SMILES)
    graphs = [smiles_to_graph(smiles) for smiles in SMILES]
    assert arrays.num_atoms.tolist() == [graph.num_nodes for graph in graphs]
    assert arrays.num_edges.tolist() == [graph.num_edges for graph in graphs]
    assert np.array_equal(arrays.x, np.concatenate([graph.x for graph in graphs]))
    assert np.array_equal(arrays.edges.T, np.concatenate([graph.edge_index for graph in graphs], 1))
    assert np.array_equal(arrays.edge_attr, np.concatenate([graph.edge_attr for graph in graphs]))


def test_no_molecules() -> None:
    shapes = [array.shape for array in molecule_arrays([])]
    assert shapes == [(0, 9), (0, 2), (0, 3), (0,), (0,)]


@pytest.mark.parametrize("smiles", ["C1CC", "not a molecule", "", "C(C)(C)(C)(C)C"])
def test_what_can_not_be_read_is_named(smiles: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"^molecule 7: RDKit can't read the SMILES '") as error:
        molecule_arrays([smiles], first=7)
    assert repr(smiles) in str(error.value)
    assert capfd.readouterr() == ("", "")


def test_stereo_that_ogb_does_not_know_is_named() -> None:
    """OGB's conversion says "'STEREOATROPCW' is not in list"."""
    smiles = "Cc1cccc(I)c1-n1c(C)ccc1C |wU:7.6|"
    with pytest.raises(ValueError, match=r"^molecule 0: OGB has no feature .*STEREOATROP"):
        molecule_arrays([smiles])


def test_only_a_string_is_a_smiles() -> None:
    with pytest.raises(TypeError, match="smiles is a NoneType; it must be a str"):
        smiles_to_graph(None)  # type: ignore[arg-type]


def test_without_rdkit_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    without_rdkit(monkeypatch)
    with pytest.raises(ValueError, match=r"pip install 'graphpe\[chem\]'$"):
        smiles_to_graph("C")


def without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **settings: Any) -> Any:
        if name.split(".")[0] == "rdkit":
            raise ImportError("No module named 'rdkit'")
        return real(name, *args, **settings)

    monkeypatch.setattr(builtins, "__import__", refuse)
