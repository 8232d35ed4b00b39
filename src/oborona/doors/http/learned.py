"""What a client of rspamd teaches, as what a person says of a message.  Pure.

rspamd's learning has no person in it; ours has nothing else to believe.  Whose mailbox it was is
said in Deliver-To, or else in User.
"""

from __future__ import annotations

from oborona.doors.arguments import path
from oborona.doors.http.envelopes import Said
from oborona.errors import PeerError
from oborona.feedback.events.http_body import Said as Spoken
from oborona.feedback.events.http_body import event_of
from oborona.feedback.events.model import Event, What
from oborona.feedback.events.spoken import person


class NotBelieved(PeerError):  # noqa: N818 - reads as what happened
    """It is not told who says so, or nobody can be sure that it is them."""


def learned(
    what: What, said: Said, raw: bytes, *, key: bytes, template: str, source: str, now: float
) -> Event:
    """Return the event of a request.

    Args:
        what: complaint or pardon.
        said: the headers of the request.
        raw: the message.
        key: of the site, for signatures.
        template: of mailbox users' addresses.
        source: the client.
        now: Unix seconds.

    Raises:
        NotBelieved: no person is named.
        PeerError: nothing can follow from it.
    """
    users = (path(said.get(name)) for name in (b"deliver-to", b"user"))
    who = next(filter(None, (person(user, template) for user in users if user)), "")
    if not who:
        raise NotBelieved("who says so? Name the mailbox in Deliver-To (rspamc -d joe@example.org)")
    return event_of(
        Spoken(what=what, person=who, raw=raw), key=key, once="", source=source, now=now
    )
