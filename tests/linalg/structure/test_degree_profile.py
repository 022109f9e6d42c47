"""Local degree profile against numpy, node by node."""

from __future__ import annotations

import networkx
import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphpe.linalg.structure.degree_profile import local_degree_profile
from graphpe.linalg.structure.neighbors import Neighbors


@given(st.integers(0, 20), st.floats(0.0, 1.0), st.integers(0, 10**6))
def test_the_definition(n: int, p: float, seed: int) -> None:
    graph = networkx.gnp_random_graph(n, p, seed=seed)
    adjacency = torch.from_numpy(networkx.to_numpy_array(graph))[None]
    profile = local_degree_profile(Neighbors.of_stack(adjacency))
    assert profile.shape == (n, 5)
    for node in graph:
        around = np.array([graph.degree(other) for other in graph[node]] or [0])
        wanted = [graph.degree(node), around.min(), around.max(), around.mean(), around.std()]
        np.testing.assert_allclose(profile[node], wanted, atol=1e-12)
