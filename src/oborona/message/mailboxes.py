"""Addresses in header fields (RFC 5322 s3.4), read the way a mail client shows them.

Structure first, encoded words after: a comma inside an encoded name separates nothing. Groups
("friends: a@b, c@d;") give their members. Comments are dropped, except that "a@b (Name)" names a
when nothing else does.

Of a From field people read more than the grammar gives: `alert@bank.example>`, or an address in a
comment that is never closed, is shown as bank.example's by one program or another. `authors` gives
every reading that one may show, so that each can be held to its own domain.

Limits: local parts are kept as sent; a value without any @ gives a mailbox with a name alone.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.message.findings import Findings
from oborona.message.model import Mailbox
from oborona.message.rfc2047 import decode_words

_PLAIN: Final = re.compile(
    r"\s*(?:([^\s\"<>()\[\],:;@\\][^\"<>()\[\],:;@\\]*?)?\s*<\s*([^\s\"<>(),:;@]+)@([\w.-]+)\s*>)\s*$"
)
_BARE: Final = re.compile(r"\s*([^\s\"<>(),:;@]+)@([\w.-]+)\s*$")
_TOKEN: Final = (
    # possessive, and nothing fails at the end of the text: no octet is looked at again and again
    re.compile(
        r"\"((?>[^\"\\]++|\\.)*+)(?:\"|\\?$)"  # 1 quoted string
        r"|<([^<>]*)(?:>|$)"  # 2 angle address
        r"|([,;])"  # 3 separator
        # 4 comment, innermost; with 25 escapes, or it is text
        r"|\(((?>[^()\\]++|\\.){0,50}+)(?:\)|\\?$)"
        r"|([^\",;<(]+|.)",  # 5 other
        re.DOTALL,
    )
)
MAX_CHARACTERS: Final = (
    128 << 10
)  # of all address fields of a message, white space folded: 200 mailboxes take 20 kB
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_AROUND_DOT: Final = re.compile(r" ?[.] ?")  # folding white space, RFC 5322 s4.4
_GROUP: Final = re.compile(r"^[^@:\[]*:")
# signs of @ in a From field that are looked at; honest mail has one or two
MAX_READINGS: Final = 16
_LOCAL: Final = re.compile(r"[^\s\"'<>()\[\],:;@\\]+\Z")  # what stands before an @ without quotes
MAX_LOCAL: Final = 64  # RFC 5321 s4.5.3.1.1
_DOMAIN: Final = re.compile(r"(?:[\w-]{1,63}\.)+(?=[\w-]*[^\W\d_])[\w-]{1,63}")
_SHOWN: Final = str.maketrans(
    "\uff20\ufe6b\u3002\uff0e\uff61", "@@...", "\xad\u200b\u200c\u200d\u2060\ufeff"
)
"""Signs that look like those of an address, as these; and such as nobody sees."""
# RFC 5322 s4.4 allows white space and comments here
_APART: Final = re.compile(r" ?@ ?| (?=[.]\w)")


def parse(value: str, limit: int, findings: Findings) -> tuple[Mailbox, ...]:
    """Return the mailboxes of a From, To, Cc or Reply-To value, at most `limit`; never raises.

    Args:
        value: unfolded, encoded words *not* decoded.
        limit: mailboxes; the rest of the value is not looked at.
        findings: gets address-broken, header-too-long, and what decoding the names finds.

    """
    value = " ".join(value.split())
    if not findings.afford("addresses", len(value), MAX_CHARACTERS):
        findings.add("header-too-long", "addresses")
        return ()
    simple = _PLAIN.match(value)
    if simple:
        return (_mailbox(simple[1] or "", f"{simple[2]}@{simple[3]}", findings),)
    simple = _BARE.match(value)
    if simple:
        return (_mailbox("", f"{simple[1]}@{simple[2]}", findings),)
    boxes: list[Mailbox] = []
    words: list[str] = []
    bare: list[str] = []  # of these, what stands outside of quotes
    comment = angle = ""
    for match in _TOKEN.finditer(value):
        if match[3]:
            _finish(boxes, words, bare, angle, comment, findings)
            if len(boxes) >= limit:
                return tuple(boxes)
            words, bare, comment, angle = [], [], "", ""
        elif match[1] is not None:
            if words:
                words.append(" ")  # as brackets do
            words.append(_ESCAPED.sub(r"\1", match[1]))
            bare.append(" ")
        elif match[2] is not None:
            # "<a@b> <c@d>": the last one is where a reply goes; the first becomes part of the name
            if angle:
                words.append(angle)
            words.append(" ")  # they end a word: "a@b.c<>d" is not of b.cd
            bare.append(" ")
            angle = match[2].strip() or " "
        elif match[4] is not None:
            comment = match[4]
            if words and words[-1][-1:] not in (
                "@",
                ".",
            ):  # within a domain it is nothing, else it ends a word
                words.append(" ")
                bare.append(" ")
        elif (
            words and match[5].startswith("@") and match.start() and value[match.start() - 1] == '"'
        ):
            words[-1] = f'"{words[-1]}"{match[5]}'  # a quoted local part
        else:
            bare.append(_GROUP.sub("", match[5]) if not words else match[5])
            words.append(bare[-1])
    _finish(boxes, words, bare, angle, comment, findings)
    return tuple(boxes[:limit])


def authors(value: str, limit: int, findings: Findings) -> tuple[Mailbox, ...]:
    """Return the mailboxes of a From value: those that `parse` gives, and those that other programs
    read in it; never raises.

    Those with a domain name come first. A display name that holds an address before another in
    angle brackets is a name, as mailing lists write it, and no reading.

    Args:
        value: unfolded, encoded words *not* decoded.
        limit: mailboxes of each kind.
        findings: gets author-ambiguous, author-unusable, and what `parse` finds.

    """
    boxes = parse(value, limit, findings)
    value = value.translate(_SHOWN)
    if "@" not in value and "=?" not in value:
        return boxes
    usable = [box for box in boxes if _DOMAIN.fullmatch(box.domain)]
    if len(usable) == 1 == len(boxes) == value.count("@"):
        return boxes
    angles, outside = _outside(value)
    readings = _addresses(angles) or _addresses(outside)
    if not readings and not usable:
        readings = _addresses(value) or _addresses(decode_words(value, findings).translate(_SHOWN))
    domains = {box.domain for box in usable}
    more = {address: domain for address, domain in readings[:limit] if domain not in domains}
    if more:
        findings.add("author-ambiguous", value)
    elif not usable and boxes and "@" in value:
        findings.add("author-unusable", value)
    name = "" if usable or not boxes else boxes[0].name
    return (*usable, *(Mailbox(name, *one) for one in more.items())) or boxes


def _outside(value: str) -> tuple[str, str]:
    """Return what stands in angle brackets, and all that stands outside of quotes and comments."""
    angles, outside = [], []
    for match in _TOKEN.finditer(value):
        if match[2] is not None:
            angles.append(match[2])
        outside.append(match[0] if match[1] is None and match[4] is None else " ")
    return " ".join(angles), "".join(outside)


def _addresses(text: str) -> list[tuple[str, str]]:
    """Return what looks like an address, and the domain of each."""
    text = _APART.sub(lambda match: match[0].strip(), " ".join(text.split()))
    pairs: list[tuple[str, str]] = []
    at = text.find("@")
    for _ in range(MAX_READINGS):
        if at < 0:
            break
        domain = _DOMAIN.match(text, at + 1)
        local = _LOCAL.search(text[max(0, at - MAX_LOCAL) : at])
        if domain and local:
            pairs.append((f"{local[0]}@{domain[0].lower()}", domain[0].lower()))
        at = text.find("@", at + 1)
    return pairs


def _finish(
    boxes: list[Mailbox],
    words: list[str],
    bare: list[str],
    angle: str,
    comment: str,
    findings: Findings,
) -> None:
    name, plain = "".join(words).strip(), "".join(bare).strip()
    if not name and not angle.strip():
        return
    if angle.strip():
        boxes.append(_mailbox(name or comment, angle, findings))
    elif "@" in name and ((" " not in name and plain in ("", name)) or name.startswith('"')):
        boxes.append(_mailbox(comment, name, findings))
    else:
        findings.add("address-broken", name)
        pieces = [piece for word in (plain, *words) for piece in word.split()]
        address = next((piece for piece in pieces if "@" in piece), "")
        boxes.append(
            _mailbox(name if not address else name.replace(address, ""), address, findings)
        )


def _mailbox(name: str, address: str, findings: Findings) -> Mailbox:
    address = (
        address.rpartition(":")[2] if address.startswith("@") else address
    )  # obsolete route, RFC 5322 s4.4
    local, at, domain = address.rpartition("@")
    domain = domain.strip()
    if " " in domain:
        domain = _AROUND_DOT.sub(".", domain)
    domain = domain.strip(".").lower()
    shown = " ".join(decode_words(name, findings).split())
    if not at or not local.strip() or not domain:
        return Mailbox(shown or " ".join(address.split()), "", "")
    return Mailbox(shown, f"{local.strip()}@{domain}", domain)
