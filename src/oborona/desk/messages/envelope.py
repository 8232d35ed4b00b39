"""What a message file does not say, as people write it: who sent it, from where, to whom."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final

_UNFIT: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")  # no mail server lets these into an address


def read_ip(text: str) -> str:
    """Return an address as mail servers write it; empty is none.

    Raises:
        ValueError: it is none.
    """
    try:
        return str(ip_address(text)) if text else ""
    except ValueError:
        raise ValueError(f"{text!r} is no IP address") from None


def read_mailbox(text: str) -> str:
    """Return an address without <>; empty is the sender of a bounce.

    Raises:
        ValueError: it can be none.
    """
    if _UNFIT.search(text):
        raise ValueError(f"{text!r} holds blanks or control characters")
    return text.removeprefix("<").removesuffix(">")
