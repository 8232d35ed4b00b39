"""Content-Transfer-Encoding undone (RFC 2045 s6), as leniently as mail clients do it.

base64: foreign characters are passed over and a missing end is tolerated; quoted-printable: an =
that starts no code stays as it is; 7bit, 8bit, binary and unknown ones are taken as they stand.
uuencoded files in a text ("begin 644 name") are cut out of it. What was broken is a finding.
"""

from __future__ import annotations

import binascii
import re
from itertools import islice
from typing import Final

from oborona.message.findings import Findings

_NO_BASE64: Final = bytes(
    set(range(256)) - set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
)
_FOREIGN: Final = re.compile(rb"[^A-Za-z0-9+/=\s]")
_BAD_QUOTED: Final = re.compile(rb"=(?![0-9A-Fa-f]{2}|[ \t]*\n|[ \t]*$)")
_IDENTITY: Final = frozenset({"", "7bit", "8bit", "binary", "7-bit", "8-bit", "none"})
_UU_BEGIN: Final = re.compile(rb"^begin [0-7]{3,4} ([^\n]{1,255})\n", re.MULTILINE)
_RUN: Final = re.compile(rb"[^=]++")
_LINE: Final = re.compile(rb"[^\n]++")
MAX_UU_FILES: Final = 20  # in one text
MAX_UU_BEGINS: Final = 1000  # lines in one text that look like the first of a file


def decode(body: bytes, encoding: str, findings: Findings) -> bytes:
    """Return the octets of a body; never raises.

    Args:
        body: as sent, LF line ends.
        encoding: Content-Transfer-Encoding in lower case.
        findings: gets base64-broken, quoted-printable-broken, encoding-unknown.

    """
    if encoding in _IDENTITY:
        return body
    if encoding == "quoted-printable":
        if _BAD_QUOTED.search(body):
            findings.add("quoted-printable-broken")
        return binascii.a2b_qp(body)
    if encoding == "base64":
        return base64(body, findings)
    if encoding in {"x-uuencode", "uuencode", "x-uue", "uue"}:
        text, files = uuencoded(body, findings)
        return files[0][1] if files else text
    findings.add("encoding-unknown", encoding)
    return body


def base64(body: bytes, findings: Findings) -> bytes:
    """Return what can be decoded of base64.

    A second run after padding is decoded too, as mail clients do.
    """
    if _FOREIGN.search(body):
        findings.add("base64-broken")
    clean = body.translate(None, _NO_BASE64)
    try:
        return binascii.a2b_base64(clean, strict_mode=True)
    except binascii.Error:
        pass
    pieces = [run[0] for run in islice(_RUN.finditer(clean), MAX_BASE64_RUNS)]
    if len(pieces) != 1 or len(pieces[0]) % 4 == 1 or (b"=" in clean and len(clean) % 4):
        findings.add("base64-broken")
    out = []
    for piece in pieces:
        whole = piece[: len(piece) - 1] if len(piece) % 4 == 1 else piece
        out.append(binascii.a2b_base64(whole + b"=" * (-len(whole) % 4)))
    return b"".join(out)


MAX_BASE64_RUNS: Final = 1000  # padded runs one after another; a line-wise encoder makes one a line


def uuencoded(text: bytes, findings: Findings) -> tuple[bytes, list[tuple[str, bytes]]]:
    """Return a text without its uuencoded files, and the files with their names; never raises."""
    files: list[tuple[str, bytes]] = []
    rest: list[bytes] = []
    position = 0
    for begin in islice(_UU_BEGIN.finditer(text), MAX_UU_BEGINS):
        if len(files) >= MAX_UU_FILES:
            break
        if begin.start() < position:  # inside a file
            continue
        first_line = text[begin.end() : text.find(b"\n", begin.end()) % (len(text) + 1)]
        if not first_line or _uu_line(first_line) is None:  # prose: "begin 123 steps ..."
            continue
        end = text.find(b"\nend", begin.end() - 1)
        if end < 0:
            findings.add("uuencode-broken", begin[1])
            end = len(text)
        files.append(
            (
                begin[1].decode("utf-8", "replace").strip(),
                _uu_lines(text[begin.end() : end], findings),
            )
        )
        rest.append(text[position : begin.start()])
        position = min(end + len(b"\nend"), len(text))
    rest.append(text[position:])
    return b"".join(rest), files


def _uu_lines(block: bytes, findings: Findings) -> bytes:
    """Return the octets of all lines, never more than the lines are: four characters stand for
    three octets.
    """
    out = []
    left = len(block)
    for match in _LINE.finditer(block):
        line = match[0]
        octets = _uu_line(line)
        if octets is None:
            findings.add("uuencode-broken", line)
            continue
        left -= len(octets)
        if left < 0:
            findings.add("uuencode-broken", "lines without their octets")
            break
        out.append(octets)
    return b"".join(out)


def _uu_line(line: bytes) -> bytes | None:
    """Return the octets of one line, None when it is none. A line may lack its final spaces."""
    if not line or line in {b"`", b" "}:
        return b""
    length = (line[0] - 32) & 63
    encoded_length = 1 + (length + 2) // 3 * 4
    if not 32 <= line[0] <= 96 or len(line) > encoded_length + 2:
        return None
    try:
        return binascii.a2b_uu(line[:encoded_length].ljust(encoded_length))
    except binascii.Error:
        return None
