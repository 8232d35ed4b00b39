"""What decides without a score, such as another engine that is certain of a virus, decides by
whatever door a mail comes, also where clients go by the number alone.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers.clamd import VIRUS, Clamd
from tests.peers.oborona import Oborona
from tests.whole.couriers import House
from tests.whole.test_all_doors import WAYS

DOORS = (
    "milter",
    "Exim, a line",
    "Exim, variant=rspamd",
    "Exim, SpamAssassin",
    "spamc",
    "rspamc",
    "HTTP",
    "SMTP proxy",
)
MAIL = (
    b"From: Ann <ann@a.example>\r\nTo: joe@example.test\r\nSubject: Lunch\r\nDate: Sun, 22 Nov "
    b"2026 10:00:00 +0000\r\n"
    b"Message-ID: <%d@a.example>\r\n\r\nAt noon? %b\r\n"
)


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    folder = Path(tempfile.mkdtemp(prefix="oborona-test-", dir="/tmp"))
    folder.chmod(0o755)
    house = House(folder)
    with Clamd() as clamd:
        settings = {"worker.processes": 1, "engines.clamd.ask": clamd.address}
        with Oborona(house.settings | settings):
            yield house
    shutil.rmtree(folder)


@pytest.mark.parametrize("door", DOORS)
def test_a_virus_is_refused_by_every_door(house: House, door: str) -> None:
    way = WAYS[door]
    if not way.needs:
        pytest.skip(f"{door}: its programs are not here, or need root")
    place = DOORS.index(door)
    with way.courier(house) as bring:
        assert bring(MAIL % (2 * place, b"")).verdict == "accept"
        heard = bring(MAIL % (2 * place + 1, VIRUS))
    if heard.verdict == "flagged":  # spamc has one word; who refuses by the number refuses this
        assert heard.score is not None
        assert heard.score >= 200
    else:
        assert heard.verdict == "reject"
