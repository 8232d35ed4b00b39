"""Kinds of entities in words, and the search that finds the mail of one."""

from __future__ import annotations

from typing import Final

from oborona.console.language import marked
from oborona.console.track_query import track_url, word

KINDS: Final = {
    "address": marked("address"),
    "network": marked("network"),
    "as": marked("autonomous system"),
    "author": marked("author, proved"),
    "domain": marked("domain of authors"),
    "sender": marked("envelope sender, proved"),
    "account": marked("account"),
    "link": marked("domain of links"),
    "host": marked("host of links"),
    "url": marked("address of a link"),
    "phone": marked("phone number"),
    "wallet": marked("wallet"),
    "handle": marked("name in a messenger"),
    "contact": marked("address in the text"),
    "list": marked("mailing list"),
    "file": marked("attached file"),
    "picture": marked("picture"),
}
"""As the desk calls them, and as people do."""
HELO: Final = "helo"
BESIDE: Final = {**KINDS, HELO: marked("name by which it says hello")}
FLAGS: Final = {
    "good": marked("good"),
    "poor": marked("poor"),
    "bad": marked("bad"),
    "unknown": marked("unknown"),
}
TONES: Final = {"good": "good", "poor": "warn", "bad": "bad"}
"""Of tags; others have none."""
_FIELDS: Final = {
    "address": "ip",
    "network": "ip",
    "author": "from",
    "domain": "domain",
    "sender": "from",
    "account": "login",
    "list": "list",
    HELO: "helo",
}


def mail_url(kind: str, name: str) -> str:
    """Return the address of the search for the mail of an entity; empty: no search finds it.

    Args:
        kind: as the desk calls it.
        name: as it is typed.
    """
    field = _FIELDS.get(kind)
    plain = name if kind == HELO else name.removeprefix(f"{kind}:")
    return track_url(word(field, plain)) if field else ""
