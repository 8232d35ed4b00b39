"""`oborona policy check`: are settings and policy files right?"""

from __future__ import annotations

from pathlib import Path

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.policy.hits import hits_on
from oborona.desk.policy.used_traps import traps_in_use
from oborona.desk.policy_files import files
from oborona.policy.rule_tests import failure, run_tests


@click.command()
@click.option(
    "--ham",
    type=click.Path(path_type=Path, exists=True),
    help="Good mail (ham): show which rules fire on it.",
)
@click.option(
    "--spam",
    type=click.Path(path_type=Path, exists=True),
    help="Spam: show which rules fire on it.",
)
@pass_cli_context
def check(context: CliContext, ham: Path | None, spam: Path | None) -> None:
    """Check settings and policy files, and run the tests that stand beside the rules; with --ham
    and --spam, score sorted mail: hits and cost of each rule, false positives and spam caught at
    the thresholds.

    Exit status 78 with file, line and column when something is wrong; 1 when a test fails or good
    mail would be lost.
    """
    loaded, current = context.loaded, context.whole_policy()
    echo(f"{loaded.file or 'default settings'}: right")
    for line in files(current):
        echo(line)
    lists = (
        f"{len(current.dns_lists)} DNS lists ({sum(one.enabled for one in current.dns_lists)} on)"
    )
    local = f"{len(current.local_lists.lists)} local lists ({len(current.local_lists)} entries)"
    traps = f", {len(current.trapped)} traps" if len(current.trapped) else ""
    functions = current.scripts.functions if current.scripts is not None else ()
    scripts = f" ({len(functions)} rules and checks in Lua)" if functions else ""
    echo(
        f"policy: right, {len(current.rules)} rules{scripts}, {lists}, {local}, "
        f"{len(current.signatures)} signatures{traps}, {len(current.events.rules)} event rules, "
        f"version {current.version}"
    )
    for warned in current.compiled.warnings:
        echo(f"warning: {warned.place}: {warned.problem}")
    for problem in traps_in_use(current.trapped, context.state):
        echo(f"warning: {problem}")
    for warned in current.events.warnings:
        echo(f"warning: {warned.place}: {warned.problem}")
    every = (*current.compiled.rules, *current.events.rules)
    tests = sum(len(rule.test) for rule in every if rule.enabled)
    failed = [*run_tests(current.compiled, current.conditions), *current.events.failed_tests()]
    for test in failed:
        echo(str(failure(test)))
    if tests:
        echo(f"{tests - len(failed)} of {tests} tests of rules hold")
    if failed:
        click.get_current_context().exit(1)
    if (ham or spam) and not hits_on(context, ham, spam):
        click.get_current_context().exit(1)
