"""Words as numbers, which must stand for words in OGB's F1."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from ogb.graphproppred import Evaluator
from torch_geometric.data import Batch, Data

from graphpe.data.storage import pack_graphs, unpack
from graphpe.data.subtokens import SubtokenVocabulary

NAMES = [["get", "item"], ["set", "item"], ["get"], [], ["run", "all", "run"]]

words = st.text("abc", max_size=2)
names = st.lists(st.lists(words, max_size=4), max_size=6)


def test_frequent_words_come_first_and_ties_are_alphabetical():
    assert SubtokenVocabulary.of(NAMES, 10).words == ("get", "item", "run", "all", "set")
    assert SubtokenVocabulary.of(NAMES, 2).words == ("get", "item")
    assert SubtokenVocabulary.of(reversed(NAMES), 4).words == ("get", "item", "run", "all")


def test_encoding():
    encoded = SubtokenVocabulary.of(NAMES, 2).encode([*NAMES, ["run", "item"]])
    assert encoded.dtype == torch.long
    assert encoded.tolist() == [
        [0, 1, -1],
        [2, 1, -1],
        [0, -1, -1],
        [-1, -1, -1],
        [3, 4, 3],
        [3, 1, -1],
    ]


def test_words_outside_start_at_the_size_also_where_there_are_fewer_words():
    vocabulary = SubtokenVocabulary.of([["get"], ["set"]], 5000)
    assert vocabulary.encode([["x", "set", "y"], ["y", "x", "get"]]).tolist() == [
        [5000, 1, 5001],
        [5001, 5000, 0],
    ]


def test_no_names_and_names_without_words():
    vocabulary = SubtokenVocabulary.of([], 3)
    assert vocabulary.words == ()
    assert vocabulary.encode([]).shape == (0, 0)
    assert vocabulary.encode([[], []]).shape == (2, 0)
    assert vocabulary.encode([["a"]]).tolist() == [[3]]


def test_words_of_numbers():
    vocabulary = SubtokenVocabulary.of(NAMES, 2)
    assert [vocabulary.word(number) for number in (0, 1)] == ["get", "item"]
    for number in (-1, 2):
        with pytest.raises(
            ValueError, match=f"number is {number}, but the vocabulary has the words 0 to 1"
        ):
            vocabulary.word(number)
    with pytest.raises(ValueError, match="number is 0, but the vocabulary has no words"):
        SubtokenVocabulary.of([], 2).word(0)


def test_bad_arguments():
    with pytest.raises(ValueError, match="size is 0; it must be an integer >= 1"):
        SubtokenVocabulary.of(NAMES, 0)
    with pytest.raises(ValueError, match="size is -1; it must be an integer >= 1"):
        SubtokenVocabulary((), -1)
    with pytest.raises(ValueError, match="words has 'b' 2 times; give each word once"):
        SubtokenVocabulary(("a", "b", "b"), 5)
    with pytest.raises(ValueError, match="there are 2 words, but size is 1"):
        SubtokenVocabulary(("a", "b"), 1)
    with pytest.raises(TypeError, match="name 1 is the string 'get item'; give lists of words"):
        SubtokenVocabulary.of([["run"], "get item"], 5)
    with pytest.raises(TypeError, match="name 0 is the string 'run'"):
        SubtokenVocabulary.of([], 5).encode(["run"])


@given(names, names, st.integers(1, 12))
def test_numbers_are_equal_where_words_are(training, others, size):
    vocabulary = SubtokenVocabulary.of(training, size)
    every = training + others
    encoded = vocabulary.encode(every)
    lengths = (encoded >= 0).sum(dim=1).tolist()
    assert lengths == [len(name) for name in every]
    numbers = [row[:length] for row, length in zip(encoded.tolist(), lengths, strict=True)]
    assert all(-1 not in row for row in numbers)
    pairs = {
        (number, word)
        for row, name in zip(numbers, every, strict=True)
        for number, word in zip(row, name, strict=True)
    }
    assert len({word for _, word in pairs}) == len({number for number, _ in pairs}) == len(pairs)
    for number, word in pairs:
        if word in vocabulary.words:
            assert vocabulary.word(number) == word
        else:
            assert number >= size


def f1(references: list[list[object]], predictions: list[list[object]]) -> dict[str, float]:
    """OGB's own figures."""
    scores = Evaluator("ogbg-code2").eval({"seq_ref": references, "seq_pred": predictions})
    return {name: float(score) for name, score in scores.items()}


@given(st.lists(st.tuples(*[st.lists(words, max_size=4)] * 2), min_size=1, max_size=6), names)
def test_numbers_stand_for_words_in_ogbs_f1(pairs, training):
    """References may have any words; predictions are of the vocabulary, as those of a network."""
    vocabulary = SubtokenVocabulary.of(training, 3)
    references = [reference for reference, _ in pairs]
    predictions = [
        [word for word in prediction if word in vocabulary.words] for _, prediction in pairs
    ]
    encoded = vocabulary.encode(references + predictions).tolist()
    numbers = [[number for number in row if number >= 0] for row in encoded]
    of_numbers = f1(numbers[: len(pairs)], numbers[len(pairs) :])
    assert of_numbers == pytest.approx(f1(references, predictions))
    of_sets = [
        2 * len({*r} & {*p}) / (len({*r}) + len({*p})) if r or p else 0.0
        for r, p in zip(references, predictions, strict=True)
    ]
    assert of_numbers["F1"] == pytest.approx(np.mean(of_sets))


def test_ogbs_f1_of_empty_names_is_zero():
    """Also where reference and prediction agree that there is no word."""
    assert f1([[]], [[]])["F1"] == 0.0
    assert f1([["a"]], [[]])["F1"] == 0.0
    assert f1([[]], [["a"]])["F1"] == 0.0
    assert f1([["a", "a"]], [["a"]])["F1"] == 1.0  # as sets


def test_batches_hold_numbers():
    encoded = SubtokenVocabulary.of(NAMES, 2).encode(NAMES)
    graphs = [Data(x=torch.zeros(2, 1), y=row[None]) for row in encoded]
    assert torch.equal(Batch.from_data_list(graphs).y, encoded)


def test_saved_graphs_keep_lists_of_words(tmp_path):
    graphs = [Data(x=torch.zeros(2, 1), y=name) for name in NAMES]
    torch.save(pack_graphs(graphs), tmp_path / "graphs.pt")
    columns, _ = torch.load(tmp_path / "graphs.pt", weights_only=True)
    assert unpack(columns).y == NAMES
