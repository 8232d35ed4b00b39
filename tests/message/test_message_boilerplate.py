# ruff: noqa: RUF001
"""Sentences that stand under everybody's letters count for nobody's text.

What a person wrote beside them stays.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.boilerplate import MAX_CUT, cut
from oborona.message.parse import parse
from oborona.message.shingles import Hasher, ShingleType, shingles
from oborona.types import Client, Envelope

HASHER = Hasher(b"a secret of the site")
ENVELOPE = Envelope(
    client=Client(ip="192.0.2.1"), sender="a@b.example", recipients=("c@d.example",)
)
OF_TEXT = {
    ShingleType.TEXT,
    ShingleType.TEMPLATE,
    ShingleType.OPENING,
    ShingleType.CLOSING,
    ShingleType.WORDS,
    ShingleType.CHARACTERS,
}

BOILERPLATE = {
    "telephone": "Sent from my iPhone",
    "telephone, Russian": "Отправлено с iPhone",
    "telephone, German": "Von meinem iPhone gesendet",
    "Outlook": "Get Outlook for iOS<https://aka.ms/o0ukef>",
    "Yahoo": "Do you Yahoo!?\nYahoo! Mail - sign up for a free account",
    "scanner": "This email has been checked for viruses by Avast antivirus software.\nwww.avast.com",
    "disclaimer": "This e-mail and any files transmitted with it are confidential and intended "
        "solely for\nthe use of the individual or entity to whom they are"
    " addressed. If you have received this\nemail in error please notify the system manager. Any "
        "views expressed are those of the author and do not\n"
    "necessarily represent those of the company. The company accepts no liability for any damage "
        "caused by any virus.",
    "disclaimer in two languages": "Diese E-Mail enthält vertrauliche Informationen. Wenn Sie "
        "nicht der richtige Adressat sind oder diese E-Mail irrtümlich"
    " erhalten haben, informieren Sie bitte sofort den Absender.\n\nThis e-mail may contain "
        "confidential information.",
    "disclaimer, Russian": "Данное сообщение и любые вложения являются конфиденциальными и "
        "предназначены исключительно для\nадресата. Если вы не являетесь его"
    " получателем, уведомите об этом отправителя. Копирование и распространение\nинформации "
        "запрещено.",
    "disclaimer, French": "Ce message et ses pièces jointes sont confidentiels. Si vous avez reçu "
        "ce message par erreur, merci de le détruire."
    " Toute utilisation non conforme est interdite.",
    "list": ("You are receiving this email because you signed up at our site.\nTo unsubscribe, "
        "click here: http://a.example/u/1"),
    "list, Russian": ("Вы получили это письмо, потому что подписались на рассылку.\nЧтобы "
        "отписаться, "
        "нажмите http://a.example/u/1"),
    "absence": "I am currently out of the office with limited access to email.",
    "automatic": "This is an automated message. Please do not reply to this email.",
    "automatic, Russian": "Это письмо сформировано автоматически. Пожалуйста, не отвечайте на него.",
    "calendar": ("Microsoft Teams meeting\nJoin on your computer, mobile app or room "
        "device\nMeeting "
        "ID: 123 456\nPasscode: abc"),
    "returned": ("This is the mail system at host mx.example.\n\nI'm sorry to have to inform you "
        "that "
        "your message could not be delivered to one or more recipients."),
}  # fmt: skip
LETTER = (
    "I looked at your figures for the last quarter, and think that we are on a good way\nwith "
    "the new shops. Let us talk about it on Monday.\n\nBob"
)


def of_text(body: str, head: str = "") -> set[int]:
    raw = f"From: a@b.example\n{head}Content-Type: text/plain; charset=utf-8\n\n{body}\n".encode()
    found = shingles(parse(raw), ENVELOPE, HASHER)
    kinds: set[int] = {shingle.type for shingle in found.shingles} & OF_TEXT
    if any(pair.distinct.type == ShingleType.TEXT_IPS for pair in found.pairs):
        kinds.add(ShingleType.TEXT_IPS)
    return kinds


@pytest.mark.parametrize("name", BOILERPLATE)
def test_boilerplate_alone_counts_for_nothing(name: str) -> None:
    assert of_text(BOILERPLATE[name]) == set()
    assert of_text(f"See attached\n\n{BOILERPLATE[name]}") == set()


@pytest.mark.parametrize("name", BOILERPLATE)
def test_what_stands_above_is_what_counts(name: str) -> None:
    plain = f"From: a@b.example\nContent-Type: text/plain; charset=utf-8\n\n{LETTER}\n"
    with_it = parse(f"{plain}\n{BOILERPLATE[name]}\n".encode())
    fingerprint = {
        ShingleType.WORDS,
        ShingleType.CHARACTERS,
        ShingleType.OPENING,
        ShingleType.CLOSING,
    }
    one, other = (
        {
            shingle
            for shingle in shingles(message, ENVELOPE, HASHER).shingles
            if shingle.type in fingerprint
        }
        for message in (parse(plain.encode()), with_it)
    )
    assert with_it.own_text.split() == LETTER.split()
    assert one == other
    assert one


def test_a_signature_alone_counts_for_nothing() -> None:
    signature = "-- \nJohn Smith\nAcme Corporation, Main Street 5\nTel +1 650 253 0000"
    assert of_text(signature) == set()
    assert of_text(f"{signature}\n{'more words than a signature has ' * 8}")
    # a link makes it a text
    assert of_text(f"{signature}\nhttp://pills.example/ order now and pay later")


@pytest.mark.parametrize(
    "text",
    [
        LETTER,
        "I sent it from my office in Paris on Monday morning",
        "We should consider the environment of this process before we start two more of them",
        "The confidential report of the company came in yesterday, and I will read it tonight",
        "Can you tell me how many people unsubscribe from this kind of letter in a month?",
        "I think that this is the mail that you were looking for, and I found two more",
    ],
)
def test_what_a_person_says_stays(text: str) -> None:
    assert cut(text) is text
    assert of_text(text)


def test_a_text_cannot_hide_among_phrases() -> None:
    pitch = (
        "Buy cheap pills and good watches at half the price, order now and pay later, we send "
        "them to all countries of the world"
    )
    text = ". ".join(
        f"If you are not the intended recipient {pitch} {number}" for number in range(60)
    )
    assert len(text) > MAX_CUT
    assert cut(text) is text
    # one sentence without an end is cut as far as a sentence goes, and what stands beyond it stays
    assert pitch in cut(f"If you are not the intended recipient, {'read on, ' * 80} {pitch}")
    # wherever that is, no character is cut in two
    for before in range(4):
        around = "." * before + "\u20ac" * 300
        assert set(cut(f"{around} if you are not the intended recipient {around}")) <= {
            ".",
            "\u20ac",
            " ",
            "\n",
        }


PIECES = ["word ", "Sent from my iPhone", "\n", "\n\n", ". ", "If you are not the intended recipient", "> ", "\ud800", "ё", *BOILERPLATE.values()]  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=30).map("".join))
def test_what_is_cut_is_only_taken_away(text: str) -> None:
    rest = cut(text)
    position = 0
    for piece in rest.split():
        found = text.find(piece, position)
        assert found >= 0
        position = found + len(piece)


def test_hostile_text_takes_bounded_time() -> None:
    for piece in (
        "if you are not the ",
        "this message ",
        "\n> ",
        "sent from my ",
        "unauthorised use ",
        ". ",
        "\n" + "x" * 60,
    ):
        text = (piece * 20_000)[: 60 << 10]
        begun = time.process_time()
        cut(text)
        assert time.process_time() - begun < 0.1
