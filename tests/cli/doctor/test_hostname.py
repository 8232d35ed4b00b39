"""`oborona doctor` and the name that we go by: one of the Internet, or one that means nothing to
others.
"""

from __future__ import annotations

import pytest

from oborona.cli.context import CliContext
from oborona.desk.doctor.hostname import name
from oborona.desk.doctor.report import CheckState


@pytest.mark.parametrize(
    ("ours", "state"),
    [
        ("mx.b.example", CheckState.OK),
        ("localhost", CheckState.WARN),
        ("debian", CheckState.WARN),
        ("localhost.localdomain", CheckState.WARN),
        ("mx.", CheckState.WARN),
    ],
)
def test_a_name_that_nobody_knows_is_told(ours: str, state: CheckState) -> None:
    (report,) = name(CliContext(None, None, (f"site.name={ours}",)))
    assert report.state is state
    assert ours in report.words
    assert ("set site.name" in report.words) is (state is CheckState.WARN)
