"""TELL of spamc as feedback: whose word it is, what is said of which message, and what the client
hears.  Pure.

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
from oborona.doors.spamd.codec import Request
from oborona.doors.spamd.spamc import NOPERM, PROTOCOL, TEMPFAIL, UNAVAILABLE, trouble
from oborona.doors.spamd.told import user
from oborona.feedback.events.model import Event, Way, What
from oborona.feedback.events.spoken import named

FORBIDDEN: Final = trouble(UNAVAILABLE, "TELL is switched off here (doors.spamd.tell)")
NOT_WRITTEN: Final = trouble(TEMPFAIL, "It could not be written down, try again later")

_CLASSES: Final = {"spam": What.COMPLAINT, "ham": What.PARDON}
_SOURCE: Final = "spamd"


class Telling(NamedTuple):
    """What a request tells: an event, or why it is none."""

    event: Event | None
    refusal: bytes = b""  # the answer where there is no event


def telling(request: Request, *, key: bytes, template: str, now: float) -> Telling:
    """Return what a request tells.

    Args:
        request: a TELL.
        key: of the site, for signatures.
        template: of mailbox users' addresses.
        now: Unix seconds.
    """
    if "local" not in _places(request, "set") and "remote" not in _places(request, "set"):
        return Telling(None, trouble(UNAVAILABLE, "Nothing is forgotten here: say ham, or spam"))
    what = _CLASSES.get(request.get("message-class").lower())
    if what is None:
        return Telling(None, trouble(PROTOCOL, "Message-class is neither spam nor ham"))
    who = user(request, template)
    if not who:
        words = f"Who says so? User {request.get('user')[:80]!r} is no mail address (intake.person)"
        return Telling(None, trouble(NOPERM, words))
    raw = without_mailbox_line(request.raw)
    ident, message_id = named(raw, key)
    return Telling(
        Event(
            what=what,
            way=Way.SPAMD,
            time=now,
            person=who,
            ident=ident,
            message_id=message_id,
            raw=raw,
            source=_SOURCE,
        )
    )


def done(request: Request) -> bytes:
    """Return the answer to a request that is written down."""
    headers = "".join(
        f"{did}: {','.join(places)}\r\n"
        for did, name in (("DidSet", "set"), ("DidRemove", "remove"))
        if (places := _places(request, name))
    )
    return f"SPAMD/1.1 0 EX_OK\r\n{headers}\r\n".encode("ascii")


def _places(request: Request, name: str) -> list[str]:
    said = request.get(name).lower()
    return [place for place in ("local", "remote") if place in said]
