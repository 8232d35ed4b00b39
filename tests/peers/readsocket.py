"""Exim's side of its line protocol, apart from our codec: ${readsocket} that asks, ${extract} that
takes the answer apart.

    line = readsocket("unix:/tmp/x/exim.sock", request("rcpt", ip="192.0.2.9",
    rcpt=b"joe@example.test")) assert extract("verdict", line) == "accept"

Source: Exim 4.96, src/expand.c (EITEM_READSOCK, expand_getkeyed), src/string.c (string_dequote,
string_interpret_escape).
"""

from __future__ import annotations

import base64
import re
import socket
from typing import Final

from oborona.config.address import UnixAddress, parse_address

PATIENCE_S: Final = 10.0

_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def request(word: str, **fields: str | bytes | int) -> bytes:
    """Return a request; what is bytes goes in base64, as ACLs send what a stranger says."""
    said = [
        f"{name}64={base64.b64encode(value).decode()}"
        if isinstance(value, bytes)
        else f"{name}={value}"
        for name, value in fields.items()
    ]
    return " ".join(["oborona/1", word, *said]).encode() + b"\n"


def connected(address: str) -> socket.socket:
    """Return a connection to a door, by its address as settings write it."""
    where = parse_address(address)
    if isinstance(where, UnixAddress):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(PATIENCE_S)
        sock.connect(where.path)
        return sock
    return socket.create_connection((where.host, where.port), PATIENCE_S)


def readsocket(address: str, asked: bytes, *, shutdown: bool = True) -> str:
    """Return all that a door says to a request, up to its end of the connection.

    Args:
        address: of the door.
        asked: bytes to send.
        shutdown: close our side after them.
    """
    with connected(address) as sock:
        sock.sendall(asked)
        if shutdown:
            sock.shutdown(socket.SHUT_WR)
        heard = b""
        while more := sock.recv(65_536):
            heard += more
    return heard.decode("ascii")


def extract(key: str, line: str) -> str:
    """Return what ${extract{key}{line}} gives: empty where there is no such key."""
    return next((value for name, value in pairs(line) if name.lower() == key.lower()), "")


def pairs(line: str) -> list[tuple[str, str]]:
    """Return all names and values that Exim finds in a line, in order."""
    found = []
    at = _skip(line, 0)
    while at < len(line):
        begin = at
        while at < len(line) and line[at] != "=" and not line[at].isspace():
            at += 1
        name = line[begin:at]
        at = _skip(line, at)
        if line[at : at + 1] == "=":
            at = _skip(line, at + 1)
        value, at = _dequoted(line, at)
        found.append((name, value))
        at = _skip(line, at)
    return found


def _skip(line: str, at: int) -> int:
    while at < len(line) and line[at].isspace():
        at += 1
    return at


def _dequoted(line: str, at: int) -> tuple[str, int]:
    if line[at : at + 1] != '"':
        begin = at
        while at < len(line) and not line[at].isspace():
            at += 1
        return line[begin:at], at
    value = ""
    at += 1
    while at < len(line) and line[at] != '"':
        if line[at] == "\\":
            letter, at = _escaped(line, at + 1)
            value += letter
        else:
            value += line[at]
            at += 1
    return value, at + 1


def _escaped(line: str, at: int) -> tuple[str, int]:
    """Return what stands for a backslash and what follows it, and where that ends."""
    if at >= len(line):
        return "\\", at
    number = re.compile(r"([0-7]{1,3})|x([0-9A-Fa-f]{1,2})").match(line, at)
    if number:
        return chr(int(number[1], 8) & 0xFF if number[1] else int(number[2], 16)), number.end()
    return _ESCAPES.get(line[at], line[at]), at + 1
