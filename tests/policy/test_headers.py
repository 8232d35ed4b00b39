"""Headers of ours: what is written, and what is taken away when it comes in."""

import email
import email.header
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.policy.headers import (
    REASON_LENGTH,
    HeaderDetail,
    fold,
    is_forged_header,
    our_headers,
    reason,
)
from oborona.types import Action, RuleHit, RuleMode, ShadowVerdict, Verdict


def verdict(action: Action, *rules: RuleHit) -> Verdict:
    return Verdict(action=action, score=37.5, line=100, decided_by="below-threshold", rules=rules)


@pytest.mark.parametrize(
    ("name", "value", "is_foreign"),
    [
        ("x-mras", " Ok", True),
        ("x-mras-score", "0 / 100", True),
        ("x-mras-anything", "", True),
        ("x-mrassive", "", False),
        ("x-spam-flag", "NO", True),
        ("x-spam-status", "No", False),
        ("authentication-results", " mx.test; spf=pass", True),
        ("authentication-results", "MX.Test 1; dkim=pass", True),
        ("authentication-results", "\r\n\t(a (nested) comment) mx.test (here)\r\n ; none", True),
        ("authentication-results", ' "mx.test"; none', True),
        ("authentication-results", "other.test; spf=pass mx.test", False),
        ("authentication-results", "mx.test.; spf=pass", True),
        ("authentication-results", "mx.test/1; spf=pass", True),
        ("authentication-results", r"(a\)b) mx.test; dkim=pass", True),
        ("authentication-results", r'"mx\.test"; none', True),
        # never closed: nobody can tell
        ("authentication-results", r"(mx.test\) other.test; none", True),
        ("authentication-results", "(" * 2000 + "mx.test; none", True),
        ("authentication-results", "(" + "x" * 2000 + ") mx.test; none", True),
        ("authentication-results", "(mx.test) other.test; none", False),
        (
            "authentication-results",
            r"mx\.test; dmarc=pass",
            True,
        ),  # no syntax without quotes, and read by some
        ("authentication-results", r"\mx.test; dmarc=pass", True),
        ("authentication-results", r"mx\.test.evil; dmarc=pass", False),
        ("authentication-results", "\uff2d\uff38.test; dmarc=pass", True),
        ("authentication-results", "\uff4d\uff58\uff0etest; dmarc=pass", True),
        ("authentication-results", "mx\u3002test; dmarc=pass", True),
        ("authentication-results", "m\u200bx.te\xadst; dmarc=pass", True),
        # Cyrillic: another name
        ("authentication-results", "\u043c\u0445.test; dmarc=pass", False),
        ("authentication-results", "\ufdfa" * 5000 + "; dmarc=pass", False),
        ("authentication-results", "\\", True),
        ("authentication-results", "", True),
        ("authentication-results", ";", True),
        ("received", "from mx.test", False),
    ],
)
def test_what_is_taken_away(name: str, value: str, is_foreign: bool) -> None:
    assert is_forged_header(name, value, "mx.test") is is_foreign


def test_good_mail_says_why_too() -> None:
    headers = dict(our_headers(verdict(Action.ACCEPT), "ID.SIG", HeaderDetail.FULL))
    assert headers == {
        "X-Mras": "Ok",
        "X-Mras-Score": "37.5 / 100",
        "X-Mras-Reason": "below-threshold(no rule fired)",
        "X-Mras-Id": "ID.SIG",
    }


@pytest.mark.parametrize(("action", "word"), [(Action.SPAM, "Probable"), (Action.REJECT, "Spam")])
def test_spam_carries_the_flag_that_clients_know(action: Action, word: str) -> None:
    headers = dict(our_headers(verdict(action), "ID.SIG", HeaderDetail.NONE))
    assert headers["X-Mras"] == word
    assert headers["X-Spam-Flag"] == "YES"


ALL_SORTS = (
    RuleHit(name="MASS_TEXT", score=90, say="seen 412 in 1h from 96 addresses"),
    RuleHit(name="KNOWN", score=-20),
    RuleHit(name="QUIET", score=7.5),
    RuleHit(name="CUT_OFF", score=0.0, say="0 of 5, cap 90 of MASS"),
    RuleHit(name="TRIAL", score=50, mode=RuleMode.SHADOW),
)


