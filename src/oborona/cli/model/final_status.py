"""What `oborona model final status` tells: the models, how they were found to judge, and the part
of each.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.table import Table

from oborona import state_files
from oborona.cli.output import echo
from oborona.cli.terminal import Terminal, plain
from oborona.errors import OboronaError, StoreError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.final_table import FinalMode, FinalTable
from oborona.policy.models.final.choice import FinalChoice, ShippedStanding
from oborona.policy.models.final.file import TrainedModel, decode, version
from oborona.policy.models.final.model import Forest, decides, most_added
from oborona.policy.models.final.summary import CatchRate, TrainingSummary
from oborona.stores.final_model import read_choice, read_first, shipped_paths, standing_of

SHOWN: Final = 15  # features
MODES: Final = {
    FinalMode.AUTO: "in shadow until it is found better than what stands without it",
    FinalMode.LIVE: "live",
    FinalMode.SHADOW: "in shadow",
}
STANDINGS: Final = {
    ShippedStanding.UNPROVED: "the site's own mail has not said yet whether it is right",
    ShippedStanding.CONFIRMED: "confirmed by the site's own mail",
    ShippedStanding.REFUTED: "in shadow: by the site's own mail it loses what the rules alone do not",
}


class InstalledModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that can be used here."""

    version: str
    path: Path
    trained: TrainedModel


class InstalledModels(msgspec.Struct, frozen=True, kw_only=True):
    """The models of a site; None = there is none."""

    own: InstalledModel | None
    shipped: InstalledModel | None
    choice: FinalChoice

    @property
    def standing(self) -> ShippedStanding:
        """What the site's own mail said of the model that adds to the rules."""
        return standing_of("" if self.shipped is None else self.shipped.version, self.choice)

    @property
    def better(self) -> bool:
        """Whether the site's own was found better than what stands without it."""
        return self.own is not None and self.choice.own == self.own.version

    def most(self, table: FinalTable) -> float:
        """Return the most that the model that adds to the rules may add now."""
        return most_added(table, self.standing)


def installed_models(state: Path) -> InstalledModels:
    """Return the models of a site.

    Raises:
        StoreError: a file can't be used; the text names it and says why.
    """
    choice = state / state_files.FINAL_CHOICE
    try:
        chosen = read_choice(choice)
    except OboronaError as error:
        raise StoreError(f"{choice}: {error}") from error
    return InstalledModels(
        own=_installed((state / state_files.FINAL_MODEL,)),
        shipped=_installed(shipped_paths(state)),
        choice=chosen,
    )


def _installed(paths: tuple[Path, ...]) -> InstalledModel | None:
    found = read_first(paths)
    if found is None:
        return None
    path, octets = found
    return InstalledModel(version=version(octets), path=path, trained=usable(octets, path))


def usable(octets: bytes, path: Path) -> TrainedModel:
    """Return the model of a file, if it can be put in force here.

    Raises:
        StoreError: it can't; the text names the file and says why.
    """
    try:
        return Forest(decode(octets), SCHEMA).trained
    except OboronaError as error:
        raise StoreError(f"{path}: {error}") from error


def as_data(models: InstalledModels, table: FinalTable) -> dict[str, Any]:
    """Return what `--json` prints; names and meaning of its keys stay."""
    own = models.own
    report: dict[str, Any] = {"model": None} if own is None else _data(own)
    shipped = models.shipped
    return {
        **report,
        "mode": table.mode,
        "live": own is not None and decides(table, better=models.better),
        "spam": table.spam,
        "reject": table.reject,
        "shipped": None
        if shipped is None
        else {
            **_data(shipped),
            "file": str(shipped.path),
            "standing": models.standing,
            "most": models.most(table),
        },
        "choice": msgspec.to_builtins(models.choice),
    }


def _data(model: InstalledModel) -> dict[str, Any]:
    return {
        "model": model.version,
        "trained_at": model.trained.trained_at,
        "policy": model.trained.policy,
        "summary": msgspec.to_builtins(model.trained.summary),
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


def moment(time: float) -> str:
    """Return a time, Unix seconds, for people."""
    return f"{datetime.fromtimestamp(time, UTC).isoformat(sep=' ', timespec='minutes')[:16]} UTC"


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
