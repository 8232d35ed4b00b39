"""Parts that are not shown as text: name, size, checksum, and whether it is a picture. Never unpacked.

A picture is told by its first octets, as its name and type are the sender's words; a declared image/* is one too, since a
client will try to show it.
"""

from __future__ import annotations

import hashlib
from typing import Final

from oborona.message.findings import Findings
from oborona.message.limits import Limits
from oborona.message.model import Attachment

_PICTURES: Final = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF87a",
    b"GIF89a",
    b"BM",
    b"II*\x00",
    b"MM\x00*",
)
_PROGRAMS: Final = (
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
)
_INVISIBLE: Final = dict.fromkeys(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF, 0xAD]
)
MAX_EXTENSION: Final = 20  # characters: settingcontent-ms, application; longer ones are no extension


def attachment(
    octets: bytes, name: str, content_type: str, limits: Limits, findings: Findings, *, whole: bool = True
) -> Attachment:
    """Return what is known of an attachment.

    Args:
        octets: decoded.
        name: as declared; a path loses its folders, direction marks (invoice[RLO]gpj.exe) are dropped.
        content_type: as declared.
        limits: for the octets hashed.
        findings: gets attachment-too-large.
        whole: whether `octets` is all of it.

    """
    if len(octets) > limits.attachment_octets or not whole:
        findings.add("attachment-too-large", name)
        octets = octets[: limits.attachment_octets]
    name = name.translate(_INVISIBLE).replace("\\", "/").rpartition("/")[2].strip()
    return Attachment(
        name=name,
        extension=extension(name),
        content_type=content_type,
        size=len(octets),
        sha256=hashlib.sha256(octets).digest(),
        picture=content_type.startswith("image/") or is_picture(octets),
        program=is_program(octets),
    )


def extension(name: str) -> str:
    """Return what follows the last dot of a file name, lower case, as Windows reads it (final dots and spaces dropped)."""
    stem, dot, found = name.rstrip(". ").rpartition(".")
    known = dot and stem and len(found) <= MAX_EXTENSION and found.replace("-", "").isalnum()
    return found.lower() if known else ""


def is_picture(octets: bytes) -> bool:
    """Return whether octets begin like a PNG, JPEG, GIF, BMP, TIFF or WebP file."""
    return octets.startswith(_PICTURES) or (octets[:4] == b"RIFF" and octets[8:12] == b"WEBP")


def is_program(octets: bytes) -> bool:
    """Return whether octets begin like a program of Windows, Linux or macOS; text that begins with MZ has no NUL soon after."""
    return (octets.startswith(b"MZ") and b"\0" in octets[:64]) or octets.startswith(_PROGRAMS)
