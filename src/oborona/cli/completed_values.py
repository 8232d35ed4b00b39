"""Names that a shell completes: of rules, lists, signatures and settings, as the site has them.

A key press waits for it, so that nothing is checked: rules are found in the policy's files without
reading them as a policy, which takes a second.  Whoever may not read them, or finds them broken, is
offered nothing; an error would stand in the line that is being typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

from oborona.errors import OboronaError

if TYPE_CHECKING:
    from oborona.cli.context import CliContext

MOST: Final = 500  # signatures that are offered, the newest
SHOWN: Final = 60  # signs of a signature's value
_TABLE: Final = re.compile(r"^[ \t]*\[\[[ \t]*([\w.-]+)[ \t]*\]\]", re.MULTILINE)
_NAME: Final = re.compile(r"""^[ \t]*name[ \t]*=[ \t]*["']([\w.-]+)["']""", re.MULTILINE)
_FILE: Final = re.compile(r"^[ \t]*file[ \t]*=", re.MULTILINE)
_RULE: Final = ("rule", ":")  # what bash makes of "rule:": it begins a new word at a colon


def complete_value(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the values of a parameter that begin as what is typed: names, or what its type knows.

    Args:
        ctx: of its command.
        parameter: argument or option.
        incomplete: what is typed of it.
    """
    told = VALUES.get((ctx.command_path.partition(" ")[2], parameter.name or ""))
    if told is None:
        return parameter.type.shell_complete(ctx, parameter, incomplete)
    offered = told
    if told is _queries:
        typed = (*(ctx.params.get(parameter.name or "") or ()), incomplete)
        if _RULE in (typed[-2:], typed[-3:-1]):
            offered, incomplete = _rules, incomplete.removeprefix(":")
    try:
        return [item for item in offered(_site(ctx)) if item.value.startswith(incomplete)]
    except (OboronaError, OSError, ValueError, click.ClickException):
        return []


def complete_setting(
    _ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the settings that begin as what is typed, as --set takes them."""
    from oborona.config.document import entries
    from oborona.config.settings import SECTIONS

    return [
        CompletionItem(f"{section}.{entry.key}=", help=entry.meaning)
        for section in SECTIONS
        for entry in entries(section)
        if f"{section}.{entry.key}=".startswith(incomplete)
    ]


def _site(ctx: click.Context) -> CliContext:
    from oborona.cli.context import CliContext

    told = ctx.find_root().params
    return CliContext(told.get("config"), told.get("state"), told.get("assignments") or ())


def _rules(site: CliContext) -> Iterator[CompletionItem]:
    yield from map(CompletionItem, _names(_tables(site, "rule")))


def _queries(site: CliContext) -> Iterator[CompletionItem]:
    return (CompletionItem(f"rule:{rule.value}") for rule in _rules(site))


def _series(site: CliContext) -> Iterator[CompletionItem]:
    return (CompletionItem(f"rules/live/{rule.value}") for rule in _rules(site))


def _event_rules(site: CliContext) -> Iterator[CompletionItem]:
    yield from map(CompletionItem, _names(_tables(site, "event_rule")))


def _lists(site: CliContext) -> Iterator[CompletionItem]:
    own = _names(text for text in _tables(site, "local_list") if _FILE.search(text))
    yield from map(CompletionItem, sorted({"allow", "deny", *own}))


def _proposed(site: CliContext) -> Iterator[CompletionItem]:
    return _signatures(site, "proposed")


def _active(site: CliContext) -> Iterator[CompletionItem]:
    return _signatures(site, "active")


def _every(site: CliContext) -> Iterator[CompletionItem]:
    return _signatures(site, "active", "proposed", "declined", "removed")


def _names(tables: Iterable[str]) -> list[str]:
    found = (_NAME.search(text) for text in tables)
    return sorted({match[1] for match in found if match})


def _tables(site: CliContext, kind: str) -> Iterator[str]:
    """Yield the text of each table of a kind in the policy's files, but of what can't be read."""
    for path in site.policy_folders.files(".toml"):
        try:
            pieces = _TABLE.split(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
            if name == kind:
                yield text


def _signatures(site: CliContext, *states: str) -> Iterator[CompletionItem]:
    import sqlite3

    from oborona import state_files
    from oborona.sqlite_file import connect

    marks = ", ".join("?" for _ in states)
    # not by the store itself, which loads the language of rules
    select = f"SELECT id, substr(value, 1, {SHOWN}) FROM signature WHERE state IN ({marks})"  # noqa: S608
    try:
        with closing(
            connect(site.state / state_files.SIGNATURES, write=False, absent="there is none")
        ) as db:
            rows = db.execute(f"{select} ORDER BY id DESC LIMIT {MOST}", states).fetchall()
    except sqlite3.Error:
        return
    for number, value in rows:
        # a shell prints it
        plain = "".join(sign if sign.isprintable() else " " for sign in str(value))
        yield CompletionItem(f"s{number}", help=plain)


VALUES: Final[Mapping[tuple[str, str], Callable[[CliContext], Iterator[CompletionItem]]]] = (
    MappingProxyType(
        {
            ("find", "words"): _queries,
            ("chart", "series"): _series,
            ("eventlog suppress", "rule"): _event_rules,
            ("eventlog unsuppress", "rule"): _event_rules,
            ("list add", "name"): _lists,
            ("list import", "name"): _lists,
            ("list remove", "name"): _lists,
            ("list show", "name"): _lists,
            ("list undo", "name"): _lists,
            ("signature accept", "names"): _proposed,
            ("signature decline", "names"): _proposed,
            ("signature expire", "name"): _active,
            ("signature remove", "names"): _active,
            ("signature show", "name"): _every,
        }
    )
)
"""Command and parameter → what is offered for it."""
