"""The man pages of commands: one of each, and of each group, from what `--help` is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from oborona.cli import main
from oborona.cli.command_index import load_index
from oborona.cli.exit_status import MEANINGS
from oborona.cli.manual import roff
from oborona.cli.manual.help_text import HelpText

SECTION: Final = 1
FILES: Final = {
    "/etc/oborona/oborona.toml": "settings: oborona.toml(5)",
    "/etc/oborona/policy.d": "rules, lists and thresholds of the site: oborona-policy(5)",
    "/var/lib/oborona": "counters, journal, the site's secret: `paths.state`, or what --state names",
}
ENVIRONMENT: Final = {
    "OBORONA_CONFIG": "The settings file, where --config names none.",
    "SUDO_USER": "Who did it, for the audit log, where the kernel saw nobody log in.",
}
_HELP_OPTION: Final = ("-h, --help", "Show the help of the command and exit.")
_PAGES_OF_FILES: Final = ("oborona.toml(5)", "oborona-policy(5)")


def command_pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the page of `oborona` itself and of every command."""
    ctx = click.Context(main, info_name="oborona")
    lines = [{"line": parameter.get_help_record(ctx)} for parameter in main.params]
    yield from pages_below(
        ("oborona",),
        {
            "help": _own_help(main),
            "epilog": main.epilog,
            "parameters": lines,
            "commands": load_index(),
        },
    )


def _own_help(command: click.Command) -> str:
    """Return what the program says of itself, without its name, which stands before it."""
    text = (command.help or "").partition(": ")[2]
    return text[:1].upper() + text[1:]


def pages_below(path: tuple[str, ...], described: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name and the page of a command and of those below it.

    Args:
        path: the words by which it is called.
        described: what is told of it, as in `commands.json`.
    """
    help_text = HelpText.of(described["help"], described["epilog"])
    name = "-".join(path)
    yield (
        name,
        roff.page(
            name,
            SECTION,
            help_text.summary or " ".join(path),
            _body(path, described, help_text),
        ),
    )
    for below, of_one in described.get("commands", {}).items():
        yield from pages_below((*path, below), of_one)


def _body(
    path: tuple[str, ...], described: Mapping[str, Any], help_text: HelpText
) -> Iterator[str]:
    yield ".SH SYNOPSIS"
    yield _synopsis(path, described)
    yield ".SH DESCRIPTION"
    yield from help_text.description
    yield ".SH OPTIONS"
    for told in (*_options(described), _HELP_OPTION):
        yield from roff.tagged(roff.bold(told[0]), roff.prose(told[1]))
    if len(path) > 1:
        yield ".PP"
        yield roff.prose("What stands between `oborona` and the command is in oborona(1).")
    commands = described.get("commands", {})
    if commands:
        yield ".SH COMMANDS"
    for name, of_one in commands.items():
        summary = HelpText.of(of_one["help"], of_one["epilog"]).summary
        page_name = f"{'-'.join((*path, name))}({SECTION})"
        yield from roff.tagged(roff.bold(name), roff.prose(f"{summary}: {page_name}"))
    yield ".SH EXIT STATUS"
    for status, meaning in MEANINGS.items():
        yield from roff.tagged(roff.bold(str(status)), roff.prose(meaning))
    for heading, entries in (("FILES", FILES), ("ENVIRONMENT", ENVIRONMENT)):
        yield f".SH {heading}"
        for tag, meaning in entries.items():
            yield from roff.tagged(roff.bold(tag), roff.prose(meaning))
    if help_text.examples:
        yield ".SH EXAMPLES"
        yield from help_text.examples
    yield ".SH SEE ALSO"
    yield ", ".join(map(_reference, _others(path, commands)))


def _synopsis(path: tuple[str, ...], described: Mapping[str, Any]) -> str:
    pieces = [roff.bold(" ".join(path)), roff.escaped("[OPTIONS]")]
    if "commands" in described:
        pieces.append(roff.escaped("COMMAND [ARGS]..."))
    pieces += [
        roff.escaped(parameter["usage"])
        for parameter in described.get("parameters", ())
        if "usage" in parameter
    ]
    return " ".join(pieces)


def _options(described: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the options that are shown, each with its line."""
    lines = (parameter.get("line") for parameter in described.get("parameters", ()))
    return [(line[0], line[1]) for line in lines if line]


def _others(path: tuple[str, ...], commands: Mapping[str, Any]) -> list[str]:
    """Return the pages that are next to one: above it, below it, and those of the files."""
    above = ["-".join(path[:length]) for length in range(1, len(path))]
    below = ["-".join((*path, name)) for name in commands] if len(path) > 1 else []
    return [*(f"{name}({SECTION})" for name in above + below), *_PAGES_OF_FILES]


def _reference(page_name: str) -> str:
    name, bracket, section = page_name.partition("(")
    return roff.bold(name) + roff.escaped(bracket + section)
