"""The site's own lists: who decides first, and whose word is believed."""

from __future__ import annotations

import pytest

from oborona.authentication.model import AuthIdentity, AuthResult, DkimSignature, Dmarc, Spf
from oborona.policy.local_list_match import match_local_lists, shadow_matches
from oborona.reputation.locallists import ListAction, LocalList, LocalLists, entries
from oborona.reputation.subject import ListSubject
from oborona.types import Client, Envelope, RuleMode, Stage

WHO = Envelope(
    client=Client(ip="198.51.100.7", name="mx.a.example"), helo="mx.a.example", sender="ann@a.example",
    recipients=("bob@b.example", "eve@b.example"),
)  # fmt: skip


def lists(
    *given: tuple[str, ListAction, ListSubject, str], mode: RuleMode = RuleMode.LIVE
) -> LocalLists:
    return LocalLists(
        [LocalList(name=name, action=action, of=(of,), tables=(entries([entry]),), mode=mode) for name, action, of, entry in given]
    )  # fmt: skip


ALLOW, DENY = ListAction.ALLOW, ListAction.DENY


def test_without_lists_nothing_decides() -> None:
    assert match_local_lists(LocalLists(), WHO, Stage.CONTENT) is None


def test_what_is_told_first_decides() -> None:
    both = lists(
        ("A", ALLOW, ListSubject.CLIENT, "198.51.100.0/24"),
        ("D", DENY, ListSubject.SENDER, "a.example"),
    )
    found = match_local_lists(both, WHO, Stage.SENDER)
    assert found is not None
    assert (found.list, found.action, found.entry) == ("A", ALLOW, "198.51.100.0/24")


def test_a_subject_is_looked_at_from_its_stage_on() -> None:
    sender = lists(("D", DENY, ListSubject.SENDER, "@a.example"))
    assert match_local_lists(sender, WHO, Stage.CONNECT) is None
    assert match_local_lists(sender, WHO, Stage.SENDER) is not None
    author = lists(("D", DENY, ListSubject.FROM, "ceo@b.example"))
    assert match_local_lists(author, WHO, Stage.RECIPIENT, author="ceo@b.example") is None
    assert match_local_lists(author, WHO, Stage.CONTENT, author="ceo@b.example") is not None


def test_a_sender_is_let_in_only_when_it_was_proved_and_kept_out_by_any_word() -> None:
    allow = lists(("A", ALLOW, ListSubject.SENDER, "ann@a.example"))
    assert match_local_lists(allow, WHO, Stage.CONTENT) is None
    assert (
        match_local_lists(
            allow, WHO, Stage.CONTENT, AuthIdentity(spf=Spf(result=AuthResult.SOFTFAIL))
        )
        is None
    )
    assert (
        match_local_lists(allow, WHO, Stage.CONTENT, AuthIdentity(spf=Spf(result=AuthResult.PASS)))
        is not None
    )
    helo = lists(("A", ALLOW, ListSubject.HELO, "mx.a.example"))
    assert match_local_lists(helo, WHO, Stage.SENDER) is None
    assert (
        match_local_lists(
            helo, WHO, Stage.SENDER, AuthIdentity(spf_helo=Spf(result=AuthResult.PASS))
        )
        is not None
    )
    author = lists(("A", ALLOW, ListSubject.FROM, "ann@a.example"))
    assert match_local_lists(author, WHO, Stage.CONTENT, author="ann@a.example") is None
    aligned = AuthIdentity(dmarc=Dmarc(domain="a.example", dkim_aligned=True))
    assert match_local_lists(author, WHO, Stage.CONTENT, aligned, "ann@a.example") is not None
    assert (
        match_local_lists(lists(("A", ALLOW, ListSubject.RDNS, ".a.example")), WHO, Stage.CONNECT)
        is not None
    )


@pytest.mark.parametrize(
    ("dmarc", "unsigned", "believed"),
    [
        (Dmarc(domain="xn--e1afmkfd.example", dkim_aligned=True), 0, True),
        (Dmarc(domain="xn--e1afmkfd.example", spf_aligned=True), 9, True),
        (Dmarc(domain="xn--e1afmkfd.example", dkim_aligned=True), 9, False),
        (Dmarc(domain="evil.example", spf_aligned=True), 0, False),
        (Dmarc(domain="evil.example", dkim_aligned=True), 0, False),
        (Dmarc(domain="xn--e1afmkfd.example"), 0, False),
        (Dmarc(), 0, False),
    ],
    ids=[
        "signed",
        "sent",
        "signed in part",
        "another's, sent",
        "another's, signed",
        "not",
        "nothing",
    ],
)
def test_an_author_is_believed_only_for_his_own_domain_and_all_of_his_text(
    dmarc: Dmarc, unsigned: int, believed: bool
) -> None:
    author = "ann@пример.example"
    allow = lists(("A", ALLOW, ListSubject.FROM, author))
    shadow = lists(("A", ALLOW, ListSubject.FROM, author), mode=RuleMode.SHADOW)
    signature = DkimSignature(
        result=AuthResult.PASS, domain="xn--e1afmkfd.example", unsigned=unsigned
    )
    identity = AuthIdentity(dmarc=dmarc, dkim=(signature,))
    assert (match_local_lists(allow, WHO, Stage.CONTENT, identity, author) is not None) is believed
    assert bool(shadow_matches(shadow, WHO, Stage.CONTENT, identity, author)) is believed
    deny = lists(("D", DENY, ListSubject.FROM, author))
    assert match_local_lists(deny, WHO, Stage.CONTENT, identity, author) is not None


def test_who_has_no_domain_of_the_dns_is_not_believed() -> None:
    allow = lists(("A", ALLOW, ListSubject.FROM, "ann@office"))
    for dmarc in (Dmarc(spf_aligned=True), Dmarc(domain="evil.example", spf_aligned=True)):
        assert (
            match_local_lists(allow, WHO, Stage.CONTENT, AuthIdentity(dmarc=dmarc), "ann@office")
            is None
        )


def test_a_recipient_is_the_one_asked_about_and_a_message_needs_all_of_them() -> None:
    eve = lists(("A", ALLOW, ListSubject.RECIPIENT, "eve@b.example"))
    assert match_local_lists(eve, WHO, Stage.RECIPIENT) is not None
    assert match_local_lists(eve, WHO, Stage.CONTENT) is None
    house = lists(("A", ALLOW, ListSubject.RECIPIENT, "b.example"))
    assert match_local_lists(house, WHO, Stage.CONTENT) is not None
    assert match_local_lists(house, Envelope(client=WHO.client), Stage.CONTENT) is None, (
        "no recipient is on no list"
    )


def test_a_list_in_shadow_is_told_and_decides_nothing() -> None:
    shadow = lists(("D", DENY, ListSubject.CLIENT, "198.51.100.7"), mode=RuleMode.SHADOW)
    assert match_local_lists(shadow, WHO, Stage.CONTENT) is None
    (hit,) = shadow_matches(shadow, WHO, Stage.CONTENT)
    assert (hit.name, hit.score, hit.mode) == ("D", 0.0, RuleMode.SHADOW)
    assert hit.say == "would deny 198.51.100.7"
    assert (
        shadow_matches(lists(("D", DENY, ListSubject.CLIENT, "198.51.100.7")), WHO, Stage.CONTENT)
        == []
    )
