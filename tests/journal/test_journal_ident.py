"""Ids grow whatever the clock does, sort as text, and are believed only with our signature."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oborona import ident

KEY = b"0123456789abcdef"
NUMBERS = st.integers(0, 2**63 - 1)


@given(st.lists(st.floats(-1e12, 1e13), min_size=2, max_size=50), st.integers(0, 255))
@example([1.7e9, 1.8e9] * 12, 7)  # set back to the same moment oftener than there are eras
@example([0.0, 1e13] * 12, 7)
def test_ids_are_never_given_twice_whatever_the_clock_does(times: list[float], worker: int) -> None:
    numbers = ident.JournalIdGenerator(worker, start=lambda: 0)
    given_out = [numbers.next(now) for now in times]
    assert len(set(given_out)) == len(times)
    assert all(one >> 14 & 255 == worker for one in given_out)
    assert 0 <= min(given_out) <= max(given_out) <= ident.HIGHEST


@given(st.lists(st.floats(0, ident.BEHIND_S - 1), min_size=2, max_size=50))
def test_ids_grow_while_the_clock_steps_back_by_little(steps: list[float]) -> None:
    numbers = ident.JournalIdGenerator()
    given_out = [numbers.next(1_750_000_000 + step) for step in steps]
    assert given_out == sorted(set(given_out))


def test_a_clock_that_steps_back_is_followed_once_it_has_caught_up() -> None:
    numbers = ident.JournalIdGenerator()
    before = numbers.next(1_750_000_020)
    during = numbers.next(1_750_000_000)
    after = numbers.next(1_750_000_200)
    assert before < during < after
    assert ident.time_of_id(during) == pytest.approx(1_750_000_020, abs=0.002)
    assert ident.time_of_id(after) == pytest.approx(1_750_000_200, abs=0.002)


@pytest.mark.parametrize("ahead_s", [60.0, 400 * 86_400.0, 70 * 365 * 86_400.0])
def test_a_clock_that_was_ahead_and_is_set_back_is_followed_at_once(ahead_s: float) -> None:
    numbers = ident.JournalIdGenerator(7, start=lambda: 0)
    given_out = []
    for jump in range(6):  # the same times come again and again
        given_out += [
            numbers.next(1_750_000_000 + (jump % 2) * ahead_s + place / 1000) for place in range(20)
        ]
        assert ident.time_of_id(given_out[-1]) <= 1_750_000_000 + ahead_s + 0.02
        if jump % 2 == 0:
            assert ident.time_of_id(given_out[-1]) == pytest.approx(1_750_000_000.02, abs=0.002)
    assert len(set(given_out)) == len(given_out)


def test_more_ids_than_a_millisecond_holds_borrow_from_the_next() -> None:
    numbers = ident.JournalIdGenerator(7, start=lambda: 0)
    given_out = [numbers.next(1_750_000_000) for _ in range(40_000)]
    assert len(set(given_out)) == 40_000
    assert given_out == sorted(given_out)
    assert ident.time_of_id(given_out[-1]) == pytest.approx(1_750_000_000.019, abs=0.0005)


def test_two_workers_never_give_the_same_id() -> None:
    one, other = ident.JournalIdGenerator(0), ident.JournalIdGenerator(1)
    assert not {one.next(1_750_000_000) for _ in range(5000)} & {
        other.next(1_750_000_000) for _ in range(5000)
    }


@pytest.mark.parametrize("worker", [-1, 256])
def test_a_worker_number_that_an_id_cannot_carry_is_refused(worker: int) -> None:
    with pytest.raises(ValueError, match="worker number"):
        ident.JournalIdGenerator(worker)


def test_all_ids_before_a_time_are_below_its_first() -> None:
    numbers = ident.JournalIdGenerator(255)
    assert (
        numbers.next(1_750_000_000.25)
        < ident.first_id_at(1_750_000_000.5)
        <= numbers.next(1_750_000_000.5)
    )


@given(NUMBERS)
def test_text_comes_back(number: int) -> None:
    text = ident.to_text(number)
    assert len(text) == ident.TEXT_LENGTH
    assert ident.from_text(text) == ident.from_text(text.lower()) == number
    assert ident.from_text(text.replace("0", "O").replace("1", "l")) == number


@given(NUMBERS, NUMBERS)
def test_text_sorts_as_the_numbers_do(a: int, b: int) -> None:
    assert (ident.to_text(a) < ident.to_text(b)) == (a < b)


@pytest.mark.parametrize(
    "text", ["", "0" * 12, "0" * 14, "U" * 13, "Z" * 13, "0000000000 00", "\u0660" * 13]
)
def test_what_is_no_id_is_none(text: str) -> None:
    assert ident.from_text(text) is None


@pytest.mark.parametrize("number", [-1, 2**63])
def test_more_than_63_bits_have_no_text(number: int) -> None:
    with pytest.raises(ValueError, match="63 bits"):
        ident.to_text(number)


@given(NUMBERS, st.binary(min_size=16, max_size=64), st.binary(min_size=16, max_size=64))
def test_only_the_key_that_signed_verifies(number: int, key: bytes, other: bytes) -> None:
    signed = ident.sign(number, key)
    assert len(signed) == ident.SIGNED_LENGTH
    assert ident.verify(f" {signed}\r\n", key) == number
    # BLAKE2b pads a key with zeros, so only such keys are the same key.
    assert (ident.verify(signed, other) == number) == (
        key.rstrip(b"\0") == other.rstrip(b"\0") and len(key) == len(other)
    )


@given(NUMBERS, st.integers(0, ident.SIGNED_LENGTH - 1), st.characters())
def test_no_character_can_be_changed(number: int, place: int, letter: str) -> None:
    signed = ident.sign(number, KEY)
    forged = signed[:place] + letter + signed[place + 1 :]
    # Only what reads as the same id may verify.
    assert (
        ident.verify(forged, KEY) in ((number, None) if place < ident.TEXT_LENGTH else (None,))
        or forged == signed
    )


@given(st.text())
def test_any_text_is_no_signed_id(text: str) -> None:
    assert ident.verify(text, KEY) is None


@pytest.mark.parametrize(
    "text", ["\ud800" * 30, "0" * 13 + "." + "\ud800" * 16, "A" * 10_000_000, "." * 30, "\0"]
)
def test_hostile_text_is_no_signed_id(text: str) -> None:
    assert ident.verify(text, KEY) is None


def test_the_signature_of_the_zero_id_does_not_vouch_for_what_is_no_id() -> None:
    signature = ident.sign(0, KEY).partition(".")[2]
    assert ident.verify(f"UUUUUUUUUUUUU.{signature}", KEY) is None


@pytest.mark.parametrize("key", [b"", b"short", b"x" * 65])
def test_a_key_of_the_wrong_size_is_an_error_of_ours(key: bytes) -> None:
    with pytest.raises(ValueError):
        ident.sign(1, key)
    with pytest.raises(ValueError):
        ident.verify("x", key)
