"""Return codes: the notation, and what never counts."""

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.reputation.dnsbl.codes import MAX_CODES, counts, is_refusal, parse, refusals

SCORES = {
    "127.0.0.2": 10.0,
    "127.0.0.3-9": 20.0,
    "127.0.0.4-127.0.0.6": 30.0,
    "127.0.0.0/24": 5.0,
    "127.0.*.3": -40.0,
    "127.2.0.0/15": 7.0,
}


@pytest.mark.parametrize(
    ("code", "score"),
    [
        ("127.0.0.2", 10),  # itself before the network
        ("127.0.0.3", 20),  # a range before the star
        ("127.0.0.5", 30),  # the narrower range
        ("127.0.0.9", 20),
        ("127.0.0.10", 5),
        ("127.0.7.3", -40),
        ("127.0.255.3", -40),
        ("127.1.7.3", 1),  # the star is in the third octet alone
        ("127.3.255.255", 7),
        ("127.4.0.0", 1),
        ("127.0.0.1", None),
        ("127.255.255.252", None),
        ("127.255.255.0", None),
        ("127.255.254.255", 1),
        ("203.0.113.7", None),
        ("0.0.0.0", None),
        ("128.0.0.2", None),
    ],
)
def test_the_narrowest_notation_weighs_a_code(code: str, score: float | None) -> None:
    assert parse(SCORES, 1.0).score(IPv4Address(code)) == score


@pytest.mark.parametrize(
    ("code", "score"),
    [
        ("127.0.0.2", 80),
        ("127.0.0.4", -20),
        ("127.0.0.14", 80),
        ("127.0.0.12", 25),
        ("127.0.0.16", None),
        ("127.0.3.8", 25),
    ],
)
def test_bits_weigh_by_the_heaviest(code: str, score: float | None) -> None:
    codes = parse({"&2": 80, "& 0x4": -20, "&8": 25}, None)
    assert codes.score(IPv4Address(code)) == score


def test_a_heavy_bit_outweighs_the_code_and_the_other_way_round() -> None:
    codes = parse({"&1": 10, "127.0.0.3": 50, "127.0.0.5": 5}, 99)
    assert [codes.score(IPv4Address(f"127.0.0.{last}")) for last in (3, 5, 7, 8)] == [
        50,
        10,
        10,
        99,
    ]
    assert sorted(codes.scores) == [5, 10, 50, 99]


def test_of_equal_weights_the_one_against_the_message_counts() -> None:
    assert parse({"&1": -10, "&2": 10}, None).score(IPv4Address("127.0.0.3")) == 10


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ({"": 1}, '"": is no code'),
        ({"127.0.0": 1}, "is no code"),
        ({"127.0.0.256": 1}, "is no code"),
        ({"127.0.0.02": 1}, "is no code"),
        ({" 127.0.0.2": 1}, "is no code"),
        ({"127.0.0.2-": 1}, "is no code"),
        ({"127.0.0.2-256": 1}, "is no code"),
        ({"*.0.0.2": 1}, "is no code"),
        ({"127.*.0.2": 1}, "is no code"),
        ({"listed": 1}, "is no code"),
        ({"127.0.0.7-4": 1}, "must end behind its beginning"),
        ({"127.0.0.4-4": 1}, "must end behind its beginning"),
        ({"192.0.2.1": 1}, "codes lie in 127.0.0.0/8"),
        ({"126.0.0.0/7": 1}, "codes lie in 127.0.0.0/8"),
        ({"127.0.0.0/7": 1}, "the length of a network of codes is 8 to 32"),
        ({"127.0.0.0/33": 1}, "the length of a network of codes is 8 to 32"),
        ({"127.0.0.0/-1": 1}, "the length of a network of codes is 8 to 32"),
        ({"127.0.0.1/24": 1}, "has bits set behind its length"),
        ({"127.0.0.1": 1}, "never counts"),
        ({"127.255.255.254": 1}, "refuses to answer"),
        ({"127.255.255.0/24": 1}, "refuses to answer"),
        ({"&0": 1}, "must be one bit"),
        ({"&3": 1}, "must be one bit"),
        ({"&256": 1}, "must be one bit"),
        ({"&": 1}, "must be one bit"),
        ({"&2": 1, "&0x2": 1}, "stands there twice"),
        ({"127.0.0.2": 1, "127.0.0.2/32": 1}, "stands there twice"),
        ({"127.0.*.2": 1, "127.0.*.02": 1}, "is no code"),
        ({"127.0.0.2-5": 1, "127.0.0.4-9": 1}, "shares codes with another"),
        ({"127.0.0.2-5": 1, "127.0.0.2-127.0.0.5": 1}, "shares codes with another"),
        ({"127.0.0.2": float("nan")}, "the score must be a number"),
        ({f"127.0.1.{n}": 1 for n in range(MAX_CODES + 1)}, "more than 100 codes"),
    ],
)  # fmt: skip
def test_a_wrong_notation_is_told(scores: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError) as told:
        parse(scores, None)
    assert words in str(told.value)


NOTATIONS = st.one_of(
    st.text(alphabet="0127.-/*&x ", max_size=20),
    st.builds("127.0.{}.{}".format, st.integers(0, 3), st.integers(0, 9)),
    st.builds("127.0.0.{}-{}".format, st.integers(0, 9), st.integers(0, 9)),
    st.builds("127.0.0.{}/{}".format, st.integers(0, 9), st.integers(28, 32)),
    st.builds("127.0.*.{}".format, st.integers(0, 9)),
    st.builds("&{}".format, st.integers(0, 9)),
)
WEIGHTS = st.floats(-1000, 1000)


@given(st.dictionaries(NOTATIONS, WEIGHTS, max_size=6), st.none() | WEIGHTS, st.ip_addresses(v=4))
def test_any_notation_is_refused_or_never_weighs_what_no_list_may_say(
    scores: dict[str, float], other: float | None, code: IPv4Address
) -> None:
    """Invariant: what is weighed has a weight of the table, and lies in 127/8 outside 127.0.0.1 and
    127.255.255/24.
    """
    try:
        codes = parse(scores, other)
    except ValueError:
        return
    near = [IPv4Address(f"127.0.{third}.{last}") for third in range(3) for last in range(10)]
    for one in [code, IPv4Address(int(code) >> 8 | 127 << 24), *near]:
        score = codes.score(one)
        assert score is None or (score in codes.scores and one.is_loopback)
    for one in (
        IPv4Address("127.0.0.1"),
        IPv4Address("127.255.255.255"),
        IPv4Address("127.255.255.0"),
    ):
        assert codes.score(one) is None
        assert not counts(one)


def test_refusals_are_the_usual_network_and_what_the_list_says() -> None:
    also = refusals(["127.0.0.1", "127.0.0.250-255"])
    for code in ("127.255.255.252", "127.255.255.0", "127.0.0.1", "127.0.0.255"):
        assert is_refusal(IPv4Address(code), also)
    for code in ("127.0.0.2", "127.255.254.254", "203.0.113.7"):
        assert not is_refusal(IPv4Address(code), also)
    with pytest.raises(ValueError, match="is no code"):
        refusals(["&2"])
