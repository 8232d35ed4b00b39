"""Whether a signature can be used, and the form in which it is looked for.

Refused is what would be found in other people's mail, or never: phrases with too few letters,
patterns that any text matches or that ask for what normalised text has not. Errors are
`BrokenSignature`, in words for whoever wrote it.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import re2

from oborona import domains
from oborona.message import handles, links, phones, wallets
from oborona.message.findings import Findings
from oborona.message.model import EntityLocation
from oborona.message.normalise import normalise
from oborona.policy.expression.fault import PatternError
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.patterns import pattern_for
from oborona.policy.signatures.model import (
    WORDS,
    Signature,
    SignatureFlag,
    SignatureKind,
    SignatureScope,
)
from oborona.policy.signatures.words import words

# of a phrase: shorter ones are names and abbreviations that good mail holds, too
MIN_LETTERS: Final = 5
# of one that may stand inside other words: shorter ones stand in many
MIN_LETTERS_INSIDE: Final = 8
MAX_VALUE: Final = 1000  # characters: a paragraph; copies of more are the fingerprints' work
MAX_WORDS: Final = 500  # characters of owner, reason and author each
# instructions of a pattern: 500 letters have 500, (cheap){400} has 2,000
MAX_PROGRAM: Final = 2_000
PATTERN_MEMORY: Final = (
    1 << 20
)  # octets that one pattern's automaton may fill on hostile text; it stays linear
MAX_SCORE: Final = 10_000
# Unix seconds of the end of the year 9999: what clocks and calendars take
LAST_TIME: Final = 253_402_300_800

_ID: Final = re.compile(r"s[1-9][0-9]{0,17}|[A-Z][A-Z0-9_]{0,63}(?::[0-9a-f]{12})?")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_OWN_WIDTH: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
"""Letters of scripts that write no space between words: Thai, Lao, Burmese, Khmer, Japanese,
Chinese.
"""
_NOTHING_WRONG: Final = (
    "thank you for your letter, see you on monday at 10:30",
    "Re: the minutes of our meeting",
    "best regards ann",
)
"""Texts that no pattern for spam or for one sender's mail may all match."""
_ONE_LETTER: Final = ("a", "q", "0", "7", " ", ".", "\u0434", "\u65e5")
_LIST: Final = re.compile(r"[^<>\s]{1,255}")
_CHECKSUM: Final = re.compile(r"[0-9a-f]{64}")


class BrokenSignature(ValueError):  # noqa: N818 - reads as what happened
    """A signature that can't be used; the text says why."""


Entity = tuple[SignatureKind, str]


def check_signature(signature: Signature) -> Signature:
    """Return the signature if it can be used.

    Raises:
        BrokenSignature: it can't.
    """
    if not _ID.fullmatch(signature.id):
        raise BrokenSignature(f"{signature.id!r} is no name of a signature")
    if not signature.value.strip():
        raise BrokenSignature(f"the {signature.kind} is empty")
    if len(signature.value) > MAX_VALUE:
        raise BrokenSignature(f"the {signature.kind} is longer than {MAX_VALUE} characters")
    if _CONTROLS.search(signature.value):
        raise BrokenSignature(f"the {signature.kind} holds a control character, such as NUL")
    for name in ("owner", "reason", "author"):
        if len(getattr(signature, name)) > MAX_WORDS:
            raise BrokenSignature(f"{name} is longer than {MAX_WORDS} characters")
    numbers = (signature.created, signature.expires, signature.score or 0.0)
    if not all(map(math.isfinite, numbers)) or abs(signature.score or 0.0) > MAX_SCORE:
        raise BrokenSignature("a time or score is no number, or beyond 10,000")
    if not all(0 <= at <= LAST_TIME for at in numbers[:2]):
        raise BrokenSignature("a time is before 1970 or after 9999")
    if signature.inside and signature.kind is not SignatureKind.PHRASE:
        raise BrokenSignature("only a phrase can stand inside words")
    if signature.kind in WORDS:
        _ = (
            phrase(signature)
            if signature.kind is SignatureKind.PHRASE
            else compile_signature(signature)
        )
    else:
        if signature.where not in (SignatureScope.ANY, SignatureScope.TEXT, SignatureScope.HEADER):
            raise BrokenSignature(f"a {signature.kind} stands in any, text or header")
        entity(signature)
    return signature


def phrase(signature: Signature) -> bytes:
    """Return the words of a phrase as they stand in `words`, a space where a word border must be.

    Raises:
        BrokenSignature: there are too few letters in it.
    """
    found_words = words(normalise(signature.value))
    text = found_words.decode("utf-8", "surrogatepass").strip()
    # a letter of Chinese says as much as two of others
    letters = sum(map(str.isalnum, text)) + len(_OWN_WIDTH.findall(text))
    least = MIN_LETTERS_INSIDE if signature.inside else MIN_LETTERS
    if letters < least:
        problem = f"{text!r} is left of it" if text else "no word is left of it"
        more = " where it may stand inside words" if signature.inside else ""
        raise BrokenSignature(
            f"the phrase is too short: {problem}, and {least} letters and digits are "
            f"needed{more}; shorter ones are found in good mail"
        )
    before = "" if signature.inside or _OWN_WIDTH.match(text[0]) else " "
    behind = "" if signature.inside or _OWN_WIDTH.match(text[-1]) else " "
    return f"{before}{text}{behind}".encode("utf-8", "surrogatepass")


