"""What a client of rspamd teaches, as what a person says of a message.  Pure.

rspamd's learning has no person in it; ours has nothing else to believe.  Whose mailbox it was is said in Deliver-To, or else in User.
"""

from __future__ import annotations

from oborona.errors import PeerError
from oborona.feedback.events.model import Event, What
from oborona.milter.http.envelopes import Said
from oborona.milter.intake.http_body import Said as Spoken
from oborona.milter.intake.http_body import event_of
from oborona.reputation.personal import mail_address


class NobodySaid(PeerError):  # noqa: N818 - reads as what happened
    """It is not told who says so."""


def learned(what: What, said: Said, raw: bytes, *, key: bytes, source: str, now: float) -> Event:
    """Return the event of a request.

    Args:
        what: complaint or pardon.
        said: the headers of the request.
        raw: the message.
        key: of the site, for signatures.
        source: the client.
        now: Unix seconds.

    Raises:
        NobodySaid: no person is named.
        PeerError: nothing can follow from it.
    """
    person = next(filter(None, (mail_address(said.get(name)) for name in (b"deliver-to", b"user"))), "")
    if not person:
        raise NobodySaid("who says so? Name the mailbox in Deliver-To (rspamc -d joe@example.org)")
    return event_of(Spoken(what=what, person=person, raw=raw), key=key, once="", source=source, now=now)
