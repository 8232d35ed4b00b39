"""Searches as links: a word of the search language for what stands in a row, and searches with one
condition more or less.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import quote, urlencode

MAX_QUERY: Final = 2_000  # characters that the desk takes
MAX_WORD: Final = 300  # characters of a value that a link asks for: no address or name has more

_PIECE: Final = re.compile(r'-?(?:[A-Za-z]+(?:[:=]|<=|>=|<|>))?(?:"[^"]*"?|[^\s"]+)')
_FIELD: Final = re.compile(r"(-?[A-Za-z]+)[:=<>]")


def word(field: str, value: str) -> str:
    """Return the condition that a field has a value; what the language has no sign for, such as a
    quotation mark within, is a blank.

    Args:
        field: as from, to, ip, rule; empty = any.
        value: of a stranger.
    """
    clean = value.encode("utf-8", "replace").decode().replace("\0", " ").replace('"', " ")
    clean = " ".join(clean.split())[:MAX_WORD]
    plain = clean and " " not in clean and (field or not clean.startswith("-"))
    mark = f"{field}:" if field else ""
    return f"{mark}{clean}" if plain else f'{mark}"{clean}"'


def track_url(query: str = "", **more: str) -> str:
    """Return the address of a search."""
    words = [(name, value) for name, value in {"q": query, **more}.items() if value]
    return f"/track?{urlencode(words, errors='replace')}" if words else "/track"


def narrowed(query: str, condition: str) -> str:
    """Return a search that asks for one condition more."""
    return query if condition in pieces(query) else f"{query} {condition}".strip()


def replaced(query: str, fields: Sequence[str], *conditions: str) -> str:
    """Return a search in which other conditions stand for all of some fields, such as of time."""
    kept = [one for one in pieces(query) if field_of(one).lstrip("-") not in fields]
    return " ".join([*kept, *conditions])


def pieces(query: str) -> list[str]:
    """Return the conditions of a search, as they are written."""
    return _PIECE.findall(query)


def field_of(piece: str) -> str:
    """Return the field of a condition, with the minus before it; empty = of any field."""
    found = _FIELD.match(piece)
    return found[1].lower() if found else ""


def entities(query: str) -> Iterator[tuple[str, str]]:
    """Yield names that a search asks for and that have a page of their own, with its path."""
    for piece in pieces(query):
        field = field_of(piece)
        value = piece[len(field) + 1 :].strip('"<>') if field else piece.strip('"<>')
        if field in {"ip", "client"}:
            with suppress(ValueError):
                kind = ipaddress.ip_network if "/" in value else ipaddress.ip_address
                yield value, entity_url(str(kind(value)))
        elif field in {"from", "to", "domain", ""} and re.fullmatch(
            r"[^\s@]*@?[^\s@]+\.\w+", value
        ):
            yield value, entity_url(value.lower().lstrip("@"))


def entity_url(name: str) -> str:
    """Return the address of the page of whom or what has a reputation."""
    return f"/entity/{_segment(name)}"


def message_url(name: str, desk: str = "") -> str:
    """Return the address of the page of a message or a refusal."""
    url = f"/message/{_segment(name)}"
    return f"{url}?{urlencode({'desk': desk}, errors='replace')}" if desk else url


def list_url(name: str) -> str:
    """Return the address of the page of a list of the site; of all lists, if none is named."""
    return f"/lists?{urlencode({'name': name}, errors='replace')}" if name else "/lists"


class TrackLinks:
    """Links of rows of messages, as far as they lead to pages that a person may open.

    Args:
        leads: tells whether a path does.
        query: search that links narrow.
        more: further words of its address.
    """

    def __init__(self, leads: Callable[[str], bool], query: str = "", **more: str) -> None:
        self._leads = leads
        self._query = query
        self._more = more

    def narrow(self, field: str, value: str) -> str:
        """Return the address of the search with one condition more; empty = none."""
        url = track_url(narrowed(self._query, word(field, value)), **self._more)
        return url if self._leads(url) else ""

    def message(self, name: str, desk: str = "") -> str:
        """Return the address of a message's page; empty = none.

        Args:
            name: of the message.
            desk: of the other machine that has it; empty: the home machine, or it is sought.
        """
        url = message_url(name, desk)
        return url if self._leads(url) else ""

    def entity(self, name: str) -> str:
        """Return the address of the page of whom or what has a reputation; empty = none."""
        url = entity_url(name)
        return url if self._leads(url) else ""


def _segment(name: str) -> str:
    clean = name.encode("utf-8", "replace").decode()
    return quote(clean[:MAX_WORD], safe="")
