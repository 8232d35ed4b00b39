"""Wallets by their checksums: published examples are found, and with one character changed they are
not.
"""

from __future__ import annotations

import hashlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.message import wallets
from oborona.message.findings import Findings
from oborona.message.keccak import keccak_256

ETHEREUM = "0xde0b295669a9fd93d5f28d9ec85e40f4cb697bae"
EXAMPLES = [  # the genesis block; BIP 13, 173, 350; EIP-55; the sites and documents of the coins
    ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
    ("3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", "bitcoin:3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy"),
    ("1111111111111111111114oLvT2", "bitcoin:1111111111111111111114oLvT2"),
    (
        "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
        "bitcoin:bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
    ),
    (
        "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
        "bitcoin:bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
    ),
    (
        "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
        "bitcoin:bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
    ),
    (
        "QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A",
        "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a",
    ),
    (
        "ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq",
        "bitcoincash:ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq",
    ),
    ("LdP8Qox1VAhCzLJNqrr74YovaWYyNBUWvL", "litecoin:LdP8Qox1VAhCzLJNqrr74YovaWYyNBUWvL"),
    ("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "tron:TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"),
    (
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "ethereum:0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
    ),
    (
        "44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A",
        "monero:44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A",
    ),
    (
        "EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF",
        "ton:0:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e",
    ),
    (
        "UQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPuwA",
        "ton:0:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e",
    ),
]


def found(text: str) -> list[str]:
    return [wallet for wallet, _ in wallets.in_text(text, Findings())]


@pytest.mark.parametrize(("written", "wallet"), EXAMPLES)
def test_published_addresses(written: str, wallet: str) -> None:
    for text in (
        written,
        f"send to {written}.",
        f"bitcoin:{written}?amount=1",
        f"(wallet-{written})",
        f"кошелёк:{written},",
    ):
        assert wallets.in_text(text, Findings()) == [(wallet, written)]


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(EXAMPLES), st.integers(0, 200), st.sampled_from(wallets._ALPHABET))
def test_one_changed_character_is_no_wallet(
    example: tuple[str, str], place: int, letter: str
) -> None:
    """Invariant: an address with one character exchanged has a wrong checksum, whatever the
    coin.
    """
    written, wallet = example
    place %= len(written)
    changed = written[:place] + letter + written[place + 1 :]
    if changed != written:
        assert wallet not in found(changed) or changed.lower() == written.lower()
        assert found(changed) in ([], [wallet])


@pytest.mark.parametrize(
    "text",
    [
        "commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        f"the transaction {ETHEREUM}",
        "0x0000000000000000000000000000000000000000 wallet",
        "Donaudampfschifffahrtsgesellschaft",
        "1111111111111111111111111111111111",
        "QWxhZGRpbjpvcGVuIHNlc2FtZUFsYWRkaW46b3BlbiBzZXNhbWU=",
        "http://a.example/1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN3",
        # version 0 under the checksum of later ones, BIP 350
        "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh",
        "BC1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",  # both cases
        "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNaX",
        "",
    ],
)
def test_what_is_no_wallet(text: str) -> None:
    assert found(text) == []


def test_ethereum_in_one_case_wants_a_word() -> None:
    for text in (
        f"USDT (ERC20): {ETHEREUM}",
        f"{ETHEREUM} is my wallet",
        f"кошелек {ETHEREUM}",
        f"eth {ETHEREUM.upper()}",
    ):
        assert found(text) == [f"ethereum:{ETHEREUM}"]


def test_limits() -> None:
    many = " ".join(f"USDT 0x{number:040x}" for number in range(0xA0000, 0xA0000 + 100))
    assert len(found(many)) == wallets.MAX_WALLETS


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=600))
def test_keccak_is_sha3_with_another_padding(octets: bytes) -> None:
    """Invariant: with SHA-3's padding, the hash is that of hashlib."""
    assert keccak_256(octets, 0x06) == hashlib.sha3_256(octets).digest()


def test_keccak_of_nothing() -> None:
    assert (
        keccak_256(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
    )


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("013bcEUQABxXzT_-48 \u0416lO"), max_size=300))
def test_any_text(text: str) -> None:
    """Invariant: no exception, few distinct wallets."""
    assert len(found(text)) == len(set(found(text))) <= wallets.MAX_WALLETS


@pytest.mark.parametrize(
    "piece",
    [
        "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb ",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD ",
        "4" * 95 + " ",
        "bc1" + "q" * 60 + " ",
        "EQ" + "-" * 46 + " ",
        "a",
        "-",
        "a-" * 30 + " ",
    ],
)
def test_a_megabyte_is_read_in_bounded_time(piece: str) -> None:
    text = "".join(
        piece[:4] + f"{number:x}"[:1] + piece[5:] if len(piece) > 20 else piece
        for number in range(1_000_000 // len(piece))
    )
    began = time.process_time()
    found(text)
    assert time.process_time() - began < 0.25
