"""The spam share of a history: cautious with little, firm with much."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.reputation.share import spam_share


@pytest.mark.parametrize(
    ("seen", "spam", "low", "high"),
    [
        (0, 0, 0.5, 0.5),
        (1, 1, 0.7, 0.8),
        (1, 0, 0.2, 0.3),
        (230, 223, 0.96, 0.98),
        (20, 20, 0.97, 0.99),
        (1000, 0, 0, 0.001),
    ],
)
def test_what_histories_say(seen: int, spam: int, low: float, high: float) -> None:
    assert low <= spam_share(seen, spam) <= high


@given(st.integers(0, 2**62), st.integers(0, 2**62))
def test_it_is_a_share_and_grows_with_spam(seen: int, spam: int) -> None:
    assert 0 < spam_share(seen, spam) <= 1
    assert spam_share(seen, spam) <= spam_share(seen, spam + 1)
