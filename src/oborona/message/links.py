"""Links and e-mail addresses: found in a text, brought to one form.

In a text: http://, https://, ftp:// and www. names; bare names (shop.example.com) when their suffix
exists, because mail clients make links of them. One form: scheme and host in lower case, host as in
`hosts`, no user, no default port, fragment and tracking parameters (utm_*, fbclid, ...) dropped,
white space inside removed and backslashes turned as browsers do (WHATWG URL s4.4). Other parameters
stay: they choose what is shown.

Limits: a bare name that ends like a file (setup.py, run.sh) is none; javascript:, data: and
relative links lead nowhere.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from oborona import domains
from oborona.message.model import EntityLocation, MessageLink

MAX_URL: Final = 2048  # characters; the rest of a longer one says nothing more
MAX_FRAGMENT: Final = 300  # characters
_IN_WORD: Final = re.compile(
    r"(?:https?|ftp)://[^\s<>\"\x00-\x20]++"
    r"|(?<![@./\\=\w-])[a-z0-9_-]{1,63}+(?:\.[a-z0-9_-]{1,63}+)+(?![@\w-])(?:[:/?][^\s<>\"]*+)?",
    re.IGNORECASE | re.ASCII,
)
_ADDRESS: Final = re.compile(
    r"(?<![a-z0-9._%+&'-])[a-z0-9._%+=&'-]{1,64}+@((?:[a-z0-9-]{1,63}+\.)+[a-z]{2,18})(?![\w-])",
    re.IGNORECASE | re.ASCII,
)
_URL: Final = re.compile(
    r"(https?|ftp):[/\\]*(?:[^/\\?#]*@)?(\[[^\]]*\]|[^/\\?#:]*)(?::(\d*))?([^#]*)",
    re.IGNORECASE | re.DOTALL,
)
_USER: Final = re.compile(r"\s*(?:https?|ftp):[/\\]*([^/\\?#@]*)@", re.IGNORECASE)
_TRACKING: Final = re.compile(
    r"(?<=[?&])(?:utm_\w+|fbclid|gclid|yclid|msclkid|dclid|mc_[ce]id|_openstat|igshid|ymclid|vero_id|_hs(?:enc|mi)|mkt_tok)=[^&]*&?",
    re.IGNORECASE,
)
_AROUND: Final = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f \x1f\xa0"
_SPACE: Final = re.compile(r"[\t\r\n]+")
_PORTS: Final = {"http": "80", "https": "443", "ftp": "21"}
_ENDS: Final = ".,;:!?'\")]}>*|"  # punctuation of the sentence around a link
_FILES: Final = frozenset(  # suffixes that exist, and that text uses for files and methods
    {
        "py",
        "sh",
        "pl",
        "rs",
        "cc",
        "so",
        "md",
        "ps",
        "zip",
        "mov",
        "app",
        "in",
        "am",
        "la",
        "do",
        "is",
        "id",
        "name",
        "mm",
        "tk",
        "st",
    }
)


def normal(url: str) -> tuple[str, str] | None:
    """Return (normal URL, host), None when it leads nowhere that can be counted."""
    return _normal(url.strip(_AROUND)[:MAX_URL])  # cut before it is remembered


@lru_cache(maxsize=4096)
def _normal(url: str) -> tuple[str, str] | None:
    url = _SPACE.sub("", url)
    if url.startswith(("//", "\\\\")):
        url = "http:" + url
    match = _URL.match(url)
    if match is None:
        return None
    scheme = match[1].lower()
    host = domains.normal_host(match[2])
    if not host:
        return None
    port = match[3] or ""
    rest = match[4].replace("\\", "/").rstrip()
    if rest and rest[0] not in "/?":
        return None  # a port that is no number
    if "=" in rest and "?" in rest:
        rest = _TRACKING.sub("", rest).rstrip("?&")
    shown_host = f"[{host}]" if ":" in host else host
    place = f":{port}" if port and port != _PORTS[scheme] else ""
    if not rest.startswith("/"):
        rest = "/" + rest
    return f"{scheme}://{shown_host}{place}{rest}", host


def link(url: str, shown: str, place: EntityLocation, through: str = "") -> MessageLink | None:
    """Return a link, None when its URL leads nowhere that can be counted.

    Args:
        url: as written.
        shown: what a reader sees of it.
        place: where it stood.
        through: normal URL of the link that it stood in; empty for the message itself.
    """
    parts = normal(url)
    if parts is None:
        return None
    user = _USER.match(url[:MAX_URL]) if "@" in url else None
    fragment = url.partition("#")[2].strip(_AROUND)[:MAX_FRAGMENT] if "#" in url else ""
    return MessageLink(
        parts[0],
        parts[1],
        domains.registrable(parts[1]),
        shown,
        place,
        through,
        user[1] if user else "",
        fragment,
    )


def in_text(words: list[str], limit: int) -> list[str]:
    """Return the URLs that stand in a text, at most `limit`, bare names with http:// before them.

    Args:
        words: the text, split at white space: no link has any inside.
        limit: of links.
    """
    urls: list[str] = []
    for word in words:
        if "." not in word[1:-1] and "://" not in word:
            continue
        for match in _IN_WORD.finditer(word[:MAX_URL]):
            url = match[0].rstrip(_ENDS)
            if "://" not in url[:8]:
                if not _is_bare_link(url):
                    continue
                url = "http://" + url
            urls.append(url)
        if len(urls) >= limit:
            break
    return urls[:limit]


def _is_bare_link(name: str) -> bool:
    """Return whether mail clients make a link of a name without a scheme."""
    host, slash, _ = name.partition("/")
    host = host.partition(":")[0].partition("?")[0].lower()
    if host.startswith("www.") and host.count(".") > 1:
        return True
    suffix = host.rpartition(".")[2]
    return (
        suffix.isalpha()
        and (slash != "" or suffix not in _FILES)
        and domains.under_known_suffix(host)
    )


def addresses(words: list[str], limit: int) -> list[str]:
    """Return the distinct e-mail addresses in a text in lower case, at most `limit`.

    Args:
        words: the text, split at white space.
        limit: of addresses.
    """
    mail_addresses: dict[str, None] = {}
    for word in words:
        if "@" in word:
            for match in _ADDRESS.finditer(word[:MAX_URL]):
                mail_addresses[match[0].strip("'.").lower()] = None
            if len(mail_addresses) >= limit:
                break
    return list(mail_addresses)[:limit]


def mail_address(url: str) -> str:
    """Return the address of a mailto: URL in lower case, empty when there is none."""
    scheme, colon, rest = url.strip()[:MAX_URL].partition(":")
    if not colon or scheme.lower() != "mailto":
        return ""
    match = _ADDRESS.fullmatch(unquote(rest.partition("?")[0]).strip())
    return match[0].lower() if match else ""
