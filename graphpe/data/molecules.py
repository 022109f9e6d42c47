"""Molecules written as SMILES, as graphs with OGB's features."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch
from torch_geometric.data import Data

from graphpe import files
from graphpe.data.ogb_import import import_ogb

ATOM_COLUMNS = 9
BOND_COLUMNS = 3


class MoleculeArrays(NamedTuple):
    """Molecules, one after the other.

    Args:
        x: int64 ``[atoms, 9]``.
        edges: int64 ``[edges, 2]``, source and target, numbered in each molecule on its own.
        edge_attr: int64 ``[edges, 3]``.
        num_atoms: int64 ``[molecules]``.
        num_edges: int64 ``[molecules]``; a bond is two edges.
    """

    x: np.ndarray
    edges: np.ndarray
    edge_attr: np.ndarray
    num_atoms: np.ndarray
    num_edges: np.ndarray


def smiles_to_graph(smiles: str) -> Data:
    """The graph of a molecule, equal to that of ``ogb.utils.smiles2graph``.

    Args:
        smiles: The molecule.

    Returns:
        ``x`` int64 ``[atoms, 9]``, ``edge_index`` ``[2, edges]`` with both directions of a bond side by side, and
        ``edge_attr`` int64 ``[edges, 3]``. The columns are those of ``ogb.utils.features``.

    Raises:
        TypeError: If ``smiles`` is no string.
        ValueError: If RDKit can't read it, or is not installed.
    """
    if not isinstance(smiles, str):
        raise TypeError(f"smiles is a {type(smiles).__name__}; it must be a str such as 'CCO'")
    arrays = molecule_arrays([smiles])
    return Data(
        x=torch.from_numpy(arrays.x),
        edge_index=torch.from_numpy(arrays.edges).t().contiguous(),
        edge_attr=torch.from_numpy(arrays.edge_attr),
    )


def molecule_arrays(smiles: Sequence[str], first: int = 0) -> MoleculeArrays:
    """The graphs of several molecules (see `smiles_to_graph`), as arrays.

    Args:
        smiles: The molecules.
        first: The number of the first one, for errors.
    """
    rdkit = import_rdkit()
    import_ogb()
    from ogb.utils.features import atom_to_feature_vector, bond_to_feature_vector

    atoms: list[list[int]] = []
    edges: list[tuple[int, int]] = []
    bonds: list[list[int]] = []
    num_atoms, num_edges = [], []
    with rdkit.rdBase.BlockLogs():  # RDKit would print lines of its own about each error
        for number, text in enumerate(smiles, start=first):
            molecule = rdkit.Chem.MolFromSmiles(text)
            if molecule is None or not molecule.GetNumAtoms():
                raise ValueError(f"molecule {number}: RDKit can't read the SMILES {text!r}")
            try:
                atoms += map(atom_to_feature_vector, molecule.GetAtoms())
                for bond in molecule.GetBonds():
                    ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
                    edges += [ends, ends[::-1]]
                    bonds += [bond_to_feature_vector(bond)] * 2
            except ValueError as error:  # a stereo configuration newer than OGB
                raise ValueError(
                    f"molecule {number}: OGB has no feature for a part of the SMILES {text!r} "
                    f"({files.one_line(error)})"
                ) from error
            num_atoms.append(molecule.GetNumAtoms())
            num_edges.append(2 * molecule.GetNumBonds())
    return MoleculeArrays(
        _rows(atoms, ATOM_COLUMNS),
        _rows(edges, 2),
        _rows(bonds, BOND_COLUMNS),
        np.array(num_atoms, dtype=np.int64),
        np.array(num_edges, dtype=np.int64),
    )


def import_rdkit() -> ModuleType:
    """RDKit with the parts that are used here.

    Raises:
        ValueError: If it is not installed.
    """
    try:
        import rdkit
        import rdkit.Chem
        import rdkit.rdBase
    except ImportError as error:
        raise ValueError(
            "molecules are read by RDKit, which is not installed; install it with: pip install 'graphpe[chem]'"
        ) from error
    return rdkit


def _rows(rows: Sequence[Sequence[int]], columns: int) -> np.ndarray:
    values = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=len(rows) * columns)
    return values.reshape(-1, columns)
