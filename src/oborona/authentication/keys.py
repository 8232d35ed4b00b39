"""Public keys of DKIM and ARC: asked for, read once, and used.

RFC 6376 sections 3.6.1 and 6.1.2, RFC 8301, RFC 8463.

The arithmetic is that of `cryptography`: an RSA-2048 signature is checked in 20 µs, dkimpy's
integers take 212; its Ed25519 needs PyNaCl. What a record says is kept by its octets, so that a
domain's key is read once however often it signs.

Several records at one name are "undefined" (RFC 6376 s3.6.2.2); s6.1.2 lets a verifier try them in
turn, and the first few are.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from functools import lru_cache
from typing import Final

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key
from dkim.util import InvalidTagValueList, parse_tag_value

from oborona.authentication.model import AuthResult
from oborona.dns import DnsAsker, DnsOutcome, DnsType

MIN_RSA_BITS: Final = 1024  # RFC 8301 s3.2: below, a signature has failed
# verifiers must take 4096 (RFC 8301 s3.2); beyond this an answer would cost too much
MAX_RSA_BITS: Final = 8192
# 65537 nearly everywhere; one as long as the modulus takes a hundred times as long
MAX_EXPONENT_BITS: Final = 64
MAX_RECORD: Final = 8192  # octets; RSA-8192 takes 1,400
MAX_RECORDS: Final = 4  # at one name
MAX_TAGS: Final = 64  # in a record or signature; the RFCs know 7 and 14

_PADDING: Final = PKCS1v15()
_PREHASHED: Final = Prehashed(SHA256())
# octets of a record: keys of 4096 bits take 800, and a DNS of somebody's own may tell 64 kB each
# time
MAX_REMEMBERED: Final = 2048
_SPACE: Final = re.compile(rb"[ \t\r\n]+")


class DkimKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key record that can be used."""

    kind: str  # rsa or ed25519
    bits: int
    public: RSAPublicKey | Ed25519PublicKey
    hashes: frozenset[bytes] | None  # that it may be used with; None = all
    testing: bool  # t=y
    same_domain: bool  # t=s: the domain of i= must be d= itself

    def verifies(self, signature: bytes, digest: bytes) -> bool:
        """Return whether a signature is this key's over a SHA-256 digest.

        RFC 8017 s8.2.2, RFC 8463 s3.
        """
        try:
            if isinstance(self.public, RSAPublicKey):
                self.public.verify(signature, digest, _PADDING, _PREHASHED)
            else:
                self.public.verify(signature, digest)
        except InvalidSignature:
            return False
        return True


class NoDkimKey(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no key to use."""

    result: AuthResult  # that a signature gets by it
    why: str
    bits: int = 0  # of a key that is read and not used


def key_name(selector: str, domain: str) -> str:
    """Return the name that a key record lies at; RFC 6376 s3.6.2.1."""
    return f"{selector}._domainkey.{domain}"


async def ask_keys(name: str, asker: DnsAsker) -> tuple[DkimKey, ...] | NoDkimKey:
    """Return the keys at a name, at least one, or why there is none; RFC 6376 s6.1.2."""
    answer = await asker.ask(name, DnsType.TXT)
    if answer.outcome is DnsOutcome.TEMPERROR:
        return NoDkimKey(result=AuthResult.TEMPERROR, why=f"key: {answer.why or 'no answer'}")
    records = answer.texts[:MAX_RECORDS]
    if not records:
        return NoDkimKey(result=AuthResult.PERMERROR, why="no key for signature")
    read = [read_key(record) if len(record) <= MAX_RECORD else _SYNTAX for record in records]
    keys = tuple(key for key in read if isinstance(key, DkimKey))
    return keys or next(key for key in read if isinstance(key, NoDkimKey))


def tags(octets: bytes) -> dict[bytes, bytes]:
    """Return a list of tags, white space around names and values taken away; RFC 6376 s3.2.

    Raises: InvalidTagValueList when it is none, names a tag twice, or is too long.
    """
    if octets.count(b";") > MAX_TAGS:
        raise InvalidTagValueList
    values_by_tag: dict[bytes, bytes] = parse_tag_value(octets)
    return values_by_tag


def plain_base64(octets: bytes) -> bytes:
    """Return what base64 stands for, white space within ignored.

    Raises: binascii.Error (a ValueError) when it is none.
    """
    return b64decode(_SPACE.sub(b"", octets), validate=True)


def read_key(record: bytes) -> DkimKey | NoDkimKey:
    """Return the key that a record holds, or why it holds none; RFC 6376 s3.6.1, s6.1.2."""
    return _read_key(record) if len(record) <= MAX_REMEMBERED else _read_key.__wrapped__(record)


@lru_cache(maxsize=2048)
def _read_key(record: bytes) -> DkimKey | NoDkimKey:
    try:
        tag_values = tags(record)
        if tag_values.get(b"v", b"DKIM1") != b"DKIM1":
            return NoDkimKey(result=AuthResult.PERMERROR, why="key version")
        kind = tag_values.get(b"k", b"rsa")
        if kind not in (b"rsa", b"ed25519"):
            return NoDkimKey(result=AuthResult.PERMERROR, why="key type unknown")
        services = _listed(tag_values.get(b"s", b"*"))
        if not services & {b"*", b"email"}:
            return NoDkimKey(result=AuthResult.PERMERROR, why="key is not for mail")
        material = plain_base64(tag_values[b"p"])
        if not material:
            return NoDkimKey(result=AuthResult.PERMERROR, why="key revoked")
        public = (
            Ed25519PublicKey.from_public_bytes(material)
            if kind == b"ed25519"
            # RFC 6376 s3.6.1 and its errata: with or without algorithm
            else load_der_public_key(material)
        )
    except (InvalidTagValueList, KeyError, ValueError, UnsupportedAlgorithm, binascii.Error):
        return _SYNTAX
    flags = _listed(tag_values.get(b"t", b""))
    bits = 256
    if isinstance(public, RSAPublicKey):
        bits = public.key_size
        if not MIN_RSA_BITS <= bits <= MAX_RSA_BITS:
            return NoDkimKey(result=AuthResult.POLICY, why=f"key of {bits} bits", bits=bits)
        if public.public_numbers().e.bit_length() > MAX_EXPONENT_BITS:
            return NoDkimKey(result=AuthResult.POLICY, why="key with a huge exponent", bits=bits)
    elif not isinstance(public, Ed25519PublicKey):
        return _SYNTAX
    return DkimKey(
        kind=kind.decode(),
        bits=bits,
        public=public,
        hashes=_listed(tag_values[b"h"]) if b"h" in tag_values else None,
        testing=b"y" in flags,
        same_domain=b"s" in flags,
    )


def _listed(value: bytes) -> frozenset[bytes]:
    return frozenset(part.strip() for part in value.split(b":"))


_SYNTAX: Final = NoDkimKey(result=AuthResult.PERMERROR, why="key syntax error")
