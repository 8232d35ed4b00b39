"""Histories as tables: what a mail administrator would say of them, and what is said."""

import pytest

from oborona.reputation.judgement.judge import judge
from oborona.reputation.judgement.model import EntityJudgement
from tests.reputation.histories import History, counted, histories

HISTORIES = histories()


def told(found: EntityJudgement) -> str:
    """A judgement with its parts, for who has to find out what went wrong."""
    parts = [f"  {one.name} {one.points:+.1f}: {one.value:.4g} {one.say}" for one in found.measures]
    return "\n".join([f"{found.flag} {found.trust:.0f}: {found.say}", *parts])


def test_there_are_enough_of_them() -> None:
    assert len(HISTORIES) >= 50
    assert len({one.what for one in HISTORIES}) == len(HISTORIES)


@pytest.mark.parametrize("history", HISTORIES, ids=[one.what for one in HISTORIES])
async def test_a_history_is_judged_as_an_administrator_would(history: History) -> None:
    past, around, repip, karma = await counted(history)
    found = judge(past, around if history.around else None)
    assert found.flag in history.flags, told(found)
    assert history.trust[0] <= found.trust <= history.trust[1], told(found)
    assert [words for words in history.says if words not in found.say] == [], told(found)
    assert [words for words in history.never if words in found.say] == [], told(found)
    assert history.karma[0] <= karma <= history.karma[1]
    if history.repip_is:
        assert repip.flag is history.repip_is
        assert repip.flag not in history.repips, "no longer known to differ: take `repip_is` out"
    elif history.repips:
        assert repip.flag in history.repips, f"{repip.flag} {repip.share:.2f}: {repip.say}"
