"""Counts of both directions: what is counted where, and what rules see of it."""

from __future__ import annotations

import pytest

from oborona.counters.memory import MemoryCounters
from oborona.errors import PolicyError, StoreError
from oborona.message.hashing import Hasher, ShingleType
from oborona.message.parse import parse
from oborona.message.shingles import shingles
from oborona.message.unique_pairs import MAX_ACCOUNT_REACHED, MAX_REACHED, entity_recipients
from oborona.policy.accounting import read_counts, record_sent, record_verdict, undo_verdict
from oborona.policy.counts import MessageCounts
from oborona.policy.expression import CompiledRules, compile_rules
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.local_clients import direction, direction_of_pieces, is_program
from oborona.policy.rules import Rule
from oborona.types import (
    Action,
    Client,
    CountedPieces,
    CounterPrefix,
    Envelope,
    ProvedIdentity,
    Shingle,
    Stage,
    Verdict,
    Window,
)

NOON = 20_000 * 86_400 + 43_200.0
HASHER = Hasher(b"k" * 32)
TEXT, ACCOUNT, AUTHOR = (
    Shingle(ShingleType.TEXT, 1),
    Shingle(ShingleType.ACCOUNT, 2),
    Shingle(ShingleType.AUTHOR, 3),
)
PIECES = CountedPieces(shingles=(TEXT, ACCOUNT, AUTHOR), pairs=())
LOGIN = Envelope(client=Client(ip="192.0.2.7"), login="Ann")
SPAM = Verdict(action=Action.SPAM, score=120.0, line=100.0, decided_by="MASS_TEXT")


async def seen(counters: MemoryCounters, shingle: Shingle, prefix: CounterPrefix) -> list[int]:
    [row] = await counters.read([shingle], NOON, prefix)
    return row[Window.DAY][:2]


async def test_our_own_mail_feeds_nothing_inbound() -> None:
    counters = MemoryCounters()
    record_verdict(PIECES, SPAM, counters, now=NOON, first=True, prefix=CounterPrefix.OUT)
    for piece in PIECES.shingles:
        assert await seen(counters, piece, CounterPrefix.OUT) == [1, 1]
        assert await seen(counters, piece, CounterPrefix.IN) == [0, 0]
    assert await seen(counters, ACCOUNT, CounterPrefix.FIRST) == [1, 0]
    assert await seen(counters, AUTHOR, CounterPrefix.FIRST) == [0, 0], "named by one of ours"


async def test_a_wrong_verdict_is_taken_back_where_it_was_counted() -> None:
    counters = MemoryCounters()
    record_verdict(PIECES, SPAM, counters, now=NOON, prefix=CounterPrefix.OUT)
    record_verdict(PIECES, SPAM, counters, now=NOON)
    undo_verdict(PIECES.shingles, Action.SPAM, counters, NOON, CounterPrefix.OUT)
    assert await seen(counters, TEXT, CounterPrefix.OUT) == [1, 0]
    assert await seen(counters, TEXT, CounterPrefix.IN) == [1, 1]


async def test_who_sent_counts_messages_recipients_and_octets_of_what_is_taken() -> None:
    counters = MemoryCounters()
    account = HASHER.shingle(ShingleType.ACCOUNT, "ann")
    record_sent((account, TEXT), 700, 4321, counters, now=NOON)
    for subject in (account, TEXT):
        assert (await seen(counters, subject, CounterPrefix.SENT))[0] == 1
        assert (await seen(counters, subject, CounterPrefix.RECIPIENTS))[0] == 700
        assert (await seen(counters, subject, CounterPrefix.OCTETS))[0] == 4321
        assert (await seen(counters, subject, CounterPrefix.OUT))[0] == 0


@pytest.mark.parametrize(
    ("number", "paired"), [(3, 3), (9, 9), (500, 500), (3000, MAX_ACCOUNT_REACHED)]
)
def test_of_an_account_alone_each_recipient_is_a_pair(number: int, paired: int) -> None:
    recipients = tuple(f"r{each}@c.example" for each in range(number))
    envelope = Envelope(client=Client(ip="192.0.2.7"), login="ann", recipients=recipients)
    message = parse(b"From: Ann <ann@example.org>\r\n\r\nhttps://link.example/x\r\n")
    found = shingles(message, envelope, HASHER, who=ProvedIdentity(account="ann"))
    account = entity_recipients(HASHER, ShingleType.ACCOUNT, "ann")
    link = entity_recipients(HASHER, ShingleType.LINK_DOMAIN, "link.example")
    assert len({pair for pair in found.pairs if pair.distinct == account}) == paired
    assert len([pair for pair in found.pairs if pair.distinct == account]) == paired
    assert len([pair for pair in found.pairs if pair.distinct == link]) == min(number, MAX_REACHED)


def compiled(when: str) -> CompiledRules:
    return compile_rules([Rule(name="X", when=when, score=1.0)], SCHEMA)


async def facts_of(counters: MemoryCounters, rules: CompiledRules, *, own: bool) -> Facts:
    prefix = CounterPrefix.OUT if own else CounterPrefix.IN
    counts, faults = await read_counts(
        counters, PIECES.shingles, NOON, frozenset(), prefix, rules.across(prefix)
    )
    assert faults == ()
    return Facts(known=counts, client_own=own, outgoing=own)


