"""`oborona eventlog person`: what a log knows of a person, and what an admin says of them."""

from __future__ import annotations

import time

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.eventlog.logs import named_hashes, open_log_store, schema_of
from oborona.cli.eventlog.suppress import suppression_line
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

    PERSON is a number as tables have it, or a name: an address, a login, a network; of a log of
    others the one column that its file declares.
    Models of persons are trained on what is said (oborona model train --from-log).
    """
    check_packages()
    from oborona.eventlog.daily.book import DayPassBook  # noqa: PLC0415 - see `eventlog run`
    from oborona.eventlog.persons.word_book import PersonWord, PersonWordBook  # noqa: PLC0415
    from oborona.eventlog.suppression.book import SuppressionBook  # noqa: PLC0415

    schema_of(context, log)
    hashes = named_hashes(context, log, (person,))
    with open_log_store(context) as store:
        book = PersonWordBook(store, log)
        if said:
            for one in hashes:
                word = PersonWord(person=one, fraud=said == "fraud", why=why, time=time.time())
                book.say(word)
        elif said == "" and not sum(map(book.take_back, hashes)):
            raise click.ClickException("nothing was said of this person")
        words = book.words()
        days = {one: DayPassBook(store, log).days_of(one) for one in hashes}
        quiet = {one: SuppressionBook(store, log).all(one) for one in hashes}
    if as_json:
        for one in hashes:
            known = {"word": words.get(one), "caught": days[one], "suppressed": quiet[one]}
            echo_json({"person": one, **known})
        return
    for one in hashes:
        told = words.get(one)
        if told is not None:
            echo(f"{one}: {'fraud' if told.fraud else 'good'}, says an admin {plain(told.why)}")
        else:
            echo(f"{one}: no admin has said anything")
        for date, day in days[one].items():
            echo(f"caught on {date}: {day.marked} of {day.events} rows marked")
        for suppression in quiet[one]:
            echo(suppression_line(suppression, time.time()))
