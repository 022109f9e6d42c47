"""Our block eigensolver against SciPy's best call on large graphs, alternating in the same process.

    python experiments/speed/eigensolvers.py --data data --out eigensolvers.json

The k smallest pairs of the normalised Laplacian, by ``smallest_laplacian_eigenpairs`` with ``solver="chebyshev"`` and
``"auto"``, which includes their look for eigenvalues passed over, and by ``scipy.sparse.linalg.eigsh``, largest pairs
of the normalised adjacency. All to the same residual ‖L v − λ v‖; what they reached is recorded, and how many copies
of eigenvalues each has missed by a spectrum at 1e-9. The fastest of ``--repeats`` runs counts: machines are shared.

``--data`` is a folder with ``large_graphs/`` (email-Enron.txt.gz, musae_git_edges.csv.gz) and
``heterophilous/tolokers/raw/tolokers.npz``; graphs without a file in it are left out, and named.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy
import scipy.sparse as sp
import torch
from rich.console import Console
from rich.table import Table
from scipy.sparse import csgraph
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from graphpe.linalg import ConvergenceError, smallest_laplacian_eigenpairs
from graphpe.processes import available_cores

Pairs = tuple[np.ndarray, np.ndarray]
_MOST_RESTARTS = 300  # of ARPACK; SciPy's own limit is ten times the number of nodes
# long paths have eigenvalues below 1e-4, where a residual of that size tells nothing
_TOLERANCES = {"path, 20,000 nodes": 1e-9}


def main() -> None:
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    measure("warm-up: libraries load", grid(30, 30), 4, arguments)
    rows, left_out = [], []
    for name, load in graphs(Path(arguments.data)).items():
        if arguments.only and not any(part in name for part in arguments.only):
            continue
        try:
            adjacency = load()
        except FileNotFoundError as error:
            left_out.append(f"{name}: {error.filename} is missing")
            continue
        for k in arguments.k:
            rows.append(measure(name, adjacency, k, arguments))
            print(json.dumps(rows[-1]), file=sys.stderr)
    report = {
        "command": " ".join(["python", *sys.argv]),
        "date": datetime.date.today().isoformat(),
        "cores": available_cores(),
        "threads": arguments.threads,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "scipy": scipy.__version__,
        "numpy": np.__version__,
        "rows": rows,
        "loses": loses(rows),
        "left_out": left_out,
    }
    show(report)
    if arguments.out:
        Path(arguments.out).write_text(json.dumps(report, indent=2) + "\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", required=True, help="folder of the real graphs")
    parser.add_argument("--k", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--only", nargs="+", help="parts of the names of the graphs to run")
    parser.add_argument("--out", help="JSON file to write")
    return parser.parse_args()


def graphs(data: Path) -> dict[str, Callable[[], sp.csr_array]]:
    """Connected graphs, but for the last one."""
    large = data / "large_graphs"

    def text(file: str, **options: object) -> np.ndarray:
        with gzip.open(large / file, "rt") as lines:
            return np.loadtxt(lines, dtype=np.int64, **options)

    def archive() -> np.ndarray:
        return np.load(data / "heterophilous" / "tolokers" / "raw" / "tolokers.npz")["edges"]

    return {
        "email-Enron": lambda: largest_component(text("email-Enron.txt.gz")),
        "musae_git": lambda: largest_component(
            text("musae_git_edges.csv.gz", delimiter=",", skiprows=1)
        ),
        "tolokers": lambda: largest_component(archive()),
        "grid, 150 x 150": lambda: grid(150, 150),
        "path, 20,000 nodes": lambda: path(20_000),
        "12 equal components of 2,000 nodes": lambda: sp.csr_array(
            sp.block_diag([random_component(2000, 8)] * 12)
        ),
    }


def undirected(edges: np.ndarray) -> sp.csr_array:
    n = int(edges.max()) + 1
    adjacency = sp.coo_array((np.ones(len(edges)), edges.T), shape=(n, n)).tocsr()
    adjacency = sp.csr_array(adjacency + adjacency.T)
    adjacency.data[:] = 1.0
    adjacency.setdiag(0.0)
    adjacency.eliminate_zeros()
    return adjacency


def largest_component(edges: np.ndarray) -> sp.csr_array:
    adjacency = undirected(edges)
    _, labels = csgraph.connected_components(adjacency)
    nodes = np.flatnonzero(labels == np.bincount(labels).argmax())
    return sp.csr_array(adjacency[nodes][:, nodes])


def random_component(n: int, degree: int) -> sp.csr_array:
    return largest_component(np.random.default_rng(0).integers(0, n, (n * degree // 2, 2)))


def path(n: int) -> sp.csr_array:
    return sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1], format="csr")


def grid(rows: int, columns: int) -> sp.csr_array:
    return sp.csr_array(
        sp.kron(path(rows), sp.identity(columns)) + sp.kron(sp.identity(rows), path(columns))
    )


def measure(name: str, adjacency: sp.csr_array, k: int, arguments: argparse.Namespace) -> dict:
    tolerance = min(arguments.tolerance, _TOLERANCES.get(name, 1.0))
    inverse_root = sp.diags_array(1.0 / np.sqrt(adjacency.sum(1)))
    normalised = sp.csr_array(inverse_root @ adjacency @ inverse_root)
    start = np.random.default_rng(0).standard_normal(adjacency.shape[0])

    def ours(solver: str) -> Pairs:
        return smallest_laplacian_eigenpairs(adjacency, k, solver=solver, tolerance=tolerance)

    def scipys() -> Pairs:
        values, vectors = eigsh(
            normalised, k, which="LA", tol=tolerance, v0=start, maxiter=_MOST_RESTARTS
        )
        return 1.0 - values[::-1], vectors[:, ::-1]

    methods = {
        "chebyshev": lambda: ours("chebyshev"),
        "auto": lambda: ours("auto"),
        "eigsh": scipys,
    }
    seconds: dict[str, list[float]] = {method: [] for method in methods}
    results: dict[str, Pairs | str] = {}
    for _ in range(arguments.repeats):
        for method, solve in methods.items():
            begin = time.perf_counter()
            try:
                results[method] = solve()
            except (ConvergenceError, ArpackNoConvergence) as error:
                results[method] = str(error)
            seconds[method].append(time.perf_counter() - begin)
    exact, _ = smallest_laplacian_eigenpairs(adjacency, k)
    row = {
        "graph": name,
        "nodes": adjacency.shape[0],
        "edges": adjacency.nnz // 2,
        "k": k,
        "tolerance": tolerance,
        **{
            method: {"seconds": min(seconds[method]), "runs": seconds[method]}
            | quality(results[method], exact, normalised)
            for method in methods
        },
    }
    for method in ("chebyshev", "auto"):
        row[f"eigsh_over_{method}"] = row["eigsh"]["seconds"] / row[method]["seconds"]
    return row


def quality(result: Pairs | str, exact: np.ndarray, normalised: sp.csr_array) -> dict:
    """The residual that was reached and the copies that were missed, or the error."""
    if isinstance(result, str):
        return {"error": result}
    values, vectors = result
    residuals = np.linalg.norm(vectors * (1 - values) - normalised @ vectors, axis=0)
    return {"residual": float(residuals.max()), "missed_copies": missed(values, exact)}


def missed(values: np.ndarray, exact: np.ndarray) -> int:
    """The most by which the number of values up to some eigenvalue falls short (2% more is no gap)."""
    upper = exact * 1.02 + 1e-12
    have = np.searchsorted(np.sort(values), upper, side="right")
    return max(0, int((np.arange(1, len(exact) + 1) - have).max()))


def loses(rows: list[dict]) -> list[str]:
    """Where a method of ours is slower than SciPy, fails, or misses copies."""
    lines = []
    for row in rows:
        for method in ("chebyshev", "auto"):
            where = f"{method} on {row['graph']}, k = {row['k']}"
            own = row[method]
            if "error" in own:
                lines.append(f"{where}: {own['error']}")
            elif own["missed_copies"] > 0:
                lines.append(f"{where}: misses {own['missed_copies']} copies")
            if row[f"eigsh_over_{method}"] < 1 and "error" not in row["eigsh"]:
                lines.append(f"{where}: {1 / row[f'eigsh_over_{method}']:.1f} times slower")
    return lines


def show(report: dict) -> None:
    table = Table(title=f"seconds (missed copies) on {report['cores']} cores")
    for column in ("graph", "k", "chebyshev", "auto", "eigsh", "eigsh / chebyshev"):
        table.add_column(column, justify="left" if column == "graph" else "right")
    for row in report["rows"]:
        cells = [
            f"{row[method]['seconds']:.2f} ({row[method].get('missed_copies', 'failed')})"
            for method in ("chebyshev", "auto", "eigsh")
        ]
        table.add_row(row["graph"], str(row["k"]), *cells, f"{row['eigsh_over_chebyshev']:.1f}x")
    Console(width=120).print(table)
    for line in report["loses"] + report["left_out"]:
        print(line)


if __name__ == "__main__":
    main()
