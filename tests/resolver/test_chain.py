"""CNAMEs in one message and over several."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from oborona.dns import DnsAnswer, DnsOutcome, DnsType
from oborona.resolver.chain import MAX_LINKS, CnameChain, failure
from oborona.resolver.wire import DnsResponse

A, B, C = b"\1a\0", b"\1b\0", b"\1c\0"
FOUND = (("192.0.2.1",), 50)


def follow(reply: DnsResponse, kind: DnsType = DnsType.A) -> DnsAnswer | None:
    return CnameChain(A, kind).follow(reply)


def test_records_of_the_name_itself() -> None:
    assert follow(DnsResponse(True, {}, {A: FOUND}, None)) == DnsAnswer(
        outcome=DnsOutcome.FOUND, records=FOUND[0], ttl=50
    )


def test_the_least_ttl_of_the_chain_counts_in_any_order_of_records() -> None:
    reply = DnsResponse(True, {B: (C, 7), A: (B, 90)}, {C: FOUND}, None)
    assert follow(reply) == DnsAnswer(outcome=DnsOutcome.FOUND, records=FOUND[0], ttl=7)


def test_a_cname_that_was_asked_for_is_not_followed() -> None:
    reply = DnsResponse(True, {A: (B, 9)}, {A: (("b",), 9)}, None)
    assert follow(reply, DnsType.CNAME) == DnsAnswer(
        outcome=DnsOutcome.FOUND, records=("b",), ttl=9
    )


def test_denials_are_of_the_end_of_the_chain() -> None:
    links = {A: (B, 9)}
    assert follow(DnsResponse(False, links, {}, 60)) == DnsAnswer(outcome=DnsOutcome.NO_NAME, ttl=9)
    assert follow(DnsResponse(True, links, {}, 5)) == DnsAnswer(outcome=DnsOutcome.NO_DATA, ttl=5)
    assert follow(DnsResponse(True, {}, {}, None)) == DnsAnswer(outcome=DnsOutcome.NO_DATA, ttl=0)
    assert follow(DnsResponse(False, {}, {}, None)) == DnsAnswer(outcome=DnsOutcome.NO_NAME, ttl=0)


def test_a_chain_that_leads_out_of_the_answer_is_asked_on() -> None:
    chain = CnameChain(A, DnsType.A)
    assert chain.follow(DnsResponse(True, {A: (B, 9)}, {}, None)) is None
    assert chain.name == B
    assert chain.follow(DnsResponse(True, {}, {B: FOUND}, None)) == DnsAnswer(
        outcome=DnsOutcome.FOUND, records=FOUND[0], ttl=9
    )


def test_an_end_without_records_and_soa_is_asked_for_once() -> None:
    chain = CnameChain(A, DnsType.A)
    assert chain.follow(DnsResponse(True, {A: (B, 9)}, {}, None)) is None
    assert chain.follow(DnsResponse(True, {}, {}, None)) == DnsAnswer(outcome=DnsOutcome.NO_DATA)


def test_loops_are_errors_in_one_message_and_over_several() -> None:
    assert follow(DnsResponse(True, {A: (A, 9)}, {}, None)) == failure("cname-loop")
    assert follow(DnsResponse(True, {A: (B, 9), B: (A, 9)}, {}, None)) == failure("cname-loop")
    chain = CnameChain(A, DnsType.A)
    assert chain.follow(DnsResponse(True, {A: (B, 9)}, {}, None)) is None
    assert chain.follow(DnsResponse(True, {B: (A, 9)}, {}, None)) == failure("cname-loop")


def test_records_of_other_names_answer_nothing() -> None:
    assert follow(DnsResponse(True, {}, {B: FOUND}, None)) == failure("nonsense")
    assert follow(DnsResponse(True, {A: (C, 9)}, {B: FOUND}, None)) == failure("nonsense")
    assert follow(DnsResponse(False, {}, {A: FOUND}, None)) == failure("nonsense")


def test_a_chain_has_a_greatest_length() -> None:
    def chain(links: int) -> DnsResponse:
        ends = [b"\1" + bytes([number]) + b"\0" for number in range(links + 1)]
        return DnsResponse(
            True,
            {one: (next_, 9) for one, next_ in itertools.pairwise(ends)},
            {ends[-1]: FOUND},
            None,
        )

    first = b"\1\0\0"
    longest = CnameChain(first, DnsType.A).follow(chain(MAX_LINKS))
    assert longest is not None
    assert longest.outcome is DnsOutcome.FOUND
    assert CnameChain(first, DnsType.A).follow(chain(MAX_LINKS + 1)) == failure(
        "cname-chain-too-long"
    )


NAMES = st.sampled_from([b"\1" + bytes([number]) + b"\0" for number in range(6)])
REPLIES = st.builds(
    DnsResponse,
    st.booleans(),
    st.dictionaries(NAMES, st.tuples(NAMES, st.integers(0, 99))),
    st.dictionaries(NAMES, st.just(FOUND), max_size=2),
    st.none() | st.integers(0, 99),
)


@given(st.lists(REPLIES, min_size=MAX_LINKS + 1, max_size=MAX_LINKS + 1))
def test_any_replies_end_in_an_answer_of_our_words(replies: list[DnsResponse]) -> None:
    """Invariant: an answer after MAX_LINKS + 1 replies at most; records only with FOUND.

    A reason only with TEMPERROR.
    """
    chain = CnameChain(b"\1\0\0", DnsType.A)
    answer = None
    for reply in replies:
        answer = chain.follow(reply)
        if answer is not None:
            break
    assert answer is not None
    assert bool(answer.records) == (answer.outcome is DnsOutcome.FOUND)
    assert bool(answer.why) == (answer.outcome is DnsOutcome.TEMPERROR)
