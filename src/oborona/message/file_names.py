"""Names of files, as a reader sees them and as Windows acts on them."""

from __future__ import annotations

from typing import Final

_INVISIBLE: Final = dict.fromkeys(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF, 0xAD]
)
MAX_NAME: Final = 255  # characters: what file systems take
# characters: settingcontent-ms, application; longer ones are no extension
MAX_EXTENSION: Final = 20


def plain(name: str) -> str:
    """Return a file name without its folders and without marks that show it in another order
    (invoice[RLO]gpj.exe).
    """
    name = name.replace("\\", "/").rpartition("/")[2]
    if not name.isascii():
        name = name.translate(_INVISIBLE)
    return name.strip().replace("\0", "")[-MAX_NAME:]


def extension(name: str) -> str:
    """Return what follows the last dot of a file name, lower case, as Windows reads it (final dots
    and spaces dropped).
    """
    stem, dot, suffix = name.rstrip(". ").rpartition(".")
    plausible = dot and stem and len(suffix) <= MAX_EXTENSION and suffix.replace("-", "").isalnum()
    return suffix.lower() if plausible else ""
