"""DNS lists at `oborona attach`: what is asked, and which lists follow from it, with their terms.

Nothing is turned on that nobody wanted.
"""

from __future__ import annotations

import sys
from typing import Final

import click

from oborona.cli.context import CliContext
from oborona.cli.free_lists.file import ForeignTableError, check_whose, kept_file, write_table
from oborona.cli.output import echo
from oborona.desk.offered_lists import OfferedLists, in_force
from oborona.errors import ConfigError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.free_lists import FREE_LISTS, MAX_MESSAGES, FreeListsTable
from oborona.policy.load import Policy, load_policy

NOT_DONE: Final = 1  # exit status: asked for in options, and not confirmed
HOW: Final = (
    "DNS lists: none was turned on; those that are free for you:\n"
    "    oborona attach --messages-a-day N --no-commercial    (docs/senders/dns-lists.md)"
)


def answers_of(
    messages_a_day: int | None, commercial: bool | None, lists: str | None
) -> FreeListsTable | None:
    """Return what the options of `attach` say of DNS lists; None where they say nothing.

    Raises:
        UsageError: half of it, or both ways.
    """
    if lists is not None:
        if messages_a_day is not None or commercial is not None:
            raise click.UsageError("--lists none goes with no size: it turns the lists off")
        return FreeListsTable(enabled=False)
    if messages_a_day is None and commercial is None:
        return None
    if messages_a_day is None or commercial is None:
        raise click.UsageError(
            "the terms of DNS lists go by both: --messages-a-day N, and --commercial or "
            "--no-commercial"
        )
    return FreeListsTable(enabled=True, messages_a_day=messages_a_day, commercial=commercial)


def offer_lists(
    context: CliContext, answers: FreeListsTable | None, *, yes: bool, dry_run: bool
) -> None:
    """Turn on the DNS lists that are free for the site, or off, as its admin says.

    Ends the command with status 1 where options ask for it and nobody confirms.

    Args:
        context: names the policy.
        answers: of the options; None: the terminal is asked, if there is one.
        yes: without asking.
        dry_run: shown alone.

    Raises:
        PolicyError: the policy can't be read, and options ask for a change of it.
        ConfigError: the site has no policy folder of its own.
        ForeignTableError: the table is one that the admin wrote.
        StoreError: the file can't be written; what was there stays.
    """
    try:
        policy = context.policy()
        if answers is None and f"{FREE_LISTS}.enabled" in policy.origins:
            echo(f"DNS lists: {in_force(policy)}")
            return
        check_whose(policy)
    except (ConfigError, ForeignTableError) as error:
        if answers is not None:
            raise
        click.echo(f"note: DNS lists are not offered: {error}", err=True)
        return
    if answers is None:
        answers = _ask() if sys.stdin.isatty() and not (yes or dry_run) else None
        if answers is None:
            echo(HOW)
            return
    if answers.enabled:
        _show(policy, answers)
    if dry_run:
        return
    if not yes:
        if not sys.stdin.isatty():
            click.echo("oborona: no DNS list was turned on or off; --yes does it", err=True)
            click.get_current_context().exit(NOT_DONE)
        if not click.confirm("Turn these on?" if answers.enabled else "Turn them off?", err=True):
            echo(HOW if answers.enabled else f"DNS lists: {in_force(policy)}")
            return
    given = {"messages_a_day": answers.messages_a_day, "commercial": answers.commercial}
    values = {"enabled": answers.enabled} | {
        key: value for key, value in given.items() if value is not None
    }
    changed = write_table(kept_file(policy.folders), values)
    echo(f"DNS lists: {in_force(load_policy(context.policy_folders, SCHEMA))}")
    if changed:
        echo(
            "a running daemon takes it within 1.5 seconds; `oborona doctor` proves that they answer"
        )


def _ask() -> FreeListsTable | None:
    """Return what the terminal says; None: no list is wanted."""
    messages = click.prompt(
        "DNS lists: how many messages come on a busy day, refused ones too (0: no lists)",
        type=click.IntRange(0, MAX_MESSAGES),
        err=True,
    )
    if not messages:
        return None
    commercial = click.confirm("Do customers pay for the mailboxes or the filtering?", err=True)
    return FreeListsTable(enabled=True, messages_a_day=messages, commercial=commercial)


def _show(policy: Policy, answers: FreeListsTable) -> None:
    offered = OfferedLists.of(policy, answers)
    for dns_list in offered.on:
        about = ", ".join(subject.value for subject in dns_list.of)
        echo(f"{dns_list.name}, asked about {about}: {dns_list.why or dns_list.say}")
        echo(f"    terms: {dns_list.terms}")
    for dns_list, why in offered.off:
        echo(f"left off: {dns_list.name}: {why}")
