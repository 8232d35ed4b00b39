"""A worker's content model: the trainer's weights, mapped, as they are at each message.

Each message looks at the file's name once (2 µs): new weights come as another file, and what was
learned meanwhile is in the mapped one.  Without weights, or with such as can't be used, the model
says nothing, and the log says so, once, and once when it is over.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from oborona.errors import StoreError
from oborona.feedback.person_filter import may_have
from oborona.feedback.weights_file import WeightsFile
from oborona.message.model import Message
from oborona.metrics import Gauge
from oborona.policy.models.content.features import features
from oborona.policy.models.content.weights import Weights
from oborona.policy.models.opinion import UNTAUGHT, ContentOpinion
from oborona.telemetry.log import event
from oborona.types import Envelope

WRONG: Final = Gauge(
    "oborona_model_wrong",
    "1 while the worker can't use the weights of the content model, which says nothing then.",
    (),
)

log = logging.getLogger("oborona.model")


class FollowedContentModel:
    """A `ContentModel` of scans, for one thread.

    Args:
        path: of the weights; need not exist yet.
        least: messages of spam, and as many of good mail, that must be learned before it speaks.

    Attributes:
        trouble: why the weights can't be used; empty = they can, or there are none.
    """

    def __init__(self, path: Path, *, least: int) -> None:
        self.trouble = ""
        self._path = path
        self._least = least
        self._file: WeightsFile | None = None
        WRONG.set_function(lambda: {(): bool(self.trouble)})
        # device, inode and size of what was last looked at
        self._known: tuple[int, int, int] | None = None

    @property
    def version(self) -> str:
        """Of the weights that the last message was judged by; empty = there were none."""
        return self._file.header.version if self._file is not None else ""

    @property
    def weights(self) -> Weights | None:
        """As they lie under the name now, for who asks why.

        None where there are none that can be used.
        """
        file = self._mapped()
        return None if file is None else file.weights

    def read(self, message: Message, envelope: Envelope) -> ContentOpinion:
        """Return what it says of a message; see `ContentModel.read`."""
        file = self._mapped()
        if file is None:
            return UNTAUGHT
        header = file.follow()
        spam, ham = header.spam + header.base_spam, header.ham + header.base_ham
        if spam < self._least or ham < self._least:
            return ContentOpinion(spam_learned=spam, ham_learned=ham, version=header.version)
        weights = file.weights
        vector, personal = weights.vector(features(message)), 0.0
        margin = weights.product(vector) - weights.middle()
        if len(envelope.recipients) == 1:  # one reader, one verdict
            person = envelope.recipients[0].lower()
            if may_have(header.persons, person):
                personal = weights.personal_part(vector, person)
        return ContentOpinion(
            probability=header.calibration.probability(margin + personal),
            margin=margin + personal,
            personal=personal,
            spam_learned=spam,
            ham_learned=ham,
            version=header.version,
        )

    def _mapped(self) -> WeightsFile | None:
        """Return the weights that lie under the name now.

        None where there are none that can be used.
        """
        try:
            status = self._path.stat()
            identity = (status.st_dev, status.st_ino, status.st_size)
        except OSError:
            identity = None
        if identity != self._known:
            self._known, self._file = identity, None if identity is None else self._opened()
        return self._file

    def _opened(self) -> WeightsFile | None:
        try:
            opened = WeightsFile(self._path)
        except StoreError as error:
            event(log, logging.ERROR, "the content model says nothing", error=error)
            self.trouble = str(error)
            return None
        if self.trouble:
            event(log, logging.WARNING, "the content model speaks again")
            self.trouble = ""
        return opened
