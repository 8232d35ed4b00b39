"""Which label counts on which hash of a message: only independent voices, each once.

    a person       once a day on each hash, for complaints and for pardons: ten complaints about one
                   address count as one
    nobody         all labels without a person are one person's
    a stranger     (`standing.young`) does not count on what many senders share: address, network,
                   system, names and domains
    a trap         once a day on the sender's hashes and on a text; once in two weeks on what two
                   messages may share, such as a link
    a network      as a trap, on what is no sender's own: a letter, link or file that one network
                   sends to twenty traps came to one

So k persons, k traps or k networks add at most k to a hash in a day (docs/people/abuse.md).  An
admin's label is not limited.

Voices are kept in the file of labels (table `voice`), by hashes, for two weeks; a withdrawn label
frees its voices.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from oborona.feedback.label import LabelKind
from oborona.message.hashing import ShingleType
from oborona.types import Shingle

DAY_S: Final = 86_400.0
KEPT_S: Final = 14 * DAY_S  # counters remember no longer
NOBODY: Final = "nobody"

SHARED: Final = frozenset(
    map(
        int,
        (
            ShingleType.CLIENT_IP,
            ShingleType.CLIENT_NETWORK,
            ShingleType.AS_NUMBER,
            ShingleType.COUNTRY,
            ShingleType.HELO,
            ShingleType.RDNS,
            ShingleType.RDNS_DOMAIN,
            ShingleType.MAIL_FROM_DOMAIN,
            ShingleType.FROM_DOMAIN,
            ShingleType.AUTHOR_DOMAIN,
            ShingleType.DKIM_DOMAIN,
            ShingleType.MESSAGE_ID_DOMAIN,
            ShingleType.MAILER,
            ShingleType.HEADER_ORDER,
            ShingleType.LANGUAGE,
        ),
    )
)
"""What many senders have in common."""
SENDERS: Final = SHARED | frozenset(
    map(
        int,
        (
            ShingleType.MAIL_FROM,
            ShingleType.FROM,
            ShingleType.FROM_NAME,
            ShingleType.AUTHOR,
            ShingleType.PROVED_SENDER,
            ShingleType.ACCOUNT,
            ShingleType.REPLY_TO,
        ),
    )
)
"""What tells who sent a message."""
TEXTS: Final = frozenset(
    map(
        int,
        (
            ShingleType.TEXT,
            ShingleType.TEMPLATE,
            ShingleType.OPENING,
            ShingleType.CLOSING,
            ShingleType.WORDS,
            ShingleType.CHARACTERS,
            ShingleType.SKELETON,
            ShingleType.SUBJECT,
            ShingleType.SUBJECT_TEMPLATE,
        ),
    )
)
"""What a message says, asked for the last day: a campaign goes on tomorrow, and its traps speak
again.
"""

_SPOKE: Final = "SELECT 1 FROM voice WHERE who = ? AND piece = ? AND at > ? LIMIT 1"
_SPEAK: Final = (
    "INSERT INTO voice (who, piece, at, word) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
    "at = excluded.at, word = excluded.word"
)


def of_person(name: str, kind: LabelKind) -> tuple[bytes]:
    """Return the voice with which a person says that mail is spam, or is not.

    All without a name are one, and all addresses of one mailbox (joe+shop@).
    """
    local, at, domain = name.lower().rpartition("@")
    return (
        _voice(kind.value.encode(), f"{local.partition('+')[0] or local}{at}{domain}" or NOBODY),
    )


def of_trap(address: str, pieces: Sequence[Shingle]) -> tuple[bytes, bytes]:
    """Return the voices of a trap hit: the trap's, and its client's network's.

    Networks that are not known are one.

    Args:
        address: of the trap.
        pieces: of the message.
    """
    network = next((piece.hash for piece in pieces if piece.type == ShingleType.CLIENT_NETWORK), 0)
    return _voice(b"trap", address.lower()), _voice(b"network", f"{network:x}")


def independent(
    db: sqlite3.Connection,
    voices: Sequence[bytes],
    pieces: Iterable[Shingle],
    word: int,
    now: float,
) -> list[Shingle]:
    """Return the pieces that a word counts on, and note that it did.

    Args:
        db: within a transaction on the file of people's word.
        voices: of the word: the person's; or the trap's and its network's, in this order. None = it
            counts each time.
        pieces: of its message.
        word: its id.
        now: Unix seconds.
    """
    if not voices:
        return list(pieces)
    spoken = []
    for piece in pieces:
        speak = voices[:1] if piece.type in SENDERS else voices
        span = DAY_S if len(voices) == 1 or piece.type in SENDERS or piece.type in TEXTS else KEPT_S
        key = _key(piece)
        if any(db.execute(_SPOKE, (person, key, now - span)).fetchone() for person in speak):
            continue
        db.executemany(_SPEAK, [(person, key, now, word) for person in speak])
        spoken.append(piece)
    return spoken


def forget(db: sqlite3.Connection, before: float) -> None:
    """Forget who spoke before a time, Unix seconds."""
    db.execute("DELETE FROM voice WHERE at < ?", (before,))


def _voice(kind: bytes, name: str) -> bytes:
    return hashlib.blake2b(
        name.encode("utf-8", "surrogatepass"), digest_size=8, person=b"oborona " + kind[:8]
    ).digest()


def _key(piece: Shingle) -> bytes:
    return bytes((piece.type,)) + piece.hash.to_bytes(8, "little")
