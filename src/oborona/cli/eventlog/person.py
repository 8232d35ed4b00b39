"""`oborona eventlog person`: what a log knows of a person, and what an admin says of them."""

from __future__ import annotations

import time

import click

from oborona import secret, state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.eventlog.logs import schema_of
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.daemon.event_logs import check_packages


@click.command()
@click.argument("log")
@click.argument("person")
@click.option("--fraud", "said", flag_value="fraud", help="Say that the person is fraud.")
@click.option("--good", "said", flag_value="good", help="Say that the person is none.")
@click.option("--take-back", "said", flag_value="", help="Take back what was said.")
@click.option("--why", default="", help="For those who ask later.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def person(
    context: CliContext, log: str, person: str, said: str | None, why: str, as_json: bool
) -> None:
    """Show on which days a LOG caught a PERSON, and what was said of them; say it.

    PERSON is a number as tables have it, or an address or login, of which our own logs are made.
    Models of persons are trained on what is said (oborona model train --from-log).
    """
    check_packages()
    from oborona.eventlog.batch.store import LogStore  # noqa: PLC0415 - see `eventlog run`
    from oborona.eventlog.daily.book import DayPassBook  # noqa: PLC0415
    from oborona.eventlog.persons.word_book import PersonWord, PersonWordBook  # noqa: PLC0415

    schema_of(context, log)
    hashed = _hash_of(context, person)
    with LogStore(context.state / state_files.EVENT_LOG_STORE, make=False) as store:
        book = PersonWordBook(store, log)
        if said:
            word = PersonWord(person=hashed, fraud=said == "fraud", why=why, time=time.time())
            book.say(word)
        elif said == "" and not book.take_back(hashed):
            raise click.ClickException("nothing was said of this person")
        last = book.words().get(hashed)
        days = DayPassBook(store, log).days_of(hashed)
    if as_json:
        echo_json({"person": hashed, "word": last, "caught": days})
        return
    if last is not None:
        echo(f"{hashed}: {'fraud' if last.fraud else 'good'}, says an admin {plain(last.why)}")
    else:
        echo(f"{hashed}: no admin has said anything")
    for date, one in days.items():
        echo(f"caught on {date}: {one.marked} of {one.events} rows marked")


def _hash_of(context: CliContext, person: str) -> int:
    """Return the hash of a person that is named by it, or by an address or login."""
    from oborona.eventlog.keys import EventHasher  # noqa: PLC0415

    name = person.strip()
    if name.lstrip("-").isdecimal() and -(1 << 63) <= int(name) < 1 << 63:
        return int(name)
    hashed = EventHasher(secret.load(context.state).eventlog).person(name.lower())
    if hashed is None:
        raise click.BadParameter("a person has a name, or a number as tables have it")
    return hashed
