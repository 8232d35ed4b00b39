"""All results together: what they say of a message as a whole."""

from __future__ import annotations

import pytest

from oborona.authentication.model import AuthIdentity, AuthResult, DkimSignature, Dmarc


def signature(domain: str, unsigned: int, result: AuthResult = AuthResult.PASS) -> DkimSignature:
    return DkimSignature(result=result, domain=domain, length=0, unsigned=unsigned)


BANK = signature("mail.bank.test", 5000)


@pytest.mark.parametrize(
    ("signatures", "unsigned"),
    [
        ((), 0),
        ((BANK,), 5000),
        ((signature("evil.test", 0), BANK), 5000),
        ((BANK, signature("bank.test", 7), signature("evil.test", 0)), 7),
        ((signature("bank.test", 0, AuthResult.FAIL), BANK), 5000),
        (
            (
                signature("bank.test", 0, AuthResult.FAIL),
                signature("list.test", 3),
                signature("other.test", 9),
            ),
            3,
        ),
    ],
    ids=[
        "none",
        "one",
        "another's over all",
        "the best of its own",
        "failed",
        "none of its own passed",
    ],
)
def test_what_is_not_signed_is_judged_by_the_signatures_of_the_author(
    signatures: tuple[DkimSignature, ...], unsigned: int
) -> None:
    """Who adds to a letter that is signed in part can sign all of it himself: that hides
    nothing.
    """
    assert AuthIdentity(dkim=signatures, dmarc=Dmarc(domain="bank.test")).unsigned == unsigned


def test_without_an_author_the_best_signature_counts() -> None:
    assert AuthIdentity(dkim=(BANK, signature("evil.test", 4))).unsigned == 4
