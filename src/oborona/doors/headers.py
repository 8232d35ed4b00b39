"""The header edits of a message that passes: our headers are added, and those that came in under
our names are removed.
"""

from __future__ import annotations

from oborona.authentication.header import authentication_results
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import FIELD_NAME, AddHeader, RemoveHeader, VerdictDetails
from oborona.policy.headers import (
    LOOKED_AT,
    OUR_NAMES,
    id_header,
    is_forged_header,
    our_headers,
    trace_header,
)
from oborona.policy.scan import Scan


def header_edits(
    rests: VerdictDetails, message: RawMessage, site: str, *, own: bool, leaves: bool = False
) -> tuple[AddHeader | RemoveHeader, ...]:
    """Return what is done to the headers of a message that passes.

    Args:
        rests: what its reply rests on.
        message: as it came.
        site: our authserv-id.
        own: it is of our own people, whose mail is not authenticated that way.
        leaves: it is outgoing: whoever gets it learns of no score, and no spammer among our own
            people his own.
    """
    if leaves:
        return (*_removals(message, site), AddHeader(*id_header(rests.ident)))
    return (
        *_removals(message, site),
        *(() if own else (_results(rests.scan, site),)),
        *(AddHeader(*header) for header in our_headers(rests.verdict, rests.ident, rests.detail)),
    )


def _results(scanned: Scan | None, site: str) -> AddHeader:
    """What authentication found; where nobody asked it, that is said (RFC 8601 section 2.2)."""
    if scanned is None:
        return AddHeader(*trace_header(f"{site}; none"), top=True)
    results = authentication_results(scanned.evidence.identity, site, ip=scanned.envelope.client.ip)
    return AddHeader(*trace_header(results), top=True)


def _removals(message: RawMessage, site: str) -> list[RemoveHeader]:
    """What came in under our names.

    The last of a name first, so that no removal moves another's place.
    """
    counts: dict[str, int] = {}
    forged = []
    for raw_name, raw_value in message.headers:
        name = raw_name.decode("ascii", "replace")
        low = name.lower()
        if not low.startswith(OUR_NAMES) or not FIELD_NAME.fullmatch(
            name
        ):  # no reader takes another for ours
            continue
        counts[low] = counts.get(low, 0) + 1
        if is_forged_header(low, raw_value[:LOOKED_AT].decode("utf-8", "replace"), site):
            forged.append(RemoveHeader(name, counts[low]))
    return forged[::-1]
