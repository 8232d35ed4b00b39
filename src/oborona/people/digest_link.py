"""Links of a digest: who follows one does one act on one letter of theirs, without signing in.

    PERSON.ACT.MESSAGE.UNTIL.MAC

MAC is HMAC-SHA-256 under a key of the site over all before it, 144 bits of it. A link is good for
its person, letter and act until its time, as often as it is followed: its acts do nothing twice.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from enum import StrEnum
from typing import Final

import msgspec

LINK_S: Final = 14 * 86_400.0
MAX_LINK: Final = 200  # characters
_MAC_BYTES: Final = 18
_FORM: Final = re.compile(
    r"([1-9][0-9]{0,17})\.([a-z]{1,10})\.([0-9A-Za-z-]{0,60})\.([1-9][0-9]{0,11})\.([0-9A-Za-z_-]{24})\Z",
    re.ASCII,
)


class DigestAct(StrEnum):
    """What a link does."""

    NOT_SPAM = "free"
    ALLOW = "allow"
    STOP = "stop"  # no more digests


class DigestLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link.

    Args:
        person: id of who may follow it.
        act: what it does.
        message: id of a letter; empty = it is about none.
        until: Unix seconds.
    """

    person: int
    act: DigestAct
    message: str = ""
    until: int


def sign_link(link: DigestLink, key: bytes) -> str:
    """Return a link as it stands in a mail."""
    text = f"{link.person}.{link.act}.{link.message}.{link.until}"
    return f"{text}.{_mac(text, key)}"


def read_link(text: str, key: bytes, now: float) -> DigestLink | None:
    """Return what a link says; None = it is none of ours, or over.

    Args:
        text: as it came.
        key: of the site.
        now: Unix seconds.
    """
    found = _FORM.match(text) if len(text) <= MAX_LINK else None
    if found is None:
        return None
    person, act, message, until, mac = found.groups()
    if not hmac.compare_digest(mac, _mac(text.rpartition(".")[0], key)):
        return None
    if act not in set(DigestAct) or not now < int(until) <= now + LINK_S + 60:
        return None
    return DigestLink(person=int(person), act=DigestAct(act), message=message, until=int(until))


def _mac(text: str, key: bytes) -> str:
    digest = hmac.new(key, text.encode("ascii"), hashlib.sha256).digest()
    return urlsafe_b64encode(digest[:_MAC_BYTES]).decode("ascii")
