"""Addresses in header fields (RFC 5322 s3.4), read the way a mail client shows them.

Structure first, encoded words after: a comma inside an encoded name separates nothing. Groups ("friends: a@b, c@d;")
give their members. Comments are dropped, except that "a@b (Name)" names a when nothing else does.

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
    re.compile(  # possessive, and nothing fails at the end of the text: no octet is looked at again and again
        r"\"((?:[^\"\\]++|\\.)*+)(?:\"|\\?$)"  # 1 quoted string
        r"|<([^<>]*)(?:>|$)"  # 2 angle address
        r"|([,;])"  # 3 separator
        r"|\(((?:[^()\\]++|\\.){0,50}+)(?:\)|\\?$)"  # 4 comment, innermost; with 25 escapes, or it is text
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
    found: list[Mailbox] = []
    words: list[str] = []
    comment = angle = ""
    for match in _TOKEN.finditer(value):
        if match[3]:
            _finish(found, words, angle, comment, findings)
            if len(found) >= limit:
                return tuple(found)
            words, comment, angle = [], "", ""
        elif match[1] is not None:
            words.append(_ESCAPED.sub(r"\1", match[1]))
        elif match[2] is not None:
            if angle:  # "<a@b> <c@d>": the last one is where a reply goes; the first becomes part of the name
                words.append(angle)
            angle = match[2].strip() or " "
        elif match[4] is not None:
            comment = match[4]
        elif words and match[5].startswith("@") and match.start() and value[match.start() - 1] == '"':
            words[-1] = f'"{words[-1]}"{match[5]}'  # a quoted local part
        else:
            words.append(_GROUP.sub("", match[5]) if not words else match[5])
    _finish(found, words, angle, comment, findings)
    return tuple(found[:limit])


def _finish(found: list[Mailbox], words: list[str], angle: str, comment: str, findings: Findings) -> None:
    name = "".join(words).strip()
    if not name and not angle.strip():
        return
    if angle.strip():
        found.append(_mailbox(name or comment, angle, findings))
    elif "@" in name and (" " not in name or name.startswith('"')):
        found.append(_mailbox(comment, name, findings))
    else:
        findings.add("address-broken", name)
        address = next((word for word in name.split() if "@" in word), "")
        found.append(_mailbox(name if not address else name.replace(address, ""), address, findings))


def _mailbox(name: str, address: str, findings: Findings) -> Mailbox:
    address = (
        address.rpartition(":")[2] if address.startswith("@") else address
    )  # obsolete route, RFC 5322 s4.4
    local, at, domain = address.rpartition("@")
    domain = _AROUND_DOT.sub(".", domain.strip()).strip(".").lower()
    shown = " ".join(decode_words(name, findings).split())
    if not at or not local.strip() or not domain:
        return Mailbox(shown or " ".join(address.split()), "", "")
    return Mailbox(shown, f"{local.strip()}@{domain}", domain)
