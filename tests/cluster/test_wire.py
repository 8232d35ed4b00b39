"""Names of places: nodes, slots, tags, pages; and what nodes say about them."""

from __future__ import annotations

import hiredis
import pytest

from oborona.counters.cluster.layout import (
    FIELD_BYTES,
    SLOT_OF_TAG,
    SLOTS,
    TAGS,
    WORDS,
    field_of,
    page_of,
)
from oborona.counters.cluster.wire import (
    ClusterAccess,
    NodeAddress,
    SlotMap,
    members,
    redirect,
    tells_old_map,
)
from oborona.counters.record import key_of
from oborona.errors import StoreError
from oborona.types import CounterPrefix, Shingle
from tests.peers.redis import Cluster

ASKED = NodeAddress("192.0.2.1", 6379)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:7000", NodeAddress("127.0.0.1", 7000)),
        ("[::1]:7000", NodeAddress("::1", 7000)),
        ("node.example:1", NodeAddress("node.example", 1)),
    ],
)
def test_an_address_is_read_and_written_alike(text: str, address: NodeAddress) -> None:
    assert NodeAddress.parse(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text", ["", "7000", "host", "host:", ":7000", "host:0", "host:65536", "host:x"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        NodeAddress.parse(text)


def test_the_map_says_who_has_which_slot() -> None:
    told = [
        [0, 99, [b"192.0.2.2", 7000, b"id"], [b"192.0.2.3", 7000, b"id"]],
        [100, 200, [None, 7001, b"id"]],
    ]
    cluster = SlotMap.parse(told, ASKED)
    assert cluster.owners[99] == NodeAddress("192.0.2.2", 7000)
    assert cluster.owners[200] == NodeAddress("192.0.2.1", 7001)
    assert cluster.owners[201] is None
    assert cluster.nodes() == [NodeAddress("192.0.2.2", 7000), NodeAddress("192.0.2.1", 7001)]


def test_a_server_that_is_no_cluster_has_every_slot() -> None:
    error = hiredis.ReplyError("ERR This instance has cluster support disabled")
    assert SlotMap.parse(error, ASKED).owners == [ASKED] * SLOTS


@pytest.mark.parametrize(
    "told", [None, 7, b"no", [[1]], [[0, 1, [b"a"]]], hiredis.ReplyError("LOADING")]
)
def test_what_is_no_map_is_refused(told: object) -> None:
    with pytest.raises(StoreError, match="does not tell its slots"):
        SlotMap.parse(told, ASKED)


def test_moved_is_for_good_and_ask_for_once() -> None:
    moved = redirect(hiredis.ReplyError("MOVED 3999 192.0.2.9:6381"), ASKED)
    ask = redirect(hiredis.ReplyError("ASK 3999 :6381"), ASKED)
    assert moved is not None
    assert ask is not None
    assert (moved.for_good, moved.slot, moved.address) == (
        True,
        3999,
        NodeAddress("192.0.2.9", 6381),
    )
    assert (ask.for_good, ask.address) == (False, NodeAddress("192.0.2.1", 6381))
    assert redirect(hiredis.ReplyError("ERR no"), ASKED) is None


@pytest.mark.parametrize(
    "said",
    [
        "MOVED x 192.0.2.9:6381",
        "MOVED 3999 192.0.2.9",
        "ASK 3999 a:b",
        "MOVED 16384 a:1",
        "MOVED -1 a:1",
        "ASK 1 a:0",
    ],
)
def test_a_redirection_to_nowhere_is_an_error_like_others(said: str) -> None:
    assert redirect(hiredis.ReplyError(said), ASKED) is None


@pytest.mark.parametrize(
    "told",
    [
        [[0, 10**12, [b"192.0.2.9", 6379]]],
        [[5, 4, [b"192.0.2.9", 6379]]],
        [[-1, 4, [b"192.0.2.9", 6379]]],
        [[0, 4, [b"192.0.2.9", 0]]],
        [[0, 4, [b"192.0.2.9", "x"]]],
        [[0, 4, [7, 6379]]],
    ],
)
def test_slots_that_no_cluster_has_are_no_map(told: object) -> None:
    for read in (SlotMap.parse, members):
        with pytest.raises(StoreError, match="does not tell its slots"):
            read(told, ASKED)


def test_some_errors_say_that_another_node_may_answer() -> None:
    assert tells_old_map(
        hiredis.ReplyError("READONLY You can't write against a read only replica.")
    )
    assert tells_old_map(hiredis.ReplyError("CLUSTERDOWN The cluster is down"))
    assert not tells_old_map(
        hiredis.ReplyError("TRYAGAIN Multiple keys request during rehashing of slot")
    )


def test_each_tag_has_its_part_of_the_slots(three_primaries: Cluster) -> None:
    assert len(set(WORDS)) == TAGS
    assert [slot * TAGS // SLOTS for slot in SLOT_OF_TAG] == list(range(TAGS))
    for word, slot in zip(WORDS, SLOT_OF_TAG, strict=True):
        assert (
            three_primaries.nodes[0].ask("CLUSTER", "KEYSLOT", b"{" + word + b"}\x00\xff") == slot
        )


def test_page_and_field_together_are_the_key() -> None:
    found = set()
    for number in range(1 << 12):
        for place in (0, 12, 24, 40, 52):
            key = key_of(Shingle(8, number << place), CounterPrefix.IN)
            assert len(field_of(key)) == FIELD_BYTES
            found.add((key, page_of(key), field_of(key)))
    assert len({(page, field) for _key, page, field in found}) == len(
        {key for key, _page, _field in found}
    )


def test_certificates_that_are_not_there_are_an_error() -> None:
    with pytest.raises(StoreError, match="certificates in /nowhere"):
        ClusterAccess(nodes=(ASKED,), authority="/nowhere").tls()
