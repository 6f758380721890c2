"""Ranges: merged ones cover the wanted ones and nothing far from them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from keepset.storage.ranges import cut, merged

RANGES = st.lists(st.tuples(st.integers(0, 200), st.integers(1, 20)), min_size=1)


@given(ranges=RANGES, gap=st.integers(0, 30))
def test_merged_ranges_cover_what_is_wanted_and_only_short_gaps(
    ranges: list[tuple[int, int]], gap: int
) -> None:
    covers = merged(ranges, gap)
    wanted = {byte for offset, length in ranges for byte in range(offset, offset + length)}
    covered = [byte for offset, length in covers for byte in range(offset, offset + length)]
    assert wanted <= set(covered)
    assert covered == sorted(set(covered))
    for offset, length in covers:
        inside = sorted(wanted & set(range(offset, offset + length)))
        assert (inside[0], inside[-1]) == (offset, offset + length - 1)
        assert all(b - a <= gap + 1 for a, b in pairwise(inside))
    assert all(b[0] - sum(a) > gap for a, b in pairwise(covers))


@given(ranges=RANGES, gap=st.integers(0, 30), size=st.integers(0, 250))
def test_what_is_cut_from_the_pieces_is_cut_from_the_whole(
    ranges: list[tuple[int, int]], gap: int, size: int
) -> None:
    whole = bytes(n % 251 for n in range(size))
    pieces = [
        (offset, memoryview(whole)[offset : offset + length])
        for offset, length in merged(ranges, gap)
    ]
    for offset, length in ranges:
        assert cut(pieces, offset, length) == whole[offset : offset + length]
