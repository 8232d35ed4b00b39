"""Names of charsets: what senders write, what they mean by it, the codec of Python that reads it, and what mail calls that.

Source: RFC 2978, the IANA registry of character sets; where clients agree to read a superset, the WHATWG Encoding Standard s4.2.
"""

from __future__ import annotations

import codecs
from functools import lru_cache
from typing import Final

_ALIASES: Final = {  # what senders write, and what they mean
    "ansi_x3.4-1968": "ascii",
    "iso-8859-8-i": "iso-8859-8",
    "iso-8859-8-e": "iso-8859-8",
    "x-mac-roman": "mac-roman",
    "x-sjis": "cp932",
    "shift_jis": "cp932",  # senders of Shift_JIS, EUC-KR, Big5 and GB2312 use their supersets (WHATWG Encoding s4.2)
    "shift-jis": "cp932",
    "sjis": "cp932",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "x-gbk": "gb18030",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "unicode-1-1-utf-7": "utf-7",
    "utf8mb4": "utf-8",
    "x-unknown": "ascii",
    "unknown-8bit": "ascii",
    "default": "ascii",
    "iso-8859-1": "cp1252",
    "latin-1": "cp1252",
    "latin1": "cp1252",
    "iso-8859-9": "cp1254",
    "koi8": "koi8-u",
    "koi8-r": "koi8-u",  # has four more letters in place of boxes
    "us-ascii": "ascii",
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
    """Return the Python codec for a declared charset, None when there is none; `charset` in lower case."""
    name = _ALIASES.get(charset, charset)
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError, UnicodeError):
        return None
    if not getattr(info, "_is_text_encoding", True) or info.name.replace("-", "_") in _NOT_TEXT:
        return None
    return info.name


@lru_cache(maxsize=512)
def name_of(codec: str) -> str:
    """Return what mail calls a Python codec."""
    if codec in _NAMES:
        return _NAMES[codec]
    if codec.startswith("cp125"):
        return "windows-" + codec[2:]
    return codec.replace("iso8859", "iso-8859").replace("iso2022", "iso-2022").replace("_", "-")
