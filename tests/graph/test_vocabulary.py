"""Names keep their bytes, and ids follow the order of names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trifact.graph.vocabulary import Vocabulary

NAMES = st.lists(st.text(st.characters(codec="utf-8"), min_size=1), max_size=30)


@given(NAMES)
def test_names_are_sorted_distinct_and_found_again(names: list[str]) -> None:
    vocabulary = Vocabulary.of(names)
    assert list(vocabulary) == sorted(set(names))
    assert [vocabulary[i] for i in range(len(vocabulary))] == list(vocabulary)
    assert [vocabulary.find(name) for name in vocabulary] == list(range(len(vocabulary)))


@given(NAMES, st.text())
def test_a_name_is_found_exactly_if_it_is_there(names: list[str], name: str) -> None:
    assert (name in Vocabulary.of(names)) == (name in names)


@given(NAMES, st.text(max_size=3))
def test_names_are_found_by_how_they_end(names: list[str], end: str) -> None:
    vocabulary = Vocabulary.of([*names, *(name + end for name in names)])
    assert vocabulary.ending(end) == [i for i, n in enumerate(vocabulary) if n.endswith(end)]


@given(NAMES, NAMES)
def test_the_hash_is_that_of_the_set_of_names(some: list[str], others: list[str]) -> None:
    same = Vocabulary.of(some).content_hash == Vocabulary.of(others).content_hash
    assert same == (set(some) == set(others))


def test_names_are_not_normalised() -> None:
    composed, combining = "\u00e9", "e\u0301"
    assert list(Vocabulary.of([composed, combining])) == [combining, composed]


def test_negative_indexes_and_slices_are_those_of_a_list() -> None:
    vocabulary = Vocabulary.of("abc")
    assert vocabulary[-1] == "c"
    assert vocabulary[::2] == ["a", "c"]
