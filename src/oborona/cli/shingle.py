"""Shingles on the command line, and the service that their counters are of."""

from __future__ import annotations

from typing import Final

import click

from oborona.cli.usage import usage_errors
from oborona.desk import shingle
from oborona.message.shingles import ShingleType
from oborona.types import CounterPrefix, Shingle

of_service: Final = click.option(
    "--prefix",
    type=click.Choice([prefix.value for prefix in CounterPrefix]),
    default=CounterPrefix.IN.value,
    show_default=True,
    help=(
        "Mail to our people, or from them; put off; refused before its content; first "
        "contacts; deleted unread; recipients and octets of accounts; flows."
    ),
)
"""The option of the service a counter belongs to."""


@usage_errors()
def shingle_named(text: str) -> Shingle:
    """Return the shingle of an argument.

    Raises:
        click.BadParameter: it names none.
    """
    return shingle.shingle_named(text)


@usage_errors()
def type_of(text: str) -> ShingleType:
    """Return the type of an argument.

    Raises:
        click.BadParameter: it names none.
    """
    return shingle.type_of(text)
