"""PCQM4Mv2 from a fabricated raw folder: converted in pieces, read from memory-mapped files."""

from __future__ import annotations

import gzip
import json
import os
import sys
import weakref
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from ogb.utils.features import get_atom_feature_dims, get_bond_feature_dims
from torch_geometric.data import Batch

from graphpe.data import GraphDataModule, PCQM4Mv2Graphs, PCQM4Mv2Source, smiles_to_graph
from graphpe.data.downloaded.pcqm4mv2 import conversion
from graphpe.data.downloaded.pcqm4mv2 import graphs as graphs_module
from graphpe.precompute import encode
from graphpe.transforms import AddRandomWalkPE

pytest.importorskip("rdkit", reason="needs RDKit: pip install 'graphpe[chem]'")

# Of one atom, two components, and others.
SMILES = [
    "C",
    "CCO",
    "[Na+].[Cl-]",
    "c1ccccc1",
    "CC#N",
    "Cl[C@H](/C=C/C)Br",
    "O",
    "CC(C)C",
    "N",
    "CO",
]
TARGETS = [1.5, -2.0, 3.25, 4.0, 5.0, 6.5, 7.0, None, None, None]
SPLIT = {"train": [0, 1, 2, 5], "valid": [3, 4, 6], "test-dev": [7, 9], "test-challenge": [8]}
IN_PIECES = 3


