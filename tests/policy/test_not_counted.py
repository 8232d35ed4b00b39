"""An allow that did not count says so, and what would count.

Of the site's lists and of its readers', and only where it would have made a difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.authentication.model import Dmarc, Identity, Result, Signature, Spf
from oborona.counters.memory import MemoryCounters
from oborona.message.shingles import Hasher
from oborona.policy.evidence import Silence
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.local import NOT_COUNTED, uncounted
from oborona.policy.scan import Site, scan
from oborona.reputation.locallists import ListAction, LocalList, LocalLists, entries
from oborona.reputation.personal import Kind, Personal, Side, entry
from oborona.reputation.subject import Subject
from oborona.types import Client, Envelope, Mode

WHO = Envelope(
    client=Client(ip="198.51.100.66"),
    helo="x",
    sender="maria@client.example",
    recipients=("ann@b.example",),
)
LETTER = (
    b"From: Maria <maria@client.example>\r\nTo: ann@b.example\r\nSubject: you "
    b"won\r\n\r\nlottery\r\n"
)
FRIENDS = (
    '[[local_list]]\nname = "FRIENDS"\naction = "allow"\nof = ["from"]\nentries = '
    '["maria@client.example"]\n'
)
WORDS = (
    '[verdict]\nspam_score = 100\nreject_score = 200\n[[rule]]\nname = "WORDS"\nwhen = '
    "\"contains(text, 'lottery')\"\nscore = SCORE\n"
)
TOLD = (
    "FRIENDS has maria@client.example, not counted: nobody proved it (spf=none, dkim=none, "
    "dmarc=none); allow client 198.51.100.66"
)


def listed(
    of: Subject, text: str, action: ListAction = ListAction.ALLOW, mode: Mode = Mode.LIVE
) -> LocalLists:
    one = LocalList(name="FRIENDS", action=action, of=(of,), tables=(entries([text]),), mode=mode)
    return LocalLists([one])


def told(lists: LocalLists, identity: Identity = Identity(), envelope: Envelope = WHO) -> list[str]:  # noqa: B008
    return [one.evidence for one in uncounted(lists, envelope, identity, "maria@client.example")]


def test_it_says_which_entry_what_was_proved_and_what_would_count() -> None:
    assert told(listed(Subject.FROM, "maria@client.example")) == [TOLD]
    soft = Identity(
        spf=Spf(result=Result.SOFTFAIL),
        dkim=(Signature(result=Result.FAIL, domain="client.example"),),
    )
    (sender,) = told(listed(Subject.SENDER, "@client.example"), soft)
    assert sender == (
        "FRIENDS has @client.example, not counted: nobody proved it (spf=softfail); allow "
        "client 198.51.100.66"
    )
    (author,) = told(listed(Subject.FROM, "client.example"), soft)
    assert "(spf=softfail, dkim=fail, dmarc=none)" in author
    (without,) = told(
        listed(Subject.HELO, "x.client.example"), envelope=Envelope(helo="x.client.example")
    )
    assert without.endswith("(spf=none)"), "nobody is there to be allowed"


@pytest.mark.parametrize(
    ("lists", "identity"),
    [
        (LocalLists(), Identity()),
        (listed(Subject.FROM, "eve@client.example"), Identity()),
        (listed(Subject.FROM, "maria@client.example", ListAction.DENY), Identity()),
        (listed(Subject.FROM, "maria@client.example", mode=Mode.SHADOW), Identity()),
        (listed(Subject.CLIENT, "198.51.100.66"), Identity()),
        (listed(Subject.SENDER, "maria@client.example"), Identity(spf=Spf(result=Result.PASS))),
        (
            listed(Subject.FROM, "maria@client.example"),
            Identity(dmarc=Dmarc(domain="client.example", dkim_aligned=True)),
        ),
    ],
    ids=["no list", "another", "deny", "on trial", "client", "proved by SPF", "proved by DKIM"],
)
def test_it_is_silent_where_nothing_was_passed_over(lists: LocalLists, identity: Identity) -> None:
    assert told(lists, identity) == []


def test_a_signature_of_part_of_the_text_is_said_to_be_that() -> None:
    part = Signature(result=Result.PASS, domain="client.example", unsigned=9)
    identity = Identity(dkim=(part,), dmarc=Dmarc(domain="client.example", dkim_aligned=True))
    (line,) = told(listed(Subject.FROM, "maria@client.example"), identity)
    assert "the DKIM signature leaves out part of the text" in line


class _Persons:
    async def of(self, address: str) -> Personal:
        allowed = entry(Side.ALLOW, Kind.ADDRESS, "maria@client.example", time=1.0)
        return Personal(address, 1.0, [allowed])


@pytest.mark.parametrize(("score", "known"), [(150, True), (250, True), (50, False)])
async def test_a_scan_carries_it_where_the_message_was_not_accepted(
    tmp_path: Path, score: int, known: bool
) -> None:
    (tmp_path / "10.toml").write_text(WORDS.replace("SCORE", str(score)) + FRIENDS)
    policy = load_policy(tmp_path, SCHEMA)
    site = Site(
        name="mx.b.example", hasher=Hasher(b"k" * 32), counters=MemoryCounters(), persons=_Persons()
    )
    result = await scan(LETTER, WHO, site, policy, Silence(), now=2.0)
    found = [one.evidence for one in result.verdict.findings if one.name == NOT_COUNTED]
    theirs = TOLD.replace("FRIENDS", "the list of ann@b.example")
    assert found == ([TOLD, theirs] if known else [])
    assert result.verdict.score == score, "it decides nothing"
