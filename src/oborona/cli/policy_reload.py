"""`oborona policy reload`: have the running daemon read its policy files now, and say what came of it."""

from __future__ import annotations

import os
import time
from typing import Final

import click

from oborona.cli.asked import Asked, pass_asked
from oborona.cli.output import echo
from oborona.milter.publishing import telling
from oborona.milter.publishing.asking import ask_reload
from oborona.milter.status import Refusal

PATIENCE_S: Final = 60.0  # of lists of millions of entries
SHOWN: Final = 100  # characters of a broken line, around the place


@click.command()
@pass_asked
def reload(asked: Asked) -> None:
    """Have the daemon read the policy files now, and wait until all workers judge by them.

    Exit status 78 with file, line and column when they are broken: the old policy stays; 75 when no daemon answers, or it could not put them in force.
    """
    started = time.monotonic()
    outcome = ask_reload(asked.state, PATIENCE_S)
    took = time.monotonic() - started
    if outcome is None:
        click.echo(f"oborona: nobody who runs on {asked.state} answers", err=True)
        raise SystemExit(os.EX_TEMPFAIL)
    if outcome.refused is not None:
        click.echo(f"oborona: {told(outcome.refused)}", err=True)
        click.echo(f"oborona: the policy {outcome.version} stays in force", err=True)
        raise SystemExit(os.EX_CONFIG)
    if outcome.trouble:
        click.echo(f"oborona: {outcome.trouble}; the policy {outcome.version} stays in force", err=True)
        raise SystemExit(os.EX_TEMPFAIL)
    said = "changed, and mean the same" if outcome.reworded else "say the same"
    how = f"after {took:.2f} s" if outcome.changed else f"for {outcome.age_s:.0f} s, and the files {said}"
    echo(f"policy {outcome.version} in force in {outcome.workers} workers {how}")
    if outcome.late:
        late = ", ".join(f"worker {number}" for number in outcome.late)
        echo(f"late: {late}; the next message there waits until it is loaded")


def told(refused: Refusal) -> str:
    """Return what is wrong, and under it the line with a mark at the place."""
    words = telling.told(refused)
    if not refused.text:
        return words
    column = max(0, refused.column - 1)
    first = max(0, column - SHOWN // 2)
    line = refused.text[first : first + SHOWN]
    shown = "".join(char if char.isprintable() else " " for char in line)
    mark = f"\n    {' ' * (column - first)}^" if refused.column and column <= len(refused.text) else ""
    return f"{words}\n    {shown}{mark}"
