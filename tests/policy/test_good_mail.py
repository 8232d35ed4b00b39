"""What the policy and the model that ship lose of good mail, held where it was measured: on good
mail of the public corpus, all that is hard and a share of what is easy, and on generated letters.

Each message is the first that a site ever sees, without DNS, counts and learning, as
benchmarks/sources.py judges it; docs/measured/catch.md has the figures of all of it.  Golden mails
are held to their scores by tests/whole/test_golden.py, ordinary letters of a first day to their
verdicts by tests/whole/test_first_day.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from benchmarks.generated.senders import Look
from benchmarks.generated_mail import bounces, letters, write
from benchmarks.new_site import envelope_of_stranger, shipped_final
from benchmarks.sources import CORPUS as SOURCE
from benchmarks.sources import JudgedMessage, SourcedMessage, indexed, judge
from oborona.feedback.final.backtest import undo_delivery
from tests.event_loop import finished
from tests.letters import CORPUS
from tests.policy.shipped import shipped

EASY_EACH: Final = 10  # one of so many
MOST_LOST: Final = {"hard-ham-1": 7, "easy-ham-1": 0, "easy-ham-2": 0}
LOOK: Final = Look(css="p { margin: 0 }", page='<p style="margin:0">Hi there,</p>')


def judged(mail: Iterable[SourcedMessage]) -> list[JudgedMessage]:
    return finished(judge(shipped(), iter(mail), shipped_final()))


def lost(mail: Iterable[SourcedMessage]) -> list[str]:
    """Return what is filed, with what filed it."""
    return [
        f"{Path(one.path).name} {one.score:g}: {' '.join(one.rules)}"
        for one in judged(mail)
        if one.filed
    ]


@pytest.mark.parametrize("folder", MOST_LOST)
def test_no_more_of_the_corpus_is_lost_than_was(folder: str) -> None:
    paths = sorted((CORPUS / folder).glob("*.txt"))
    assert len(paths) >= 250
    chosen = paths if folder.startswith("hard") else paths[::EASY_EACH]
    found = lost(
        SourcedMessage(
            source=SOURCE,
            path=str(path),
            spam=False,
            raw=undo_delivery(path.read_bytes()),
            envelope=envelope_of_stranger(),
        )
        for path in chosen
    )
    assert len(found) <= MOST_LOST[folder], "\n".join(found)


def test_no_generated_letter_is_lost(tmp_path: Path) -> None:
    write(tmp_path, [*letters(LOOK), *bounces()])
    mail = list(indexed(tmp_path))
    assert len(mail) > 800
    assert lost(mail) == []
