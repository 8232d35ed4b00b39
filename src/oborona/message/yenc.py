"""Files in a text in yEnc, the 8-bit encoding of Usenet (yEnc draft 1.3):
`=ybegin line=128 size=N name=...` to `=yend`.

Limits: `MAX_FILES` of one text; a file of many parts is one file for each part; sizes and checksums
are not compared.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

MAX_FILES: Final = 20  # in one text

_FILE: Final = re.compile(
    # What follows a head always matches, to the end of the text at most: else each of many heads
    # would be tried to the end.
    (
        rb"^=ybegin [^\n]{0,200}?\bname=([^\n]{1,255})\n(?>=ypart "
        rb"[^\n]*+\n)?+((?>(?!=yend)[^\n]++\n?+|\n)*+)(?>=yend[^\n]*+\n?+)?+"
    ),
    re.MULTILINE,
)
_ESCAPED: Final = re.compile(rb"=(.)", re.DOTALL)
_SHIFTED: Final = bytes((octet - 42) % 256 for octet in range(256))


def files(text: bytes) -> tuple[bytes, list[tuple[str, bytes]]]:
    """Return a text without its files in yEnc, and the files with their names; never raises.

    Args:
        text: octets with LF line ends.

    """
    extracted: list[tuple[str, bytes]] = []
    rest: list[bytes] = []
    position = 0
    for file in islice(_FILE.finditer(text), MAX_FILES):
        extracted.append((file[1].decode("utf-8", "replace").strip(), _decoded(file[2])))
        rest.append(text[position : file.start()])
        position = file.end()
    rest.append(text[position:])
    return b"".join(rest), extracted


def _decoded(lines: bytes) -> bytes:
    whole = lines.replace(b"\n", b"")
    return _ESCAPED.sub(lambda escaped: bytes(((escaped[1][0] - 64) % 256,)), whole).translate(
        _SHIFTED
    )
