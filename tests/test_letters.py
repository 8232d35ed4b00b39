"""The mail that tests send is what it says it is."""

from __future__ import annotations

import ipaddress

import pytest

from tests.letters import CORPUS, Kind, as_it_arrived, campaign, corpus, gtube

STORED = b"""From a@b Thu Aug 22 14:44:07 2002
Return-Path: <ann@example.org>
Delivered-To: joe@localhost
Received: from localhost (localhost [127.0.0.1])
\tby inside.example (Postfix) with ESMTP id 1
Received: from pop.example [193.120.211.219]
\tby localhost with POP3 (fetchmail-5.9.0)
Received: from relay.example.net (other.name [209.63.151.251] (may be forged))
\tby mx.example (8.9.3/8.9.3) with ESMTP id 2
Received: from before ([8.8.8.8]) by relay.example.net
Subject: Hello
 again

Body: not a header
"""


def test_a_stored_message_becomes_what_arrived() -> None:
    letter = as_it_arrived(STORED, Kind.HAM, "joe")
    assert letter.raw == STORED[STORED.index(b"Received: from before") :]
    assert (letter.client_ip, letter.helo) == ("209.63.151.251", "relay.example.net")
    assert (letter.sender, letter.recipient) == ("ann@example.org", "joe@example.test")


@pytest.mark.parametrize(
    "stored", [b"", b"\n", b"no header at all", b"\xff\xfe: x\n\ny", b"From x\n", b"A: b"]
)
def test_a_broken_message_is_sent_as_it_is(stored: bytes) -> None:
    letter = as_it_arrived(stored, Kind.SPAM, "joe")
    assert stored.endswith(letter.raw)
    assert ipaddress.ip_address(letter.client_ip) in ipaddress.ip_network("198.19.0.0/16")
    assert letter.sender == ""


def test_the_corpus_is_drawn_by_its_seed() -> None:
    assert CORPUS.exists()
    letters = corpus(50, seed=3)
    assert letters == corpus(50, seed=3) != corpus(50, seed=4)
    assert sum(letter.kind is Kind.SPAM for letter in letters) == 20
    assert len({letter.recipient for letter in letters}) == 50
    assert sum(ipaddress.ip_address(letter.client_ip).is_global for letter in letters) > 35


def test_a_campaign_has_no_two_alike_and_many_senders() -> None:
    letters = campaign(300, seed=1)
    assert letters == campaign(300, seed=1)
    assert len({letter.raw.partition(b"\n\n")[2] for letter in letters}) == 300
    assert len({letter.client_ip for letter in letters}) == 200
    assert len({letter.recipient for letter in letters}) == 300
    assert len({letter.sender.partition("@")[2] for letter in letters}) > 290
    assert not any(
        mark in letter.raw.partition(b"\n\n")[2]
        for letter in letters
        for mark in (b"|", b"{", b"<")
    )


def test_gtube_has_its_text_on_a_line_of_its_own() -> None:
    assert len(gtube().raw.splitlines()[-1]) == 68
