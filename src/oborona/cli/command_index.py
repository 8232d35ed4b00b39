"""The interface of every command as data: `--help` and completion read it and import no command.

`commands.json` is written from the commands themselves by `make docs`; a test holds the two
together.  A command that is run is imported, it and nothing beside it, and parses its own
arguments: what stands in the file is shown, never believed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click

from oborona.cli.act_context import with_act_rows
from oborona.cli.completed_values import complete_value

FILE: Final = Path(__file__).with_name("commands.json")
_HELP: Final = frozenset({"-h", "--help"})


class _LazyOption(click.Option):
    """An option whose line of help is told."""

    def __init__(self, description: dict[str, Any]) -> None:
        flag: dict[str, Any] = (
            {"is_flag": True, "flag_value": True, "default": False}
            if description["is_flag"]
            else {}
        )
        super().__init__(
            [description["name"], *description["declared"]],
            nargs=description["nargs"],
            multiple=description["multiple"],
            hidden=description["line"] is None,
            type=None if flag else _kind(description),
            shell_complete=complete_value,
            **flag,
        )
        self._line = description["line"]

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        return None if self._line is None else (self._line[0], self._line[1])


class _LazyArgument(click.Argument):
    """An argument whose part of the usage is told."""

    def __init__(self, description: dict[str, Any]) -> None:
        super().__init__(
            [description["name"]],
            nargs=description["nargs"],
            required=False,
            type=_kind(description),
            shell_complete=complete_value,
        )
        self._usage = description["usage"]

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [self._usage]


class LazyCommand(click.Command):
    """A command that is shown here, and run where it is.

    Args:
        name: as it is called.
        told: its part of `commands.json`.
    """

    def __init__(self, name: str, description: dict[str, Any]) -> None:
        super().__init__(
            name,
            params=_parameters(description),
            help=description["help"],
            epilog=description["epilog"],
            no_args_is_help=description["no_args_is_help"],
        )
        self._description = description

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if extra.get("resilient_parsing") or asks_help(args):
            return super().make_context(info_name, args, parent, **extra)
        return self.real().make_context(info_name, args, parent, **extra)

    def real(self) -> click.Command:
        """Return the command itself."""
        return real(self._description)


class LazyGroup(click.Group):
    """A group of commands, each of which is shown here and run where it is.

    Args:
        name: as it is called.
        told: its part of `commands.json`.
    """

    def __init__(self, name: str, description: dict[str, Any]) -> None:
        super().__init__(name, help=description["help"], epilog=description["epilog"])
        for command_name, of_one in description["commands"].items():
            self.add_command(lazy_command(command_name, of_one))
        self._description = description

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        own_way = "module" in self._description  # of reading its arguments
        shown = not args and self._description.get("no_args_is_help", True)
        if not own_way or shown or extra.get("resilient_parsing") or asks_help(args):
            return super().make_context(info_name, args, parent, **extra)
        return real(self._description).make_context(info_name, args, parent, **extra)


def real(description: dict[str, Any]) -> click.Command:
    """Return the command itself that a part of `commands.json` tells of."""
    command: click.Command = getattr(import_module(description["module"]), description["attribute"])
    return with_act_rows(command)


def lazy_command(name: str, description: dict[str, Any]) -> click.Command:
    """Return a command, or a group of them, as its part of `commands.json` tells it."""
    return (
        LazyGroup(name, description)
        if "commands" in description
        else LazyCommand(name, description)
    )


@cache
def load_index() -> dict[str, Any]:
    """Return `commands.json`; nothing where it is not there, and every command is then imported."""
    try:
        index: dict[str, Any] = json.loads(FILE.read_bytes())
    except (OSError, ValueError):
        return {}
    return index


def asks_help(args: Sequence[str]) -> bool:
    """Whether help may be asked for among arguments; what parses them decides."""
    options = args[: args.index("--")] if "--" in args else args
    return not _HELP.isdisjoint(options)


def describe_command(command: click.Command, parent: click.Context) -> dict[str, Any]:
    """Return what is told of a command, and of those below it.

    Args:
        command: a real one.
        parent: context of the group that it is in.
    """
    ctx = click.Context(command, parent=parent, info_name=command.name)
    description: dict[str, Any] = {"help": command.help, "epilog": command.epilog}
    if isinstance(command, click.Group):
        commands = {name: command.get_command(ctx, name) for name in command.list_commands(ctx)}
        if type(command) is not click.Group:  # it reads its arguments in a way of its own
            description |= _place(command) | {"no_args_is_help": command.no_args_is_help}
        return description | {
            "commands": {
                name: describe_command(member, ctx) for name, member in commands.items() if member
            }
        }
    return description | {
        **_place(command),
        "no_args_is_help": command.no_args_is_help,
        "parameters": [_parameter(parameter, ctx) for parameter in command.params],
    }


def _place(command: click.Command) -> dict[str, str]:
    """Return where a command is: its module, and its name there."""
    module = command.callback.__module__ if command.callback is not None else ""
    attributes = vars(import_module(module)).items()
    return {
        "module": module,
        "attribute": next(name for name, value in attributes if value is command),
    }


def _parameter(parameter: click.Parameter, ctx: click.Context) -> dict[str, Any]:
    description: dict[str, Any] = {"name": parameter.name, "nargs": parameter.nargs}
    if isinstance(parameter.type, click.Choice):
        description["choices"] = [
            parameter.type.normalize_choice(choice, ctx) for choice in parameter.type.choices
        ]
    elif isinstance(parameter.type, click.File | click.Path):
        description["path"] = (
            "dir"
            if isinstance(parameter.type, click.Path) and not parameter.type.file_okay
            else "file"
        )
    if isinstance(parameter, click.Option):
        description |= {
            "declared": [*parameter.opts, *parameter.secondary_opts],
            "is_flag": parameter.is_flag,
            "multiple": parameter.multiple,
            "line": parameter.get_help_record(ctx),
        }
    else:
        description["usage"] = parameter.make_metavar(ctx)
    return description


def _parameters(description: dict[str, Any]) -> list[click.Parameter]:
    return [
        _LazyOption(parameter) if "declared" in parameter else _LazyArgument(parameter)
        for parameter in description.get("parameters", ())
    ]


def _kind(description: dict[str, Any]) -> click.ParamType[Any] | None:
    if "choices" in description:
        return click.Choice(description["choices"], case_sensitive=False)
    if "path" in description:
        return click.Path(dir_okay=True, file_okay=description["path"] == "file")
    return None


def document() -> str:
    """Return `commands.json`: every command of the command line."""
    from oborona.cli import main  # noqa: PLC0415 - it shows what stands here

    ctx = click.Context(main, info_name="oborona")
    commands = {name: main.imported(name) for name in main.list_commands(ctx)}
    index = {
        name: describe_command(command, ctx)
        for name, command in commands.items()
        if command is not None
    }
    return json.dumps(index, indent=1, ensure_ascii=False) + "\n"
