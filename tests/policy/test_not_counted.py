"""An allow that did not count says so, and what would count.

Of the site's lists and of its readers', and only where it would have made a difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.authentication.model import AuthIdentity, AuthResult, DkimSignature, Dmarc, Spf
from oborona.counters.memory import MemoryCounters
from oborona.message.shingles import Hasher
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.local_list_match import NOT_COUNTED, uncounted_allows
from oborona.policy.scan import ScanSite, scan
from oborona.reputation.locallists import ListAction, LocalList, LocalLists, entries
from oborona.reputation.personal import EntryAction, PersonalEntryKind, PersonalProfile, entry
from oborona.reputation.subject import ListSubject
from oborona.types import Client, Envelope, RuleMode

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
    of: ListSubject,
    text: str,
    action: ListAction = ListAction.ALLOW,
    mode: RuleMode = RuleMode.LIVE,
) -> LocalLists:
    one = LocalList(name="FRIENDS", action=action, of=(of,), tables=(entries([text]),), mode=mode)
    return LocalLists([one])


NOBODY_PROVED = AuthIdentity()


def told(
    lists: LocalLists, identity: AuthIdentity = NOBODY_PROVED, envelope: Envelope = WHO
) -> list[str]:
    return [
        one.evidence for one in uncounted_allows(lists, envelope, identity, "maria@client.example")
    ]


def test_it_says_which_entry_what_was_proved_and_what_would_count() -> None:
    assert told(listed(ListSubject.FROM, "maria@client.example")) == [TOLD]
    soft = AuthIdentity(
        spf=Spf(result=AuthResult.SOFTFAIL),
        dkim=(DkimSignature(result=AuthResult.FAIL, domain="client.example"),),
    )
    (sender,) = told(listed(ListSubject.SENDER, "@client.example"), soft)
    assert sender == (
        "FRIENDS has @client.example, not counted: nobody proved it (spf=softfail); allow "
        "client 198.51.100.66"
    )
    (author,) = told(listed(ListSubject.FROM, "client.example"), soft)
    assert "(spf=softfail, dkim=fail, dmarc=none)" in author
    (without,) = told(
        listed(ListSubject.HELO, "x.client.example"), envelope=Envelope(helo="x.client.example")
    )
    assert without.endswith("(spf=none)"), "nobody is there to be allowed"


@pytest.mark.parametrize(
    ("lists", "identity"),
    [
        (LocalLists(), AuthIdentity()),
        (listed(ListSubject.FROM, "eve@client.example"), AuthIdentity()),
        (listed(ListSubject.FROM, "maria@client.example", ListAction.DENY), AuthIdentity()),
        (listed(ListSubject.FROM, "maria@client.example", mode=RuleMode.SHADOW), AuthIdentity()),
        (listed(ListSubject.CLIENT, "198.51.100.66"), AuthIdentity()),
        (
            listed(ListSubject.SENDER, "maria@client.example"),
            AuthIdentity(spf=Spf(result=AuthResult.PASS)),
        ),
        (
            listed(ListSubject.FROM, "maria@client.example"),
            AuthIdentity(dmarc=Dmarc(domain="client.example", dkim_aligned=True)),
        ),
    ],
    ids=["no list", "another", "deny", "on trial", "client", "proved by SPF", "proved by DKIM"],
)
def test_it_is_silent_where_nothing_was_passed_over(
    lists: LocalLists, identity: AuthIdentity
) -> None:
    assert told(lists, identity) == []


def test_a_signature_of_part_of_the_text_is_said_to_be_that() -> None:
    part = DkimSignature(result=AuthResult.PASS, domain="client.example", unsigned=9)
    identity = AuthIdentity(dkim=(part,), dmarc=Dmarc(domain="client.example", dkim_aligned=True))
    (line,) = told(listed(ListSubject.FROM, "maria@client.example"), identity)
    assert "the DKIM signature leaves out part of the text" in line


class _Persons:
    async def of(self, address: str) -> PersonalProfile:
        allowed = entry(
            EntryAction.ALLOW, PersonalEntryKind.ADDRESS, "maria@client.example", time=1.0
        )
        return PersonalProfile(address, 1.0, [allowed])


@pytest.mark.parametrize(("score", "known"), [(150, True), (250, True), (50, False)])
async def test_a_scan_carries_it_where_the_message_was_not_accepted(
    tmp_path: Path, score: int, known: bool
) -> None:
    (tmp_path / "10.toml").write_text(WORDS.replace("SCORE", str(score)) + FRIENDS)
    policy = load_policy(tmp_path, SCHEMA)
    site = ScanSite(
        name="mx.b.example", hasher=Hasher(b"k" * 32), counters=MemoryCounters(), persons=_Persons()
    )
    result = await scan(LETTER, WHO, site, policy, NoInquiry(), now=2.0)
    found = [one.evidence for one in result.verdict.findings if one.name == NOT_COUNTED]
    theirs = TOLD.replace("FRIENDS", "the list of ann@b.example")
    assert found == ([TOLD, theirs] if known else [])
    assert result.verdict.score == score, "it decides nothing"
