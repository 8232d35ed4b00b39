"""Standard output: what can't be written there is said to be that, and blamed on no file that was read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from oborona.errors import OboronaError


class Unwritten(OboronaError):  # noqa: N818 - reads as what happened
    """Standard output can't be written."""


def echo(text: str | bytes) -> None:
    """Print a line.

    Raises:
        BrokenPipeError: nobody reads any more.
        Unwritten: it can't be written.
    """
    with written():
        click.echo(text)


@contextmanager
def written() -> Iterator[None]:
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
        raise Unwritten(f"standard output: {error.strerror or error}") from error
