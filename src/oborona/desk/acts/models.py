"""Acts on models: labels taken back, weights of before or made anew, final models replaced."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

import msgspec

from oborona import state_files
from oborona.desk.asks.events import EventId
from oborona.desk.call import ActOrder, CallError, NotFoundError, UndoCall, act
from oborona.desk.labels.label_store import open_labels
from oborona.desk.labels.personal_words import take_back_words
from oborona.desk.models.final_models import usable
from oborona.desk.site import Site
from oborona.feedback.training_store import TrainingStore
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.models.final.file import version
from oborona.stores.final_training_record import replacing

UNLEARNED = "unlearned"  # why, where nobody says


class UnlearnOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Labels that are to be taken back; of several conditions what is in all.

    Args:
        words: ids of labels.
        person: every label of theirs.
        since: Unix seconds; every label from then on.
    """

    words: Sequence[EventId] = ()
    person: str | None = None
    since: float | None = None


class UnlearnOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Labels that are taken back; in a dry run, that would be."""

    taken_back: tuple[int, ...]


class RollbackOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """A snapshot that the content model is to go back to."""

    snapshot: EventId


class RollbackOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How many labels are set aside, and how many put back; in a dry run, would be."""

    aside: int
    back: int


class ModelOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """A model is to be made anew, or changed for the one before it."""


class RebuildOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The weights are asked for anew; in a dry run, would be."""

    asked: bool


class FinalModelUpload(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """A trained model, as its file has it."""

    octets: Annotated[bytes, msgspec.Meta(max_length=64 << 20)]


class FinalModelRemoval(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """The site's own model is to go; or the one that stands in place of the one that came."""

    shipped: bool = False


class FinalModelOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Which final model is in force now; in a dry run, would be.

    Args:
        version: of it; empty = none of the site's own.
        done: False: it was so before.
        adds: it adds to the rules, and is no model of the site's own.
        undo: None = none does exactly that.
    """

    version: str
    done: bool = True
    adds: bool = False
    undo: UndoCall | None = None


_BACK = UndoCall(call="model.final_rollback", asked={})


@act("model.unlearn", Right.SYSTEM, Right.TEACH, about=("words", "person", "since"))
def unlearn_words(site: Site, caller: Caller, asked: UnlearnOrder) -> UnlearnOutcome:
    """Take labels back: the weights are computed as if they had never been there, and what followed
    from them for the mail of those who reported is removed.
    """
    if not asked.words and asked.person is None and asked.since is None:
        raise CallError("name labels by their id, a person or a time")
    now = time.time()
    with open_labels(site) as store:
        chosen = [set(asked.words)] if asked.words else []
        if asked.person is not None:
            chosen.append(set(store.of_person(asked.person.strip().lower())))
        chosen += [set(store.since(asked.since))] if asked.since is not None else []
        idents = sorted(set.intersection(*chosen))
        if asked.dry:
            return UnlearnOutcome(taken_back=tuple(store.withdrawable(idents)))
        reason = asked.reason or UNLEARNED
        removed = store.take_back(idents, reason=reason, by=caller.name, now=now)
        take_back_words(site, idents)
    return UnlearnOutcome(taken_back=tuple(removed))


@act("model.rollback", Right.SYSTEM, about=("snapshot",))
def roll_back_model(site: Site, caller: Caller, asked: RollbackOrder) -> RollbackOutcome:
    """Go back to a snapshot; what was learned since is set aside, and a later snapshot puts it in
    place again.
    """
    with open_labels(site) as store:
        try:
            if asked.dry:
                aside, back = store.rollback_figures(asked.snapshot)
            else:
                aside, back = store.roll_back(asked.snapshot, by=caller.name, now=time.time())
        except KeyError:
            raise NotFoundError(f"there is no snapshot {asked.snapshot}") from None
    return RollbackOutcome(aside=aside, back=back)


@act("model.anew", Right.SYSTEM)
def rebuild_model(site: Site, _caller: Caller, asked: ModelOrder) -> RebuildOutcome:
    """Compute the weights again from the base and the examples that are kept."""
    with open_labels(site), TrainingStore(site.state / state_files.FEEDBACK, make=False) as lessons:
        if not asked.dry:
            lessons.request_rebuild()
    return RebuildOutcome(asked=not asked.dry)


@act("model.final_install", Right.SYSTEM)
def install_final_model(site: Site, _caller: Caller, asked: FinalModelUpload) -> FinalModelOutcome:
    """Put a trained model in force; the one before it is kept."""
    name, state = version(asked.octets), site.state
    # the file that it will be is named where it can't be used
    adds = usable(asked.octets, state / state_files.FINAL_MODEL).points
    if asked.dry:
        return FinalModelOutcome(version=name, adds=bool(adds))
    with site.as_owner(), replacing(state) as files:
        if adds:
            files.write(state_files.FINAL_SHIPPED, asked.octets)
            undo = UndoCall(call="model.final_remove", asked={"shipped": True})
            return FinalModelOutcome(version=name, adds=True, undo=undo)
        before = files.read(state_files.FINAL_MODEL)
        new = files.install(asked.octets)
        files.hold("install", time.time())
    return FinalModelOutcome(version=name, done=new, undo=_BACK if new and before else None)


@act("model.final_rollback", Right.SYSTEM)
def roll_back_final_model(site: Site, _caller: Caller, asked: ModelOrder) -> FinalModelOutcome:
    """Put the final model before this one in force again; twice is as before."""
    with site.as_owner(), replacing(site.state) as files:
        before = files.read(state_files.FINAL_MODEL_BEFORE)
        now = files.read(state_files.FINAL_MODEL)
        if before is None:
            raise NotFoundError("no model was in force before this one")
        usable(before, site.state / state_files.FINAL_MODEL_BEFORE)
        if not asked.dry:
            if now is not None:
                files.write(state_files.FINAL_MODEL_BEFORE, now)
            files.write(state_files.FINAL_MODEL, before)
            files.hold("rollback", time.time())
    return FinalModelOutcome(version=version(before), undo=_BACK if now is not None else None)


@act("model.final_remove", Right.SYSTEM, about=("shipped",))
def remove_final_model(site: Site, _caller: Caller, asked: FinalModelRemoval) -> FinalModelOutcome:
    """Take the site's own model away: the rules and what comes with Oborona decide."""
    name = state_files.FINAL_SHIPPED if asked.shipped else state_files.FINAL_MODEL
    with site.as_owner(), replacing(site.state) as files:
        now = files.read(name)
        if now is None:
            raise NotFoundError(
                "no other model than the one that comes with Oborona is installed"
                if asked.shipped
                else "no final model of the site's own is installed"
            )
        if not asked.dry:
            if not asked.shipped:
                files.write(state_files.FINAL_MODEL_BEFORE, now)
            files.remove(name)
            if not asked.shipped:
                files.hold("remove", time.time())
    return FinalModelOutcome(version="", adds=asked.shipped, undo=None if asked.shipped else _BACK)


@act("model.final_auto", Right.SYSTEM)
def release_final_model(site: Site, _caller: Caller, asked: ModelOrder) -> FinalModelOutcome:
    """Let the model that trains itself take the place of what a person installed, once it is found
    better.
    """
    with site.as_owner(), replacing(site.state) as files:
        installed, record = files.installed(), files.record
        held = record.holds(installed)
        if held and not asked.dry:
            automatic = (*record.automatic, installed) if installed else record.automatic
            files.write_record(
                msgspec.structs.replace(record, held_by="", held_at=0.0, automatic=automatic)
            )
    return FinalModelOutcome(version=installed, done=held)
