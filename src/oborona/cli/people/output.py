"""People as commands print them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.table import Table

from oborona.cli.duration import shown_time
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.desk.acts.people import PersonLink
from oborona.desk.people.views import KeyView, PasskeyView, PersonDetails, PersonView
from oborona.people.person import PersonState


def print_link(answer: PersonLink, *, as_json: bool) -> None:
    """Print a link that sets a password; it is shown once."""
    if as_json:
        echo_json(answer)
        return
    echo(person_line(answer.person))
    echo(f"until {shown_time(answer.until)}, once: {answer.path}")


def person_line(person: PersonView) -> str:
    """Return a person in one line."""
    parts = [", ".join(person.roles), _scope(person), *_states(person)]
    return plain(f"{person.name}: {'; '.join(parts)}")


def print_people(people: Sequence[PersonView], *, as_json: bool) -> None:
    """Print people, a line each."""
    if as_json:
        for person in people:
            echo_json(person)
        return
    if not people:
        return
    table = Table("name", "roles", "sees", "state", "came", show_edge=False)
    for person in people:
        state, came = ", ".join(_states(person)) or "active", shown_time(person.came) or "never"
        table.add_row(person.name, ", ".join(person.roles), plain(_scope(person)), state, came)
    Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED).print(table)


def print_person(details: PersonDetails) -> None:
    """Print all that is known of a person."""
    person = details.person
    echo(person_line(person))
    echo(plain(f"added {shown_time(person.made)} by {person.made_by}"))
    echo(f"second step: {'yes' if person.second_step else 'no'}; language: {person.language}")
    echo(f"came last: {shown_time(person.came) or 'never'}")
    for passkey in details.passkeys:
        echo(passkey_line(passkey))
    for session in details.sessions:
        echo(plain(f"session {session.ident}: {shown_time(session.last)} from {session.place}"))
    for key in details.keys:
        echo(key_line(key))
    for one in details.tries:
        echo(plain(f"login {shown_time(one.at)}: {one.outcome} from {one.place}, {one.agent}"))


def key_line(key: KeyView) -> str:
    """Return a key in one line."""
    narrowed = f", {', '.join(key.domains)} alone" if key.domains else ""
    used = f"used {shown_time(key.last)} from {key.place}" if key.last else "never used"
    return plain(
        f"key {key.person}/{key.name}: {', '.join(key.rights)}{narrowed};"
        f" until {shown_time(key.until)}, {used}"
    )


def passkey_line(passkey: PasskeyView) -> str:
    """Return a passkey in one line."""
    used = f"used {shown_time(passkey.last)}" if passkey.last else "never used"
    return plain(f"passkey {passkey.ident} {passkey.name}: made {shown_time(passkey.made)}, {used}")


def _scope(person: PersonView) -> str:
    if person.whole_site:
        return "the whole site"
    return ", ".join([*person.domains, *person.addresses]) or "nothing yet"


def _states(person: PersonView) -> list[str]:
    states = [] if person.state is PersonState.ACTIVE else [person.state.value]
    return states if person.password else [*states, "no password yet"]
