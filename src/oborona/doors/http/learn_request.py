"""Learn requests of rspamd's clients, as the feedback of a person on a message.  Pure.

rspamd's learning has no person in it; ours has nothing else to believe.  Whose mailbox it was is
said in Deliver-To, or else in User.
"""

from __future__ import annotations

from oborona.doors.arguments import path_address
from oborona.doors.http.envelopes import EnvelopeHeaders
from oborona.errors import PeerError
from oborona.feedback.events.http_body import FeedbackRequest, event_of
from oborona.feedback.events.message_reference import person_address
from oborona.feedback.events.model import EventKind, FeedbackEvent


class ReporterUnproved(PeerError):  # noqa: N818 - reads as what happened
    """The reporter is not named, or not proved."""


def learn_event(
    kind: EventKind,
    headers: EnvelopeHeaders,
    raw: bytes,
    *,
    key: bytes,
    template: str,
    source: str,
    now: float,
) -> FeedbackEvent:
    """Return the event of a request.

    Args:
        kind: complaint or pardon.
        headers: the headers of the request.
        raw: the message.
        key: of the site, for signatures.
        template: of mailbox users' addresses.
        source: the client.
        now: Unix seconds.

    Raises:
        NotBelieved: no person is named.
        PeerError: nothing can follow from it.
    """
    users = (path_address(headers.get(name)) for name in (b"deliver-to", b"user"))
    person = next(filter(None, (person_address(user, template) for user in users if user)), "")
    if not person:
        raise ReporterUnproved(
            "who says so? Name the mailbox in Deliver-To (rspamc -d joe@example.org)"
        )
    return event_of(
        FeedbackRequest(what=kind, person=person, raw=raw), key=key, once="", source=source, now=now
    )
