"""`oborona policy feed`: what is in force of the feed, what waits, and what was."""

from __future__ import annotations

import time

import click
import msgspec

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.policy.versions import version_line
from oborona.cli.terminal import plain
from oborona.desk.feed.feed_site import feed_folder, feed_versions
from oborona.desk.feed.record import read_record
from oborona.desk.owner import as_owner_of
from oborona.desk.policy.file_set import read_folder


@click.command()
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="Rows.")
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@pass_cli_context
def feed(context: CliContext, limit: int, as_json: bool) -> None:
    """Show the feed: where it lies, what of it is in force and waits, and what its folder held
    when, the newest first.
    """
    settings = context.loaded.settings.feed
    with as_owner_of(context.state):
        record = read_record(context.state)
        files = read_folder(feed_folder(context), links=False)
        with feed_versions(context) as store:
            current, versions = store.notice(files, time.time()).number, store.list(limit)
    if as_json:
        echo(
            msgspec.json.encode(
                {
                    "url": settings.url,
                    "record": record,
                    "files": sorted(files),
                    "current": current,
                    "versions": versions,
                }
            )
        )
        return
    echo(f"feed: {settings.url or 'none, feed.url is empty'}")
    echo(f"in force: {', '.join(sorted(files)) or 'nothing of it'}")
    echo(f"newest version seen: {record.highest or 'none'}")
    if record.waiting is not None:
        until = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.waiting.until))
        echo(plain(f"on trial: {record.waiting.version} until {until} ({record.waiting.notes})"))
    if record.next_key and record.next_key not in settings.key.split():
        echo(f"the feed names a further key; put it into feed.key: {record.next_key}")
    for version in versions:
        echo(plain(f"{'*' if version.number == current else ' '} {version_line(version)}"))
