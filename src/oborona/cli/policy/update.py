"""`oborona policy update`: what the feed offers, checked, tried, and put in force."""

from __future__ import annotations

import time
from typing import Final

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.policy.versions import show_changes
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.feed.roll_back import roll_back_feed
from oborona.desk.feed.step import FeedStep
from oborona.desk.feed.update import update_feed
from oborona.desk.feed.work import FeedUpdate
from oborona.desk.owner import as_owner_of
from oborona.desk.policy.publication import PolicyPublication

_IDLE: Final = {
    FeedStep.NOTHING: "version {version} of the feed is in force; there is nothing newer",
    FeedStep.HELD: "version {version} of the feed was rolled back: a newer one is taken by itself, "
    "this one by --now",
    FeedStep.WAITS: "version {version} of the feed is on trial, and judges from {until} on",
}
_DONE: Final = {
    FeedStep.TRIAL: "version {version} of the feed is on trial, and judges from {until} on",
    FeedStep.LIVE: "version {version} of the feed judges",
    FeedStep.WAITED: "version {version} of the feed has waited, and judges",
    FeedStep.DROPPED: "version {notes}: it is not on trial any more",
    FeedStep.SHIPPED: "what ships has all that the feed says, and is newer: the feed's files go",
}


@click.command()
@click.option("--now", is_flag=True, help="Without a trial; also what was rolled back.")
@click.option(
    "--back",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="Roll back: what the feed's folder held then (oborona policy feed); 1: nothing.",
)
@click.option("--reason", default="", help="Why; with --back it has to be said.")
@click.option("--sure", is_flag=True, help="Also if much good mail would be judged otherwise.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@pass_cli_context
def update(
    context: CliContext, now: bool, back: int | None, reason: str, sure: bool, dry_run: bool
) -> None:
    """Fetch the feed of feed.url; take its newest version, if it is signed, whole and right.

    It is loaded, its tests are run, it is tried in shadow mode for feed.shadow_days, and then
    judges: each of that at a run, so that a timer does all of it. What is wrong changes nothing.
    """
    if back is not None:
        if not (reason.strip() or dry_run):
            raise click.UsageError("--back wants --reason: it stands in the history")
        with as_owner_of(context.state):
            undone = roll_back_feed(
                context, terminal_caller(), back, reason, sure=sure, dry=dry_run
            )
        _show_published(undone, dry=dry_run)
        echo(_ended("the feed is rolled back: what is newer is taken by itself", dry=dry_run))
        return
    with as_owner_of(context.state):
        done = update_feed(context, terminal_caller(), sure=sure, now=now, dry=dry_run)
    _show(done, dry=dry_run)


def _show(done: FeedUpdate, *, dry: bool) -> None:
    if done.published is not None:
        _show_published(done.published, dry=dry, diff=done)
    for words in done.untried:
        echo(plain(f"not tried before: {words}"))
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(done.until))
    telling = _DONE.get(done.step) or _IDLE[done.step]
    told = telling.format(version=done.version, until=until, notes=done.notes)
    news = f" ({done.notes})" if done.notes and done.step is not FeedStep.DROPPED else ""
    echo(_ended(plain(told + news), dry=dry and done.step in _DONE))


def _show_published(done: PolicyPublication, *, dry: bool, diff: FeedUpdate | None = None) -> None:
    show_changes(done.changes)
    for file in () if diff is None else diff.files:
        for line in file.lines if dry else ():
            echo(plain(line))
    if done.files:
        echo(f"files: {', '.join(done.files)}")
    if done.note:
        echo(done.note)
    if done.version:
        echo(
            f"policy {done.meaning}: in force in {done.workers} workers; oborona policy update "
            f"--back {done.undo} takes it back"
        )


def _ended(text: str, *, dry: bool) -> str:
    return f"nothing was done: --dry-run; else: {text}" if dry else text
