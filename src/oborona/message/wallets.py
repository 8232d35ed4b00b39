"""Addresses of wallets, told from other long words by their checksums.

    base58check          Bitcoin, Litecoin, Dogecoin, Dash, Tron             first octets of sha256
                         of sha256
    bech32, bech32m      Bitcoin and Litecoin (BIP 173, BIP 350)             a BCH code; also all in
                         upper case
    CashAddr             Bitcoin Cash, with its prefix or without        a BCH code of 40 bits
    Ethereum             EIP-55, letters in both cases                       Keccak-256; in one case
                         only with a word of it nearby
    Monero               base58 in blocks                                    first octets of
                         Keccak-256
    TON                  base64, bounceable or not: one account              CRC-16

Known limits: Solana and others without a checksum look like any random word, and are none; an
address with spaces inside is not read, since nobody could copy it.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import crc_hqx
from functools import lru_cache
from hashlib import sha256
from typing import Final

import re2

from oborona.message.findings import Findings
from oborona.message.keccak import keccak_256

MAX_WALLETS: Final = 10  # of one message
MAX_TRIED: Final = 200  # words that are decoded
MAX_KECCAK: Final = 16  # words that cost a Keccak hash
# characters around an address without a checksum in which a word must say what it is
_NEAR: Final = 80

HINT: Final = r"[a-z0-9]{26}|[eu][qf][a-z0-9_-]{46}"
"""RE2, of something that any text with a wallet holds when it is normalised"""
_MAY_HOLD: Final = re2.compile(f"(?i){HINT}".encode())
_WORD: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:0[xX][0-9a-fA-F]{40}|[EU][Qf][A-Za-z0-9_-]{46}|[A-Za-z0-9]{26,106}+)(?![A-Za-z0-9])"
)
_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGIT: Final = {letter: value for value, letter in enumerate(_ALPHABET)}
_BASE58: Final[dict[int, str]] = {  # first octet -> coin
    0x00: "bitcoin",
    0x05: "bitcoin",  # pay to a script; Litecoin's old form of it is the same
    0x30: "litecoin",
    0x32: "litecoin",
    0x1E: "dogecoin",
    0x16: "dogecoin",
    0x4C: "dash",
    0x41: "tron",
}
_BECH32: Final = re.compile(r"(bc|ltc)1([qpzry9x8gf2tvdw0s3jn54khce6mua7l]{14,74})")
_BECH32_DIGIT: Final = {
    letter: value for value, letter in enumerate("qpzry9x8gf2tvdw0s3jn54khce6mua7l")
}
_BECH32_COIN: Final = {"bc": "bitcoin", "ltc": "litecoin"}
_GENERATOR: Final = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
# The prefix, which people leave out, is summed up too.
_CASH: Final = (*(ord(letter) & 31 for letter in "bitcoincash"), 0)
_CASH_LENGTHS: Final = {42, 61}  # of 20 and 32 octets; others are in no wallet's use
_CASH_GENERATOR: Final = (0x98F2BC8E61, 0x79B76D99E2, 0xF33E5FB3C4, 0xAE2EABE2A8, 0x1E4F43E470)
_BECH32_SUM: Final = 1  # of witness version 0
_BECH32M_SUM: Final = 0x2BC830A3  # of all later ones
_MONERO: Final = frozenset({18, 19, 42})  # plain, with a payment id, of a sub-account
_BLOCK_OCTETS: Final = {11: 8, 7: 5, 6: 4, 2: 1}  # base58 characters of a Monero block -> octets
_TON: Final = frozenset({0x11, 0x51})  # bounceable or not; the test network has the highest bit set
_NAMES_ETHEREUM: Final = re.compile(
    r"\b(?:eth|ether|ethereum|erc-?20|bep-?20|bsc|bnb|usd[tc]|crypto\w*|wallet|metamask|polygon|кошел\w+|эфир\w*)\b",
    re.IGNORECASE,
)


def in_text(text: str, findings: Findings) -> list[tuple[str, str]]:
    """Return the distinct wallets in a text as (coin:address, as written), at most `MAX_WALLETS`.

    Args:
        text: as a reader sees it: the letters' case belongs to an address.
        findings: keeps count of what the message has cost.
    """
    if _MAY_HOLD.search(text.encode("utf-8", "surrogatepass")) is None:
        return []
    addresses: dict[str, str] = {}
    for match in _WORD.finditer(text):
        word = match[0]
        if len(word) == 42 and word[:2] in ("0x", "0X"):
            if not findings.afford("keccak", 1, MAX_KECCAK):
                continue
            near = text[max(0, match.start() - _NEAR) : match.end() + _NEAR]
            wallet = _ethereum(word, near)
        else:
            wallet = _wallet(word, findings)
        if wallet:
            addresses.setdefault(wallet, word)
            if len(addresses) >= MAX_WALLETS:
                break
    return list(addresses.items())


def _wallet(word: str, findings: Findings) -> str:
    """Return coin:address of a word that is no Ethereum address, empty when it is no wallet."""
    length = len(word)
    first = word[0]
    if length in (95, 106) and first in "48":
        return _monero(word) if findings.afford("keccak", 1, MAX_KECCAK) else ""
    if length == 48 and first in "EU":
        return _ton(word) if findings.afford("wallet", 1, MAX_TRIED) else ""
    if length in _CASH_LENGTHS and first in "qpQP":
        return _cash(word) if findings.afford("wallet", 1, MAX_TRIED) else ""
    if length <= 35 and first in "13LMDAX9T7":
        return _base58(word) if findings.afford("wallet", 1, MAX_TRIED) else ""
    lower = word.lower()
    if lower.startswith(("bc1", "ltc1")) and (word == lower or word.isupper()):
        return _bech32(lower) if findings.afford("wallet", 1, MAX_TRIED) else ""
    return ""


def _number(word: str) -> int:
    """Return the number that base58 writes, -1 when a character is none of its.

    Source: Bitcoin's base58.cpp.
    """
    number = 0
    for letter in word:
        digit = _DIGIT.get(letter, -1)
        if digit < 0:
            return -1
        number = number * 58 + digit
    return number


@lru_cache(maxsize=512)
def _base58(word: str) -> str:
    number = _number(word)
    if number < 0 or number >> 200:
        return ""
    octets = number.to_bytes(25, "big")
    zeros = len(octets) - len(octets.lstrip(b"\0"))
    if len(word) - len(word.lstrip("1")) != zeros:
        return ""  # as many leading ones as there are leading zeros
    coin = _BASE58.get(octets[0], "")
    if not coin or sha256(sha256(octets[:21]).digest()).digest()[:4] != octets[21:]:
        return ""
    return f"{coin}:{word}"


@lru_cache(maxsize=512)
def _bech32(word: str) -> str:
    """Return the wallet of a segregated-witness address in lower case. Source: BIP 173, BIP 350."""
    match = _BECH32.fullmatch(word)
    if match is None:
        return ""
    prefix, digits = match[1], [_BECH32_DIGIT[letter] for letter in match[2]]
    checksum = 1
    for value in (
        *(ord(character) >> 5 for character in prefix),
        0,
        *(ord(character) & 31 for character in prefix),
        *digits,
    ):
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATOR):
            if top >> bit & 1:
                checksum ^= generator
    version, octets = digits[0], (len(digits) - 7) * 5 // 8
    expected = _BECH32_SUM if version == 0 else _BECH32M_SUM
    if (
        checksum != expected
        or version > 16
        or not 2 <= octets <= 40
        or (version == 0 and octets not in (20, 32))
    ):
        return ""
    return f"{_BECH32_COIN[prefix]}:{word}"


@lru_cache(maxsize=512)
def _cash(word: str) -> str:
    """Return the wallet of a Bitcoin Cash address, in letters of one case.

    Source: its specification of CashAddr.
    """
    lower = word.lower()
    digits = [_BECH32_DIGIT.get(letter, -1) for letter in lower]
    if -1 in digits or word not in (lower, lower.upper()):
        return ""
    checksum = 1
    for value in (*_CASH, *digits):
        top = checksum >> 35
        checksum = (checksum & 0x7FFFFFFFF) << 5 ^ value
        for bit, generator in enumerate(_CASH_GENERATOR):
            if top >> bit & 1:
                checksum ^= generator
    return f"bitcoincash:{lower}" if checksum == 1 else ""


@lru_cache(maxsize=512)
def _checked_ethereum(digits: str) -> bool:
    """Return whether the case of each letter is what EIP-55 makes it."""
    nibbles = keccak_256(digits.lower().encode()).hex()
    return all(
        not letter.isalpha() or letter.isupper() == (nibble > "7")
        for letter, nibble in zip(digits, nibbles[:40], strict=True)
    )


def _ethereum(word: str, near: str) -> str:
    digits = word[2:]
    if digits in (digits.lower(), digits.upper()):
        good = not digits.isdigit() and _NAMES_ETHEREUM.search(near) is not None
    else:
        good = _checked_ethereum(digits)
    return f"ethereum:0x{digits.lower()}" if good else ""


@lru_cache(maxsize=128)
def _monero(word: str) -> str:
    """Return the wallet of a Monero address.

    Source: the Monero project's base58.cpp and cryptonote_basic_impl.cpp.
    """
    octets = b""
    for start in range(0, len(word), 11):
        block = word[start : start + 11]
        number, size = _number(block), _BLOCK_OCTETS[len(block)]
        if number < 0 or number >> 8 * size:
            return ""
        octets += number.to_bytes(size, "big")
    if octets[0] not in _MONERO or keccak_256(octets[:-4])[:4] != octets[-4:]:
        return ""
    return f"monero:{word}"


@lru_cache(maxsize=512)
def _ton(word: str) -> str:
    """Return the account of a TON address, the same for its bounceable and other form.

    Source: TEP-2.
    """
    octets = b64decode(word.replace("-", "+").replace("_", "/"))
    if (
        octets[0] not in _TON
        or octets[1] not in (0, 255)
        or crc_hqx(octets[:34], 0) != int.from_bytes(octets[34:], "big")
    ):
        return ""
    return f"ton:{-1 if octets[1] else 0}:{octets[2:34].hex()}"