def test_by_names_alone_nobody_learns_scores_words_or_what_is_on_trial() -> None:
    found = msgspec.structs.replace(
        verdict(Action.SPAM, *ALL_SORTS),
        would=ShadowVerdict(action=Action.REJECT, score=250, line=200, decided_by="MASS_TEXT"),
    )
    named = dict(
        our_headers(
            msgspec.structs.replace(found, decided_by="MASS_TEXT"), "ID.SIG", HeaderDetail.NAMES
        )
    )
    assert named["X-Mras-Reason"] == "MASS_TEXT KNOWN QUIET"
    assert named["X-Mras-Score"] == "37.5 / 100"
    assert (
        reason(verdict(Action.ACCEPT, *ALL_SORTS), HeaderDetail.NAMES)
        == "below-threshold MASS_TEXT KNOWN QUIET"
    )
    assert reason(verdict(Action.ACCEPT), HeaderDetail.NAMES) == "below-threshold"
    many = verdict(
        Action.ACCEPT, *(RuleHit(name=f"RULE_{number}", score=1) for number in range(5000))
    )
    assert len(reason(many, HeaderDetail.NAMES)) < REASON_LENGTH + 100


def test_without_reason_there_is_no_score_either_and_a_list_that_decided_is_named() -> None:
    headers = dict(our_headers(verdict(Action.SPAM, *ALL_SORTS), "ID.SIG", HeaderDetail.NONE))
    assert headers == {"X-Mras": "Probable", "X-Mras-Id": "ID.SIG", "X-Spam-Flag": "YES"}
    listed = RuleHit(name="PERSONAL", score=0.0, say="their list: deny address ann@a.example")
    decided = msgspec.structs.replace(
        verdict(Action.SPAM, listed, *ALL_SORTS), decided_by="PERSONAL"
    )
    assert dict(our_headers(decided, "ID.SIG", HeaderDetail.NONE))["X-Mras-Reason"] == "PERSONAL"


def test_the_reason_lists_each_part_and_marks_shadow_rules() -> None:
    text = reason(
        verdict(
            Action.ACCEPT,
            RuleHit(name="MASS_TEXT", score=30, say="seen 412 in 1h from 96 addresses"),
            RuleHit(name="QUIET", score=7.5),
            RuleHit(name="TRIAL", score=50, mode=RuleMode.SHADOW),
        )
    )
    assert text == (
        "below-threshold MASS_TEXT=30.0(seen 412 in 1h from 96 addresses) QUIET=7.5 "
        "TRIAL=50.0[shadow]"
    )


def test_the_reason_tells_what_everything_in_shadow_mode_would_have_done() -> None:
    given = msgspec.structs.replace(
        verdict(Action.ACCEPT, RuleHit(name="TRIAL", score=150, mode=RuleMode.SHADOW)),
        would=ShadowVerdict(action=Action.SPAM, score=150, line=100, decided_by="TRIAL"),
    )
    assert reason(given) == "below-threshold TRIAL=150.0[shadow] would:spam=150.0[shadow]"


def test_the_reason_of_thousands_of_rules_is_bounded_and_counts_the_rest() -> None:
    rules = [RuleHit(name=f"RULE_{number}", score=1, say="x" * 90) for number in range(5000)]
    text = reason(verdict(Action.SPAM, *rules))
    assert len(text) < REASON_LENGTH + 100
    told = re.search(r"\((\d+) more\)$", text)
    assert told is not None
    assert text.count("RULE_") + int(told[1]) == 5000


@given(
    st.text(
        st.characters(min_codepoint=32, exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=3000
    )
)
def test_a_folded_value_is_safe_in_a_header_and_reads_back(text: str) -> None:
    """Invariant: ASCII, every line under 998 octets and after the first begun by a tab, and the
    words come back in order.
    """
    value = fold(text, 15)
    lines = value.split("\n")
    assert value.isascii()
    assert all(len(line) <= 998 for line in lines)
    assert all(line.startswith(("\t", " ")) for line in lines[1:])
    assert "\r" not in value
    parsed = email.message_from_string(f"X-Mras-Reason: {value}\n\n")["X-Mras-Reason"]
    if text.isascii():
        assert parsed.replace("\n\t", "").replace(" ", "") == text.replace(" ", "")
