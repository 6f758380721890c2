"""Random pipelines give what plain lists say. A failing example prints as code."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model import MANY, PLAIN, Pipeline, Rows, pipelines

import keepset as ks
from keepset.core.spec import is_compatible, map_spec
from keepset.testing import assert_elements_equal, assert_same_elements, check_dataset

# Many of them hold a filter that passes nothing.
pytestmark = pytest.mark.filterwarnings("ignore:.*passed none of its")


@given(pipelines())
def test_a_pipeline_gives_what_its_model_says(pipeline: Pipeline) -> None:
    dataset, rows = pipeline.build(PLAIN), pipeline.rows()
    assert_elements_equal(list(dataset), rows.elements)
    assert dataset.cardinality() in (ks.UNKNOWN_CARDINALITY, len(rows.elements))
    check_spec(dataset, rows)


def check_spec(dataset: ks.Dataset, rows: Rows) -> None:
    known = dataset.__keepset_node__().known_spec()
    if known is not None:
        assert all(is_compatible(known[0], element) for element in rows.elements)
        assert is_compatible(rows.spec, known[0])
    if rows.elements:
        # What was found by running a first element says nothing about the sizes of others.
        found = map_spec(lambda leaf: leaf.with_shape(None), dataset.element_spec)
        assert is_compatible(rows.spec, found)


@settings(max_examples=settings().max_examples // 4)
@given(pipelines(max_stages=4), st.sampled_from([None, "shuffle", "repeat", "unordered"]))
def test_a_pipeline_keeps_every_promise(pipeline: Pipeline, ending: str | None) -> None:
    def make() -> ks.Dataset:
        dataset: ks.Dataset = pipeline.build(PLAIN)
        if ending == "shuffle":
            return dataset.shuffle(5)
        if ending == "repeat":
            return dataset.shuffle(3, seed=1).repeat(2)
        if ending == "unordered":
            return dataset.map(lambda *x: x, num_parallel_calls=2, deterministic=False)
        return dataset

    elements = pipeline.rows().elements
    if ending == "repeat":
        elements = elements * 2
    if ending == "unordered":
        elements = [e if type(e) is tuple else (e,) for e in elements]
    check_dataset(make, expected=elements, repeatable=ending is None, ordered=ending != "unordered")


@given(pipelines(), st.integers(0, 2 * MANY), st.integers(0, 5))
def test_a_pipeline_can_be_left_and_restored_anywhere(
    pipeline: Pipeline, first: int, second: int
) -> None:
    given: list[object] = []
    state = None
    for count in (first, second, None):
        iterator = pipeline.build(PLAIN).iterate(state)
        given += itertools.islice(iterator, count)
        state = json.loads(json.dumps(iterator.state()))
    assert_elements_equal(given, pipeline.rows().elements)


@given(pipelines(max_stages=3), st.integers(1, 30), st.integers(0, 30))
def test_a_shuffled_pipeline_keeps_its_elements(
    pipeline: Pipeline, buffer_size: int, position: int
) -> None:
    def build() -> ks.Dataset:
        dataset: ks.Dataset = pipeline.build(PLAIN).shuffle(buffer_size)
        return dataset

    iterator = iter(build())
    head = list(itertools.islice(iterator, position))
    state, rest = json.loads(json.dumps(iterator.state())), list(iterator)
    assert_same_elements(head + rest, pipeline.rows().elements)
    assert_elements_equal(list(build().iterate(state)), rest)


@given(pipelines(max_stages=4), st.data())
def test_elements_by_position_are_those_of_the_list(
    pipeline: Pipeline, data: st.DataObject
) -> None:
    dataset, elements = pipeline.build(PLAIN), pipeline.rows().elements
    try:
        dataset.gather([])
    except ks.NotAddressableError:
        return
    positions = data.draw(st.lists(st.integers(0, len(elements) - 1))) if elements else []
    assert_elements_equal(dataset.gather(positions), [elements[i] for i in positions])
    cut = slice(*data.draw(st.tuples(*[st.none() | st.integers(-9, 9).filter(bool)] * 3)))
    assert_elements_equal(list(dataset[cut]), elements[cut])
