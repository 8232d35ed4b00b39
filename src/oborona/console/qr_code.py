"""QR codes as a path of SVG, which stands in the page itself: it is in no answer of its own."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MAX_TEXT: Final = 1200  # letters: a code of more has dots that a telephone does not tell apart
_PATH: Final = re.compile(r'<svg width="([0-9]+)".*<path d="([0-9MhvZ. -]+)"', re.DOTALL)


class QrCode(NamedTuple):
    """A code.

    Args:
        size: of its square, in dots, with the white around it.
        path: of the dots that are black.
    """

    size: int
    path: str


def qr_code(text: str) -> QrCode | None:
    """Return a text as a QR code; None = it is too long for one, or more than ASCII."""
    # loaded where somebody sets up a second step: 1.2 MB that other consoles do not need
    import zxingcpp

    if not text.isascii() or not 0 < len(text) <= MAX_TEXT:
        return None
    svg = zxingcpp.create_barcode(text, zxingcpp.BarcodeFormat.QRCode, ec_level="M").to_svg()
    found = _PATH.search(svg)
    return QrCode(int(found[1]), found[2]) if found else None
