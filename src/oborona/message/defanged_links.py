"""Links and addresses that a text writes so that programs do not know them: hxxp://, example[.]com,
ann (at) example dot com.

Marks in brackets count wherever they stand. Bare words do so only together: "at" with "dot", or
"dot" after www or before "slash"; in "the dot com years" and "meet at example.com" nothing is
hidden. What comes out must lie under a suffix that exists.

Limits: read from the normalised text, so in lower case; `MAX_WORDS` of one message.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

import re2

from oborona import domains
from oborona.message import links
from oborona.message.normalise import normalise

MAX_WORDS: Final = 200  # words with marks that are looked at

_DOT_MARK: Final = "\x01"
_AT_MARK: Final = "\x02"
_HTTP: Final = "\x03"
_HTTPS: Final = "\x04"
_PLAIN: Final = str.maketrans({_DOT_MARK: ".", _AT_MARK: "@", _HTTP: "http://", _HTTPS: "https://"})
_DOTS: Final = ("dot", "punkt", "punto", "point", normalise("точка"))
_ATS: Final = ("at", normalise("собака"), "arroba", "chiocciola")
_DOT_WORDS: Final = "|".join(_DOTS)
_AT_WORDS: Final = "|".join(_ATS)
HINT: Final = (
    rf"h(?:xx|\*\*)ps?|ttps?\[|[\[({{<] ?(?:[.@:]|{_DOT_WORDS}|{_AT_WORDS}) ?[\])}}>]| "
    rf"(?:dot|{normalise('точка')}) "
)
"""RE2, of something that any normalised text with a link or an address in disguise holds"""
MARKS: Final = ("hxxp", "h**p", "ttp[", "ttps[", " dot ", f" {normalise('точка')} ")
"""What it looks for anywhere"""
BRACKETED: Final = (".", "@", ":", *_DOTS, *_ATS)
"""What it looks for in brackets"""
_MAY_HOLD: Final = re2.compile(HINT.encode())
_SCHEME: Final = re.compile(
    r"\bh(?:(?:xx|\*\*)ps? ?[\[({]?:[\])}]? ?|ttps? ?[\[({]:[\])}] ?)[\[({]?//[\])}]?"
)
_DOT: Final = re.compile(rf"[\[({{<]\.[\])}}>]| ?[\[({{<] ?(?:{_DOT_WORDS}) ?[\])}}>] ?")
_AT: Final = re.compile(rf" ?[\[({{<] ?(?:@|{_AT_WORDS}) ?[\])}}>] ?")
_SPOKEN_ADDRESS: Final = re.compile(
    rf"(?<![a-z0-9._%+-])([a-z0-9._%+-]{{1,64}}+)(?: (?:{_AT_WORDS}) "
    rf"|\x02)((?:[a-z0-9-]{{1,63}} (?:{_DOT_WORDS}) ){{1,4}}[a-z]{{2,18}})(?![a-z0-9-])"
)
_SPOKEN_LINK: Final = re.compile(
    rf"(\x03|\x04|\b)((?:www (?:{_DOT_WORDS}) )?[a-z0-9-]{{1,63}}+(?: (?:{_DOT_WORDS}) "
    rf"[a-z0-9-]{{1,63}}+){{1,4}})((?: slash [a-z0-9_-]{{1,63}}+){{0,4}})"
)
_SPOKEN_DOT: Final = re.compile(rf" (?:{_DOT_WORDS}) ")


def read(normal: str, limit: int) -> tuple[list[str], list[str]]:
    """Return (URLs, e-mail addresses) that stand in disguise, at most `limit` of each.

    Args:
        normal: the text, `normalise`d.
        limit: of links, and of addresses.
    """
    if _MAY_HOLD.search(normal.encode("utf-8", "surrogatepass")) is None:
        return [], []
    # A normalised text holds no controls, so they can stand for what was found.
    marked = _SCHEME.sub(lambda match: _HTTPS if "s" in match[0] else _HTTP, normal)
    marked = _AT.sub(_AT_MARK, _DOT.sub(_DOT_MARK, marked))
    urls: list[str] = []
    addresses: list[str] = []
    for word in islice((word for word in marked.split() if not word.isprintable()), MAX_WORDS):
        plain = word.translate(_PLAIN)
        if "@" in plain and "://" not in plain:
            addresses += [
                address
                for address in links.addresses([plain], limit)
                if _exists(address.rpartition("@")[2])
            ]
        else:
            urls += links.in_text([plain], limit)
    for match in islice(_SPOKEN_ADDRESS.finditer(marked), MAX_WORDS):
        domain = _SPOKEN_DOT.sub(".", match[2])
        if _exists(domain):
            addresses.append(f"{match[1]}@{domain}")
    for match in islice(_SPOKEN_LINK.finditer(marked), MAX_WORDS):
        host = _SPOKEN_DOT.sub(".", match[2])
        if (match[1] or match[3] or host.startswith("www.")) and _exists(host):
            urls.append(
                (match[1].translate(_PLAIN) or "http://") + host + match[3].replace(" slash ", "/")
            )
    return list(dict.fromkeys(urls))[:limit], list(dict.fromkeys(addresses))[:limit]


def _exists(host: str) -> bool:
    return domains.under_known_suffix(host)
