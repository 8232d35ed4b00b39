"""Is a signature what it says? Body hash, key and signature, in this order: RFC 6376 sections 3.7,
6.1.2 and 6.1.3.

The body hash costs little and asks nobody: whose it is not, his key is not asked for. Of a message
whose end is not here the signed fields alone are checked: a signature that they don't bear out has
failed; the others could not be looked at, and say so (`unseen`).

DKIM and ARC ask the same here; what they differ in they decide before.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from oborona.authentication.canonical import Canonicalization, canonical_field, without_signature
from oborona.authentication.keys import DkimKey, NoDkimKey, ask_keys, key_name
from oborona.authentication.model import AuthResult
from oborona.authentication.signature import SignatureClaim
from oborona.authentication.signed_message import SignedMessage
from oborona.dns import DnsAsker

CLOCK_DRIFT_S: Final = 300  # between the signer's clock and ours


class SignatureCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a signature check."""

    result: AuthResult
    why: str = ""
    key_bits: int = 0
    testing: bool = False
    unseen: bool = False  # the signature holds as far as the message is here


async def check_message(
    letter: SignedMessage, place: int, claim: SignatureClaim, asker: DnsAsker, *, now: float
) -> SignatureCheck:
    """Return whether a signature over fields and body holds: a DKIM-Signature or an
    ARC-Message-Signature.

    Args:
        letter: the message.
        place: of the signature among its fields.
        claim: what it says.
        asker: for the key.
        now: Unix time.
    """
    decided = without_key(letter, claim, now=now)
    if decided is not None:
        return decided
    keys = await _keys(claim, asker)
    if isinstance(keys, SignatureCheck):
        return keys
    checked = _verified(keys, claim, header_digest(letter, place, claim))
    if checked.result is AuthResult.PASS and not letter.whole:
        return SignatureCheck(
            result=AuthResult.NEUTRAL,
            why="message too large to check",
            key_bits=checked.key_bits,
            unseen=True,
        )
    return checked


def without_key(
    letter: SignedMessage, claim: SignatureClaim, *, now: float
) -> SignatureCheck | None:
    """Return what a signature is whatever its key may be, None where the key decides.

    Arguments as of `check_message`.
    """
    if claim.problem is not None:
        return SignatureCheck(result=claim.problem, why=claim.why)
    untimely = _untimely(claim, now)
    if untimely:
        return SignatureCheck(result=AuthResult.PERMERROR, why=untimely)
    if not letter.header_whole:
        return SignatureCheck(result=AuthResult.NEUTRAL, why="header too large to check")
    failed = _from_failed(letter, claim) or (_body_failed(letter, claim) if letter.whole else "")
    return SignatureCheck(result=AuthResult.FAIL, why=failed) if failed else None


async def check_seal(claim: SignatureClaim, digest: bytes, asker: DnsAsker) -> SignatureCheck:
    """Return whether an ARC-Seal holds.

    Args:
        claim: what it says, without a problem.
        digest: SHA-256 of what it seals.
        asker: for the key.
    """
    keys = await _keys(claim, asker)
    return keys if isinstance(keys, SignatureCheck) else _verified(keys, claim, digest)


def header_digest(letter: SignedMessage, place: int, claim: SignatureClaim) -> bytes:
    """Return the SHA-256 of the signed fields and of the signature's own without its signature.

    RFC 6376 s3.7.
    """
    octets = [letter.canonical(place, claim.head) for place in letter.selected(claim.signed)]
    octets.append(unsigned_field(letter.fields[place], claim.head))
    return hashlib.sha256(b"".join(octets)).digest()


def unsigned_field(field: bytes, canon: Canonicalization) -> bytes:
    """Return the canonical form of a signature's field without its signature and final CRLF.

    RFC 6376 s3.7.
    """
    return canonical_field(without_signature(field), canon).removesuffix(b"\r\n")


def _untimely(claim: SignatureClaim, now: float) -> str:
    """Return what is wrong with t= and x=; RFC 6376 s3.5, s6.1.1."""
    if claim.signed_at is not None and claim.signed_at > now + CLOCK_DRIFT_S:
        return "signed in the future"
    if claim.expires is not None:
        if claim.signed_at is not None and claim.expires <= claim.signed_at:
            return "expired before it was signed"
        if claim.expires < now - CLOCK_DRIFT_S:
            return "signature expired"
    return ""


def _body_failed(letter: SignedMessage, claim: SignatureClaim) -> str:
    if claim.length is not None and claim.length > letter.body_octets(claim.body):
        return "body is shorter than l="
    if letter.body_hash(claim.body, claim.length) != claim.body_hash:
        return "body hash did not verify"
    return ""


def _from_failed(letter: SignedMessage, claim: SignatureClaim) -> str:
    """A From field on top of the signed ones is what people would be shown: RFC 6376 s8.15.

    Dkimpy fails it as well.
    """
    if len(letter.places.get(b"from", ())) > claim.signed.count(b"from"):
        return "a From field is not signed"
    return ""


async def _keys(claim: SignatureClaim, asker: DnsAsker) -> tuple[DkimKey, ...] | SignatureCheck:
    """Return the keys that a signature may be of, at least one, or why there is none.

    RFC 6376 s6.1.2.
    """
    keys = await ask_keys(key_name(claim.selector, claim.domain), asker)
    if isinstance(keys, NoDkimKey):
        return SignatureCheck(result=keys.result, why=keys.why, key_bits=keys.bits)
    fitting = tuple(key for key in keys if not _misfit(key, claim))
    if fitting:
        return fitting
    first = keys[0]
    return SignatureCheck(
        result=AuthResult.PERMERROR,
        why=_misfit(first, claim),
        key_bits=first.bits,
        testing=first.testing,
    )


def _misfit(key: DkimKey, claim: SignatureClaim) -> str:
    """Return why a key can't be this signature's."""
    if key.kind != claim.kind:
        return "inappropriate key algorithm"
    if key.hashes is not None and b"sha256" not in key.hashes:
        return "inappropriate hash algorithm"
    if key.same_domain and claim.identity_domain not in ("", claim.domain):
        return "key is not for the subdomain in i="
    return ""


def _verified(keys: tuple[DkimKey, ...], claim: SignatureClaim, digest: bytes) -> SignatureCheck:
    for key in keys:
        if key.verifies(claim.signature, digest):
            return SignatureCheck(result=AuthResult.PASS, key_bits=key.bits, testing=key.testing)
    return SignatureCheck(
        result=AuthResult.FAIL,
        why="signature did not verify",
        key_bits=keys[0].bits,
        testing=keys[0].testing,
    )
