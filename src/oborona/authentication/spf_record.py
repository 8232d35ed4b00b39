"""An SPF record, held to the grammar and made small before it is evaluated (RFC 7208 sections
4.6.1, 6, 7.1, 12).

What pyspf gets wrong or does at length is decided here: names of modifiers are lower case
afterwards, modifiers that RFC 7208 does not know are gone (section 6: ignored, no matter how
often), every macro is one of the RFC's, and no part is long enough to be worth an attacker's while.

Limits: an honest record has some hundreds of octets; those that list every address of a large
sender have up to five thousand.
"""

from __future__ import annotations

import re
from typing import Final

MAX_RECORD: Final = 8192  # octets
MAX_TERM: Final = 512  # octets; a domain name has 253, and macros make it no shorter by much
MAX_MACROS: Final = 20  # in a term; each may stand for a whole local part

_MACRO: Final = r"%[%_-]|%\{[slodiphcrtv](?:0*[1-9][0-9]*)?r?[-.+,/_=]*\}"
_TERM: Final = re.compile(rf"(?:[\x21-\x24\x26-\x7e]|{_MACRO})*", re.IGNORECASE)
_EXPLANATION: Final = re.compile(rf"(?:[\x20-\x24\x26-\x7e]|{_MACRO})*", re.IGNORECASE)
_MODIFIER: Final = re.compile(r"([a-z][a-z0-9_.-]*)=(.*)", re.IGNORECASE)
_KNOWN: Final = ("redirect", "exp")


class UnusableSpfRecord(Exception):  # noqa: N818 - reads as what the record is
    """A record that leads to permerror; the text says why."""


def check_spf_record(record: str) -> str:
    """Return the record without what has no meaning.

    Args:
        record: beginning with `v=spf1`, ASCII.

    Raises:
        Unusable: it is too long, or breaks the grammar of terms and macros. Mechanisms are not
            looked into.
    """
    if len(record) > MAX_RECORD:
        raise UnusableSpfRecord(f"record of {len(record)} octets")
    terms: list[str] = []
    for term in record.split(" "):
        if len(term) > MAX_TERM:
            raise UnusableSpfRecord(f"term of {len(term)} octets")
        if term.count("%{") > MAX_MACROS:
            raise UnusableSpfRecord(f"term of {term.count('%{')} macros")
        if not _TERM.fullmatch(term):
            raise UnusableSpfRecord(f"syntax: {term}")
        modifier = _MODIFIER.fullmatch(term)
        if modifier is None or not terms:  # the first is v=spf1
            terms.append(term)
        elif (name := modifier[1].lower()) in _KNOWN:
            terms.append(f"{name}={modifier[2]}")
        if term.lower().lstrip("+-~?") == "exists":
            # pyspf lets it pass with a qualifier before it
            raise UnusableSpfRecord("exists without a domain")
    return " ".join(terms)


def is_explanation(text: str) -> bool:
    """Return whether a text may be what `exp=` leads to."""
    return _EXPLANATION.fullmatch(text) is not None
