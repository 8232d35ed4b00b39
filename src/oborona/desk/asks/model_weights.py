"""The ask for the weights of the content model, for another site to begin with."""

from __future__ import annotations

import msgspec

from oborona import state_files
from oborona.desk.call import ask
from oborona.desk.site import Site
from oborona.feedback import snapshots
from oborona.feedback.weights_file import WeightsFile
from oborona.people.caller import Caller
from oborona.people.rights import Right


class WeightsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The weights in force."""


class ExportedWeights(msgspec.Struct, frozen=True, kw_only=True):
    """Weights as `model.import` takes them.

    Args:
        content: the file: numbers, no text, no names, nothing of who said what.
        version: of the weights.
        spam: messages of spam that they have learned, here and where they came from.
        ham: the same of good mail.
    """

    content: bytes
    version: str
    spam: int
    ham: int


@ask("model.export", Right.SYSTEM)
def export_weights(site: Site, _caller: Caller, asked: WeightsQuestion) -> ExportedWeights:
    """Return the weights in force.

    Raises:
        StoreError: there are none, or they can't be read.
    """
    source = WeightsFile(site.state / state_files.WEIGHTS)
    image, header = source.image(), source.header
    return ExportedWeights(
        content=snapshots.packed(image, b""),
        version=header.version,
        spam=header.spam + header.base_spam,
        ham=header.ham + header.base_ham,
    )
