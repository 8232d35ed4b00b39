"""Tables and colours on standard output.

A module of its own, since daemons and `--json` need no terminal.
"""

from __future__ import annotations

import errno
import os
from typing import Any, Final

from rich.console import Console

from oborona.cli.output import stdout_errors
from oborona.plain_text import plain_text

PIPED: Final = 160  # columns where there is no terminal to ask


class Terminal(Console):
    """A console whose errors are those of `oborona.cli.output.echo`, and to which text is text.

    Rich's markup ("[link=...]", "[/b]") and its names of little pictures (":smile:") mean nothing
    here: what is printed holds the words of strangers, who would set colours and links, or end the
    command with a tag that closes nothing. What is to have a style gets it by an argument or as
    `rich.text.Text`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as `Console.print` does."""
        with stdout_errors():
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """Leave the pipe's end to the command line; rich would exit with 1."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def plain(text: str) -> str:
    """Return what a peer wrote, without anything that moves a terminal's cursor."""
    return plain_text(text, lambda _: "?")
