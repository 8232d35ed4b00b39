"""TELL of spamc as feedback: the person, the complaint or pardon, the message, and the answer to
the client. Pure.

    spamc -L spam       Message-class: spam, Set: local                    complaint
    spamc -C report     Message-class: spam, Set: local,remote             complaint
    spamc -L ham        Message-class: ham, Set: local                     pardon
    spamc -C revoke     Message-class: ham, Set: local, Remove: remote     pardon
    spamc -L forget     Remove: local                                      refused: a word is taken
                        back by the opposite one

There is one store of what people say, and it is the site's: what goes "remote" goes there too, and
nowhere else.

Source: spamd/PROTOCOL of SpamAssassin 4.0.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from oborona.doors.rfc5322 import without_mailbox_line
from oborona.doors.spamd.codec import SpamdRequest
from oborona.doors.spamd.request import user_address
from oborona.doors.spamd.spamc import NOPERM, PROTOCOL, TEMPFAIL, UNAVAILABLE, error_answer
from oborona.feedback.events.message_reference import read_reference
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent

FORBIDDEN: Final = error_answer(UNAVAILABLE, "TELL is switched off here (doors.spamd.tell)")
NOT_WRITTEN: Final = error_answer(TEMPFAIL, "It could not be written down, try again later")

_CLASSES: Final = {"spam": EventKind.COMPLAINT, "ham": EventKind.PARDON}
_SOURCE: Final = "spamd"


class TellResult(NamedTuple):
    """What a request tells: an event, or why it is none."""

    event: FeedbackEvent | None
    refusal: bytes = b""  # the answer where there is no event


def tell_result(request: SpamdRequest, *, key: bytes, template: str, now: float) -> TellResult:
    """Return what a request tells.

    Args:
        request: a TELL.
        key: of the site, for signatures.
        template: of mailbox users' addresses.
        now: Unix seconds.
    """
    if "local" not in _places(request, "set") and "remote" not in _places(request, "set"):
        return TellResult(
            None, error_answer(UNAVAILABLE, "Nothing is forgotten here: say ham, or spam")
        )
    kind = _CLASSES.get(request.get("message-class").lower())
    if kind is None:
        return TellResult(None, error_answer(PROTOCOL, "Message-class is neither spam nor ham"))
    person = user_address(request, template)
    if not person:
        words = f"Who says so? User {request.get('user')[:80]!r} is no mail address (intake.person)"
        return TellResult(None, error_answer(NOPERM, words))
    raw = without_mailbox_line(request.raw)
    ident, message_id = read_reference(raw, key)
    return TellResult(
        FeedbackEvent(
            what=kind,
            way=EventChannel.SPAMD,
            time=now,
            person=person,
            ident=ident,
            message_id=message_id,
            raw=raw,
            source=_SOURCE,
        )
    )


def tell_done_answer(request: SpamdRequest) -> bytes:
    """Return the answer to a request that is written down."""
    headers = "".join(
        f"{did}: {','.join(places)}\r\n"
        for did, name in (("DidSet", "set"), ("DidRemove", "remove"))
        if (places := _places(request, name))
    )
    return f"SPAMD/1.1 0 EX_OK\r\n{headers}\r\n".encode("ascii")


def _places(request: SpamdRequest, name: str) -> list[str]:
    line = request.get(name).lower()
    return [place for place in ("local", "remote") if place in line]
