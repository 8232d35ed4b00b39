"""What mail servers and clients of SMTP are told whom a full door turns away."""

from __future__ import annotations

from collections.abc import Callable

from oborona.doors.client_key import peer_address
from oborona.doors.overload import BusyWords
from oborona.doors.reply import BUSY, SessionReply


def without_reference(_address: str) -> SessionReply:
    """Return what somebody is told who was turned away, where nobody keeps references."""
    return BUSY


def busy_words(
    turned_away: Callable[[str], SessionReply], encode: Callable[[SessionReply], bytes]
) -> BusyWords:
    """Return the words of a door for those whom it turns away.

    Args:
        turned_away: address → what they are told, with its reference.
        encode: that in the door's protocol.
    """
    return lambda peer: encode(turned_away(peer_address(peer)))
