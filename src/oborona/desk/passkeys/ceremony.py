"""What an authenticator is asked, and whether its answer is one (WebAuthn level 3, section 7).

The library is loaded when the first passkey is asked for: it takes 7 MB, and most desks ask none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta

from oborona.desk.passkeys.relying_party import RelyingParty
from oborona.people.challenge_book import CHALLENGE_S
from oborona.people.passkey_book import MAX_CREDENTIAL

MOST: Final = 64 * 1024  # letters of an answer; one is of two thousand
_TIMEOUT_MS: Final = int(CHALLENGE_S * 1000)

T = TypeVar("T")
Encoded = Annotated[str, Meta(max_length=MOST, pattern=r"\A[A-Za-z0-9_-]*\Z")]
"""Octets as base64url without padding."""


class CeremonyError(Exception):
    """An answer is none; its text says why, and is for the log alone."""


class AttestationWord(msgspec.Struct, frozen=True, rename="camel"):
    """What an authenticator says of a key that it has made."""

    client_data_json: Encoded = msgspec.field(name="clientDataJSON")
    attestation_object: Encoded


class AssertionWord(msgspec.Struct, frozen=True, rename="camel"):
    """What an authenticator signs."""

    client_data_json: Encoded = msgspec.field(name="clientDataJSON")
    authenticator_data: Encoded
    signature: Encoded
    user_handle: Encoded | None = None


class MadeCredential(msgspec.Struct, frozen=True, rename="camel"):
    """The answer of who makes a key; what else a browser adds is passed over."""

    id: Encoded
    raw_id: Encoded
    type: str
    response: AttestationWord


class ShownCredential(msgspec.Struct, frozen=True, rename="camel"):
    """The answer of who signs with one; what else a browser adds is passed over."""

    id: Encoded
    raw_id: Encoded
    type: str
    response: AssertionWord


class MadeKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key that an authenticator has made.

    Args:
        credential: what it calls it.
        public_key: in COSE.
        signed: how often it has signed; 0 = it does not count.
    """

    credential: bytes
    public_key: bytes
    signed: int


def making_options(
    party: RelyingParty, name: str, handle: bytes, challenge: bytes, known: Iterable[bytes]
) -> msgspec.Raw:
    """Return what a browser is told that is to make a key, in JSON.

    Args:
        party: whom it is for.
        name: of the person.
        handle: as the authenticator is to know them.
        challenge: that it answers.
        known: keys that they have: an authenticator with one of them makes no second.
    """
    import webauthn
    from webauthn.helpers.structs import (
        AuthenticatorSelectionCriteria,
        PublicKeyCredentialDescriptor,
        ResidentKeyRequirement,
        UserVerificationRequirement,
    )

    options = webauthn.generate_registration_options(
        rp_id=party.name,
        rp_name=party.title,
        user_name=name,
        user_id=handle,
        challenge=challenge,
        timeout=_TIMEOUT_MS,
        # which make an authenticator is of is nobody's business: no attestation is asked for
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.PREFERRED,
            user_verification=UserVerificationRequirement.PREFERRED,
        ),
        exclude_credentials=[PublicKeyCredentialDescriptor(id=one) for one in known],
    )
    return msgspec.Raw(webauthn.options_to_json(options).encode())


def signing_options(
    party: RelyingParty, challenge: bytes, keys: Iterable[bytes], *, verified: bool
) -> msgspec.Raw:
    """Return what a browser is told that is to sign, in JSON.

    Args:
        party: whom it is for.
        challenge: that it answers.
        keys: one of which is to sign; none = any that is for this party.
        verified: the authenticator must check who holds it.
    """
    import webauthn
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor, UserVerificationRequirement

    wanted = (
        UserVerificationRequirement.REQUIRED if verified else UserVerificationRequirement.PREFERRED
    )
    options = webauthn.generate_authentication_options(
        rp_id=party.name,
        challenge=challenge,
        timeout=_TIMEOUT_MS,
        allow_credentials=[PublicKeyCredentialDescriptor(id=one) for one in keys],
        user_verification=wanted,
    )
    return msgspec.Raw(webauthn.options_to_json(options).encode())


def read_made(answer: str) -> MadeCredential:
    """Return the answer of who has made a key.

    Raises:
        CeremonyError: it is none.
    """
    return _read(answer, MadeCredential)


def read_shown(answer: str) -> ShownCredential:
    """Return the answer of who has signed.

    Raises:
        CeremonyError: it is none.
    """
    return _read(answer, ShownCredential)


def octets_of(encoded: str) -> bytes:
    """Return what stands in an answer, as octets; empty where that is none."""
    from webauthn.helpers import base64url_to_bytes

    try:
        return base64url_to_bytes(encoded)
    except ValueError:
        return b""


def new_key(party: RelyingParty, challenge: bytes, made: MadeCredential) -> MadeKey:
    """Return the key that was made for a challenge.

    Raises:
        CeremonyError: it was not, or for another site.
    """
    import webauthn

    try:
        found = webauthn.verify_registration_response(
            credential=msgspec.to_builtins(made),
            expected_challenge=challenge,
            expected_rp_id=party.name,
            expected_origin=party.origin,
        )
    except Exception as error:
        raise CeremonyError(_told(error)) from error
    if not 0 < len(found.credential_id) <= MAX_CREDENTIAL:
        raise CeremonyError("a key has a name of at most 1023 octets")
    return MadeKey(
        credential=found.credential_id,
        public_key=found.credential_public_key,
        signed=found.sign_count,
    )


def signatures_after(
    party: RelyingParty,
    challenge: bytes,
    shown: ShownCredential,
    *,
    public_key: bytes,
    signed: int,
    verified: bool,
) -> int:
    """Return how often a key has signed, this signature among them.

    Args:
        party: whom it is for.
        challenge: that was to be signed.
        shown: what came.
        public_key: of the key that is to have signed it.
        signed: how often it had before; one that counts must have counted on.
        verified: the authenticator must have checked who holds it.

    Raises:
        CeremonyError: it was not signed by this key, for this challenge and this site.
    """
    import webauthn

    try:
        found = webauthn.verify_authentication_response(
            credential=msgspec.to_builtins(shown),
            expected_challenge=challenge,
            expected_rp_id=party.name,
            expected_origin=party.origin,
            credential_public_key=public_key,
            credential_current_sign_count=signed,
            require_user_verification=verified,
        )
    except Exception as error:
        raise CeremonyError(_told(error)) from error
    return found.new_sign_count


def _read(answer: str, kind: type[T]) -> T:
    if len(answer) > MOST:
        raise CeremonyError("the answer is too long")
    try:
        return msgspec.json.decode(answer, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise CeremonyError(f"the answer is no JSON of a passkey: {error}") from None


def _told(error: Exception) -> str:
    """Return what the library says: of hostile octets it may raise what its parts raise."""
    return f"{type(error).__name__}: {error}"[:300]
