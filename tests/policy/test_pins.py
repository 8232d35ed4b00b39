"""What an analyst says of an address stands above its past, at connect already, whatever the
counters can tell.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.counters.memory import MemoryCounters
from oborona.errors import StoreError
from oborona.message.shingles import Hasher, ShingleType, envelope_shingles
from oborona.policy.envelope_stages import check_envelope
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.history import REPIP_BAD
from oborona.policy.load import load_policy
from oborona.policy.ports import Totals
from oborona.policy.reputation_facts import pins_of
from oborona.policy.scan import ScanSite, scan
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import Pin, PinTable
from oborona.types import Action, Amounts, Client, CounterPrefix, Envelope, Shingle, Stage, Verdict

NOW = 1_795_170_000.0
HASHER = Hasher(b"k" * 32)
IP, NETWORK = (ShingleType.CLIENT_IP, "9.10.11.12"), (ShingleType.CLIENT_NETWORK, "9.10.11.0/24")
CLIENT = Envelope(client=Client(ip="9.10.11.12", name="mail.a.example"))
BAD = Amounts(seen=50, spam=50)
LETTER = b"From: ann@a.example\r\nTo: bob@b.example\r\nSubject: lunch\r\n\r\nat noon\r\n"


class Away(MemoryCounters):
    """A store that does not answer."""

    async def read(
        self, shingles: object, now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> Totals:
        raise StoreError("away")


def pin(of: tuple[ShingleType, str], flag: ReputationFlag, until: float = 0.0) -> Pin:
    shingle: Shingle = HASHER.shingle(*of)
    return Pin(shingle.type, shingle.hash, of[1], flag, "says so", "anna", NOW - 60, until)


async def at_connect(
    folder: Path, *pins: Pin, counters: MemoryCounters, text: str = "", envelope: Envelope = CLIENT
) -> Verdict:
    (folder / "10.toml").write_text(f"[verdict]\nreject_score = 200\n{text}")
    site = ScanSite(name="mx.test", hasher=HASHER, counters=counters, pins=PinTable(pins))
    policy = load_policy(folder, SCHEMA)
    return (
        await check_envelope(envelope, Stage.CONNECT, site, policy, NoInquiry(), now=NOW)
    ).verdict


def remembered(amounts: Amounts) -> MemoryCounters:
    counters = MemoryCounters()
    counters.add(envelope_shingles(CLIENT, HASHER), amounts, NOW)
    return counters


@pytest.mark.parametrize(
    ("pins", "past", "refused"),
    [
        ((), BAD, True),
        ((pin(IP, ReputationFlag.GOOD),), BAD, False),
        ((pin(IP, ReputationFlag.UNKNOWN),), BAD, False),
        ((pin(IP, ReputationFlag.POOR),), BAD, False),
        ((pin(IP, ReputationFlag.GOOD, until=NOW),), BAD, True),
        ((pin(IP, ReputationFlag.BAD),), Amounts(seen=500), True),
        ((pin(IP, ReputationFlag.BAD, until=NOW),), Amounts(seen=500), False),
        ((pin(NETWORK, ReputationFlag.BAD),), Amounts(seen=500), True),
        (
            (pin(NETWORK, ReputationFlag.BAD), pin(IP, ReputationFlag.GOOD)),
            Amounts(seen=500),
            False,
        ),
        ((pin(NETWORK, ReputationFlag.GOOD), pin(IP, ReputationFlag.BAD)), Amounts(seen=500), True),
    ],
)
async def test_a_pin_stands_above_the_past_and_that_of_the_address_above_that_of_its_network(
    tmp_path: Path, pins: tuple[Pin, ...], past: Amounts, refused: bool
) -> None:
    verdict = await at_connect(tmp_path, *pins, counters=remembered(past))
    assert verdict.action is (Action.REJECT if refused else Action.ACCEPT)
    if refused and pins and not pins[-1].expired(NOW):
        assert verdict.decided_by == REPIP_BAD
        assert "set to bad by anna: says so" in verdict.rules[0].say


async def test_a_pin_holds_while_the_counters_are_away(tmp_path: Path) -> None:
    verdict = await at_connect(tmp_path, pin(IP, ReputationFlag.BAD), counters=Away())
    assert verdict.decided_by == REPIP_BAD
    site = ScanSite(
        name="mx.test", hasher=HASHER, counters=Away(), pins=PinTable([pin(IP, ReputationFlag.BAD)])
    )
    policy = load_policy(tmp_path, SCHEMA)
    result = await scan(LETTER, CLIENT, site, policy, NoInquiry(), now=NOW)
    assert result.facts.repip_flag == "bad"


async def test_lists_of_the_policy_and_our_own_people_come_first(tmp_path: Path) -> None:
    allow = (
        '[[local_list]]\nname = "OURS"\naction = "allow"\nof = ["client"]\nentries = '
        '["9.10.11.12"]\n'
    )
    counters = remembered(Amounts())
    verdict = await at_connect(tmp_path, pin(IP, ReputationFlag.BAD), counters=counters, text=allow)
    assert (verdict.action, verdict.decided_by) == (Action.ACCEPT, "OURS")
    own = msgspec.structs.replace(CLIENT, own=True)
    verdict = await at_connect(
        tmp_path, pin(IP, ReputationFlag.BAD), counters=counters, envelope=own
    )
    assert verdict.action is Action.ACCEPT


async def test_refusing_is_the_policy_s_to_switch_off(tmp_path: Path) -> None:
    counters = remembered(Amounts())
    off = '[repip]\nbad = "none"\n'
    verdict = await at_connect(tmp_path, pin(IP, ReputationFlag.BAD), counters=counters, text=off)
    assert verdict.action is Action.ACCEPT


@given(st.sets(st.integers(0, 30)), st.lists(st.integers(0, 30), max_size=12))
def test_one_look_for_all_finds_what_a_look_for_each_finds(
    pinned: set[int], asked: list[int]
) -> None:
    """No pin is missed by the short way, and a book without pins has none of anything."""
    book = PinTable(
        Pin(type=9, hash=one, name="", flag=ReputationFlag.BAD, reason="x", by="ann", since=0.0)
        for one in pinned
    )
    shingles = tuple(Shingle(9, one) for one in asked)
    assert book.none_of(shingles) is all(book.of(one, 1.0) is None for one in shingles)
    found = pins_of(tuple(dict.fromkeys(shingles)), book, 1.0)
    assert len(found.get(9, {})) == len(pinned & set(asked))
