"""Makes a label of a reported message: its digest, its features, its hashes.

The text is not kept.  Our own headers are no part of the features.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from oborona.errors import OboronaError
from oborona.feedback.label import Label, LabelKind, LabelSource
from oborona.message.model import Message
from oborona.message.parse import parse
from oborona.message.shingles import Hasher, shingles
from oborona.policy.models.content.features import features
from oborona.types import Envelope

MOST_BYTES: Final = (
    1 << 20
)  # of a message that are looked at: more than its features and most of its pieces come from
OF_MAIL: Final = frozenset(
    ("received", "from", "to", "subject", "date", "message-id", "return-path")
)
"""A file without any of these lies beside messages, and is none."""
MESSAGE_ID_LENGTH: Final = 200  # characters kept


class NotLabelable(OboronaError):  # noqa: N818 - reads as what happened
    """A message without anything to learn; the text says why."""


def extract_label(
    raw: bytes,
    kind: LabelKind,
    source: LabelSource,
    *,
    hasher: Hasher,
    key: bytes,
    now: float,
    person: str = "",
    weight: float = 1.0,
    regions: Sequence[str] = (),
) -> tuple[Label, Message]:
    """Return what is written down of somebody's word about a message, and the message.

    Args:
        raw: the message, as it lies in the mailbox.
        kind: what it is said to be.
        source: how the word came.
        hasher: holds the site's secret.
        key: of the site, for digests.
        now: Unix seconds.
        person: mail address of who says it; empty = the site.
        weight: how far the model that all share believes it, 0..1.
        regions: whose telephone numbers may stand without their country.

    Raises:
        Unheard: there is nothing in it.
    """
    message = parse(raw[:MOST_BYTES], truncated=len(raw) > MOST_BYTES, regions=tuple(regions))
    numbers = features(message)
    if not is_mail(message):
        raise NotLabelable("there is no message in it")
    return Label(
        kind=kind,
        source=source,
        time=now,
        digest=digest(message, key),
        features=numbers.to_bytes(),
        person=_unicode(person.strip().lower()),
        weight=weight,
        message_id=_unicode(message.message_id[:MESSAGE_ID_LENGTH]),
        pieces=shingles(message, Envelope(), hasher).shingles,
    ), message


def is_mail(message: Message) -> bool:
    """Tell whether this is a message at all.

    A picture, a script or JSON parses as one that has no header field of mail.
    """
    return any(header.name in OF_MAIL for header in message.headers)


def digest(message: Message, key: bytes) -> bytes:
    """Return what a message is known by, 16 octets: the same for its copies in several mailboxes,
    whatever mail servers wrote above them.

    Args:
        message: parsed.
        key: 16..64 octets; without it nobody can tell whether a message was spoken of.
    """
    hasher = hashlib.blake2b(key=key, digest_size=16, person=b"oborona feedback")
    sender = message.from_.address if message.from_ else ""
    for text in (
        message.message_id,
        message.get("date") or "",
        sender,
        message.subject,
        message.normal_text,
    ):
        octets = text.encode("utf-8", "surrogatepass")
        hasher.update(len(octets).to_bytes(8, "little") + octets)
    for file in message.attachments:
        hasher.update(file.sha256)
    return hasher.digest()


def _unicode(text: str) -> str:
    """Return a peer's text with what is no Unicode in it as an escape: a store takes nothing
    else.
    """
    return text.encode("utf-8", "backslashreplace").decode()
