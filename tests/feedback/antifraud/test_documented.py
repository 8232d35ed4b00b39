"""docs/people/feedback.md has the rules, and other names that stand on events, as they are in the
code.
"""

import re
from pathlib import Path

from oborona.desk.acts.events import TAKEN_BACK
from oborona.feedback.antifraud.rules import RULES
from oborona.feedback.events.model import OPPOSITE
from oborona.feedback.processing.campaign_review import REVISED
from oborona.feedback.processing.event_decision import UNREADABLE

PAGE = (Path(__file__).parents[3] / "docs/people/feedback.md").read_text()


def test_the_table_of_rules_is_that_of_the_code() -> None:
    table = re.findall(r"^\| `([A-Z_]+)` \| (.*) \|$", PAGE, re.MULTILINE)
    assert table == [(rule.name, rule.about) for rule in RULES]


def test_other_names_on_events_are_told() -> None:
    (names,) = [one for one in PAGE.split("\n\n") if one.startswith("Other names on events")]
    assert set(re.findall(r"`([A-Z_]+)`", names)) == {OPPOSITE, REVISED, UNREADABLE, TAKEN_BACK}
