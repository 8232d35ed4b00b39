"""Signs as senders and forwarders do, rightly or wrongly as a test asks: what it hashes is
canonicalised by dkimpy, not by the code under test.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

import dkim
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256, HashAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from dkim.canonicalization import CanonicalizationPolicy, Relaxed

NOW: Final = 1_800_000_000  # of every test
AAR: Final = "mx.example; spf=pass smtp.mailfrom=a@example.org; dmarc=pass header.from=example.org"
LETTER: Final = (
    b"Received: from client.example.org (client.example.org [192.0.2.7])\r\n\tby mx.example.org; "
    b"Thu, 1 Jan 2026 00:00:00 +0000\r\n"
    b"From: Anna <anna@example.org>\r\nTo: Boris <boris@example.net>\r\nSubject: Tea  at\tfour\r\n"
    b"Date: Thu, 1 Jan 2026 00:00:00 +0000\r\nMessage-ID: <1@example.org>\r\n\r\n"
    b"Dear Boris,\r\n\r\ntea \t at four?  \r\n\r\nAnna\r\n\r\n\r\n"
)


class Pen:
    """A private key, and the record its public half is published in."""

    def __init__(self, private: RSAPrivateKey | Ed25519PrivateKey) -> None:
        self.private = private
        public = private.public_key()
        if isinstance(private, RSAPrivateKey):
            self.kind = "rsa"
            material = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        else:
            self.kind = "ed25519"
            material = public.public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.material = b64encode(material).decode()
        self.record = f"v=DKIM1; k={self.kind}; p={self.material}"

    @property
    def pem(self) -> bytes:
        return self.private.private_bytes(
            Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
        )

    def sign(self, octets: bytes, hashed: HashAlgorithm | None = None) -> str:
        if isinstance(self.private, RSAPrivateKey):
            return b64encode(self.private.sign(octets, PKCS1v15(), hashed or SHA256())).decode()
        return b64encode(self.private.sign(hashlib.sha256(octets).digest())).decode()


@cache
def rsa(bits: int = 1024, number: int = 0) -> Pen:
    """Return an RSA key, the same for the same arguments."""
    return Pen(generate_private_key(65537, bits))


@cache
def ed25519(number: int = 0) -> Pen:
    """Return an Ed25519 key, the same for the same number."""
    return Pen(Ed25519PrivateKey.generate())


Tags = Mapping[str, str | None]
"""Tags that a test wants otherwise; None leaves one out."""


def dkim_field(
    raw: bytes,
    pen: Pen,
    *,
    canon: str = "relaxed/relaxed",
    signed: Sequence[str] = ("From", "To", "Subject", "Date"),
    tags: Tags | None = None,
    name: str = "DKIM-Signature",
    version: Mapping[str, str] | None = None,
    length: int | None = None,
    hashed: HashAlgorithm | None = None,
) -> bytes:
    """Return a signature's field over a message, right in all that `tags` does not change.

    Changed tags are signed as they are.
    """
    policy = CanonicalizationPolicy.from_c_value(canon.encode())
    headers, body = dkim.rfc822_parse(raw)
    digest = hashlib.new(
        (hashed or SHA256()).name, policy.canonicalize_body(body)[:length]
    ).digest()
    said: dict[str, str | None] = {
        **(version or {"v": "1"}),
        "a": f"{pen.kind}-{(hashed or SHA256()).name}",
        "c": canon,
        "d": "example.org",
        "s": "s1",
        "h": ":".join(signed),
        "bh": b64encode(digest).decode(),
        **({"l": str(length)} if length is not None else {}),
        **(tags or {}),
        "b": "",
    }
    value = "; ".join(f"{tag}={value}" for tag, value in said.items() if value is not None)
    field = f"{name}: {value}\r\n".encode()
    signed_names = [part.strip().lower() for part in (said["h"] or "").encode().split(b":")]
    chosen = dkim.select_headers(policy.canonicalize_headers(headers), signed_names)
    own = policy.canonicalize_headers([(name.encode(), field.partition(b":")[2])])[0]
    octets = b"".join(b"%b:%b" % tuple(pair) for pair in chosen) + b"%b:%b" % (
        own[0],
        own[1].removesuffix(b"\r\n"),
    )
    signature = re.sub("(.{60})", r"\1\r\n ", pen.sign(octets, hashed))
    if tags and "b" in tags:
        return field[:-2] + (tags["b"] or "").encode() + b"\r\n"
    return field[:-2] + signature.encode() + b"\r\n"


def sealed(
    raw: bytes,
    pen: Pen | None = None,
    *,
    instance: int | str = 1,
    cv: str | None = None,
    results: str = AAR,
    message: Tags | None = None,
    seal: Tags | None = None,
    signed: Sequence[str] = ("From", "To", "Subject", "Date"),
    parts: str = "sma",
    **options: object,
) -> bytes:
    """Return a message with one more ARC set on top.

    Args:
        instance: its number.
        cv: by default what is right for the number.
        results: of ARC-Authentication-Results, behind the instance.
        message, seal: tags of the two signatures that are otherwise.
        parts: which fields are added, and in which order: seal, message signature, authentication
            results.
        options: further arguments of `dkim_field` for the message signature.
    """
    pen = pen or rsa()
    aar = f"ARC-Authentication-Results: i={instance}; {results}\r\n".encode()
    ams = dkim_field(
        aar + raw,
        pen,
        name="ARC-Message-Signature",
        version={"i": str(instance)},
        signed=signed,
        tags=message,
        **options,  # type: ignore[arg-type]
    )
    said: dict[str, str | None] = {
        "i": str(instance),
        "a": f"{pen.kind}-sha256",
        "t": str(NOW - 60),
        "cv": cv or ("none" if instance == 1 else "pass"),
        "d": "example.org",
        "s": "s1",
        **(seal or {}),
        "b": "",
    }
    value = "; ".join(f"{tag}={value}" for tag, value in said.items() if value is not None)
    field = f"ARC-Seal: {value}\r\n".encode()
    octets = b"".join(b"%b:%b" % pair for pair in Relaxed.canonicalize_headers(_before(raw)))
    for own in (aar, ams, field):
        name, _, rest = own.partition(b":")
        octets += b"%b:%b" % Relaxed.canonicalize_headers([(name, rest)])[0]
    signature = (seal or {}).get("b") or pen.sign(octets.removesuffix(b"\r\n"))
    built = {"s": field[:-2] + signature.encode() + b"\r\n", "m": ams, "a": aar}
    return b"".join(built[part] for part in parts) + raw


def chain(raw: bytes, length: int, pen: Pen | None = None) -> bytes:
    """Return a message with a whole chain of sets."""
    for instance in range(1, length + 1):
        raw = sealed(raw, pen, instance=instance)
    return raw


def _before(raw: bytes) -> list[tuple[bytes, bytes]]:
    """Return the ARC fields of a message in the order that a seal takes them."""
    order = [b"arc-authentication-results", b"arc-message-signature", b"arc-seal"]
    headers, _ = dkim.rfc822_parse(raw)
    found = []
    for name, value in headers:
        if name.lower() in order and (number := re.search(rb"[\s;]?i\s*=\s*(\d+)", value)):
            found.append((int(number[1]), order.index(name.lower()), name, value))
    return [(name, value) for _, _, name, value in sorted(found, key=lambda entry: entry[:2])]
