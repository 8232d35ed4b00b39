"""Makes the slices of messages (`journal.words.slices`), all runs of letters of many at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from oborona.journal.words.slices import (
    COMMON,
    FACTORS,
    MARK,
    MIX,
    RARE,
    SHIFT,
    SLICES,
    SlicedField,
    network_names,
    octets_of,
    slices_of_name,
    stored_text,
)

_TEXTS: Final = {
    "sender": SlicedField.FROM,
    "header_from": SlicedField.FROM,
    "recipients": SlicedField.TO,
    "subject": SlicedField.SUBJECT,
    "helo": SlicedField.REST,
    "login": SlicedField.REST,
    "queue_id": SlicedField.REST,
    "message_id": SlicedField.REST,
    "client_ip": SlicedField.REST,
}
COLUMNS: Final = ", ".join(("id", *_TEXTS, "rules", "decided_by", "door", "verdict"))
"""What is read of messages."""

_texts_of: Final = itemgetter(slice(1, 1 + len(_TEXTS)))
_names_of: Final = itemgetter(slice(1 + len(_TEXTS), None))
_CLIENT: Final = 1 + list(_TEXTS).index("client_ip")
_FIELDS: Final = np.array(list(_TEXTS.values()), np.uint32)
_RULE: Final = re.compile(r'"name":"([^"\\]*)"')
_SHARE: Final = 300  # a run is common that one of so many messages has
_LEAST: Final = 3  # messages that have a common run
_AT_ONCE: Final = 250  # messages: some megabytes of numbers
_PLANE: Final = 0x10000  # letters that have a place in the table
_LETTERS: Final = np.array([code * chr(code).isalnum() for code in range(_PLANE)], np.uint32)
"""By code: itself, or a mark."""


def common_runs(rows: Sequence[Sequence[Any]]) -> bytes:
    """Return a bit for each place of runs that some messages have in common, for all of their day.

    Args:
        rows: in the order of `COLUMNS`.
    """
    numbers = np.zeros(COMMON, np.intp)
    for start in range(0, len(rows), _AT_ONCE):
        mixed, messages = _runs(rows[start : start + _AT_ONCE])
        pairs = np.unique((mixed >> np.uint32(16)).astype(np.intp) * _AT_ONCE + messages)
        numbers += np.bincount(pairs // _AT_ONCE, minlength=COMMON)
    return np.packbits(numbers >= max(_LEAST, len(rows) // _SHARE), bitorder="little").tobytes()


def message_slices(rows: Sequence[Sequence[Any]], common: bytes) -> list[bytes]:
    """Return all slices of some messages: in each a bit for each message, the lowest one first.

    Args:
        rows: in the order of `COLUMNS`.
        common: `common_runs` of their day.
    """
    bits = np.zeros((SLICES, len(rows)), np.uint8)
    is_common = np.unpackbits(np.frombuffer(common, np.uint8), bitorder="little").astype(bool)
    for start in range(0, len(rows), _AT_ONCE):
        mixed, messages = _runs(rows[start : start + _AT_ONCE])
        _set_halves(bits, mixed, messages + start)
        rare = ~is_common[mixed >> np.uint32(16)]
        mixed, messages = mixed[rare], messages[rare] + start
        for factor in RARE:
            _set_halves(bits, mixed * np.uint32(factor) ^ mixed >> np.uint32(SHIFT), messages)
    rules, decided_by, doors, verdicts = zip(*map(_names_of, rows), strict=True)
    named: dict[SlicedField, Sequence[Sequence[str]]] = {
        SlicedField.RULE: [_RULE.findall(stored_text(one)) for one in rules],
        SlicedField.DECIDED: [(stored_text(one),) for one in decided_by],
        SlicedField.DOOR: [(stored_text(one),) for one in doors],
        SlicedField.VERDICT: [(stored_text(one),) for one in verdicts],
        SlicedField.CLIENT: [network_names(octets_of(stored_text(row[_CLIENT]))) for row in rows],
    }
    for field, names in named.items():
        _set_names(bits, field, names)
    return [one.tobytes() for one in np.packbits(bits, axis=1, bitorder="little")]


def _set_names(
    bits: npt.NDArray[np.uint8], field: SlicedField, names: Sequence[Sequence[str]]
) -> None:
    """Set the bits of the names that each message has in a field."""
    each = list(chain.from_iterable(names))
    known = {name: place for place, name in enumerate(dict.fromkeys(each))}
    slices = np.array([slices_of_name(name.casefold(), field) for name in known], np.intp)
    if len(slices):
        messages = np.repeat(np.arange(len(names)), list(map(len, names)))
        bits[slices[[known[name] for name in each]], messages[:, None]] = 1


def _set_halves(
    bits: npt.NDArray[np.uint8], hashes: npt.NDArray[np.uint32], messages: npt.NDArray[np.intp]
) -> None:
    for half in (hashes >> np.uint32(16), hashes & np.uint32(0xFFFF)):
        bits[half * np.uint32(SLICES) >> np.uint32(16), messages] = 1


def _runs(
    rows: Sequence[Sequence[Any]],
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.intp]]:
    """Return the hashes of all runs of letters of some messages, and of which message each is."""
    texts = list[str]()
    for row in rows:
        texts += map(stored_text, _texts_of(row))
    joined = MARK.join(texts)
    if joined.count(MARK) >= len(texts):
        joined = MARK.join(text.replace(MARK, " ") for text in texts)
    codes = np.frombuffer(
        f"{MARK}{joined}{MARK}".casefold().encode("utf-32-le", "surrogatepass"), np.uint32
    )
    letters = _LETTERS[np.minimum(codes, _PLANE - 1)]
    for code in set(codes[codes >= _PLANE].tolist()):
        letters[codes == code] = code * chr(code).isalnum()
    lengths = np.diff(np.flatnonzero(codes == 0))  # of texts, each with the mark before it
    mixed = np.repeat(np.tile(_FIELDS * np.uint32(FACTORS[3]), len(rows)), lengths)[1:]
    for place, factor in enumerate(FACTORS[:3]):
        mixed ^= letters[place : place + len(mixed)] * np.uint32(factor)
    mixed = (mixed ^ mixed >> np.uint32(SHIFT)) * np.uint32(MIX)
    mixed ^= mixed >> np.uint32(SHIFT)
    messages = np.repeat(np.arange(len(texts)) // len(_FIELDS), lengths)[1:]
    whole = codes[1:-1] != 0  # runs whose middle is in a text, not between two
    return mixed[whole], messages[whole]
