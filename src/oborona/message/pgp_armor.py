"""What a reader sees of a text in OpenPGP's clear signature framework (RFC 9580 s7): the text
without the armour around it.

The signature's base64 is another one for each letter, so it would make every copy of a text its
own. Only what is base64 is taken for a signature; words that stand in its place stay.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.message.findings import Findings

_ANY: Final = "-----BEGIN PGP "
_ENCRYPTED: Final = re.compile(r"^-----BEGIN PGP MESSAGE-----[ \t]*$", re.MULTILINE)
_OPENING: Final = re.compile(
    r"^-----BEGIN PGP SIGNED MESSAGE-----[ \t]*+\n(?>[A-Za-z-]{1,40}+: [^\n]*+\n)*+\n?+",
    re.MULTILINE,
)
_SIGNATURE: Final = re.compile(
    r"^-----BEGIN PGP SIGNATURE-----[ \t]*+\n(?>[A-Za-z-]{1,40}+: "
    r"[^\n]*+\n)*+\n?+(?>[A-Za-z0-9+/=]{1,80}+(?:\n|\Z))*+"
    r"(?>-----END PGP SIGNATURE-----[ \t]*+\n?+)?+",
    re.MULTILINE,
)
# s7.1: put before lines that begin with a dash
_DASH: Final = re.compile(r"^- (?=-)", re.MULTILINE)


def strip_armor(text: str, findings: Findings) -> str:
    """Return a text without the armour of its signature.

    Args:
        text: with LF line ends.
        findings: gets message-encrypted.

    """
    if _ANY not in text:
        return text
    if _ENCRYPTED.search(text):
        findings.add("message-encrypted", "OpenPGP in the text")
    opened = _OPENING.sub("", text)
    return text if opened == text else _DASH.sub("", _SIGNATURE.sub("", opened))
