"""AddLandmarkDistancePE: which landmarks, and distances to them as those of networkx."""

from __future__ import annotations

import networkx
import pytest
import torch
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphpe.testing import check_encoding
from graphpe.transforms.distances import AddLandmarkDistancePE, AddShortestPathPE

INSTANCES = [
    AddLandmarkDistancePE(3),
    AddLandmarkDistancePE(9, strategy="degree", cap=3, dense_limit=7),
    AddLandmarkDistancePE(2, strategy="farthest-point", weighted=True),
]
STRATEGIES = ["random", "degree", "farthest-point"]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddLandmarkDistancePE) -> None:
    check_encoding(encoding)


def landmarks_of(data: Data, count: int, strategy: str, **settings) -> list[int]:
    """The landmarks, each being the only node at distance 0 from itself."""
    encoded = AddLandmarkDistancePE(count, strategy=strategy, **settings)(data)
    columns = (encoded.landmark_distance_pe == 0).t()
    assert (columns.sum(1) <= 1).all()
    return [int(column.nonzero()) for column in columns if column.any()]


@given(
    random_graphs(max_nodes=12, directed=True),
    st.integers(1, 5),
    st.sampled_from(STRATEGIES),
    st.booleans(),
    st.sampled_from([500, 2]),
)
def test_columns_are_distances_to_landmarks(
    data: Data, count: int, strategy: str, weighted: bool, dense_limit: int
) -> None:
    n, cap = data.num_nodes, 4
    encoded = AddLandmarkDistancePE(
        count, strategy=strategy, cap=cap, weighted=weighted, dense_limit=dense_limit
    )(data).landmark_distance_pe
    landmarks = landmarks_of(
        data, count, strategy, cap=cap, weighted=weighted, dense_limit=dense_limit
    )
    assert len(landmarks) == min(count, n)
    pair = AddShortestPathPE(cap, weighted=weighted)(data).shortest_path_pe.view(n, n, -1).float()
    wanted = torch.where(pair[..., 1] == 1, cap + 1, pair[..., 0]) if weighted else pair[..., 0]
    torch.testing.assert_close(encoded[:, : len(landmarks)], wanted[:, landmarks])
    assert (encoded[:, len(landmarks) :] == cap + 1).all()


@pytest.mark.parametrize("dense_limit", [500, 3])
def test_landmarks_by_degree(dense_limit: int) -> None:
    edges = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (5, 7)]
    choose = {"strategy": "degree", "dense_limit": dense_limit}
    # 2 and 5 have three neighbours, but more walks of two steps set out from 2
    assert landmarks_of(graph(8, edges), 2, **choose) == [2, 5]
    # loops, parallel edges and directions do not count
    more = [*edges, (6, 6), (6, 5), (6, 5), (7, 5)]
    assert landmarks_of(graph(8, more), 2, **choose) == [2, 5]
    assert landmarks_of(graph(8, edges, directed=True), 2, **choose) == [2, 5]
    # of symmetric nodes the lower number
    assert landmarks_of(zoo()["star (one eigenvalue many times)"], 3, **choose) == [0, 1, 2]


@pytest.mark.parametrize("dense_limit", [500, 3])
def test_farthest_points(dense_limit: int) -> None:
    choose = {"strategy": "farthest-point", "dense_limit": dense_limit, "cap": 99}
    path = from_networkx(networkx.path_graph(9))
    assert landmarks_of(path, 4, **choose)[:1] == [3]  # most walks of three steps, lower number
    assert landmarks_of(path, 2, **choose) == [3, 8]
    # a component without a landmark comes first, the one of the node of highest degree before others
    parts = graph(9, [(0, 1), (2, 3), (3, 4), (3, 5), (7, 8), (8, 6), (6, 7)])
    assert landmarks_of(parts, 3, **choose) == [3, 6, 0]


@given(
    random_graphs(max_nodes=10),
    st.sampled_from(["degree", "farthest-point"]),
    st.randoms(use_true_random=False),
)
def test_both_forms_choose_the_same_landmarks(data: Data, strategy: str, random) -> None:
    dense = landmarks_of(data, 4, strategy, cap=99)
    assert landmarks_of(data, 4, strategy, cap=99, dense_limit=1) == dense


def test_numbers_of_nodes_matter_only_between_nodes_that_walks_do_not_tell_apart() -> None:
    tree = from_networkx(
        networkx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (2, 5), (5, 6), (6, 7), (4, 8)])
    )
    tree.edge_index = torch.cat([tree.edge_index, torch.tensor([[1, 9], [9, 1]])], dim=1)
    tree.num_nodes = 10
    order = torch.randperm(10)
    renumbered = Data(edge_index=order[tree.edge_index], num_nodes=10)
    for strategy in ("degree", "farthest-point"):
        before = landmarks_of(tree, 1, strategy)
        assert landmarks_of(renumbered, 1, strategy) == order[before].tolist()
        assert not AddLandmarkDistancePE(3, strategy=strategy).is_equivariant


