r"""What a Received header says of who handed a message over: of the line that our own mail server
wrote.  Pure; it never raises.

Everything behind HELO is the client's own words, so that a line is read by its form and not by
looking for words in it: mail servers write who connected into the first of the folded lines, and
the address last in it, where no word of a client can stand; what they say of themselves ("by ...")
begins a line of its own, which a client cannot.  Of a first line so long that a relay may have
broken it, the end is not believed, since the client chose where that is: such a client is `NOBODY`.

    Postfix, Sendmail, OpenSMTPD   from HELO (name [192.0.2.9])            by mx (Postfix) with
                                   ESMTPSA id 4F3 / (Authenticated sender: joe)
    Exim                           from name ([192.0.2.9] helo=HELO)       by mx with esmtpsa
                                   (TLS1.3) ... (Exim 4.96) / id 1xV-0-2J from [192.0.2.9]
                                   (helo=HELO)
    qmail                          from name (HELO HELO) (192.0.2.9)       by mx with SMTP

A message that is handed on within the site has a line above that one: of qmail's queue, of LMTP.

Source: RFC 5321 section 4.4; RFC 3848 (the letter A in "with"); smtpd.c of Postfix,
received_header_text of Exim, srvrsmtp.c of Sendmail, received.c of qmail, smtp_session.c of
OpenSMTPD. Known limits: names that OpenSMTPD and qmail write are not verified by them, and left
out.  Headers that an admin has rewritten are not understood.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

import msgspec

# a client who hides its address; it is none of ours, as one without any would be
NOBODY: Final = "0.0.0.0"
# octets; Postfix breaks lines at 998 (smtp_line_length_limit), Sendmail at 990
FIRST_LINE: Final = 900
HELO: Final = 255  # characters kept, RFC 5321 section 4.5.3.1.2
WHOLE: Final = 16_384  # octets looked at
LINES: Final = 24

_BRACKETS: Final = r"\[(?:IPv6:)?([0-9A-Fa-f.:]{2,45})\]"
_NAMED: Final = re.compile(
    rf"from (.+) \((?:\S*@)?(\S+) (?:{_BRACKETS}|\[local\])( \(may be forged\))?\)"
)
_UNNAMED: Final = re.compile(rf"from (.+) \((?:\S*@)?{_BRACKETS}\)")
_EXIM_NAMED: Final = re.compile(
    rf"from (\S+) \({_BRACKETS}(?::\d+)?(?: helo=(.*?))?(?: ident=.*)?\)"
)
_EXIM_UNNAMED: Final = re.compile(
    rf"from {_BRACKETS}(?::\d+)?(?: \((?:port=\d+ ?)?(?:helo=(.*?))?(?: ?ident=.*)?\))?"
)
_QMAIL: Final = re.compile(
    r"from (\S+)(?: \(HELO (\S*)\))? \((?:[^()\s@]*@)?([0-9A-Fa-f.:]{2,45})\)"
)
_QMAIL_QUEUE: Final = re.compile(r"\(qmail \d+ invoked (from network|by .*|for .*)\)(?:;.*)?")
_OF_A_PROGRAM: Final = re.compile(
    r"by \S+ \(Postfix, from userid \d+\)|from \S+ by \S+ with local(?:-[a-z]+)?(?: "
    r"\(Exim [^\s()]+\))?|\(from [^\s()]+\)"
)

_BY: Final = re.compile(r"by \S+(?: \([^()<>]*\))* with ([A-Za-z0-9]+)(?![^ ;])")
_ID: Final = re.compile(r"(?:by \S+(?: [^<>]*)? )?id ([A-Za-z0-9._-]{1,64})(?![^ ;])")
_FOR: Final = re.compile(r"for <?([^<>\s;]{1,320})>?(?![^ ;])")
_LOGIN: Final = re.compile(r"\(Authenticated sender: (.{1,255})\)")
_OPENSMTPD_LOGIN: Final = re.compile(r" auth=yes(?: user=(\S{1,255}))?(?![^ ;])")
_SENDER: Final = re.compile(r"\(envelope-from <(.{0,320})>\)")
_AUTHENTICATED: Final = frozenset({"ESMTPA", "ESMTPSA", "ASMTP", "UTF8SMTPA", "UTF8SMTPSA"})


class ReceivedHop(msgspec.Struct, frozen=True, kw_only=True):
    """What one line says; empty where it does not."""

    ip: str = ""  # canonical; empty: no client of SMTP, or unknown
    name: str = ""  # verified by the mail server, lower case
    helo: str = ""
    login: str = ""
    authenticated: bool = False  # with a login or without its name
    queue_id: str = ""
    sender: str | None = None  # without <>
    recipient: str = ""  # without <>
    handed_on: bool = False  # within the site: the next line is our mail server's too


def read(value: bytes) -> ReceivedHop | None:
    """Return what a Received header says; None where it is not one of those we know.

    Args:
        value: what follows the colon, with its folding.

    Guaranteed: what a client says in HELO is `helo` and nothing else, on every server that writes
        it into the first line.
    """
    start, *rest = value[:WHOLE].strip().split(b"\n")[: LINES + 1]
    if len(start) > FIRST_LINE:
        return ReceivedHop(ip=NOBODY) if start.startswith(b"from ") else None
    first, *others = (line.decode("utf-8", "backslashreplace").strip() for line in (start, *rest))
    if match := _QMAIL_QUEUE.fullmatch(first):
        return ReceivedHop(handed_on=match[1] == "from network")
    protocol = next((match[1].upper() for line in others if (match := _BY.match(line))), "")
    hop = ReceivedHop(handed_on=True) if protocol.startswith("LMTP") else _client(first, others)
    if hop is None:
        return None
    login, authenticated = _login(others, protocol)
    return msgspec.structs.replace(
        hop,
        login=login,
        authenticated=authenticated,
        queue_id=_first(_ID, others),
        sender=next((match[1] for line in others if (match := _SENDER.fullmatch(line))), None),
        recipient=_first(_FOR, others),
    )


def _client(first: str, others: list[str]) -> ReceivedHop | None:
    """Return who connected, by the first line; None where it is of no known form."""
    if any("(Exim " in line for line in others):
        if match := _EXIM_UNNAMED.fullmatch(first):
            return _hop(match[1], "", match[2] or f"[{match[1]}]")
        if match := _EXIM_NAMED.fullmatch(first):
            return _hop(match[2], match[1], match[3] or match[1])
    elif match := _NAMED.fullmatch(first):
        proved = not match[4] and not any("(OpenSMTPD)" in line for line in others)
        return _hop(match[3] or "", match[2] if proved else "", match[1])
    elif match := _UNNAMED.fullmatch(first):
        return _hop(match[2], "", match[1])
    elif match := _QMAIL.fullmatch(first):
        return _hop(match[3], "", match[2] or match[1])
    return ReceivedHop() if _OF_A_PROGRAM.fullmatch(first) else None


def _hop(ip: str, name: str, helo: str) -> ReceivedHop | None:
    try:
        address = canonical(ip) if ip else ""
    except ValueError:
        return None
    low = name.lower().rstrip(".")
    return ReceivedHop(
        ip=address, name="" if low in {"unknown", "<unknown>"} else low, helo=helo[:HELO]
    )


@lru_cache(maxsize=1024)  # clients come back
def canonical(ip: str) -> str:
    """Return an address as everything of ours writes it: IPv4 in IPv6 as IPv4.

    Raises:
        ValueError: it is none.
    """
    address: IPv4Address | IPv6Address = ip_address(ip)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def _login(lines: list[str], protocol: str) -> tuple[str, bool]:
    """Return the name of who logged in, and whether somebody did.

    Not all servers write the name.
    """
    for line in lines:
        if match := _LOGIN.fullmatch(line):
            return match[1], True
        if line.startswith("by ") and (match := _OPENSMTPD_LOGIN.search(line)):
            return match[1] or "", True
    return "", protocol in _AUTHENTICATED


def _first(pattern: re.Pattern[str], lines: list[str]) -> str:
    return next((found[1] for line in lines if (found := pattern.match(line))), "")
