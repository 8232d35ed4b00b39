"""Signatures as minisign writes them (https://jedisct1.github.io/minisign/): Ed25519 over the
BLAKE2b-512 of a file, and over the signature with its comment.

    key        base64 of: Ed, 8 octets of the key's number, 32 of the key
    signature  a comment
               base64 of: ED, the number, 64 octets
               trusted comment: TEXT
               base64 of 64 octets over the 64 above and TEXT

Secret keys are those that no password locks (`minisign -G -W`): a program signs with them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Iterable
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from oborona.desk.call import CallError

MOST_SIGNATURE: Final = 4096  # octets of such a file
_TRUSTED: Final = b"trusted comment: "
_KEY: Final = b"Ed"
_HASHED: Final = b"ED"
_UNLOCKED: Final = b"Ed\0\0B2" + bytes(48)  # no derivation of a key, checksum by BLAKE2b
_NUMBER: Final = slice(2, 10)


class FeedKey(NamedTuple):
    """Who may sign.

    Args:
        text: as settings have it.
        number: by which a signature says whose it is.
        octets: the key.
    """

    text: str
    number: bytes
    octets: bytes


class FeedSigner(NamedTuple):
    """Who signs."""

    number: bytes
    seed: bytes

    @property
    def key(self) -> FeedKey:
        """Who has to be trusted for it."""
        octets = Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw()
        text = base64.b64encode(_KEY + self.number + octets).decode()
        return FeedKey(text, self.number, octets)


def read_key(text: str) -> FeedKey:
    """Return a public key.

    Raises:
        CallError: it is none.
    """
    raw = _base64(text.encode("ascii", "replace"))
    if len(raw) != 42 or raw[:2] != _KEY:
        raise CallError(f"{text[:80]!r} is no public key of minisign: 56 characters, RW…")
    return FeedKey(text, raw[_NUMBER], raw[10:])


def check_signature(raw: bytes, signature: bytes, keys: Iterable[FeedKey]) -> FeedKey:
    """Return the key by which a file is signed.

    Args:
        raw: all of the file.
        signature: of it.
        keys: that are trusted.

    Raises:
        CallError: it is signed by none of them.
    """
    lines = signature.splitlines()
    if len(lines) != 4 or not lines[2].startswith(_TRUSTED):
        raise CallError("the signature is no file of minisign")
    found, of_comment = _base64(lines[1]), _base64(lines[3])
    if len(found) != 74 or len(of_comment) != 64 or found[:2] != _HASHED:
        raise CallError("the signature is no file of minisign")
    for key in keys:
        if key.number != found[_NUMBER]:
            continue
        public = Ed25519PublicKey.from_public_bytes(key.octets)
        try:
            public.verify(found[10:], hashlib.blake2b(raw).digest())
            public.verify(of_comment, found[10:] + lines[2].removeprefix(_TRUSTED))
        except InvalidSignature:
            raise CallError("the signature does not fit: it was changed on its way") from None
        return key
    raise CallError(f"signed by another key ({found[_NUMBER][::-1].hex().upper()})")


def sign(raw: bytes, signer: FeedSigner, comment: str) -> bytes:
    """Return the signature of a file.

    Args:
        raw: all of it.
        signer: who signs.
        comment: is signed, too; one line.
    """
    private = Ed25519PrivateKey.from_private_bytes(signer.seed)
    made = private.sign(hashlib.blake2b(raw).digest())
    of_comment = private.sign(made + comment.encode())
    return b"\n".join(
        (
            b"untrusted comment: a feed of rules for Oborona",
            base64.b64encode(_HASHED + signer.number + made),
            _TRUSTED + comment.encode(),
            base64.b64encode(of_comment),
            b"",
        )
    )


def new_signer() -> FeedSigner:
    """Return somebody whom nobody knows yet."""
    return FeedSigner(os.urandom(8), Ed25519PrivateKey.generate().private_bytes_raw())


def signer_text(signer: FeedSigner) -> bytes:
    """Return the file of a secret key, as minisign reads it."""
    secret = signer.number + signer.seed + signer.key.octets
    checksum = hashlib.blake2b(_KEY + secret, digest_size=32).digest()
    line = base64.b64encode(_UNLOCKED + secret + checksum)
    return b"untrusted comment: a secret key of a feed: keep it off the feed's server\n%s\n" % line


def read_signer(text: bytes) -> FeedSigner:
    """Return who signs, from the file of a secret key.

    Raises:
        CallError: it is none, or a password locks it.
    """
    lines = text.splitlines()
    raw = _base64(lines[1]) if len(lines) == 2 else b""
    if len(raw) != 158 or raw[:2] != _KEY:
        raise CallError("no secret key of minisign")
    if raw[2:4] != b"\0\0":
        raise CallError("a password locks the key: make one without (minisign -G -W)")
    signer = FeedSigner(raw[54:62], raw[62:94])
    if signer_text(signer).splitlines()[1] != base64.b64encode(raw[:6] + bytes(48) + raw[54:]):
        raise CallError("the secret key is damaged")
    return signer


def _base64(text: bytes) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
