"""Standard output: an error in writing it is not reported as an error of a file that was read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
import msgspec

from oborona.desk.messages.unicode_text import escaped
from oborona.errors import OboronaError


class OutputError(OboronaError):
    """Standard output can't be written."""


def echo(text: str | bytes) -> None:
    """Print a line.

    Raises:
        BrokenPipeError: nobody reads any more.
        Unwritten: it can't be written.
    """
    with stdout_errors():
        click.echo(text)


def echo_json(value: object) -> None:
    """Print a value as one line of JSON; what in its texts is no Unicode stands there as an escape.

    Raises:
        BrokenPipeError: nobody reads any more.
        Unwritten: it can't be written.
    """
    try:
        line = msgspec.json.encode(value)
    except UnicodeEncodeError:
        line = msgspec.json.encode(escaped(msgspec.to_builtins(value)))
    echo(line)


@contextmanager
def stdout_errors() -> Iterator[None]:
    """Take an OSError within as one of standard output.

    Raises:
        BrokenPipeError: nobody reads any more.
        Unwritten: it can't be written.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard output: {error.strerror or error}") from error
