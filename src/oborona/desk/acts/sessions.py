"""The act by which sessions end."""

from __future__ import annotations

import msgspec

from oborona.desk.acts.people import PersonOrder
from oborona.desk.call import NotAllowedError, act
from oborona.desk.people.authority import check_power
from oborona.desk.people.views import changed_people, person_named
from oborona.desk.site import Site
from oborona.people.caller import Caller, CallWay
from oborona.people.rights import Right
from oborona.people.session_book import SessionBook


class SessionOrder(PersonOrder, kw_only=True):
    """Which sessions end.

    Args:
        session: its name in the list; empty = all.
    """

    session: str = ""


class EndedSessions(msgspec.Struct, frozen=True, kw_only=True):
    """How many sessions were ended."""

    ended: int


@act("people.end_session", Right.PEOPLE, Right.AUDIT_OWN, scoped=True, about=("name", "session"))
def end_session(site: Site, caller: Caller, asked: SessionOrder) -> EndedSessions:
    """End one session of a person, or all; everybody their own.

    Raises:
        NotAllowedError: it is another's, and the caller may not.
        PeopleError: there is no such session.
    """
    with changed_people(site, asked) as store:
        own = caller.way is CallWay.PAGE and asked.name == caller.name
        if not own and not (caller.may(Right.PEOPLE) and caller.scope.whole):
            raise NotAllowedError("that is another's session")
        person = person_named(store, asked.name)
        if not own:
            check_power(caller, person)
        sessions = SessionBook(store, step_required=False)
        if not asked.session:
            return EndedSessions(ended=sessions.end_all(person))
        sessions.end_named(person, asked.session)
    return EndedSessions(ended=1)
