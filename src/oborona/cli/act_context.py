"""Commands that are acts have their rows in the audit log: one before they begin, one when they
have ended.

Every command is run in an `ActContext`, which asks the table of `oborona.cli.command_kinds` and
costs those that only read nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from oborona.cli.command_kinds import KINDS, ActCommand
from oborona.cli.usage import usage_errors


class ActContext(click.Context):
    """The context in which a command is run."""

    def invoke(self, callback: Callable[..., Any], /, *args: Any, **values: Any) -> Any:
        """Run the command, with its rows if it is an act; other functions as they are."""
        if callback is not self.command.callback:
            return super().invoke(callback, *args, **values)
        act = self._act()
        if act is None:
            with usage_errors(self):
                return super().invoke(callback, *args, **values)
        from oborona.cli.act_rows import act_rows  # noqa: PLC0415 - for acts alone

        with act_rows(self, act), usage_errors(self):
            return super().invoke(callback, *args, **values)

    def _act(self) -> ActCommand | None:
        kind = KINDS.get(command_words(self))
        if not isinstance(kind, ActCommand) or (kind.when and not self.params.get(kind.when)):
            return None
        parameter, act = kind.other
        return kind._replace(act=act) if parameter and self.params.get(parameter) else kind


def command_words(context: click.Context) -> str:
    """Return how a command is called, without the name of the program."""
    words = list[str]()
    at: click.Context | None = context
    while at is not None and at.parent is not None:
        words.append(at.info_name or "")
        at = at.parent
    return " ".join(reversed(words))


def with_act_rows(command: click.Command) -> click.Command:
    """Return a command, it and all below it to be run in an `ActContext`."""
    command.context_class = ActContext
    if isinstance(command, click.Group):
        for member in command.commands.values():
            with_act_rows(member)
    return command
