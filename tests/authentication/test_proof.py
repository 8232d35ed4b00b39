"""Who sent a message, as far as it was proved: what is believed, and what a forger gains."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.authentication.model import Arc, AuthIdentity, AuthResult, DkimSignature, Dmarc, Spf
from oborona.authentication.proof import prove_sender
from oborona.types import Client, Envelope, ProvedIdentity

ANN = "Ann@Mail.A.Example"
FROM_A = ("mail.a.example",)
ENVELOPE = Envelope(client=Client(ip="9.1.1.1"), sender="bounce-7@B.example")
SPF = AuthIdentity(
    spf=Spf(result=AuthResult.PASS, domain="b.example"), dmarc=Dmarc(domain="mail.a.example")
)
DMARC = msgspec.structs.replace(
    SPF,
    dmarc=Dmarc(
        result=AuthResult.PASS,
        domain="mail.a.example",
        organisational="a.example",
        dkim_aligned=True,
    ),
)
SIGNED = msgspec.structs.replace(
    DMARC, dkim=(DkimSignature(result=AuthResult.PASS, domain="a.example"),)
)


def test_a_signature_over_the_whole_text_proves_the_author() -> None:
    assert prove_sender(SIGNED, ENVELOPE, ANN, FROM_A) == ProvedIdentity(
        author="ann@mail.a.example", author_domain="a.example", sender="bounce-7@b.example"
    )


def test_alignment_without_a_record_is_proof_enough() -> None:
    bare = AuthIdentity(
        spf=Spf(result=AuthResult.PASS, domain="a.example"),
        dmarc=Dmarc(domain="mail.a.example", spf_aligned=True),
    )
    assert prove_sender(bare, ENVELOPE, ANN, FROM_A).author == "ann@mail.a.example"


def test_what_somebody_else_proves_of_himself_says_nothing_of_from() -> None:
    """A forger has SPF and DKIM of his own; they are his."""
    forged = msgspec.structs.replace(
        SPF, dkim=(DkimSignature(result=AuthResult.PASS, domain="b.example"),)
    )
    assert prove_sender(forged, ENVELOPE, ANN, FROM_A) == ProvedIdentity(
        sender="bounce-7@b.example"
    )


def test_a_tail_that_nobody_signed_takes_the_proof_away() -> None:
    tail = msgspec.structs.replace(
        DMARC, dkim=(DkimSignature(result=AuthResult.PASS, domain="a.example", unsigned=1),)
    )
    assert not prove_sender(tail, ENVELOPE, ANN, FROM_A).author
    both = msgspec.structs.replace(
        tail,
        spf=Spf(result=AuthResult.PASS, domain="mail.a.example"),
        dmarc=msgspec.structs.replace(tail.dmarc, spf_aligned=True),
    )
    assert prove_sender(both, ENVELOPE, ANN, FROM_A).author, "SPF needs no signature"


def test_a_name_below_a_domain_does_not_answer_for_it() -> None:
    """Whoever was given a name below somebody's domain proves that name: relaxed alignment, which
    DMARC has, would make him the owner.
    """
    dmarc = Dmarc(
        result=AuthResult.PASS,
        domain="mail.a.example",
        organisational="a.example",
        spf_aligned=True,
        dkim_aligned=True,
    )
    for below in ("evil.mail.a.example", "evil.a.example", "xmail.a.example"):
        signed = (
            DkimSignature(result=AuthResult.PASS, domain=below),
            DkimSignature(result=AuthResult.FAIL, domain="a.example"),
        )
        lent = AuthIdentity(spf=Spf(result=AuthResult.PASS, domain=below), dkim=signed, dmarc=dmarc)
        assert not prove_sender(lent, ENVELOPE, ANN, FROM_A).author, below


def test_each_signature_is_looked_at_by_itself() -> None:
    """A good signature of somebody below lends its whole text to nobody."""
    signed = (
        DkimSignature(result=AuthResult.PASS, domain="a.example", unsigned=7),
        DkimSignature(result=AuthResult.PASS, domain="evil.a.example"),
    )
    assert not prove_sender(
        msgspec.structs.replace(DMARC, dkim=signed), ENVELOPE, ANN, FROM_A
    ).author


def test_two_domains_in_from_have_no_author() -> None:
    assert not prove_sender(SIGNED, ENVELOPE, ANN, ("mail.a.example", "evil.example")).author


def test_the_domain_that_dmarc_looked_at_is_the_authors() -> None:
    assert not prove_sender(SIGNED, ENVELOPE, "ann@evil.example", ("evil.example",)).author
    assert not prove_sender(SIGNED, ENVELOPE, "ann@a.example", ("a.example",)).author, (
        "not even its organisation's"
    )


def test_a_trusted_sealer_is_believed_about_the_domain_he_names() -> None:
    sealed = AuthIdentity(
        dmarc=Dmarc(result=AuthResult.FAIL, domain="mail.a.example"),
        arc=Arc(
            result=AuthResult.PASS,
            trusted="lists.example",
            dmarc=AuthResult.PASS,
            dmarc_domain="mail.a.example",
        ),
    )
    assert prove_sender(sealed, ENVELOPE, ANN, FROM_A).author == "ann@mail.a.example"
    for arc in (
        msgspec.structs.replace(sealed.arc, trusted=""),
        msgspec.structs.replace(sealed.arc, dmarc=AuthResult.FAIL),
        msgspec.structs.replace(sealed.arc, dmarc_domain=""),
        msgspec.structs.replace(sealed.arc, dmarc_domain="other.example"),
    ):
        assert not prove_sender(
            msgspec.structs.replace(sealed, arc=arc), ENVELOPE, ANN, FROM_A
        ).author


@pytest.mark.parametrize(
    ("spf", "sender"),
    [
        (Spf(result=AuthResult.PASS, domain="b.example"), ""),
        (Spf(result=AuthResult.SOFTFAIL, domain="b.example"), "x@b.example"),
        (Spf(result=AuthResult.PASS, domain="mail.b.example"), "x@b.example"),
        (Spf(result=AuthResult.PASS, domain=""), "root"),
    ],
    ids=["a bounce", "no pass", "another domain", "no domain"],
)
def test_a_sender_who_is_not_proved(spf: Spf, sender: str) -> None:
    assert (
        prove_sender(AuthIdentity(spf=spf), msgspec.structs.replace(ENVELOPE, sender=sender)).sender
        == ""
    )


def test_a_login_is_an_account() -> None:
    assert prove_sender(
        AuthIdentity(), msgspec.structs.replace(ENVELOPE, login="Bob")
    ) == ProvedIdentity(account="bob")


@given(st.text(max_size=40), st.text(max_size=40), st.lists(st.text(max_size=20), max_size=2))
def test_nothing_is_proved_of_anything_where_nothing_passed(
    author: str, sender: str, domains: list[str]
) -> None:
    envelope = msgspec.structs.replace(ENVELOPE, sender=sender)
    assert prove_sender(AuthIdentity(), envelope, author, domains) == ProvedIdentity()


@given(st.text(max_size=40))
def test_any_author_beside_a_proof_is_himself_or_nobody(author: str) -> None:
    found = prove_sender(SIGNED, ENVELOPE, author, FROM_A).author
    assert found == "" or found.rpartition("@")[2] == "mail.a.example"
