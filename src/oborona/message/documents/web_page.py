"""Attached web pages and drawings (HTML, SVG): opened in a browser they are a site of their own,
that no link list knows.
"""

from __future__ import annotations

import binascii
import re
from itertools import islice
from typing import Final
from urllib.parse import unquote_to_bytes

from oborona.message.findings import Findings

# octets, half of them from the end: a page of a form and a script has 10,000
MAX_SEARCHED: Final = 512 << 10
_HANDLER: Final = re.compile(rb"\son(?:load|error|click|mouseover)\s*=")
_ASKS: Final = re.compile(rb"<input[^<>]{1,400}?type\s*=\s*[\"']?password")
_LEADS: Final = re.compile(
    rb"<meta[^<>]{1,200}?http-equiv\s*=\s*[\"']?refresh[^<>]{1,200}?url\s*=|"
    rb"\b(?:window|document|self|top|parent)\s*\.\s*location(?:\s*\.\s*(?:href|replace|assign))?\s*[=(]"
)
_SENDS: Final = re.compile(rb"<form[^<>]{1,400}?action\s*=\s*[\"']?\s*(?:https?:)?//")
# what decodes text, and what runs or shows it
_DECODES: Final = re.compile(
    rb"\b(?:atob|unescape|decodeuricomponent)\s*\(|\bfromcharcode\b|\bfromcodepoint\b"
)
_SHOWS: Final = re.compile(
    rb"\beval\s*\(|\bnew\s+function\b|\bdocument\s*\.\s*write|\b(?:inner|outer)html\s*=|\binsertadjacenthtml\b|"
    rb"\blocation\s*(?:\.\s*(?:href|replace|assign)\s*)?[=(]|\bsrcdoc\b|\bcreateobjecturl\b"
)
MAX_UNPACKED: Final = 8  # encoded texts of a page that are looked into, once each
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]{64,}")
# Words without which a pattern cannot be there: looking for them first is ten times faster.
_HANDLERS: Final = (b"onload", b"onerror", b"onclick", b"onmouseover")
_SCRIPTS: Final = (b"<script", b"javascript:", b"<foreignobject")


def look(octets: bytes, name: str, findings: Findings) -> None:
    """Look for scripts, for one that unpacks the page, for a form that asks for a password or is
    sent elsewhere, for a page that leads elsewhere at once.

    Args:
        octets: of the page.
        name: for evidence.
        findings: gets page-script, page-unpacks, page-form, page-password, page-leads-away.
            The last three of what a script unpacks, too.
    """
    if len(octets) > MAX_SEARCHED:
        octets = octets[: MAX_SEARCHED // 2] + octets[-MAX_SEARCHED // 2 :]
    if octets[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        octets = octets.replace(b"\0", b"")
    as_written, octets = octets, octets.lower()
    if any(mark in octets for mark in _SCRIPTS) or (
        any(mark in octets for mark in _HANDLERS) and _HANDLER.search(octets)
    ):
        findings.add("page-script", name)
        if _DECODES.search(octets) and _SHOWS.search(octets):
            findings.add("page-unpacks", name)
            octets += _unpacked(as_written).lower()
    if b"<form" in octets and _SENDS.search(octets):
        findings.add("page-form", name)
    if b"password" in octets and _ASKS.search(octets):
        findings.add("page-password", name)
    if (b"location" in octets or b"refresh" in octets) and _LEADS.search(octets):
        findings.add("page-leads-away", name)


def _unpacked(octets: bytes) -> bytes:
    """Return what a script would find in texts that are base64 or percent-encoded.

    Of one layer: whoever packs twice is not read, and has still packed.
    """
    parts = [
        binascii.a2b_base64(text[: len(text) // 4 * 4])
        for text in islice(_BASE64.findall(octets), MAX_UNPACKED)
    ]
    if octets.count(b"%") * 6 > len(octets):
        parts.append(unquote_to_bytes(octets))
    return b"\n".join(parts)
