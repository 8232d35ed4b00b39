"""Names of journal entries: 63-bit numbers in order of time, their text form, and the signed form
in X-Mras-Id.

    bits 62..22   milliseconds since EPOCH, good until 2089
    bits 21..14   number of the worker process, 0..255
    bits 13..11   era: another one each time the clock was set back, so that a time which comes
                  again gives other ids
    bits 10..0    sequence, from a random start in each millisecond

The text form is Crockford's base32 in 13 characters: no I, L, O, U, in the order of the numbers.
The signed form is `TEXT.SIGNATURE`, the signature being keyed BLAKE2b (RFC 7693 section 2.5: a MAC
without the HMAC construction) over the purpose and the text, cut to 80 bits.

Limits: a clock that steps back by less than `BEHIND_S` is not followed until it has caught up, so
the time in a number can be ahead of the clock by as much; one that is set back further is followed
at once, and later numbers lie before older ones then. So do those of a process that was restarted
meanwhile; era and start are random in each process (1 in 8,192 for two of one worker in one
millisecond). One that was set back eight times from ahead is not followed the ninth time: the era
that came least far goes on behind its last number, since no number is given twice.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import Final

EPOCH: Final = 1_577_836_800  # 2020-01-01T00:00:00Z; 41 bits of milliseconds last 69 years
WORKERS: Final = 256  # worker numbers that an id can carry
TEXT_LENGTH: Final = 13  # 65 bits in fives
SIGNED_LENGTH: Final = TEXT_LENGTH + 1 + 16  # 80 bits in fives
MIN_KEY_BYTES: Final = 16  # below 128 bits a key can be searched for
TIME_SHIFT: Final = 22  # bits below the milliseconds

BEHIND_S: Final = 30.0  # that a clock may step back and be waited for

_WORKER_SHIFT: Final = 14
_SEQUENCE_BITS: Final = 11
_SEQUENCES: Final = 1 << _SEQUENCE_BITS
_ERAS: Final = 8
_MAX_MS: Final = (1 << 41) - 1
HIGHEST: Final = (1 << 63) - 1
_PERSON: Final = b"oborona x-mras"  # what the signature is for: the same key may sign other things
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_VALUES: Final = (
    {letter: value for value, letter in enumerate(_ALPHABET)}
    | {letter.lower(): value for value, letter in enumerate(_ALPHABET)}
    | dict.fromkeys("iIlL", 1)  # Crockford: read as the digit they look like
    | dict.fromkeys("oO", 0)
)


def _random_start() -> int:
    """Return the first sequence of a millisecond: half of the range stays free above it."""
    return secrets.randbelow(_SEQUENCES // 2)


class JournalIdGenerator:
    """Gives out the ids of one worker process, each greater than the one before unless the clock
    was set back.

    Args:
        worker: 0..255; workers that run at the same time need different ones.
        start: first sequence of a millisecond, 0..1023; random unless a test says otherwise.
    """

    def __init__(self, worker: int = 0, *, start: Callable[[], int] = _random_start) -> None:
        if not 0 <= worker < WORKERS:
            raise ValueError(f"worker number {worker}: an id carries 0..{WORKERS - 1}")
        self._worker = worker << _WORKER_SHIFT
        self._era = secrets.randbelow(_ERAS)
        self._start = start
        self._ms = -1
        self._sequence = 0
        # milliseconds and sequence of the last id of each, once it was left
        self._ends = [(-1, 0)] * _ERAS

    def next(self, now: float) -> int:
        """Return the next id.

        Args:
            now: Unix time in seconds; may jump either way, or repeat.
        """
        ms = min(max(0, int((now - EPOCH) * 1000)), _MAX_MS)
        if ms < self._ms - BEHIND_S * 1000:
            self._set_back()
        if ms > self._ms:
            self._ms = ms
            self._sequence = self._start()
        else:
            self._sequence += 1
            # more than the clock's step holds: borrow from the next
            if self._sequence == _SEQUENCES:
                self._ms += 1
                self._sequence = self._start()
        return self._ms << TIME_SHIFT | self._worker | self._era << _SEQUENCE_BITS | self._sequence

    def _set_back(self) -> None:
        """Go on in the era that has come least far, behind its last id."""
        self._ends[self._era] = self._ms, self._sequence
        following = (*range(self._era + 1, _ERAS), *range(self._era + 1))
        self._era = min(following, key=self._ends.__getitem__)
        self._ms, self._sequence = self._ends[self._era]


def time_of_id(ident: int) -> float:
    """Return the Unix time in seconds that an id carries, to the millisecond."""
    return EPOCH + (ident >> TIME_SHIFT) / 1000


def first_id_at(when: float) -> int:
    """Return the lowest id of a time's millisecond: all ids of earlier ones are lower."""
    return min(max(0, int((when - EPOCH) * 1000)), _MAX_MS) << TIME_SHIFT


def to_text(ident: int) -> str:
    """Return an id as 13 characters that sort as the numbers do.

    Raises:
        ValueError: not a number of 63 bits.
    """
    if not 0 <= ident <= HIGHEST:
        raise ValueError("an id has 63 bits")
    return "".join(_ALPHABET[ident >> shift & 31] for shift in range(60, -1, -5))


def from_text(text: str) -> int | None:
    """Return the id that a text names, None when it names none.

    Case and look-alike letters are forgiven.
    """
    if len(text) != TEXT_LENGTH:
        return None
    ident = 0
    for letter in text:
        value = _VALUES.get(letter)
        if value is None:
            return None
        ident = ident << 5 | value
    return ident if ident <= HIGHEST else None


def sign(ident: int, key: bytes) -> str:
    """Return `TEXT.SIGNATURE`, what X-Mras-Id carries.

    Args:
        ident: an id of this site.
        key: 16..64 bytes, the site's secret.

    Raises:
        ValueError: the key is too short or too long, or the id is none.
    """
    text = to_text(ident)
    return f"{text}.{_signature(text, key)}"


def verify(text: str, key: bytes) -> int | None:
    """Return the id of a signed text, None unless this site signed it.

    Takes the same time for any signature.

    Args:
        text: what a peer sent: any characters, any length; blanks around it are forgiven.
        key: what it was signed with.

    Raises:
        ValueError: the key is too short or too long.
    """
    text = text.strip(" \t\r\n") if len(text) <= SIGNED_LENGTH + 64 else ""
    name, _, signature = text.partition(".")
    ident = from_text(name)
    # A name that is none is compared all the same: only the key's holder learns more than "no".
    expected = _signature(to_text(ident or 0), key)
    same = hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogatepass"))
    return ident if same else None


def _signature(text: str, key: bytes) -> str:
    if len(key) < MIN_KEY_BYTES:
        raise ValueError(f"a signing key has at least {MIN_KEY_BYTES} bytes")
    digest = hashlib.blake2b(text.encode(), digest_size=10, key=key, person=_PERSON).digest()
    return base64.b32encode(digest).decode()
