"""Bank accounts in the text: what is one, and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.parse import parse
from oborona.policy.checks import account_number
from oborona.policy.checks.account_number import SEARCHED
from oborona.policy.checks.context import CheckContext
from oborona.types import Client, Envelope


def found(text: str) -> str:
    head = "From: a@b.example\nContent-Type: text/plain; charset=utf-8\n\n"
    context = CheckContext(
        message=parse((head + text).encode("utf-8", "replace")),
        envelope=Envelope(client=Client(ip="198.51.100.7", name="")),
        site="mx.example",
        now=1_795_170_000.0,
    )
    finding = account_number.check(context)
    return "" if finding is None else finding.evidence


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("Our new IBAN: DE89 3704 0044 0532 0130 00 BIC COBADEFFXXX", "de89…3000"),
        ("Pay GB82WEST12345698765432.", "gb82…5432"),
        ("pay to fr14-2004-1010-0505-0001-3M02-606 now", "fr14…2606"),
        ("(NO93 8601 1117 947)", "no93…7947"),
        ("order AB12 3456 7890, then NL91 ABNA 0417 1643 00 in ten days", "nl91…4300"),
        ("Account number: 12345678", "…5678"),
        ("sort code 12-34-56", "…4-56"),
        ("Номер счёта: 40817810099910004312", "…4312"),
        ("口座番号\uff1a1234567", "…4567"),
    ],
)
def test_an_account_to_pay_to(text: str, evidence: str) -> None:
    assert found(text) == evidence


@pytest.mark.parametrize(
    "text",
    [
        "",
        "IBAN: DE88 3704 0044 0532 0130 00",  # another check digit
        "DE89 3704 0044 0532 0130 0",
        "DE89370400440532013000123",
        "XX89 3704 0044 0532 0130 00",
        "part DE12 3456 of 2024",
        "account no. 12-34",
        "my account number is on file since 2019",
        "call account services: +1 555 0100",
        "x" * SEARCHED + " GB82WEST12345698765432",
    ],
)
def test_what_is_no_account(text: str) -> None:
    assert found(text) == ""


@given(st.text(alphabet="degb0123456789 -w", max_size=400))
def test_an_evidence_never_has_the_whole_number(text: str) -> None:
    assert len(found(text)) in {0, 5, 9}


@given(st.from_regex(r"[0-9]{18}", fullmatch=True), st.integers(2, 98))
def test_of_all_check_digits_two_at_most_are_right(bban: str, digits: int) -> None:
    right = 98 - int(f"{bban}131400") % 97
    assert bool(found(f"to DE{digits:02} {bban}")) == (
        digits == right or digits + 97 == right or digits - 97 == right
    )
