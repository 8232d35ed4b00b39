"""Who sent a message, as far as it was proved: what is believed, and what a forger gains."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.authentication.model import Arc, Dmarc, Identity, Result, Signature, Spf
from oborona.authentication.proved import proved
from oborona.types import Client, Envelope, Proved

ANN = "Ann@Mail.A.Example"
FROM_A = ("mail.a.example",)
ENVELOPE = Envelope(client=Client(ip="9.1.1.1"), sender="bounce-7@B.example")
SPF = Identity(
    spf=Spf(result=Result.PASS, domain="b.example"), dmarc=Dmarc(domain="mail.a.example")
)
DMARC = msgspec.structs.replace(
    SPF,
    dmarc=Dmarc(
        result=Result.PASS, domain="mail.a.example", organisational="a.example", dkim_aligned=True
    ),
)
SIGNED = msgspec.structs.replace(DMARC, dkim=(Signature(result=Result.PASS, domain="a.example"),))


def test_a_signature_over_the_whole_text_proves_the_author() -> None:
    assert proved(SIGNED, ENVELOPE, ANN, FROM_A) == Proved(
        author="ann@mail.a.example", author_domain="a.example", sender="bounce-7@b.example"
    )


def test_alignment_without_a_record_is_proof_enough() -> None:
    bare = Identity(
        spf=Spf(result=Result.PASS, domain="a.example"),
        dmarc=Dmarc(domain="mail.a.example", spf_aligned=True),
    )
    assert proved(bare, ENVELOPE, ANN, FROM_A).author == "ann@mail.a.example"


def test_what_somebody_else_proves_of_himself_says_nothing_of_from() -> None:
    """A forger has SPF and DKIM of his own; they are his."""
    forged = msgspec.structs.replace(SPF, dkim=(Signature(result=Result.PASS, domain="b.example"),))
    assert proved(forged, ENVELOPE, ANN, FROM_A) == Proved(sender="bounce-7@b.example")


def test_a_tail_that_nobody_signed_takes_the_proof_away() -> None:
    tail = msgspec.structs.replace(
        DMARC, dkim=(Signature(result=Result.PASS, domain="a.example", unsigned=1),)
    )
    assert not proved(tail, ENVELOPE, ANN, FROM_A).author
    both = msgspec.structs.replace(
        tail,
        spf=Spf(result=Result.PASS, domain="mail.a.example"),
        dmarc=msgspec.structs.replace(tail.dmarc, spf_aligned=True),
    )
    assert proved(both, ENVELOPE, ANN, FROM_A).author, "SPF needs no signature"


def test_a_name_below_a_domain_does_not_answer_for_it() -> None:
    """Whoever was given a name below somebody's domain proves that name: relaxed alignment, which
    DMARC has, would make him the owner.
    """
    dmarc = Dmarc(
        result=Result.PASS,
        domain="mail.a.example",
        organisational="a.example",
        spf_aligned=True,
        dkim_aligned=True,
    )
    for below in ("evil.mail.a.example", "evil.a.example", "xmail.a.example"):
        signed = (
            Signature(result=Result.PASS, domain=below),
            Signature(result=Result.FAIL, domain="a.example"),
        )
        lent = Identity(spf=Spf(result=Result.PASS, domain=below), dkim=signed, dmarc=dmarc)
        assert not proved(lent, ENVELOPE, ANN, FROM_A).author, below


def test_each_signature_is_looked_at_by_itself() -> None:
    """A good signature of somebody below lends its whole text to nobody."""
    signed = (
        Signature(result=Result.PASS, domain="a.example", unsigned=7),
        Signature(result=Result.PASS, domain="evil.a.example"),
    )
    assert not proved(msgspec.structs.replace(DMARC, dkim=signed), ENVELOPE, ANN, FROM_A).author


def test_two_domains_in_from_have_no_author() -> None:
    assert not proved(SIGNED, ENVELOPE, ANN, ("mail.a.example", "evil.example")).author


def test_the_domain_that_dmarc_looked_at_is_the_authors() -> None:
    assert not proved(SIGNED, ENVELOPE, "ann@evil.example", ("evil.example",)).author
    assert not proved(SIGNED, ENVELOPE, "ann@a.example", ("a.example",)).author, (
        "not even its organisation's"
    )


def test_a_trusted_sealer_is_believed_about_the_domain_he_names() -> None:
    sealed = Identity(
        dmarc=Dmarc(result=Result.FAIL, domain="mail.a.example"),
        arc=Arc(
            result=Result.PASS,
            trusted="lists.example",
            dmarc=Result.PASS,
            dmarc_domain="mail.a.example",
        ),
    )
    assert proved(sealed, ENVELOPE, ANN, FROM_A).author == "ann@mail.a.example"
    for arc in (
        msgspec.structs.replace(sealed.arc, trusted=""),
        msgspec.structs.replace(sealed.arc, dmarc=Result.FAIL),
        msgspec.structs.replace(sealed.arc, dmarc_domain=""),
        msgspec.structs.replace(sealed.arc, dmarc_domain="other.example"),
    ):
        assert not proved(msgspec.structs.replace(sealed, arc=arc), ENVELOPE, ANN, FROM_A).author


@pytest.mark.parametrize(
    ("spf", "sender"),
    [
        (Spf(result=Result.PASS, domain="b.example"), ""),
        (Spf(result=Result.SOFTFAIL, domain="b.example"), "x@b.example"),
        (Spf(result=Result.PASS, domain="mail.b.example"), "x@b.example"),
        (Spf(result=Result.PASS, domain=""), "root"),
    ],
    ids=["a bounce", "no pass", "another domain", "no domain"],
)
def test_a_sender_who_is_not_proved(spf: Spf, sender: str) -> None:
    assert proved(Identity(spf=spf), msgspec.structs.replace(ENVELOPE, sender=sender)).sender == ""


def test_a_login_is_an_account() -> None:
    assert proved(Identity(), msgspec.structs.replace(ENVELOPE, login="Bob")) == Proved(
        account="bob"
    )


@given(st.text(max_size=40), st.text(max_size=40), st.lists(st.text(max_size=20), max_size=2))
def test_nothing_is_proved_of_anything_where_nothing_passed(
    author: str, sender: str, domains: list[str]
) -> None:
    envelope = msgspec.structs.replace(ENVELOPE, sender=sender)
    assert proved(Identity(), envelope, author, domains) == Proved()


@given(st.text(max_size=40))
def test_any_author_beside_a_proof_is_himself_or_nobody(author: str) -> None:
    found = proved(SIGNED, ENVELOPE, author, FROM_A).author
    assert found == "" or found.rpartition("@")[2] == "mail.a.example"
