"""`oborona policy feed-make` and `feed-key`: a feed of one's own."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from oborona.cli.output import echo
from oborona.desk.call import CallError
from oborona.desk.feed.feed_maker import FeedOrder, make_feed
from oborona.desk.feed.manifest import MOST_DAYS
from oborona.desk.feed.minisign import (
    MOST_SIGNATURE,
    new_signer,
    read_key,
    read_signer,
    signer_text,
)
from oborona.desk.policy.file_set import read_plain
from oborona.policy.folders import PACKAGED


@click.command(name="feed-make")
@click.argument("to", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Secret key (oborona policy feed-key).",
)
@click.option(
    "--policy",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=PACKAGED,
    help="Folder of the files; the policy that ships if it is not given.",
)
@click.option(
    "--days",
    type=click.FloatRange(0, MOST_DAYS, min_open=True),
    default=30.0,
    show_default=True,
    help="So long it may be taken; make it anew before that.",
)
@click.option("--version", type=click.IntRange(1), help="Its number; else by the time.")
@click.option("--oborona", default="0", help="The oldest program that can use it, as 0.2.0.")
@click.option("--withdraw", type=int, multiple=True, help="A version that must not judge any more.")
@click.option("--next-key", default="", help="Public key that may sign from now on, too.")
@click.option("--notes", default="", help="What is new, one line.")
def feed_make(
    to: Path,
    key: Path,
    policy: Path,
    days: float,
    version: int | None,
    oborona: str,
    withdraw: tuple[int, ...],
    next_key: str,
    notes: str,
) -> None:
    """Write a signed version of a feed into the folder TO, which any server of files gives out.

    The files are loaded over the policy that ships, and their tests are run first.
    """
    signer = read_signer(read_plain(key, MOST_SIGNATURE, links=True))
    made = make_feed(
        policy,
        to,
        signer,
        FeedOrder(
            days=days,
            version=version or 0,
            oborona=oborona,
            withdrawn=withdraw,
            next_key=read_key(next_key).text if next_key else "",
            notes=notes,
        ),
    )
    expires = time.strftime("%Y-%m-%d", time.gmtime(made.expires))
    echo(f"{to}: version {made.version}, {len(made.files)} files, until {expires}")
    echo(f"feed.key: {signer.key.text}")


@click.command(name="feed-key")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def feed_key(file: Path) -> None:
    """Write a new secret key for a feed into FILE, and show the public one, for feed.key."""
    signer = new_signer()
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(opened, "wb") as handle:
            handle.write(signer_text(signer))
    except FileExistsError:
        raise CallError(f"{file} is there already: a key is not written over") from None
    except OSError as error:
        raise CallError(f"{file}: {error.strerror}") from error
    echo(signer.key.text)
