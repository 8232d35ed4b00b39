"""Second steps: begun, confirmed by a first code, taken at logins, removed."""

from __future__ import annotations

from oborona.people import second_step
from oborona.people.passkey_book import has_passkeys
from oborona.people.person import PeopleError, Person
from oborona.people.session_book import SessionView
from oborona.people.store import PeopleStore


class StepBook:
    """The second steps of a store of people.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: PeopleStore) -> None:
        self._store = store

    def enrol(self, view: SessionView, site: str) -> tuple[str, str]:
        """Begin a second step; return its secret, and what a telephone reads from a QR code.

        It counts once a code of it was given (`confirm`).

        Raises:
            PeopleError: the session is not fresh, or there is one already.
            StoreError: the store can't be used.
        """
        want_fresh(view)
        secret = second_step.new_secret()
        with self._store.transaction() as db:
            taken = db.execute(
                "UPDATE person SET totp_new = ? WHERE id = ? AND totp = ''",
                (secret, view.person.id),
            )
            if not taken.rowcount:
                raise PeopleError("there is a second step already; remove it first")
        return secret, second_step.enrolment_uri(secret, view.person.name, site)

    def confirm(self, view: SessionView, code: str, now: float) -> bool:
        """Take the first code of a second step; return whether it is one: then the step counts.

        Raises:
            PeopleError: the session is not fresh.
            StoreError: the store can't be used.
        """
        want_fresh(view)
        with self._store.transaction() as db:
            row = db.execute(
                "SELECT totp_new, totp_step FROM person WHERE id = ?", (view.person.id,)
            ).fetchone()
            step = second_step.step_of(row[0], code, 0, now) if row and row[0] else 0
            if step:
                db.execute(
                    "UPDATE person SET totp = totp_new, totp_new = '', totp_step = ? WHERE id = ?",
                    (step, view.person.id),
                )
        return bool(step)

    def drop(self, view: SessionView) -> None:
        """Remove the second step of who is logged in.

        Raises:
            PeopleError: the session is not fresh.
            StoreError: the store can't be used.
        """
        want_fresh(view)
        self._store.drop_step(view.person)

    def takes(self, person: Person, code: str, now: float) -> bool:
        """Whether somebody has no second step, or this code is of it; it is taken once.

        Of who has passkeys alone no code is any.
        """
        if not person.totp:
            return not has_passkeys(self._store, person)
        with self._store.transaction() as db:
            (last,) = db.execute(
                "SELECT totp_step FROM person WHERE id = ?", (person.id,)
            ).fetchone()
            step = second_step.step_of(person.totp, code, last, now)
            if step:
                db.execute("UPDATE person SET totp_step = ? WHERE id = ?", (step, person.id))
        return bool(step)


def want_fresh(view: SessionView) -> None:
    """Refuse what wants a password that was given just now.

    Raises:
        PeopleError: it was not.
    """
    if not view.is_fresh:
        raise PeopleError("give your password once more first")
