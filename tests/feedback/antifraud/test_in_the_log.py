"""What is gathered from the log of events is what the rules are told in the histories: the same
words are believed.
"""

from pathlib import Path

import pytest

from oborona.feedback.events.model import EventKind
from tests.feedback.antifraud.histories import History, deeds_of, histories, past, told
from tests.feedback.antifraud.log_site import LogSite

MOST = 70  # events: larger ones show nothing else
HISTORIES = [one for _, one in histories() if len(deeds_of(one)) <= MOST]


def test_most_histories_are_told_to_both() -> None:
    assert len(HISTORIES) >= 35


@pytest.mark.parametrize("history", HISTORIES, ids=[one.what for one in HISTORIES])
def test_the_log_believes_whom_the_made_up_site_believes(history: History, tmp_path: Path) -> None:
    site = told(history)
    with LogSite(tmp_path, past(history)) as log:
        for one in site.events:
            log.hear(one)
        log.done(site.events[-1].time)
        for campaign in {one.message.campaign for one in site.events}:
            for what in (EventKind.COMPLAINT, EventKind.PARDON):
                assert log.believed(campaign, what) == site.believed(campaign, what), (
                    campaign,
                    what,
                )
