"""`oborona eventlog person`: what a log knows of a person, and what an admin says of them."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.eventlog.suppress import suppression_line
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.event_log_persons import PersonSaid, PersonSayingOrder, say_of_person
from oborona.desk.asks.event_log_persons import (
    EventLogPerson,
    EventLogPersonQuestion,
    show_event_person,
)
from oborona.desk.refusals import NothingDoneError


@click.command()
@click.argument("log")
@click.argument("person")
@click.option("--fraud", "said", flag_value="fraud", help="Say that the person is fraud.")
@click.option("--good", "said", flag_value="good", help="Say that the person is none.")
@click.option("--take-back", "said", flag_value="nothing", help="Take back what was said.")
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
    caller = terminal_caller()
    persons: Sequence[EventLogPerson]
    if said is None:
        question = EventLogPersonQuestion(log=log, person=person)
        persons = show_event_person(context, caller, question).persons
    else:
        order = PersonSayingOrder(log=log, person=person, said=PersonSaid(said), reason=why)
        try:
            persons = say_of_person(context, caller, order).persons
        except NothingDoneError as error:
            raise click.ClickException(str(error)) from None
    for one in persons:
        if as_json:
            echo_json(one)
        else:
            _show(one)


def _show(one: EventLogPerson) -> None:
    if one.word is not None:
        said = "fraud" if one.word.fraud else "good"
        echo(f"{one.person}: {said}, says an admin {plain(one.word.why)}")
    else:
        echo(f"{one.person}: no admin has said anything")
    for date, day in one.caught.items():
        echo(f"caught on {date}: {day.marked} of {day.events} rows marked")
    for suppression in one.suppressed:
        echo(suppression_line(suppression, time.time()))
