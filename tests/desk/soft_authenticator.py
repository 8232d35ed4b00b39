"""An authenticator in software: makes keys and signs with them as a browser hands that on."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_bytes
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def encoded(octets: bytes) -> str:
    return urlsafe_b64encode(octets).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class SoftAuthenticator:
    """One key, for one site.

    Args:
        origin: of the pages that ask.
        party: name that it signs for.
        verifies: it checks who holds it.
        counts: how often it has signed; None = it does not count.
    """

    origin: str
    party: str = "mx.example.org"
    verifies: bool = True
    counts: int | None = 0
    credential: bytes = field(default_factory=lambda: token_bytes(32))
    handle: bytes = b""
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    def make(self, options: Any) -> dict[str, Any]:
        """Answer a wish for a key."""
        self.handle = decoded(options["user"]["id"])
        numbers = self.key.public_key().public_numbers()
        public = cbor2.dumps(
            {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}
        )
        attested = b"\0" * 16 + len(self.credential).to_bytes(2) + self.credential + public
        data = self._data(ATTESTED) + attested
        word = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        said = self._client("webauthn.create", options)
        return self._answer({"clientDataJSON": encoded(said), "attestationObject": encoded(word)})

    def sign(self, options: Any) -> dict[str, Any]:
        """Answer a challenge."""
        if self.counts is not None:
            self.counts += 1
        data, said = self._data(0), self._client("webauthn.get", options)
        signature = self.key.sign(data + sha256(said).digest(), ec.ECDSA(SHA256()))
        return self._answer(
            {
                "clientDataJSON": encoded(said),
                "authenticatorData": encoded(data),
                "signature": encoded(signature),
                "userHandle": encoded(self.handle),
            }
        )

    def _data(self, flags: int) -> bytes:
        flags |= PRESENT | (VERIFIED if self.verifies else 0)
        return (
            sha256(self.party.encode()).digest() + bytes([flags]) + (self.counts or 0).to_bytes(4)
        )

    def _client(self, kind: str, options: Any) -> bytes:
        said = {"type": kind, "challenge": options["challenge"], "origin": self.origin}
        return json.dumps({**said, "crossOrigin": False}).encode()

    def _answer(self, response: dict[str, str]) -> dict[str, Any]:
        name = encoded(self.credential)
        return {
            "id": name, "rawId": name, "type": "public-key", "response": response,
            "clientExtensionResults": {}, "authenticatorAttachment": "platform",
        }  # fmt: skip
