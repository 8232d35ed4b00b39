"""`oborona people`: who may log in to the console, and what they may."""

from __future__ import annotations

from collections.abc import Sequence

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import shown_time
from oborona.cli.output import echo, echo_json
from oborona.cli.people.key import key
from oborona.cli.people.output import person_line, print_link, print_people, print_person
from oborona.cli.people.site import people_site
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.people import (
    LinkOrder,
    NewPersonOrder,
    PersonOrder,
    RolesOrder,
    add_person,
    change_roles,
    forget_person,
    make_link,
    turn_off,
    turn_on,
)
from oborona.desk.acts.sessions import SessionOrder, end_session
from oborona.desk.asks.people import (
    PeopleQuestion,
    PersonQuestion,
    list_people,
    list_sessions,
    show_person,
)
from oborona.people.person import LANGUAGES
from oborona.people.rights import Role

ALL = "all"
_ROLES = click.Choice([role.value for role in Role])
_LANGUAGES = click.Choice(LANGUAGES)


@click.group()
def people() -> None:
    """Show and change who may log in to the console, and what they may.

    Nobody is there at first, and there is no default password: `people add NAME --role admin`
    prints a link by which NAME sets one. docs/operate/people.md has what each role may.
    """


people.add_command(key)


@people.command()
@click.argument("name")
@click.option("--role", "roles", type=_ROLES, multiple=True, required=True, help="May be repeated.")
@click.option(
    "--domain",
    "domains",
    multiple=True,
    help="They see mail to this domain alone; may be repeated. Default: of the whole site.",
)
@click.option(
    "--address", "addresses", multiple=True, help="An address of their own; may be repeated."
)
@click.option("--language", type=_LANGUAGES, default="en", show_default=True, help="Of pages.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def add(
    context: CliContext,
    name: str,
    roles: Sequence[str],
    domains: Sequence[str],
    addresses: Sequence[str],
    language: str,
    as_json: bool,
) -> None:
    """Add a person, and print the link by which they set a password: for a day, and once."""
    order = NewPersonOrder(
        name=name,
        roles=[Role(role) for role in roles],
        domains=list(domains),
        addresses=list(addresses),
        language=language,
    )
    with people_site(context) as site:
        print_link(add_person(site, terminal_caller(), order), as_json=as_json)


@people.command(name="list")
@click.option("--role", type=_ROLES, help="Those who have it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def list_(context: CliContext, role: str | None, as_json: bool) -> None:
    """Show everybody. Exit status 1 where there is nobody."""
    asked = PeopleQuestion(role=Role(role) if role else None)
    with people_site(context) as site:
        found = list_people(site, terminal_caller(), asked).people
    print_people(found, as_json=as_json)
    if not found:
        click.get_current_context().exit(1)


@people.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def show(context: CliContext, name: str, as_json: bool) -> None:
    """Show a person: what they may, their sessions and keys, the last tries to log in."""
    with people_site(context) as site:
        details = show_person(site, terminal_caller(), PersonQuestion(name=name))
    if as_json:
        echo_json(details)
    else:
        print_person(details)


@people.command()
@click.argument("name")
@click.option("--role", "roles", type=_ROLES, multiple=True, help="These, in place of all.")
@click.option("--domain", "domains", multiple=True, help="These, in place of all.")
@click.option("--whole-site", is_flag=True, help="No domain narrows what they see.")
@click.option("--address", "addresses", multiple=True, help="These, in place of all.")
@click.option("--no-address", is_flag=True, help="They have no address of their own.")
@click.option("--language", type=_LANGUAGES, help="Of pages.")
@pass_cli_context
def roles(
    context: CliContext,
    name: str,
    roles: Sequence[str],
    domains: Sequence[str],
    whole_site: bool,
    addresses: Sequence[str],
    no_address: bool,
    language: str | None,
) -> None:
    """Change what a person may; what is not named stays. Their sessions end."""
    if (domains and whole_site) or (addresses and no_address):
        raise click.UsageError("name some, or say that there are none")
    order = RolesOrder(
        name=name,
        roles=[Role(role) for role in roles] or None,
        domains=list(domains) if domains or whole_site else None,
        addresses=list(addresses) if addresses or no_address else None,
        language=language,
    )
    if order == RolesOrder(name=name):
        raise click.UsageError("say what is to change")
    with people_site(context) as site:
        echo(person_line(change_roles(site, terminal_caller(), order).person))


@people.command()
@click.argument("name")
@pass_cli_context
def off(context: CliContext, name: str) -> None:
    """Let a person log in no more; their sessions end, and their keys do not work."""
    with people_site(context) as site:
        echo(person_line(turn_off(site, terminal_caller(), PersonOrder(name=name)).person))


@people.command()
@click.argument("name")
@pass_cli_context
def on(context: CliContext, name: str) -> None:
    """Let a person log in again."""
    with people_site(context) as site:
        echo(person_line(turn_on(site, terminal_caller(), PersonOrder(name=name)).person))


@people.command()
@click.argument("name")
@click.option(
    "--without-second-step",
    "without_step",
    is_flag=True,
    help="Remove their second step, too: the telephone is lost.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def link(context: CliContext, name: str, without_step: bool, as_json: bool) -> None:
    """Print a new link by which a person sets a password: for a day, and once.

    The password that they had is void, and their sessions end.
    """
    order = LinkOrder(name=name, without_step=without_step)
    with people_site(context) as site:
        print_link(make_link(site, terminal_caller(), order), as_json=as_json)


@people.command()
@click.argument("name")
@pass_cli_context
def forget(context: CliContext, name: str) -> None:
    """Drop a person and all that is kept of them but what the audit log has."""
    with people_site(context) as site:
        forgotten = forget_person(site, terminal_caller(), PersonOrder(name=name))
    echo(f"{forgotten.name} is forgotten")


@people.command()
@click.argument("name")
@click.option("--end", default="", metavar="SESSION|all", help="End this one, or all.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def sessions(context: CliContext, name: str, end: str, as_json: bool) -> None:
    """Show where a person is logged in, or end that. Exit status 1 where they are not."""
    with people_site(context) as site:
        if end:
            order = SessionOrder(name=name, session="" if end == ALL else end)
            ended = end_session(site, terminal_caller(), order).ended
            echo(f"{ended} ended")
            return
        found = list_sessions(site, terminal_caller(), PersonQuestion(name=name)).sessions
    for one in found:
        if as_json:
            echo_json(one)
        else:
            used = f"since {shown_time(one.made)}, used {shown_time(one.last)}"
            echo(plain(f"{one.ident}  {used}, from {one.place}, {one.agent}"))
    if not found:
        click.get_current_context().exit(1)
