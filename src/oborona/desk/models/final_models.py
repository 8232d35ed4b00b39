"""The final models of a site: which stand, how they were found to judge, and the part of each."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from oborona import state_files
from oborona.errors import OboronaError, StoreError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.final_table import FinalMode, FinalTable
from oborona.policy.models.final.choice import FinalChoice, ShippedStanding
from oborona.policy.models.final.file import TrainedModel, decode, version
from oborona.policy.models.final.model import Forest, decides, most_added
from oborona.policy.models.final.summary import TrainingSummary
from oborona.stores.final_model import read_choice, read_first, shipped_paths, standing_of

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


def moment(time: float) -> str:
    """Return a time, Unix seconds, for people."""
    return f"{datetime.fromtimestamp(time, UTC).isoformat(sep=' ', timespec='minutes')[:16]} UTC"


class FinalModelFigures(msgspec.Struct, frozen=True, kw_only=True):
    """A model, how it was trained and found to judge; without one its name alone.

    Args:
        model: version; None = there is none.
        trained_at: Unix seconds.
        policy: version under which it was trained.
        summary: of its training.
    """

    model: str | None = None
    trained_at: float | UnsetType = UNSET
    policy: str | UnsetType = UNSET
    summary: TrainingSummary | UnsetType = UNSET


class ShippedModelFigures(FinalModelFigures, frozen=True, kw_only=True):
    """The model that adds to the rules."""

    file: str
    standing: ShippedStanding
    most: float  # points that it may add now


class FinalModelReport(FinalModelFigures, frozen=True, kw_only=True):
    """The site's own model, the one that adds to the rules, which decides, and the training."""

    mode: FinalMode
    live: bool  # the site's own decides
    spam: float
    reject: float | None
    shipped: ShippedModelFigures | None
    choice: FinalChoice
    training: Mapping[str, Any]


def final_report(
    models: InstalledModels, table: FinalTable, training: Mapping[str, Any]
) -> FinalModelReport:
    """Return what is known of the final models.

    Args:
        models: that stand.
        table: what the policy says of them.
        training: of the site's own.
    """
    own, shipped = models.own, models.shipped
    return FinalModelReport(
        **({} if own is None else _figures(own)),
        mode=table.mode,
        live=own is not None and decides(table, better=models.better),
        spam=table.spam,
        reject=table.reject,
        shipped=None
        if shipped is None
        else ShippedModelFigures(
            **_figures(shipped),
            file=str(shipped.path),
            standing=models.standing,
            most=models.most(table),
        ),
        choice=models.choice,
        training=training,
    )


def _figures(model: InstalledModel) -> dict[str, Any]:
    return {
        "model": model.version,
        "trained_at": model.trained.trained_at,
        "policy": model.trained.policy,
        "summary": model.trained.summary,
    }
