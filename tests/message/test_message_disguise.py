"""Words in disguise come back, and nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message import templates
from oborona.message.normalise import normalise
from oborona.message.obfuscation import join_spaced_letters, letters_for_signs


@pytest.mark.parametrize(
    ("disguised", "plain"),
    [
        ("m0rtg4g3s for c@sh, l0ans too", "mortgages for cash, loans too"),
        ("ca$h, pa!n.", "cash pain"),
        ("f00l", "fool"),
        ("buy v.i.a.g.r.a today", "buy viagra today"),
        ("buy v i a g r a today", "buy viagra today"),
        ("buy v-i-a-g-r-a, today", "buy viagra today"),
        ("buy v - i - a - g today", "buy viag today"),
        (
            "\u043a \u0443 \u043f \u0438 \u0441\u0435\u0439\u0447\u0430\u0441",
            "\u043a\u0443\u043f\u0438 \u0441\u0435\u0439\u0447\u0430\u0441",
        ),
    ],
)
def test_disguises_come_off(disguised: str, plain: str) -> None:
    assert templates.words(normalise(disguised)) == normalise(plain).replace(",", "").split()


@pytest.mark.parametrize(
    "text",
    [
        "an mp3 of the 2nd b",
        "plan a or b then",
        "Write to bob@example.com or ann@mail.example.org.",
        "see http://h0st.example/p4ge and www.sh0p.example",
        "1234567 and 10:30",
        "I am",
    ],
)
def test_what_is_no_disguise_stays(text: str) -> None:
    octets = normalise(text).encode()
    kept = [
        token
        for token in octets.split()
        if not any(mark in token for mark in (b"@", b"://", b"www."))
    ]
    assert [token for token in letters_for_signs(octets).split() if token in kept] == kept
    assert join_spaced_letters(b" " + octets + b" ").split() == octets.decode().split()
    assert not any(
        "h" in word and "st" in word for word in templates.words(normalise(text))
    )  # no link becomes a word


@given(st.text())
def test_only_signs_become_letters_and_only_spaces_go(text: str) -> None:
    """Invariant: letters_for_signs keeps length and all but signs.

    Joined keeps everything but spaces.
    """
    octets = normalise(text).encode("utf-8", "surrogatepass")
    changed = letters_for_signs(octets)
    assert len(changed) == len(octets)
    assert all(was == now or was in b"0134579$!@" for was, now in zip(octets, changed, strict=True))
    assert join_spaced_letters(b" " + octets + b" ").replace(" ", "") == octets.decode(
        "utf-8", "surrogatepass"
    ).replace(" ", "")


@pytest.mark.parametrize(
    "hostile",
    [
        "a " * 100_000,
        "a1" * 100_000,
        "@a" * 100_000,
        "a" + " " * 200_000 + "a",
        "a@" + "a" * 200_000,
    ],
)
@pytest.mark.timeout(2)
def test_hostile_texts_take_no_time(hostile: str) -> None:
    assert isinstance(join_spaced_letters(letters_for_signs(f" {hostile} ".encode())), str)
