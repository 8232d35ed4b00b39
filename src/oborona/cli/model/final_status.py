"""What `oborona model final status` tells: the models, how they were found to judge, and the part
of each.
"""

from __future__ import annotations

from typing import Final

from rich.table import Table

from oborona.cli.output import echo
from oborona.cli.terminal import Terminal, plain
from oborona.desk.models.final_models import STANDINGS, InstalledModel, InstalledModels, moment
from oborona.policy.final_table import FinalMode, FinalTable
from oborona.policy.models.final.model import decides
from oborona.policy.models.final.summary import CatchRate, TrainingSummary

SHOWN: Final = 15  # features
MODES: Final = {
    FinalMode.AUTO: "in shadow until it is found better than what stands without it",
    FinalMode.LIVE: "live",
    FinalMode.SHADOW: "in shadow",
}


def show(console: Terminal, models: InstalledModels, table: FinalTable) -> None:
    """Print the models for people."""
    own, shipped = models.own, models.shipped
    live = own is not None and decides(table, better=models.better)
    if shipped is None:
        echo("no model comes with this Oborona: the score is that of the rules")
    else:
        echo(f"model {shipped.version}, which comes with Oborona, {_made(shipped)}")
        if live:
            echo("silent: the site's own model stands in its place")
        else:
            echo(f"adds at most {models.most(table):g} points; {STANDINGS[models.standing]}")
        _quality(console, shipped, "on sources that it was not taught with", "rules and model")
    if own is None:
        echo("no final model of the site's own")
    else:
        echo(f"model {own.version}, the site's own, {_made(own)}")
        refuses = f"p={table.reject:g} refuses" if table.reject else "it never refuses"
        mode = "live: found better" if live and models.better else MODES[table.mode]
        echo(f"{mode}; p={table.spam:g} is spam, {refuses}")
        _quality(console, own, "on mail that came later", "final model")
    if models.choice.why:
        echo(f"so since {moment(models.choice.at)}: {plain(models.choice.why)}")


def _made(model: InstalledModel) -> str:
    return (
        f"trained at {moment(model.trained.trained_at)} by "
        f"{plain(model.trained.summary.software)} under policy {plain(model.trained.policy)}"
    )


def _quality(console: Terminal, model: InstalledModel, what: str, name: str) -> None:
    summary = model.trained.summary
    shown = Table(what, "rules alone", name)
    for row in quality_rows(summary):
        shown.add_row(*row)
    console.print(shown)
    weights = Table("feature", "importance")
    for feature, share in summary.importance[:SHOWN]:
        weights.add_row(plain(feature), f"{share:.1%}")
    console.print(weights)


def quality_rows(summary: TrainingSummary, kind: str = "spam") -> list[tuple[str, str, str]]:
    """Return how score and model were found to judge, as rows of a table.

    Args:
        summary: of a training.
        kind: what is to be caught.
    """
    if summary.score is None or summary.final is None:
        return []
    rows = [
        ("(1-ROCA)%, smaller is better", f"{summary.score.loss:.3f}", f"{summary.final.loss:.3f}")
    ]
    for first, second in zip(summary.score.catches, summary.final.catches, strict=False):
        rows.append(
            (f"{kind} caught, {first.lost:.1%} false positives", _shown(first), _shown(second))
        )
    return rows


def _shown(catch: CatchRate) -> str:
    return f"{catch.caught:.1%} ({catch.low:.1%} to {catch.high:.1%})"
