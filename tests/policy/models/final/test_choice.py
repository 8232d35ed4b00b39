"""The file that says which final model decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.policy.models.final.choice import (
    MAX_OCTETS,
    NO_CHOICE,
    FinalChoice,
    ShippedStanding,
    decode_choice,
    encode_choice,
)
from oborona.policy.models.final.file import BrokenModel

CHOICE = FinalChoice(
    own="0123456789ab",
    shipped=ShippedStanding.CONFIRMED,
    shipped_version="ba9876543210",
    at=1_780_000_000.5,
    why="300 good messages",
)


def test_what_is_written_is_read() -> None:
    """All of it comes back."""
    assert decode_choice(encode_choice(CHOICE)) == CHOICE
    assert decode_choice(b"{}") == NO_CHOICE


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        b"null",
        b"[]",
        b'{"own": 3}',
        b'{"shipped": "believed"}',
        b'{"owned": ""}',
        b"[" * 50_000,
        b'{"why": "\xff"}',
        encode_choice(CHOICE)[:-20],
        encode_choice(CHOICE) + b" " * MAX_OCTETS,
    ],
)
def test_anything_else_is_refused(octets: bytes) -> None:
    """With words, and nothing worse."""
    with pytest.raises(BrokenModel, match="choice of a model"):
        decode_choice(octets)


@given(octets=st.binary(max_size=200))
def test_no_octets_do_worse(octets: bytes) -> None:
    """They are a choice or are refused."""
    try:
        decode_choice(octets)
    except BrokenModel:
        return
