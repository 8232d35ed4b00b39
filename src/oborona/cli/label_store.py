"""The label store as commands open it, and the wait for the trainer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import click

from oborona import lock, state_files
from oborona.cli.context import CliContext
from oborona.desk.owner import as_owner_of
from oborona.feedback.label_store import LabelStore
from oborona.telemetry import status

LOOK_S: Final = 0.05


@contextmanager
def store(context: CliContext, *, make: bool = False) -> Iterator[LabelStore]:
    """Open the store as the daemon's user.

    Args:
        context: whose state folder it lies in.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    with (
        as_owner_of(context.state),
        LabelStore(context.state / state_files.FEEDBACK, make=make) as opened,
    ):
        yield opened


def warn_without_trainer(context: CliContext) -> bool:
    """Say on standard error that nobody learns now, if so; return whether somebody does."""
    if lock.holder(context.state / state_files.TRAINER_LOCK) is not None:
        return True
    click.echo(
        (
            "oborona: no trainer runs: this waits until one does (`oborona serve`, or "
            "`oborona trainer`)"
        ),
        err=True,
    )
    return False


def wait(context: CliContext, done: Callable[[], bool]) -> None:
    """Wait until the trainer has done something.

    Where it says nothing of itself, standard error tells that once.

    Raises:
        click.ClickException: it runs no more, or can't learn.
    """
    silent_at = time.monotonic() + status.STALE_S
    while not done():
        if lock.holder(context.state / state_files.TRAINER_LOCK) is None:
            raise click.ClickException("the trainer has ended; the labels are stored, and wait")
        trainer_status = status.read_process(context.state, status.TrainerStatus, time.time())
        if trainer_status is not None and trainer_status.trouble:
            raise click.ClickException(
                f"the trainer can't learn now ({trainer_status.trouble}); the labels are stored, and wait"
            )
        if trainer_status is None and time.monotonic() > silent_at:
            click.echo("oborona: the trainer says nothing; its log says why", err=True)
            silent_at = float("inf")
        time.sleep(LOOK_S)
