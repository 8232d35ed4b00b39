"""`oborona model train --from-log`: a model of persons, from checked days of an event log."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.table import Table

from oborona.atomic_file import write_atomically
from oborona.cli.context import CliContext
from oborona.cli.eventlog.logs import open_log_tables, policy_rules
from oborona.cli.model.final_status import quality_rows
from oborona.cli.output import echo
from oborona.cli.terminal import Terminal
from oborona.daemon.event_logs import check_packages
from oborona.desk.event_logs.logs import log_named
from oborona.feedback.final.train import NotTrainable, TrainingResult, train
from oborona.policy.models.final.file import encode, version

if TYPE_CHECKING:
    from oborona.policy.models.final.examples import FinalExample

DAY_S: Final = 86_400.0
SHOWN: Final = 10  # features


def train_persons(
    context: CliContext,
    log: str,
    since: float,
    out: Path,
    step: Callable[[str, int, int], None],
) -> None:
    """Train a model of the persons of a log, and write it.

    Args:
        context: of the command.
        log: its name.
        since: seconds back, of the days that are trained on.
        out: file of the model.
        step: told how far it is.

    Raises:
        NotTrainable: the log has too few persons of either kind.
    """
    check_packages()
    examples, names, policy = _examples(context, log, time.time() - since, step)
    if not examples:
        raise NotTrainable(f"no day of {log} that is delivered has persons to learn from")
    training = train(examples, names, policy=policy, now=time.time(), progress=step)
    octets = encode(training.model)
    write_atomically(out, octets)
    _show(training, version(octets))
    echo(f"{out}: model {version(octets)}; oborona eventlog model install {log} {out}")


def _examples(
    context: CliContext, log: str, since: float, step: Callable[[str, int, int], None]
) -> tuple[list[FinalExample], tuple[str, ...], str]:
    """Return the examples of a log, the names of their numbers, and the version of the policy."""
    from oborona.eventlog.daily.book import DayPassBook  # noqa: PLC0415
    from oborona.eventlog.folder import LogFolder  # noqa: PLC0415
    from oborona.eventlog.periods import DAY  # noqa: PLC0415
    from oborona.eventlog.persons.examples import PersonExamples, independent_rules  # noqa: PLC0415
    from oborona.eventlog.persons.model import known_names  # noqa: PLC0415
    from oborona.eventlog.persons.word_book import PersonWordBook  # noqa: PLC0415
    from oborona.eventlog.suppression.book import SuppressionBook  # noqa: PLC0415
    from oborona.eventlog.tables.delta import DeliveredTable  # noqa: PLC0415

    schema = log_named(context, log)
    rules = policy_rules(context).of_day(log)
    assert rules.log is not None, "the schema of the log is known"
    with open_log_tables(context) as tables:
        store = tables.store
        days = DeliveredTable(LogFolder(tables.root, log).delivered(DAY.name), DAY.column)
        dates = list(DayPassBook(store, log).days(DAY.slot(since), DAY.slot(time.time() - DAY_S)))
        made = PersonExamples(
            schema,
            rules.log,
            independent_rules(rules, schema),
            PersonWordBook(store, log).words(),
            SuppressionBook(store, log),
            tables.engine,
            tables.work,
        )
        examples: list[FinalExample] = []
        for number, date in enumerate(dates):
            step("days", number, len(dates))
            examples.extend(made.of_days(days, [date]))
    return examples, known_names(schema, rules.log, rules.log.counted), rules.version


def _show(training: TrainingResult, name: str) -> None:
    summary = training.model.summary
    table = Table(
        "on days that came later", "number of events", "model of persons",
        title=f"model {name}: {summary.spam} caught, {summary.ham} good, {summary.judged} judged",
        title_justify="left",
    )  # fmt: skip
    for row in quality_rows(summary, "fraud"):
        table.add_row(*row)
    terminal = Terminal()
    terminal.print(table)
    heaviest = Table("feature", "share", show_edge=False)
    for feature, share in summary.importance[:SHOWN]:
        heaviest.add_row(feature, f"{share:.1%}")
    terminal.print(heaviest)