@pytest.mark.parametrize(
    ("when", "own", "fires"),
    [
        ("count_in[Text].day.seen == 2", True, True),
        ("count_in[Text].day.seen == 2", False, True),
        ("count_out[Text].day.seen == 1", True, True),
        ("count_out[Text].day.seen == 1", False, True),
        ("count[Text].day.seen == 1", True, True),
        ("count[Text].day.seen == 2", False, True),
        ("count_in[Text].day.spam == 2 and count[Text].day.spam == 0", True, True),
        ("count_in[Text].day.ham == 0 and count_out[Text].day.ham == 1", True, True),
        ("count_in[Text].day.spam_share > count_out[Text].day.spam_share", False, True),
        ("rate(count_in[Text], 'day') > rate(count_out[Text], 'day')", True, True),
        ("trend(count_out[Text]) == trend(count[Text])", True, True),
        ("count_in[Subject].day.seen == 0", True, True),
    ],
)
async def test_rules_name_a_direction(when: str, own: bool, fires: bool) -> None:
    counters = MemoryCounters()
    for _ in range(2):
        record_verdict(PIECES, SPAM, counters, now=NOON)
    good = Verdict(action=Action.ACCEPT, score=0.0, line=100.0, decided_by="below-threshold")
    record_verdict(PIECES, good, counters, now=NOON, prefix=CounterPrefix.OUT)
    rules = compiled(when)
    hits, errors = rules.run(await facts_of(counters, rules, own=own), Stage.CONTENT)
    assert errors == []
    assert bool(hits) is fires


def test_the_other_direction_is_read_for_those_alone_that_rules_ask_for() -> None:
    rules = compiled("count_in[Text].day.seen > 1 and count_out[From].day.seen > 1")
    assert rules.across(CounterPrefix.OUT) == {ShingleType.TEXT}
    assert rules.across(CounterPrefix.IN) == {ShingleType.FROM}
    assert compiled("count[Text].day.seen > 1").across(CounterPrefix.OUT) == frozenset()


class OneWay(MemoryCounters):
    """Counters that answer for one direction alone."""

    async def read(
        self, shingles: object, now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[list[list[int]]]:
        if prefix is CounterPrefix.IN:
            raise StoreError("away")
        return await super().read(shingles, now, prefix)  # type: ignore[arg-type]


async def test_where_the_other_direction_does_not_answer_its_counts_are_none() -> None:
    rules = compiled("count_in[Text].day.seen == none and count[Text].day.seen == 0")
    counts, faults = await read_counts(
        OneWay(),
        PIECES.shingles,
        NOON,
        frozenset(),
        CounterPrefix.OUT,
        rules.across(CounterPrefix.OUT),
    )
    assert faults == ("counters: away",)
    hits, _ = rules.run(Facts(known=counts, client_own=True, outgoing=True), Stage.CONTENT)
    assert hits


def test_counts_of_a_second_look_keep_the_other_direction() -> None:
    first, second = MessageCounts(), MessageCounts()
    first.across = MessageCounts([TEXT], [[[1] * 6 for _ in Window]])
    assert first.joined(second).across is first.across
    assert second.joined(first).across is first.across


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("robotic(count_in[Text]) > 0.5", "the message's own direction"),
        ("count_in > 1", "count_in is written"),
        ("count_out.day > 1", "count_out is written"),
        ("count_in[Nothing].day.seen > 1", "unknown shingle type"),
        ("count_in[Text].day > 1", r"count_in\[Text\] needs a window"),
        ("count_by[Text].day.seen > 1", "only facts have attributes"),
    ],
)
def test_what_can_not_be_asked_is_refused(when: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        compiled(when)


@pytest.mark.parametrize(
    ("envelope", "prefix", "program"),
    [
        (LOGIN, CounterPrefix.OUT, False),
        (Envelope(client=Client(ip="127.0.0.1")), CounterPrefix.IN, True),
        (Envelope(client=Client(ip="::1")), CounterPrefix.IN, True),
        (Envelope(client=Client(ip="127.0.0.1"), login="ann"), CounterPrefix.OUT, False),
        (Envelope(client=Client(), login="www-data"), CounterPrefix.OUT, True),  # as Exim tells it
        (Envelope(client=Client(unknown=True), login="ann"), CounterPrefix.OUT, False),
        (Envelope(client=Client(ip="192.0.2.7"), login="ann"), CounterPrefix.OUT, False),
        (Envelope(client=Client(ip="10.1.2.3")), CounterPrefix.IN, False),
        (Envelope(client=Client(ip="192.0.2.7")), CounterPrefix.IN, False),
        (Envelope(client=Client(ip="192.0.2.7"), own=True), CounterPrefix.OUT, False),
        (Envelope(client=Client(ip="not an address")), CounterPrefix.IN, False),
        (Envelope(client=Client(unknown=True)), CounterPrefix.IN, False),
    ],
)
def test_whose_mail_goes_which_way(
    envelope: Envelope, prefix: CounterPrefix, program: bool
) -> None:
    assert direction(envelope) is prefix
    assert is_program(envelope) is program


def test_what_an_account_sent_is_known_by_its_pieces() -> None:
    assert direction_of_pieces([TEXT, ACCOUNT]) is CounterPrefix.OUT
    assert direction_of_pieces([TEXT, AUTHOR]) is CounterPrefix.IN
