"""The demo's own letters: the same for a seed, whole, and each from a sender of its own."""

from __future__ import annotations

from email import message_from_bytes, policy

from tests.everyday import everyday, golden
from tests.letters import Kind


def test_everyday_letters_are_drawn_by_their_seed_and_have_nothing_left_to_fill_in() -> None:
    letters = everyday(200, seed=3)
    assert letters == everyday(200, seed=3) != everyday(200, seed=4)
    assert (
        len({letter.recipient for letter in letters})
        == len({letter.sender for letter in letters})
        == 200
    )
    for letter in letters:
        message = message_from_bytes(letter.raw, policy=policy.default)
        assert not message.defects
        assert message["From"].addresses[0].addr_spec == letter.sender
        assert not set("{}|") & set(message["Subject"] + message.get_content())


def test_golden_mails_are_good_and_spam() -> None:
    letters = golden()
    assert sum(letter.kind is Kind.HAM for letter in letters) > 30
    assert sum(letter.kind is Kind.SPAM for letter in letters) > 15
    assert len({letter.recipient for letter in letters}) == len(letters)
