"""The text has a bank account to pay to: an IBAN whose check digits are right, or a number behind
words such as "account number".
"""

from __future__ import annotations

import re
from typing import Final

import re2

from oborona.message.normalise import normalise
from oborona.policy.checks.context import CheckContext
from oborona.types import Finding

SLUG: Final = "account-number"

SEARCHED: Final = 20_000  # characters of text: where to pay stands where a reader finds it
MAX_TRIED: Final = 100  # words that begin like an IBAN

# Characters of an IBAN by country: ISO 13616-1, the registry of SWIFT (release 97).
_LENGTHS: Final = {
    country: length
    for length, countries in {
        15: "NO", 16: "BE", 18: "DK FO FI GL NL SD FK", 19: "MK SI", 20: "AT BA EE KZ LT LU XK MN",
        21: "CH HR LI LV", 22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ TL OM SO",
        24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HU LB NI PL SV HN", 29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC",
        32: "LC", 33: "RU",
    }.items()
    for country in countries.lower().split()
}  # fmt: skip
_BEGINS: Final = re2.compile(rb"\b[a-z]{2}[0-9]{2}[ -]?[a-z0-9]{2}")
_START: Final = re.compile(r"(?<![a-z0-9])[a-z]{2}[0-9]{2}(?=[ -]?[a-z0-9]{2})")
_FOLLOWS: Final = re.compile(r"(?>[ -]?[a-z0-9]){11,40}+")
_WORDS: Final = (
    "account number", "account no", "acct no", "a/c no", "routing number", "routing no", "sort code", "kontonummer", "konto nr", "numéro de compte",
    "número de cuenta", "clabe", "numero di conto", "número da conta", "conta corrente", "numer konta", "numer rachunku", "rekeningnummer", "hesap numaras\u0131",
    "hesap no", "číslo účtu", "номер счета", "номер счёта", "расчетный счет", "расчётный счёт", "\u0440/\u0441", "номер рахунку", "口座番号", "账号", "帳號", "계좌번호",
)  # fmt: skip
_SAID: Final = re2.compile(
    "(?:{})[^0-9\n]{{0,20}}([0-9](?:[ -]?[0-9]){{5,29}})".format(
        "|".join(sorted({re.escape(normalise(word)) for word in _WORDS}))
    ).encode()
)


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the first such account, of which the evidence has the ends.

    Source: ISO 13616-1 (IBAN), ISO/IEC 7064 (MOD 97-10).
    """
    text = context.message.normal_text[:SEARCHED]
    octets = text.encode("utf-8", "surrogatepass")
    number = _iban(text) if _BEGINS.search(octets) is not None else ""
    if number:
        return Finding(SLUG, f"{number[:4]}…{number[-4:]}")
    said = _SAID.search(octets)
    return Finding(SLUG, f"…{said[1][-4:].decode()}") if said is not None else None


def _iban(text: str) -> str:
    for tried, begin in enumerate(_START.finditer(text)):
        if tried >= MAX_TRIED:
            break
        length = _LENGTHS.get(begin[0][:2])
        follows = _FOLLOWS.match(text, begin.end()) if length else None
        if length is None or follows is None:
            continue
        # words of the sentence may follow, after a space
        groups = re.split(r"[ -]", follows[0])
        number = begin[0]
        for group in groups:
            number += group
            if len(number) >= length:
                break
        if len(number) == length and _holds(number):
            return number
    return ""


def _holds(number: str) -> bool:
    """Tell whether the check digits of an IBAN are right."""
    turned = number[4:] + number[:4]
    return int("".join(str(int(sign, 36)) for sign in turned)) % 97 == 1
