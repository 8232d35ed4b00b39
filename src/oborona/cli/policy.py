"""`oborona policy check` and `policy show`."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from pathlib import Path

import click
import msgspec
from rich.table import Table

from oborona.cli.asked import Asked, pass_asked
from oborona.cli.mailboxes import messages
from oborona.cli.output import echo
from oborona.cli.terminal import Terminal
from oborona.config import SECTIONS
from oborona.policy.evidence import Silence
from oborona.policy.merge import SINGLE
from oborona.policy.scan import scan
from oborona.types import Action, Envelope


@click.group()
def policy() -> None:
    """Look at the policy: is it right, what is in force and from where."""


@policy.command()
@click.option(
    "--ham", type=click.Path(path_type=Path, exists=True), help="Good mail: which rules would fire on it?"
)
@pass_asked
def check(asked: Asked, ham: Path | None) -> None:
    """Check settings and policy files; with --ham, score good mail and fail if any of it would not reach the inbox.

    Exit status 78 with file, line and column when something is wrong; 1 when good mail would be lost.
    """
    loaded, current = asked.loaded, asked.policy()
    echo(f"{loaded.file or 'default settings'}: right")
    lists = f"{len(current.dns_lists)} DNS lists ({sum(one.enabled for one in current.dns_lists)} on)"
    local = f"{len(current.local_lists.lists)} local lists ({len(current.local_lists)} entries)"
    echo(
        f"{asked.policy_folder}: right, {len(current.rules)} rules, {lists}, {local}, {len(current.signatures)} signatures, version {current.version}"
    )
    if ham is None:
        return
    fired: Counter[str] = Counter()
    total = lost = 0
    with asked.site() as site, asyncio.Runner() as runner:
        for source in messages(ham):
            verdict = runner.run(
                scan(source.raw, Envelope(), site, current, Silence(), now=time.time())
            ).verdict
            fired.update(hit.name for hit in verdict.rules)
            total += 1
            if verdict.action is not Action.ACCEPT:
                lost += 1
                echo(f"{source.name}: {verdict.action} {verdict.score:.1f}, decided by {verdict.decided_by}")
    table = Table("rule", "fired", "share", title=f"{total} good messages, {lost} would not reach the inbox")
    for name, times in fired.most_common():
        table.add_row(name, str(times), f"{times / total:.2%}")
    Terminal().print(table)
    if lost:
        click.get_current_context().exit(1)


@policy.command()
@click.option(
    "--origin", is_flag=True, help="Where each setting and each field of a rule or list comes from."
)
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@pass_asked
def show(asked: Asked, origin: bool, as_json: bool) -> None:
    """Show every setting, rule and list in force."""
    loaded, current = asked.loaded, asked.policy()
    rows = [
        (
            f"{section}.{key}",
            getattr(getattr(loaded.settings, section), key),
            loaded.origins[f"{section}.{key}"],
        )
        for section, schema in SECTIONS.items()
        for key in schema.__struct_fields__
    ]
    rows += [
        (
            f"{name}.{key}",
            getattr(getattr(current, name), key),
            current.origins.get(f"{name}.{key}", "default"),
        )
        for name, schema in SINGLE.items()
        for key in schema.__struct_fields__
    ]
    for rule in current.rules:
        for key in ("when", "score", "say", "mode", "stage", "enabled", "why"):
            place = current.origins.get(f"rule.{rule.name}.{key}")
            if place is not None or key == "score":
                rows.append((f"rule.{rule.name}.{key}", getattr(rule, key), place or "default"))
    rows += [(name, value, current.origins[name]) for name, value in current.lists.items()]
    if as_json:
        echo(msgspec.json.encode({name: {"value": value, "origin": where} for name, value, where in rows}))
        return
    for name, value, where in rows:
        shown = msgspec.json.encode(value).decode()
        echo(f"{name} = {shown}{f'    # {_short(where)}' if origin else ''}")


def _short(where: str) -> str:
    """A place as seen from the current folder, where that is shorter."""
    path, colon, line = where.rpartition(":")
    if not colon or not line.isdigit():
        return where
    near = os.path.relpath(path)
    return f"{min(near, path, key=len)}:{line}"
