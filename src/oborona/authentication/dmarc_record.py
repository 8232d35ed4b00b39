"""A DMARC record: tags and what they mean (RFC 9989, and RFC 7489 section 6.3 before it).

Of the older RFC `pct` is kept, since most records in use were written for it. Reports are not sent,
so `rua` says only whether a record without a usable policy is meant as one; `ruf`, `fo`, `rf`, `ri`
say nothing here.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from oborona.authentication.model import DmarcPolicy

MAX_RECORD: Final = 8192  # octets; an honest record has under 500

_VERSION: Final = re.compile(rb"[vV][ \t]*=[ \t]*DMARC1[ \t]*(?:;|$)")
_PERCENT: Final = re.compile(r"[0-9]{1,3}")
_URI: Final = re.compile(r"[a-z][a-z0-9+.-]*:[^ \t]+")
_POLICIES: Final = {policy.value: policy for policy in DmarcPolicy}


class UnusableDmarcRecord(Exception):  # noqa: N818 - reads as what the record is
    """A record without a policy, to which no DMARC processing is applied; the text says why."""


class DmarcRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a domain publishes."""

    policy: DmarcPolicy  # p
    subdomains: DmarcPolicy | None = None  # sp
    missing: DmarcPolicy | None = None  # np: of names that do not exist
    strict_dkim: bool = False  # adkim=s
    strict_spf: bool = False  # aspf=s
    percent: int = 100  # pct
    testing: bool = False  # t=y
    # psd=y: of a public suffix; psd=n: of an organisation; None = not said
    suffix: bool | None = None


def is_dmarc_record(text: bytes) -> bool:
    """Return whether a TXT record is one of DMARC: its first tag is the version, to the letter."""
    return _VERSION.match(text) is not None


def parse_dmarc_record(text: bytes) -> DmarcRecord:
    """Return what a record says.

    Names of tags and words are read in any case; of a tag given twice the first counts; unknown
    tags, and values that make no sense, are as if absent. Where `p` is missing, or `p`, `sp` or
    `np` is no policy, it is none for all if `rua` names an address for reports, and else the record
    is as good as none (RFC 9989 s4.10.1, RFC 7489 s6.6.3).

    Args:
        text: for which `is_dmarc_record` holds.

    Raises:
        Unusable: there is no policy, or none of the RFC's words, and nobody wants reports; or the
            record is too long.
    """
    if len(text) > MAX_RECORD:
        raise UnusableDmarcRecord(f"record of {len(text)} octets")
    tags: dict[str, str] = {}
    for part in text.decode("ascii", "replace").lower().split(";"):
        name, equals, value = part.partition("=")
        if equals:
            tags.setdefault(name.strip(" \t"), value.strip(" \t"))
    bad = [
        f"{name}={tags[name]} is no policy"
        for name in ("p", "sp", "np")
        if tags.get(name, "none") not in _POLICIES
    ]
    bad += ["p is missing"] if "p" not in tags else []
    if bad and not any(_URI.fullmatch(uri.strip(" \t")) for uri in tags.get("rua", "").split(",")):
        raise UnusableDmarcRecord(bad[0])
    return DmarcRecord(
        policy=DmarcPolicy.NONE if bad else _POLICIES[tags["p"]],
        subdomains=None if bad or "sp" not in tags else _POLICIES[tags["sp"]],
        missing=None if bad or "np" not in tags else _POLICIES[tags["np"]],
        strict_dkim=tags.get("adkim") == "s",
        strict_spf=tags.get("aspf") == "s",
        percent=_percent(tags.get("pct", "")),
        testing=tags.get("t") == "y",
        suffix={"y": True, "n": False}.get(tags.get("psd", "")),
    )


def _percent(text: str) -> int:
    return int(text) if _PERCENT.fullmatch(text) and int(text) <= 100 else 100
