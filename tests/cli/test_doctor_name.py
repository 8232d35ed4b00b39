"""`oborona doctor` and the name that we go by: one of the Internet, or one that means nothing to
others.
"""

from __future__ import annotations

import pytest

from oborona.cli.asked import Asked
from oborona.cli.doctor_name import name
from oborona.cli.report import State


@pytest.mark.parametrize(
    ("ours", "state"),
    [
        ("mx.b.example", State.OK),
        ("localhost", State.WARN),
        ("debian", State.WARN),
        ("localhost.localdomain", State.WARN),
        ("mx.", State.WARN),
    ],
)
def test_a_name_that_nobody_knows_is_told(ours: str, state: State) -> None:
    (report,) = name(Asked(None, None, (f"site.name={ours}",)))
    assert report.state is state
    assert ours in report.words
    assert ("set site.name" in report.words) is (state is State.WARN)