def write_raw(
    root: Path,
    smiles: list[str] = SMILES,
    targets: list[float | None] = TARGETS,
    split: dict[str, Any] = SPLIT,
) -> Path:
    """A folder as in OGB's archive, and its path."""
    folder = root / "pcqm4m-v2"
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    lines = ["idx,smiles,homolumogap"]
    for number, (text, target) in enumerate(zip(smiles, targets, strict=True)):
        lines.append(f"{number},{text},{'' if target is None else target}")
    with gzip.open(folder / "raw" / "data.csv.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    arrays = {part: np.array(numbers, dtype=np.int64) for part, numbers in split.items()}
    torch.save(arrays, folder / "split_dict.pt")
    return folder


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(conversion, "MOLECULES_PER_CHUNK", IN_PIECES)
    write_raw(tmp_path)
    return tmp_path


@pytest.fixture
def count_pieces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The first molecule of each piece that is converted."""
    pieces: list[int] = []
    real = conversion.molecule_arrays

    def counted(smiles: list[str], first: int) -> Any:
        pieces.append(first)
        return real(smiles, first)

    monkeypatch.setattr(conversion, "molecule_arrays", counted)
    return pieces


def require_molecules(graphs: PCQM4Mv2Graphs) -> None:
    assert len(graphs) == len(SMILES)
    for graph, smiles, target in zip(graphs, SMILES, TARGETS, strict=True):
        wanted = smiles_to_graph(smiles)
        assert set(graph.keys()) == {"edge_index", "edge_attr", "x", "y"}
        for name in ("x", "edge_index", "edge_attr"):
            assert graph[name].dtype == torch.int64
            assert torch.equal(graph[name], wanted[name])
        wanted_y = torch.tensor([torch.nan if target is None else target])
        assert graph.y.dtype == torch.float32
        assert torch.equal(graph.y.nan_to_num(-9.0), wanted_y.nan_to_num(-9.0))


def test_graphs_targets_and_split(root: Path) -> None:
    graphs = PCQM4Mv2Graphs(root)
    require_molecules(graphs)
    assert {part: numbers.tolist() for part, numbers in graphs.get_idx_split().items()} == SPLIT
    assert [entry.name for entry in (root / "pcqm4m-v2" / "processed").iterdir()] == ["graphs"]


def test_second_use_converts_nothing_and_needs_no_rdkit(
    root: Path, count_pieces: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    PCQM4Mv2Graphs(root)
    assert count_pieces == [0, 3, 6, 9]
    monkeypatch.setattr(
        "graphpe.data.downloaded.pcqm4mv2.graphs.import_rdkit", lambda: pytest.fail("asked")
    )
    assert len(PCQM4Mv2Graphs(root)) == len(SMILES)
    assert count_pieces == [0, 3, 6, 9]


def test_several_processes_give_the_same(root: Path) -> None:
    require_molecules(PCQM4Mv2Graphs(root, workers=2))


def test_single_molecule_and_molecules_without_bonds(tmp_path: Path) -> None:
    nobody: dict[str, Any] = {"valid": [], "test-dev": [], "test-challenge": []}
    write_raw(tmp_path / "one", ["CO"], [1.0], {"train": [0], **nobody})
    (graph,) = PCQM4Mv2Graphs(tmp_path / "one")
    assert torch.equal(graph.edge_index, smiles_to_graph("CO").edge_index)
    write_raw(tmp_path / "edgeless", ["C", "O"], [1.0, 2.0], {"train": [0, 1], **nobody})
    first, second = PCQM4Mv2Graphs(tmp_path / "edgeless")
    assert first.edge_index.shape == second.edge_index.shape == (2, 0)
    assert second.edge_attr.shape == (0, 3)
    assert second.x.tolist() == smiles_to_graph("O").x.tolist()


@pytest.mark.parametrize("stops_after", [1, 2, 3])
def test_interrupted_conversion_goes_on(
    root: Path, count_pieces: list[int], monkeypatch: pytest.MonkeyPatch, stops_after: int
) -> None:
    interrupt(monkeypatch, root, stops_after)
    assert not (root / "pcqm4m-v2" / "processed" / "graphs").exists()
    count_pieces.clear()
    require_molecules(PCQM4Mv2Graphs(root))
    assert count_pieces == [0, 3, 6, 9][stops_after:]


def interrupt(monkeypatch: pytest.MonkeyPatch, root: Path, stops_after: int) -> None:
    """A conversion that ends as if killed while it writes the piece after the first ``stops_after``."""
    real, written = conversion._save_manifest, []

    def killed(*arguments: Any) -> None:
        if len(written) == stops_after:
            raise KeyboardInterrupt
        written.append(real(*arguments))

    with monkeypatch.context() as context:
        context.setattr(conversion, "_save_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            PCQM4Mv2Graphs(root)


def unfinished(root: Path) -> Path:
    (folder,) = (root / "pcqm4m-v2" / "processed").glob(".graphs.*.partial")
    return folder


def cut_array(folder: Path) -> None:
    os.truncate(folder / "x.npy", 200)


def break_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("{")


def other_rdkit(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["settings"]["rdkit"] = "2000.01"
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("damage", [cut_array, break_manifest, other_rdkit])
def test_unfinished_arrays_of_no_use_are_made_again(
    root: Path,
    count_pieces: list[int],
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[Path], None],
) -> None:
    interrupt(monkeypatch, root, 2)
    damage(unfinished(root))
    count_pieces.clear()
    require_molecules(PCQM4Mv2Graphs(root))
    assert count_pieces == [0, 3, 6, 9]


def test_other_table_is_not_continued(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, root, 2)
    write_raw(root, ["CCCC", *SMILES[1:]])
    assert PCQM4Mv2Graphs(root)[0].num_nodes == 4


def test_smiles_that_can_not_be_read_are_named(root: Path) -> None:
    write_raw(root, [*SMILES[:6], "C1CC", *SMILES[7:]])
    with pytest.raises(ValueError, match=r"^molecule 6: RDKit can't read the SMILES 'C1CC'$"):
        PCQM4Mv2Graphs(root)


def test_missing_smiles_are_named(root: Path) -> None:
    write_raw(root, ["", *SMILES[1:]])
    with pytest.raises(ValueError, match=r"^molecule 0: RDKit can't read the SMILES ''$"):
        PCQM4Mv2Graphs(root)


def cut_table(folder: Path) -> None:
    os.truncate(folder / "raw" / "data.csv.gz", 40)


def table_without_targets(folder: Path) -> None:
    with gzip.open(folder / "raw" / "data.csv.gz", "wt") as file:
        file.write("idx,smiles\n0,C\n")


def words_as_targets(folder: Path) -> None:
    with gzip.open(folder / "raw" / "data.csv.gz", "wt") as file:
        file.write("idx,smiles,homolumogap\n0,C,much\n")


@pytest.mark.parametrize("damage", [cut_table, table_without_targets, words_as_targets])
def test_broken_table_is_named(root: Path, damage: Callable[[Path], None]) -> None:
    damage(root / "pcqm4m-v2")
    with pytest.raises(
        ValueError, match=r"^raw file .*data\.csv\.gz is broken or truncated after"
    ) as e:
        PCQM4Mv2Graphs(root)
    assert "\n" not in str(e.value)


def test_split_runs_no_code(root: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (sys.exit, ("code of a split was run",))

    torch.save({"train": Evil()}, root / "pcqm4m-v2" / "split_dict.pt")
    with pytest.raises(
        ValueError, match=r"^the split .*split_dict\.pt is missing or broken"
    ) as error:
        PCQM4Mv2Graphs(root)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ({**SPLIT, "train": [0, 1, 10]}, "has numbers of others"),
        ({**SPLIT, "train": [0, -1]}, "has numbers of others"),
        ({**SPLIT, "train": [0, 3]}, "has a molecule in two parts"),
        (
            {**SPLIT, "valid": [3, 7], "test-dev": [9]},
            "molecule 7 .* is for valid, but has no target",
        ),
        ({"train": [0], "valid": [1]}, "missing or broken .*test-dev"),
    ],
)
def test_split_that_does_not_fit(root: Path, split: dict[str, Any], message: str) -> None:
    write_raw(root, split=split)
    with pytest.raises(ValueError, match=message):
        PCQM4Mv2Source(root).load()


def test_broken_processed_file_is_named(root: Path) -> None:
    PCQM4Mv2Graphs(root)
    os.truncate(root / "pcqm4m-v2" / "processed" / "graphs" / "edges.npy", 150)
    with pytest.raises(ValueError, match=r"processed file .*edges\.npy is broken .*; delete"):
        PCQM4Mv2Graphs(root)


def test_incomplete_folder_is_named(root: Path) -> None:
    (root / "pcqm4m-v2" / "split_dict.pt").unlink()
    with pytest.raises(
        ValueError, match=r"not a complete copy of PCQM4Mv2: split_dict\.pt missing"
    ):
        PCQM4Mv2Graphs(root)


@pytest.mark.usefixtures("forbid_input")
def test_offline_says_so_and_leaves_nothing(tmp_path: Path, offline: list[float | None]) -> None:
    with pytest.raises(
        ValueError, match=r"^PCQM4Mv2 could not be downloaded from .*pcqm4m-v2"
    ) as error:
        PCQM4Mv2Graphs(tmp_path / "data")
    assert "\n" not in str(error.value)
    assert offline
    assert not list(tmp_path.iterdir())


def test_without_rdkit_nothing_is_downloaded(
    tmp_path: Path, offline: list[float | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(ValueError, match=r"pip install 'graphpe\[chem\]'"):
        PCQM4Mv2Graphs(tmp_path / "data")
    assert not offline
    assert not list(tmp_path.iterdir())


def test_download_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_raw(tmp_path / "server")

    def serve(url: str, path: Path, what: str, remedy: str) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name in ("raw/data.csv.gz", "split_dict.pt"):
                archive.write(folder / name, f"pcqm4m-v2/{name}")

    monkeypatch.setattr("graphpe.files.download", serve)
    require_molecules(PCQM4Mv2Graphs(tmp_path / "data"))
    assert [entry.name for entry in (tmp_path / "data").iterdir()] == ["pcqm4m-v2"]


def test_batches_are_those_of_pyg_and_encoded(root: Path) -> None:
    """Batches come from the mapped files by index arithmetic, with encodings equal to those computed ahead."""
    module = GraphDataModule(PCQM4Mv2Source(root), [AddRandomWalkPE(3)], batch_size=3)
    module.setup()
    assert module.num_graphs == {"train": 4, "valid": 3, "test": 3}
    assert module._batches["train"].reason is None
    assert module.encoding_seconds == 0
    graphs = [smiles_to_graph(SMILES[number]) for number in SPLIT["valid"]]
    wanted = Batch.from_data_list(list(encode(graphs, [AddRandomWalkPE(3)], progress=False)))
    (batch,) = module.val_dataloader()
    for name in ("x", "edge_index", "edge_attr", "batch", "ptr", "random_walk_pe"):
        assert torch.equal(batch[name], wanted[name])
    assert batch.y.tolist() == [TARGETS[number] for number in SPLIT["valid"]]


@pytest.mark.parametrize("part", ["valid", "test-dev", "test-challenge"])
def test_test_part_is_the_one_asked_for(root: Path, part: str) -> None:
    graphs, index = PCQM4Mv2Source(root, test=part).load()  # type: ignore[arg-type]
    assert index["test"].tolist() == SPLIT[part]
    assert index["train"].tolist() == SPLIT["train"]
    hidden = graphs._data.y[index["test"]].isnan()
    assert hidden.all() if part != "valid" else not hidden.any()


def test_unknown_test_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"test is 'test'; it must be 'valid', 'test-dev' or"):
        PCQM4Mv2Source(tmp_path, test="test")  # type: ignore[arg-type]


def test_graphs_stay_on_disk(root: Path) -> None:
    """Neither the arrays nor the graphs that were asked for are kept in memory."""
    graphs = PCQM4Mv2Graphs(root)
    maps = Path("/proc/self/maps")
    if maps.exists():
        folder = root / "pcqm4m-v2" / "processed" / "graphs"
        mapped = maps.read_text()
        assert all(str(folder / f"{name}.npy") in mapped for name in conversion.ARRAYS)
    asked_for = [weakref.ref(graphs[number]) for number in range(len(graphs))]
    assert not any(reference() for reference in asked_for)
    assert graphs._data_list[3] is None
    before = graphs[0].x.clone()
    graphs[0].x.zero_()  # in memory only
    assert torch.equal(PCQM4Mv2Graphs(root)[0].x, before)


def test_card_declares_ogbs_features(repository: Path) -> None:
    card = yaml.safe_load((repository / "datasets" / "pcqm4mv2.yaml").read_text())
    assert card["features"]["node_categories"] == get_atom_feature_dims()
    assert card["features"]["edge_categories"] == get_bond_feature_dims()
    assert card["card"]["source"] == graphs_module._URL
