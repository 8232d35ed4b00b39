"""Narrows what the journal tells to those recipients that somebody may see.

A row that has none of these is as if it were not there, and no condition of a search meets the
others: who asks for one of them learns nothing.  Rules' words may name anybody; addresses in them
that are neither seen nor the sender's are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from oborona.journal.texts import from_json, to_json
from oborona.types import RuleHit

Covers = Callable[[str], bool]
"""Whether the mail of an address may be seen."""

HIDDEN: Final = "…"
NOBODY: Final = "[]"  # as a column has it
_ADDRESS: Final = re.compile(r"\S*@\S*")  # more than one: what is none is left out, too
_AROUND: Final = "<>()[]{}\"',;:."
_TEXTS: Final = msgspec.json.Decoder(tuple[str, ...])


def narrow_column(stored: Any, covers: Covers) -> str | bytes:
    """Return a column of recipients with those alone that may be seen; of one that is damaged,
    nobody.
    """
    try:
        names = from_json(stored, _TEXTS)
        return to_json(tuple(name for name in names if covers(name)))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return NOBODY


def mask_words(text: str, covers: Covers, *senders: str) -> str:
    """Return words without the addresses of others.

    Args:
        text: of a rule, or what a finding goes by.
        covers: whose may be seen.
        senders: texts whose addresses may be seen too.
    """
    if "@" not in text:
        return text
    known = addresses_in(*senders)

    def shown(match: re.Match[str]) -> str:
        address = match[0].strip(_AROUND)
        return match[0] if covers(address) or address.lower() in known else HIDDEN

    return _ADDRESS.sub(shown, text)


def addresses_in(*texts: str) -> frozenset[str]:
    """Return what in some texts looks like an address, lower case."""
    return frozenset(
        word.strip(_AROUND).lower() for text in texts for word in _ADDRESS.findall(text)
    )


def mask_hits(rules: Iterable[RuleHit], covers: Covers, *senders: str) -> tuple[RuleHit, ...]:
    """Return rules that hit, with their words as `mask_words` has them."""
    return tuple(
        msgspec.structs.replace(hit, say=mask_words(hit.say, covers, *senders)) for hit in rules
    )
