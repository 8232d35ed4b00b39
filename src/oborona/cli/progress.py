"""Progress of long work, on standard error, where somebody looks at it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def progress(noun: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show how far work has come; gives what is to be called after each piece of it.

    Args:
        noun: the pieces, such as `messages`.
        total: of them; None = not known.
    """
    shown = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    task = shown.add_task(noun, total=total)
    with shown:
        yield lambda: shown.advance(task)
