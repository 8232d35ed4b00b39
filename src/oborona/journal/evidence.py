"""The evidence of a verdict beside the named facts: counts, answers of DNS lists, results of the
models; pure.

A message's counts are some eighty rows of four windows and six metrics, most of them zeros.  They
are kept whole, in the order in which rules asked for them, as MessagePack compressed by zlib: some
250 bytes and 30 µs a message.  A format of our own without the zeros takes as much room, and twice
the time in Python.
"""

from __future__ import annotations

import zlib
from typing import Final, get_type_hints

import msgspec

from oborona.policy.engines import EngineOpinion
from oborona.policy.models.opinion import UNTAUGHT, ContentOpinion
from oborona.reputation.address import RepIP
from oborona.reputation.dnsbl.model import DnsblListing
from oborona.types import Action, RuleHit

FASTEST: Final = 1  # level of zlib; higher ones save some bytes and cost twice the time
MAX_BYTES: Final = 1 << 20  # unpacked: a thousand pieces; a damaged row must not fill the memory
_TEXT: Final = 200  # characters kept of what a list was asked about, where it is no Unicode

Rows = list[list[list[int]]]
"""[piece][Window][Metric]"""


class VerdictEvidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The evidence on one message; with its entry's facts it is what the rules saw."""

    # by type of piece, in the order in which they were asked for
    counts: tuple[tuple[int, Rows], ...] = ()
    # the same of the other direction, where rules asked for it
    across: tuple[tuple[int, Rows], ...] | None = None
    away: bool = False  # the store did not answer
    robotic: dict[
        int, float | None
    ] = {}  # how regularly a type of piece came, of those whose time-lines were read
    distinct: tuple[
        tuple[int, int], ...
        # type and hash of what was asked beside its pieces: what its unique pairs count, and who of
        # its recipients knows the sender
    ] = ()
    pinned: RepIP | None = None  # what an analyst had said of the client's address
    listings: tuple[DnsblListing, ...] = ()  # what DNS lists said
    signatures: tuple[RuleHit, ...] = ()  # those that are rules of their own
    spf_aligned: bool = False  # the part of dmarc.aligned that SPF has in it
    opinion: ContentOpinion = UNTAUGHT  # of the content model
    engines: tuple[EngineOpinion, ...] = ()  # what other engines said
    young: bool = False  # the counters' memory was: it refused nobody
    # the site's action and what decided it, which is counted, where lists of its readers made
    # another of it
    site: tuple[Action, str] | None = None


_LESS: Final = msgspec.defstruct(
    "KeptLess",
    [
        (name, kind, default)
        for name, kind in get_type_hints(VerdictEvidence).items()
        if name not in ("counts", "across")
        for default in [getattr(VerdictEvidence(), name)]
    ],
)
_UNPACK_LESS: Final = msgspec.msgpack.Decoder(_LESS)
_PACK: Final = msgspec.msgpack.Encoder()
_UNPACK: Final = msgspec.msgpack.Decoder(VerdictEvidence)


def pack_evidence(evidence: VerdictEvidence) -> bytes:
    """Return it as it is stored."""
    try:
        octets = _PACK.encode(evidence)
    except UnicodeEncodeError:  # a lone surrogate in a name that a list was asked about
        octets = _PACK.encode(
            msgspec.structs.replace(evidence, listings=tuple(map(_unicode, evidence.listings)))
        )
    return zlib.compress(octets, FASTEST)


def unpack_evidence(stored: bytes) -> VerdictEvidence:
    """Return what was stored.

    Raises:
        ValueError: it is damaged.
    """
    return _UNPACK.decode(_octets(stored))  # msgspec's errors are ValueErrors


def without_counts(stored: bytes) -> VerdictEvidence:
    """Return what was stored but the counts, which are most of it and take most of the time.

    Raises:
        ValueError: it is damaged.
    """
    less = _UNPACK_LESS.decode(_octets(stored))
    return VerdictEvidence(**{name: getattr(less, name) for name in less.__struct_fields__})


def _octets(stored: bytes) -> bytes:
    stream = zlib.decompressobj()
    try:
        octets = stream.decompress(stored, MAX_BYTES)
    except zlib.error as error:
        raise ValueError(f"damaged: {error}") from error
    if not stream.eof:
        raise ValueError("damaged: it does not end")
    return octets


def _unicode(listing: DnsblListing) -> DnsblListing:
    """Return a listing whose texts any encoding takes."""

    def clean(text: str) -> str:
        return text[:_TEXT].encode("utf-8", "replace").decode()

    return msgspec.structs.replace(listing, asked=clean(listing.asked), say=clean(listing.say))
