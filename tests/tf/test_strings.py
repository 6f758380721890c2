from __future__ import annotations

import pytest

import keepset.tf as tf
from keepset.errors import InvalidArgumentError, NotCoveredError
from keepset.tf.text.farm_hash import farm_hash64, murmur64, sip_hash
from keepset.tf.text.patterns import pattern_of

TEXTS = [bytes(range(size)) for size in (0, 3, 5, 12, 20, 40, 64, 65, 128, 200)]
# Of TensorFlow 2.21, with 2**61 - 1 buckets; the key of the last ones is (5, 7).
GOLDEN = {
    "fast": [
        1936946117179621459,
        1486536572171691166,
        1495100417207615822,
        2293984998287228289,
        997520867964920045,
        645241335607543436,
        1550650849311509586,
        478270155923209668,
        2037963038260878803,
        525935771297148851,
    ],
    "plain": [
        105434511174508095,
        843306539749085100,
        478148787884839331,
        2278262293451471072,
        1707997266065195602,
        2128620840411390067,
        2192457456962414808,
        220116825410697493,
        739982330887139049,
        1879695563502286385,
    ],
    "strong": [
        1756538301040099298,
        344324437672909298,
        748423217167329081,
        773583187972616524,
        2047362556837478327,
        835244797594341280,
        94369062873113539,
        703711611865957603,
        2291485018069593720,
        2095631573282221727,
    ],
}


@pytest.mark.parametrize("name", ["fast", "plain", "strong"])
def test_hashes_are_those_of_tensorflow(name: str) -> None:
    hashed = {"fast": farm_hash64, "plain": murmur64, "strong": lambda x: sip_hash(x, (5, 7))}
    assert [hashed[name](text) % (2**61 - 1) for text in TEXTS] == GOLDEN[name]


def test_parts_of_texts_are_ragged() -> None:
    found = tf.strings.split(["a b", "", "c"])
    assert isinstance(found, tf.RaggedTensor)
    assert found.to_list() == [[b"a", b"b"], [], [b"c"]]
    assert tf.strings.split(found).shape.as_list() == [3, None, None]


def test_a_rest_that_is_empty_is_a_part_if_maxsplit_is_reached() -> None:
    assert tf.strings.split("a b", maxsplit=2).numpy().tolist() == [b"a", b"b", b""]


def test_patterns_are_those_of_re2() -> None:
    replace = tf.strings.regex_replace
    assert replace("Hi! ok?", "[[:punct:]]", "").numpy() == b"Hi ok"
    assert replace("abxd", "x*", "-").numpy() == b"-a-b-d-"
    assert replace("a\n", "a$", "b").numpy() == b"a\n"
    assert replace("ä1", r"\pL", "L").numpy() == b"L1"
    assert replace("ab", "(a)(b)", r"\2\1\0").numpy() == b"baab"
    assert replace(b"a\xffb", "a", "c").numpy() == b"c\xffb"


@pytest.mark.parametrize("pattern", ["(?=x)", "(", r"(a)\1", "a++", "[[:nope:]]", "[a"])
def test_patterns_that_re2_refuses(pattern: str) -> None:
    with pytest.raises(InvalidArgumentError, match="Invalid pattern"):
        pattern_of(pattern.encode())


def test_scripts_are_not_covered() -> None:
    with pytest.raises(NotCoveredError, match="use ranges"):
        pattern_of(rb"\p{Greek}")


def test_numbers_that_are_none() -> None:
    for text in ("1_000", "", "5f", "0x"):
        with pytest.raises(InvalidArgumentError, match="could not correctly convert"):
            tf.strings.to_number(text)
    with pytest.raises(InvalidArgumentError, match=r"use tf\.cast then"):
        tf.strings.to_number("5", tf.uint8)


def test_a_place_outside_of_a_text() -> None:
    with pytest.raises(InvalidArgumentError, match="pos 6 out of range for string b'hello'"):
        tf.strings.substr("hello", 6, 1)


def test_characters_and_bytes() -> None:
    assert tf.strings.length("hé", unit="UTF8_CHAR").numpy() == 2
    assert tf.strings.unicode_split("hé", "UTF-8").numpy().tolist() == [b"h", b"\xc3\xa9"]
    assert tf.strings.unicode_decode(b"a\xff", "UTF-8").numpy().tolist() == [97, 65533]
    assert tf.strings.substr("wörld", 1, 2, unit="UTF8_CHAR").numpy() == "ör".encode()
