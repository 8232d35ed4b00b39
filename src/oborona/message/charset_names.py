"""Names of charsets: what senders write, what they mean by it, the codec of Python that reads it,
and what mail calls that.

Source: RFC 2978, the IANA registry of character sets; where clients agree to read a superset, the
WHATWG Encoding Standard s4.2.
"""

from __future__ import annotations

import codecs
from functools import lru_cache
from typing import Final

_ALIASES: Final = {  # what senders write, and no codec is called
    "ansi_x3.4-1968": "ascii",
    "cn-big5": "big5",
    "cp-1251": "cp1251",
    "default": "ascii",
    "dos-866": "cp866",
    "gb_2312-80": "gb2312",
    "iso-8859-8-e": "iso-8859-8",
    "iso-8859-8-i": "iso-8859-8",
    "koi8": "koi8-u",
    "koi8-ru": "koi8-u",
    "latin-1": "cp1252",
    "ms_kanji": "cp932",
    "unicode-1-1-utf-7": "utf-7",
    "unknown-8bit": "ascii",
    "utf8mb4": "utf-8",
    "win-1251": "cp1251",
    "windows-31j": "cp932",
    "windows-874": "cp874",
    "windows-949": "cp949",
    "x-cp1251": "cp1251",
    "x-euc-jp": "euc_jp",
    "x-gbk": "gbk",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-mac-roman": "mac-roman",
    "x-sjis": "cp932",
    "x-unknown": "ascii",
    "x-windows-874": "cp874",
    "x-x-big5": "big5",
}
_MEANT: Final = {  # codecs, and the supersets of them that senders write (WHATWG Encoding s4.2)
    "big5": "cp950",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-11": "cp874",
    "iso8859-9": "cp1254",
    "koi8-r": "koi8-u",  # has four more letters in place of boxes
    "shift_jis": "cp932",
    "tis-620": "cp874",
}
_ESCAPES_TOO: Final = frozenset(
    {"utf_7", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"}
)
_NOT_TEXT: Final = _ESCAPES_TOO - {"utf_7"}  # codecs of Python that are no charset of mail
_NAMES: Final = {  # of codecs, where mail's is another
    "ascii": "us-ascii",
    "cp949": "euc-kr",
    "cp932": "shift_jis",
    "cp950": "big5",
    "cp874": "windows-874",
    "gb18030": "gbk",
    "koi8-u": "koi8-r",
}


@lru_cache(maxsize=512)
def codec_of(charset: str) -> str | None:
    """Return the Python codec for a declared charset, None when there is none.

    `charset` in lower case.
    """
    name = _ALIASES.get(charset, charset)
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError, UnicodeError):
        return None
    if not getattr(info, "_is_text_encoding", True) or info.name.replace("-", "_") in _NOT_TEXT:
        return None
    return _MEANT.get(info.name, info.name)


@lru_cache(maxsize=512)
def name_of(codec: str) -> str:
    """Return what mail calls a Python codec."""
    if codec in _NAMES:
        return _NAMES[codec]
    if codec.startswith("cp125"):
        return "windows-" + codec[2:]
    return codec.replace("iso8859", "iso-8859").replace("iso2022", "iso-2022").replace("_", "-")