def test_random_landmarks_go_by_the_seed_and_the_graph() -> None:
    data = from_networkx(networkx.cycle_graph(30))
    one = landmarks_of(data, 5, "random")
    assert landmarks_of(data, 5, "random", dense_limit=3) == one
    assert landmarks_of(data, 5, "random", seed=1) != one
    assert landmarks_of(data, 3, "random") == one[:3]
    batch = AddLandmarkDistancePE(5)(Batch.from_data_list([zoo()["path"], data]))
    assert torch.equal(
        batch.landmark_distance_pe[9:], AddLandmarkDistancePE(5)(data).landmark_distance_pe
    )
    firsts = {landmarks_of(data, 1, "random", seed=seed)[0] for seed in range(60)}
    assert len(firsts) > 15


def test_unreachable_and_missing_landmarks_are_marked_beyond_the_cap() -> None:
    data = graph(4, [(0, 1), (1, 2)])
    encoded = AddLandmarkDistancePE(6, strategy="degree", cap=1)(data).landmark_distance_pe
    assert encoded.tolist() == [
        [1, 0, 1, 2, 2, 2],
        [0, 1, 1, 2, 2, 2],
        [1, 1, 0, 2, 2, 2],
        [2, 2, 2, 0, 2, 2],
    ]


def test_a_directed_path_leads_to_its_landmark() -> None:
    data = graph(5, [(0, 1), (1, 2), (2, 3), (2, 4)], directed=True)
    for dense_limit in (500, 2):
        encoded = AddLandmarkDistancePE(1, strategy="degree", dense_limit=dense_limit)(data)
        assert encoded.landmark_distance_pe[:, 0].tolist() == [2, 1, 0, 21, 21]


@pytest.mark.parametrize("dense_limit", [500, 2])
def test_of_parallel_edges_the_shortest_counts_and_weight_0_is_no_edge(dense_limit: int) -> None:
    edges, weights = [(1, 0), (2, 0), (1, 0), (3, 0), (1, 0), (1, 3)], [4.0, 6.0, 2.0, 0.0, 3.0, 0]
    data = graph(4, edges, weights)
    encoding = AddLandmarkDistancePE(1, strategy="degree", weighted=True, dense_limit=dense_limit)
    assert encoding(data).landmark_distance_pe[:, 0].tolist() == [0, 2, 6, 21]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_block_of_larger_graphs_is_searched_at_once(strategy: str, weighted: bool) -> None:
    graphs = [from_networkx(networkx.gnp_random_graph(70, 0.03, seed=seed)) for seed in range(5)]
    for data in graphs:
        data.edge_weight = torch.rand(data.num_edges) + 0.1
    encoding = AddLandmarkDistancePE(4, strategy=strategy, weighted=weighted)
    batch = encoding(Batch.from_data_list(graphs))
    for got, data in zip(batch.to_data_list(), graphs, strict=True):
        assert torch.equal(got.landmark_distance_pe, encoding(data).landmark_distance_pe)
        landmarks = landmarks_of(data, 4, strategy, weighted=weighted)
        pair = AddShortestPathPE(20, weighted=weighted)(data).shortest_path_pe.view(70, 70, -1)
        wanted = pair[..., 0].float() + (pair[..., 1] if weighted else 0)
        torch.testing.assert_close(got.landmark_distance_pe, wanted[:, landmarks])


def test_a_path_of_20_000_nodes() -> None:
    data = from_networkx(networkx.path_graph(20_000))
    encoded = AddLandmarkDistancePE(3, strategy="farthest-point", cap=30_000)(data)
    first, second, third = (int(node) for node in encoded.landmark_distance_pe.argmin(0))
    assert {second} <= {0, 19_999}
    index = torch.arange(20_000).float()
    for column, landmark in enumerate((first, second, third)):
        assert torch.equal(encoded.landmark_distance_pe[:, column], (index - landmark).abs())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"landmarks": 0}, "landmarks is 0"),
        ({"landmarks": 2, "strategy": "best"}, "strategy is 'best'; it must be 'random', 'degree'"),
        ({"landmarks": 2, "cap": 0}, "cap is 0"),
        ({"landmarks": 2, "seed": -1}, "seed is -1"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AddLandmarkDistancePE(**settings)


def test_the_largest_cap_is_told_from_no_path() -> None:
    data = graph(3, [(0, 1)], weights=[1e7])
    encoding = AddLandmarkDistancePE(3, cap=2**20, weighted=True)
    assert encoding(data).landmark_distance_pe.unique().tolist() == [0, 2**20, 2**20 + 1]
    for cap in (1e9, 10**30):
        with pytest.raises(
            ValueError, match=r"cap is 1.*0; it must be at most 1,048,576.*lower it"
        ):
            AddLandmarkDistancePE(2, cap=cap)
