"""The act by which weights of another site become the base of the content model, or none are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from oborona import state_files
from oborona.atomic_file import write_atomically
from oborona.desk.call import ActOrder, act
from oborona.desk.labels.label_store import open_labels
from oborona.desk.site import Site
from oborona.feedback import snapshots
from oborona.feedback.training_store import TrainingStore
from oborona.people.caller import Caller
from oborona.people.rights import Right


class BaseWeightsOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """What the content model is to be learned on top of.

    Args:
        content: as `model.export` tells it; None = nothing: it goes on without a base.
        called: its name.
    """

    content: Annotated[bytes, msgspec.Meta(max_length=64 << 20)] | None
    called: Annotated[str, msgspec.Meta(max_length=1000)] = "-"


class BaseWeights(msgspec.Struct, frozen=True, kw_only=True):
    """The base from now on; in a dry run, what it would be.

    Args:
        version: of the weights; empty = there is no base.
        spam: messages of spam that they have learned.
        ham: the same of good mail.
    """

    version: str = ""
    spam: int = 0
    ham: int = 0


@act("model.import", Right.SYSTEM)
def import_weights(site: Site, _caller: Caller, asked: BaseWeightsOrder) -> BaseWeights:
    """Take weights of another site as the base, or none: what was learned here is learned again on
    top of them.

    Raises:
        StoreError: they are damaged or of another layout, or can't be written.
    """
    base = BaseWeights()
    if asked.content is not None:
        header = snapshots.unpacked(asked.content, Path(asked.called)).header
        base = BaseWeights(version=header.version, spam=header.spam, ham=header.ham)
    if asked.dry:
        return base
    with open_labels(site, make=True) as opened:
        path = site.state / state_files.WEIGHTS_BASE
        if asked.content is None:
            snapshots.remove(path)
        else:
            write_atomically(path, asked.content)
        with TrainingStore(opened.path) as lessons:
            lessons.request_rebuild()
    return base
