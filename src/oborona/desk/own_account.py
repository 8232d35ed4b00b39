"""One's own account: calls of who is signed in, about their sessions, password and second step.

me.show                who one is and may
me.sessions, me.end_session, me.attempts
me.confirm             the password once more, for acts that hurt
me.password, me.language
me.begin_step, me.confirm_step, me.drop_step   codes as the second step
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import msgspec

from oborona.desk.call import CallError, NotFoundError
from oborona.desk.open_call import OpenCall
from oborona.desk.own_call import OwnWord, SignedSession, own_call
from oborona.desk.signed_caller import LoginRefusedError, SignedCaller, signed_caller
from oborona.desk.site import Site
from oborona.people.login_book import LoginBook
from oborona.people.login_try import AttemptBook, LoginTry
from oborona.people.person import NoPersonError, checked_language
from oborona.people.session_book import PersonSession, SessionBook
from oborona.people.step_book import StepBook
from oborona.people.store import PeopleStore


class OwnAccount:
    """The accounts of a site, each as its owner asks about it.

    Args:
        site: whose policy and name are told.
        store: of people.
        sessions: of the same store.
        logins: of the same store.
    """

    def __init__(
        self, site: Site, store: PeopleStore, sessions: SessionBook, logins: LoginBook
    ) -> None:
        self._site = site
        self._store = store
        self._sessions = sessions
        self._logins = logins
        self._steps = StepBook(store)
        self.open_calls: Mapping[str, OpenCall] = {
            "me.show": own_call(sessions, self._show),
            "me.sessions": own_call(sessions, self._list_sessions),
            "me.end_session": own_call(sessions, self._end_session),
            "me.attempts": own_call(sessions, self._list_attempts),
            "me.confirm": OpenCall(OwnWord, self._confirm),
            "me.password": own_call(sessions, self._change_password, fresh=True),
            "me.language": own_call(sessions, self._choose_language),
            "me.begin_step": own_call(sessions, self._begin_step, fresh=True),
            "me.confirm_step": own_call(sessions, self._confirm_step, fresh=True),
            "me.drop_step": own_call(sessions, self._drop_step, fresh=True),
        }

    def _show(self, own: SignedSession, _asked: OwnWord) -> SignedCaller:
        return signed_caller(self._site, own.view)

    def _list_sessions(
        self, own: SignedSession, _asked: OwnWord
    ) -> dict[str, list[PersonSession] | str]:
        return {
            "here": own.view.session.ident,
            "sessions": self._sessions.of(own.view.person, own.now),
        }

    def _end_session(self, own: SignedSession, asked: OwnWord) -> dict[str, str]:
        try:
            self._sessions.end_named(own.view.person, asked.ident)
        except NoPersonError as error:
            raise NotFoundError(str(error)) from None
        return {"ended": asked.ident}

    def _list_attempts(self, own: SignedSession, _asked: OwnWord) -> dict[str, list[LoginTry]]:
        return {"attempts": AttemptBook(self._store).of(own.view.person)}

    def _confirm(self, asked: OwnWord, token: str, place: str, _agent: str) -> dict[str, bool]:
        refused = self._logins.confirm(token, asked.password, place, time.time())
        if refused is not None:
            raise LoginRefusedError(refused)
        return {"fresh": True}

    def _change_password(self, own: SignedSession, asked: OwnWord) -> dict[str, bool]:
        self._logins.change_password(own.view, asked.new, own.now)
        return {"changed": True}

    def _choose_language(self, own: SignedSession, asked: OwnWord) -> dict[str, str]:
        language = checked_language(asked.language)
        self._store.change(msgspec.structs.replace(own.view.person, language=language), ends=False)
        return {"language": language}

    def _begin_step(self, own: SignedSession, _asked: OwnWord) -> dict[str, str]:
        secret, uri = self._steps.enrol(own.view, self._site.name)
        return {"secret": secret, "uri": uri}

    def _confirm_step(self, own: SignedSession, asked: OwnWord) -> dict[str, bool]:
        if not self._steps.confirm(own.view, asked.code, own.now):
            raise CallError("that is not the code of now")
        return {"confirmed": True}

    def _drop_step(self, own: SignedSession, _asked: OwnWord) -> dict[str, bool]:
        self._steps.drop(own.view)
        return {"dropped": True}
