"""What the desk refuses for what it was told is a wrong use of the command that passed it on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from oborona.errors import OboronaError


@contextmanager
def usage_errors(ctx: click.Context | None = None) -> Iterator[None]:
    """Take a refusal of the desk as wrong usage.

    Args:
        ctx: of the command; None = click knows it.

    Raises:
        click.BadParameter: a value can't be used.
        click.UsageError: values do not go together.
    """
    try:
        yield
    except OboronaError as error:
        from oborona.desk.refusals import (  # noqa: PLC0415 - most commands need none of it
            MisusedCallError,
            UnusableValueError,
        )

        if isinstance(error, UnusableValueError):
            hint = error.field.upper() or None
            raise click.BadParameter(str(error), ctx=ctx, param_hint=hint) from None
        if isinstance(error, MisusedCallError):
            raise click.UsageError(str(error), ctx=ctx) from None
        raise
