"""A link without what changes from copy to copy: the path that a kit of a spammer has on every host
and for every reader.

    http://img7.shop.example/u/83aef0c1b2/ann%40b.example?id=77&k=x    img#.shop.example/u/*/*?id&k

Numbers become #, and what looks drawn by lot (long hexadecimal or mixed letters and digits, UUIDs,
long tokens, addresses) *. Of parameters only the names stay. The registrable domain stays as it is:
without it, every blog would share its paths with every other.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

MIN_TOKEN: Final = 8  # characters of letters and digits mixed that nobody wrote by hand
MIN_LONG: Final = 24  # characters without a break that are no words, digits in them or not
MAX_STEPS: Final = 16  # of a path; what comes after is one *
MAX_NAMES: Final = 16  # of parameters

_UUID: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{4,}+(?:-[0-9a-f]{4,}+){2,}", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[A-Za-z0-9%=+~@*]+")
_DIGITS: Final = re.compile(r"[0-9]+")
_HEX: Final = re.compile(r"(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]+", re.IGNORECASE)
_REPEATED: Final = re.compile(r"\*(?:[*#_.-]*\*)+")


def template(url: str, host: str, domain: str) -> str:
    """Return the template of a link, empty when it is a host and nothing more.

    Args:
        url: normal.
        host: its host.
        domain: registrable domain of that host.
    """
    path, _, query = url[url.find("/", 8) + 1 :].partition("?")
    if not path and not query:
        return ""
    under = host.removesuffix(domain)
    steps = path.split("/", MAX_STEPS)
    if len(steps) > MAX_STEPS:
        steps[MAX_STEPS] = "*"
    names = [
        generalise(field.partition("=")[0])
        for field in query.split("&", MAX_NAMES)[:MAX_NAMES]
        if field
    ]
    return f"{generalise(under)}{domain}/{'/'.join(map(generalise, steps))}{'?' if names else ''}{'&'.join(dict.fromkeys(names))}"


@lru_cache(maxsize=1024)
def generalise(text: str) -> str:
    """Return a name with what varies in it replaced."""
    if text.isalpha() and len(text) < MIN_LONG:
        return text
    return _REPEATED.sub("*", _TOKEN.sub(_token, _UUID.sub("*", text)))


def _token(match: re.Match[str]) -> str:
    token = match[0]
    if token.isdigit():
        return "#"
    if len(token) >= MIN_LONG or "@" in token or "%40" in token:
        return "*"
    if len(token) >= MIN_TOKEN and (_HEX.fullmatch(token) or _mixed(token)):
        return "*"
    return _DIGITS.sub("#", token)


def _mixed(token: str) -> bool:
    """Return whether letters and digits change more often than in a word with a number: a7Xk29
    against page12.
    """
    kinds = [
        "0" if character.isdigit() else "A" if character.isupper() else "a" for character in token
    ]
    changes = sum(one != two for one, two in pairwise(kinds))
    return changes >= 3 and changes * 4 >= len(token)
