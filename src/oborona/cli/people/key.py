"""`oborona people key`: API keys, by which programs call for a person."""

from __future__ import annotations

from collections.abc import Sequence

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam, shown_time
from oborona.cli.output import echo, echo_json
from oborona.cli.people.output import key_line
from oborona.cli.people.site import people_site
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.keys import DAY_S, KeyOrder, NewKeyOrder, add_key, remove_key
from oborona.desk.asks.people import KeyQuestion, list_keys
from oborona.people.rights import Right

_RIGHTS = click.Choice([right.value for right in Right])


@click.group()
def key() -> None:
    """Show, make and remove API keys, by which programs call for a person.

    A key may what it was given, as long as its person may that, too.
    """


@key.command()
@click.argument("person")
@click.argument("name")
@click.option(
    "--right", "rights", type=_RIGHTS, multiple=True, required=True, help="May be repeated."
)
@click.option(
    "--domain", "domains", multiple=True, help="Mail to this domain alone; may be repeated."
)
@click.option(
    "--for", "span", type=DurationParam(), required=True, help="It ends after so long: 90d, 12h."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def add(
    context: CliContext,
    person: str,
    name: str,
    rights: Sequence[str],
    domains: Sequence[str],
    span: float,
    as_json: bool,
) -> None:
    """Make a key for PERSON and print it, once; NAME says what it is for."""
    order = NewKeyOrder(
        person=person,
        name=name,
        rights=[Right(right) for right in rights],
        domains=list(domains),
        days=span / DAY_S,
    )
    with people_site(context) as site:
        made = add_key(site, terminal_caller(), order)
    if as_json:
        echo_json(made)
    else:
        echo(f"until {shown_time(made.until)}: {made.key}")


@key.command(name="list")
@click.argument("person", default="")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def list_(context: CliContext, person: str, as_json: bool) -> None:
    """Show the keys of PERSON, or all. Exit status 1 where there is none."""
    with people_site(context) as site:
        found = list_keys(site, terminal_caller(), KeyQuestion(person=person)).keys
    for one in found:
        if as_json:
            echo_json(one)
        else:
            echo(key_line(one))
    if not found:
        click.get_current_context().exit(1)


@key.command()
@click.argument("person")
@click.argument("name")
@pass_cli_context
def remove(context: CliContext, person: str, name: str) -> None:
    """Remove a key of PERSON: it works no more."""
    with people_site(context) as site:
        removed = remove_key(site, terminal_caller(), KeyOrder(person=person, name=name))
    echo(plain(f"{removed.person}/{removed.name} is removed"))
