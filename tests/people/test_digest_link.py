"""Links of digests: forged, over, cut, another's, of another site."""

from __future__ import annotations

import pytest

from oborona.people.digest_link import LINK_S, DigestAct, DigestLink, read_link, sign_link

KEY, NOW = b"k" * 32, 1_795_862_400.0
LINK = DigestLink(person=7, act=DigestAct.NOT_SPAM, message="0KX1", until=int(NOW + LINK_S))
SIGNED = sign_link(LINK, KEY)


def test_a_link_says_what_was_signed() -> None:
    assert read_link(SIGNED, KEY, NOW) == LINK
    stop = DigestLink(person=7, act=DigestAct.STOP, until=int(NOW + 60))
    assert read_link(sign_link(stop, KEY), KEY, NOW) == stop


def test_a_link_ends() -> None:
    assert read_link(SIGNED, KEY, NOW + LINK_S - 1) == LINK
    assert read_link(SIGNED, KEY, NOW + LINK_S) is None
    # one that is good for longer than any is signed is none, whoever signed it
    long = DigestLink(person=7, act=DigestAct.STOP, until=int(NOW + 10 * LINK_S))
    assert read_link(sign_link(long, KEY), KEY, NOW) is None


def test_another_key_signs_nothing() -> None:
    assert read_link(SIGNED, b"x" * 32, NOW) is None


@pytest.mark.parametrize(
    ("part", "other"), [(0, "8"), (1, "allow"), (2, "0KX2"), (3, "1797000000"), (4, "A" * 24)]
)
def test_no_part_can_be_changed(part: int, other: str) -> None:
    parts = SIGNED.split(".")
    parts[part] = other
    assert read_link(".".join(parts), KEY, NOW) is None


@pytest.mark.parametrize(
    "text",
    ["", ".", "....", SIGNED + "A", SIGNED + "\n", SIGNED[:-1], "\u0667" + SIGNED[1:], "\udcff",
     "9" * 100_000, SIGNED.replace("7.", "007.", 1), SIGNED.replace("free", "drop"), "\0" + SIGNED],
)  # fmt: skip
def test_what_is_no_link_is_none(text: str) -> None:
    assert read_link(text, KEY, NOW) is None


def test_an_act_that_is_none_is_refused_even_if_signed() -> None:
    import hashlib
    import hmac
    from base64 import urlsafe_b64encode

    text = f"7.drop.0KX1.{int(NOW + 60)}"
    mac = hmac.new(KEY, text.encode(), hashlib.sha256).digest()[:18]
    assert read_link(f"{text}.{urlsafe_b64encode(mac).decode()}", KEY, NOW) is None