def compile_signature(signature: Signature) -> Any:
    """Return the compiled pattern of a signature; ^ and $ are the ends of a field.

    Raises:
        BrokenSignature: RE2 does not take it, it is too large, or it says nothing.
    """
    try:
        pattern = re2.compile(pattern_text(signature), options())
    except re2.error as fault:
        problem = fault.args[0] if fault.args else "not a pattern"
        raise BrokenSignature(
            f"pattern: {problem.decode('utf-8', 'replace') if isinstance(problem, bytes) else problem}"
        ) from None
    if pattern.programsize > MAX_PROGRAM:
        raise BrokenSignature(
            f"the pattern is too large: {pattern.programsize} instructions of RE2, at "
            f"most {MAX_PROGRAM}"
        )
    if pattern.search("") is not None:
        raise BrokenSignature("the pattern matches where there is nothing, so in every message")
    if any(pattern.search(letter) is not None for letter in _ONE_LETTER):
        raise BrokenSignature("the pattern matches a single letter, so nearly every message")
    if all(pattern.search(normalise(text)) is not None for text in _NOTHING_WRONG):
        raise BrokenSignature("the pattern matches any text")
    return pattern


def pattern_text(signature: Signature) -> str:
    """Return a pattern as RE2 gets it: its letters normalised.

    Raises:
        BrokenSignature: it holds what normalised text never does.
    """
    try:
        return pattern_for(signature.value, TextForm.FOLDED, lines=True).text
    except PatternError as fault:
        raise BrokenSignature(f"pattern: {fault}") from None


def options() -> Any:
    """Return the options of RE2 for patterns of signatures."""
    settings = re2.Options()
    settings.log_errors = False
    settings.never_capture = True
    settings.max_mem = PATTERN_MEMORY
    return settings


def entity(signature: Signature) -> Entity:
    """Return kind and normal form of an entity, as messages are asked for it.

    Raises:
        BrokenSignature: it is none of its kind.
    """
    value, kind, text = signature.value.strip(), signature.kind, ""
    if kind in (SignatureKind.HOST, SignatureKind.DOMAIN):
        text = domains.normal_host(value.removeprefix("."))
        # a mark says nothing alone: where anybody may have a page is worth knowing
        public = kind is SignatureKind.DOMAIN and signature.flag is not SignatureFlag.MARK
        if public and text and text == _suffix(text):
            raise BrokenSignature(f"{text} is a public suffix: everybody's domains lie below it")
    elif kind is SignatureKind.URL:
        link = links.link(value, "", EntityLocation.TEXT)
        text = link.url if link else ""
    elif kind is SignatureKind.PHONE:
        text = phones.of_link(value, Findings()) if value.startswith(("+", "00")) else ""
    elif kind is SignatureKind.ADDRESS:
        addresses = links.addresses([value.removeprefix("<").removesuffix(">")], 2)
        text = addresses[0] if len(addresses) == 1 and len(addresses[0]) >= len(value) - 2 else ""
    elif kind is SignatureKind.WALLET:
        coin, _, rest = value.rpartition(":")
        found_wallets = wallets.in_text(f"{coin} wallet {rest if coin else value}", Findings())
        text = found_wallets[0][0] if len(found_wallets) == 1 else ""
    elif kind is SignatureKind.HANDLE:
        text = _handle(value)
    elif kind is SignatureKind.LIST:
        text = value.strip("<>").lower() if _LIST.fullmatch(value.strip("<>")) else ""
    elif kind is SignatureKind.CHECKSUM:
        text = value.lower() if _CHECKSUM.fullmatch(value.lower()) else ""
    if not text:
        raise BrokenSignature(f"this is no {kind}: {_FORMS[kind]}")
    return kind, text


_FORMS: Final = {
    SignatureKind.HOST: "write a host name or an IP address, such as www.shop.example",
    SignatureKind.DOMAIN: "write a domain, such as shop.example",
    SignatureKind.URL: "write it whole, such as https://shop.example/buy",
    SignatureKind.PHONE: "write it with its country, such as +7 905 123-45-67; it must be one that can exist",
    SignatureKind.ADDRESS: "write an e-mail address, such as ann@shop.example",
    SignatureKind.WALLET: (
        "write its address, such as bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa; its checksum "
        "must be right"
    ),
    SignatureKind.HANDLE: "write service:name or its link, such as telegram:shop or https://t.me/shop",
    SignatureKind.LIST: "write what stands between < and > in List-Id",
    SignatureKind.CHECKSUM: "write the SHA-256 of the file as 64 hexadecimal digits",
}


def _handle(value: str) -> str:
    link = links.link(value, "", EntityLocation.TEXT) if "//" in value else None
    if link is not None:
        return handles.of_link(link.url, link.host)
    service, _, name = value.partition(":")
    names = handles.in_text(normalise(f"{service} @{name.lstrip('@')}"))
    return names[0][0] if len(names) == 1 else ""


def _suffix(name: str) -> str:
    """Return the name if nothing can be registered as it, being a suffix itself.

    Empty otherwise.
    """
    if domains.normal_host(name).replace(".", "").isdigit() or ":" in name:
        return ""
    return (
        ""
        if domains.under_known_suffix(name) or not domains.under_known_suffix(f"a.{name}")
        else name
    )
