"""The fingerprint of the features that this program computes.

Features of another layout can be neither learned nor scored with these weights.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Final

from oborona.message.parse import parse
from oborona.policy.models.content.features import features
from oborona.policy.models.content.weights import Weights

_SAMPLE: Final = (
    b"Received: from a.example (a.example [192.0.2.1]) by b.example; Fri, 20 Nov 2026 10:00:00 "
    b"+0000\r\n"
    b"From: Ann <ann@a.example>\r\nTo: Bob <bob@b.example>\r\nSubject: One, two; three\r\n"
    b"Message-ID: <1@a.example>\r\nMIME-Version: 1.0\r\nContent-Type: text/html; "
    b"charset=utf-8\r\n\r\n"
    b"<p>Dear Bob, 12 of <b>them</b> cost 34.50 at https://www.a.example/path?query=1 "
    b"today.</p>\r\n"
)


@cache
def layout() -> str:
    """Return the name of the features and weights as this program lays them out: another, when
    either changes.
    """
    digest = hashlib.blake2b(features(parse(_SAMPLE)).to_bytes(), digest_size=6)
    digest.update(Weights.SIZE.to_bytes(8, "little"))
    return digest.hexdigest()
