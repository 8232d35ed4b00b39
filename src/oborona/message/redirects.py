"""Links inside links: what a redirector's URL says of where it leads, read without asking anybody.

    a parameter or a step of the path that is a URL    percent-encoded up to `ROUNDS` times, base64
    or hexadecimal
    services known by name                             also bare host names, and codings of their
                                                       own (urldefense, translate.goog, AMP)

A target is looked into again, `MAX_DEPTH` deep. Shorteners and opaque click counters (t.co, bit.ly,
list-manage.com) say nothing: only asking would tell, and asking tells the sender. A share button
holds a link too, and is read alike.

Limits: `MAX_TARGETS` of one link; what urldefense's third version escapes inside a URL stays an
asterisk.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from oborona import domains
from oborona.message import links

MAX_DEPTH: Final = 4  # wrappers in wrappers: a list, two gateways and a tracker make three
MAX_TARGETS: Final = 4  # of one link: a page to go to, one to come back to
MAX_FIELDS: Final = 32  # parameters of a URL that are looked at; click counters have 20
ROUNDS: Final = 3  # of percent-encoding: each gateway on the way adds one

# registrable domain -> parameters that hold the target
_SERVICES: Final[dict[str, frozenset[str]]] = {
    domain: frozenset(names.split())
    for domain, names in {
        "ampproject.org": "",
        "bing.com": "u",
        "cudasvc.com": "a",
        "disq.us": "url",
        "duckduckgo.com": "uddg",
        "facebook.com": "u",
        "google": "q url adurl u",  # under any suffix
        "instagram.com": "u",
        "linkedin.com": "url",
        "mail.ru": "url u to",
        "medium.com": "url",
        "messenger.com": "u",
        "mimecast.com": "domain",  # the name of the site alone
        "office365.us": "url",
        "ok.ru": "st.link",
        "outlook.com": "url",
        "proofpoint.com": "u",
        "reddit.com": "url",
        "slack-redir.net": "url",
        "steamcommunity.com": "url u",
        "symantec.com": "u",
        "translate.goog": "",  # in the host itself
        "umblr.com": "z",
        "urldefense.com": "u",
        "vk.com": "to",
        "yahoo.com": "u",
        "yandex.ru": "url",
        "youtube.com": "q",
        "zhihu.com": "target",
    }.items()
}
_HINT: Final = re.compile(r"https?(?::|%)|aHR0c|68747470|%68(?:t|%74)|=(?:%2f|/){2}", re.IGNORECASE)
_STARTS: Final = re.compile(r"https?:[/\\]|//[\w.-]+\.[a-z]", re.IGNORECASE)
_BARE: Final = re.compile(r"(?:[a-z0-9_-]{1,63}\.){1,8}[a-z0-9-]{2,63}(?=[/?:]|\Z)", re.IGNORECASE)
_BASE64: Final = re.compile(r"(?:a1)?(aHR0c[A-Za-z0-9+/_-]+)=*")  # "http"; Bing writes a1 before it
_HEX: Final = re.compile(r"68747470(?:[0-9a-f]{2})+", re.IGNORECASE)
_IN_PATH: Final = re.compile(r"/(https?:/.*?)(?:/RK=.*)?\Z", re.IGNORECASE | re.DOTALL)
_DEFENDED: Final = re.compile(r"/v3/__(.*?)__;", re.DOTALL)
_AMP: Final = re.compile(r"/(?:amp|[cvi])/(?:s/)?(.+)", re.IGNORECASE)
_NO_PARAMETERS: Final[frozenset[str]] = frozenset()


def is_service(domain: str) -> bool:
    """Return whether a registrable domain is a known redirector's, whose target is where the reader
    comes out.
    """
    return _service(domain) in _SERVICES


def _service(domain: str) -> str:
    if domain.startswith("google."):
        return "google"
    return "translate.goog" if domain.endswith(".translate.goog") else domain


def targets(url: str, domain: str) -> tuple[str, ...]:
    """Return the URLs inside a link, those inside them included, as written; at most `MAX_TARGETS`.

    Args:
        url: normal.
        domain: registrable domain of its host.
    """
    if _service(domain) not in _SERVICES and _HINT.search(url, 8) is None:
        return ()
    return _targets(url)


@lru_cache(maxsize=1024)
def _targets(url: str) -> tuple[str, ...]:
    addresses: dict[str, None] = {}
    level = [url]
    for _ in range(MAX_DEPTH):
        inside: list[str] = []
        for address in level:
            normal = links.normal(address)
            if normal is not None:
                inside += _inside(normal[0], normal[1])
        level = [url for url in dict.fromkeys(inside) if url not in addresses][:MAX_TARGETS]
        addresses.update(dict.fromkeys(level))
        if not level or len(addresses) >= MAX_TARGETS:
            break
    return tuple(addresses)[:MAX_TARGETS]


def _inside(url: str, host: str) -> list[str]:
    """Return what one URL holds, without looking into that."""
    service = _service(domains.registrable(host))
    path, _, query = url[url.find("/", 8) :].partition("?")
    parameters = _SERVICES.get(service, _NO_PARAMETERS)
    urls: list[str] = []
    if service in _SERVICES:
        urls += _by_service(service, host, path, query)
    for field in query.replace(";", "&").split("&")[:MAX_FIELDS]:
        name, equals, value = field.partition("=")
        urls.append(_decoded(value if equals else name, bare=name.lower() in parameters))
    for step in path.split("/")[:MAX_FIELDS]:
        urls.append(_decoded(step.rpartition("=")[2], bare=False))
    match = _IN_PATH.search(path)
    if match is not None:
        urls.append(match[1] + ("?" + query if query else ""))
    return [url for url in urls if url]


def _decoded(value: str, *, bare: bool) -> str:
    """Return the URL that a value is, empty when it is none."""
    for _ in range(ROUNDS):
        if "%" not in value or _STARTS.match(value):
            break
        value = unquote(value, errors="replace")
    if _STARTS.match(value):
        return value
    coded = _BASE64.fullmatch(value)
    if coded is not None:
        octets = coded[1].replace("+", "-").replace("/", "_")
        return urlsafe_b64decode(octets[: len(octets) // 4 * 4] + _last_quantum(octets)).decode(
            "utf-8", "replace"
        )
    if _HEX.fullmatch(value):
        return bytes.fromhex(value).decode("utf-8", "replace")
    name = _BARE.match(value) if bare else None
    return "http://" + value if name and domains.under_known_suffix(name[0].lower()) else ""


def _last_quantum(octets: str) -> str:
    """Return the last, short group of base64 with its padding.

    A single character says nothing (RFC 4648 s4).
    """
    rest = len(octets) % 4
    return octets[-rest:] + "=" * (4 - rest) if rest > 1 else ""


def _by_service(service: str, host: str, path: str, query: str) -> list[str]:
    """Return what the codings of single services hold."""
    if service == "proofpoint.com" and path.startswith("/v2/"):
        for field in query.split("&")[:MAX_FIELDS]:
            if field.startswith("u="):
                return [unquote(field[2:].replace("-", "%").replace("_", "/"), errors="replace")]
    if service == "urldefense.com":
        match = _DEFENDED.search(f"{path}?{query}")
        return [match[1]] if match else []
    if service == "translate.goog":
        label = (
            host.removesuffix(".translate.goog")
            .replace("--", "\0")
            .replace("-", ".")
            .replace("\0", "-")
        )
        return [f"http://{label}{path}"]
    if service in ("google", "ampproject.org"):
        match = _AMP.match(path)
        if match is not None and _BARE.match(match[1]):
            return ["http://" + match[1]]
    return []
