# ruff: noqa: RUF001 - letters of other scripts are what is tested
"""Charsets declared, undeclared and lied about: text comes out as its writer meant it, and a lie is
a finding.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oborona.message import charsets
from oborona.message.charset_names import codec_of, name_of
from oborona.message.findings import Findings
from oborona.message.parse import parse

RUSSIAN = "Добрый день! Высылаю счёт за октябрь и договор, посмотрите до пятницы, пожалуйста."
UKRAINIAN = "Добрий день! Надсилаю рахунок за жовтень, перегляньте його до п'ятниці, будь ласка."
GERMAN = "Schöne Grüße aus München! Können Sie die Rechnung für Oktober noch prüfen?"
FRENCH = "Bonjour, la réunion prévue à midi a été déplacée, merci de vérifier l'agenda."
GREEK = "Καλημέρα, σας στέλνω το τιμολόγιο του Οκτωβρίου, παρακαλώ ελέγξτε το."
CHINESE = "您好，附件是十月份的发票，请在星期五之前确认，谢谢。"
TAIWANESE = "您好，附件是十月份的發票，請在星期五之前確認，謝謝。"
JAPANESE = "お世話になっております。十月分の請求書をお送りします。ご確認ください。"
KOREAN = "안녕하세요. 시월 청구서를 보내 드리니 금요일까지 확인해 주세요."

WRITTEN = [
    (RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r"), (RUSSIAN, "iso8859-5"), (UKRAINIAN, "cp1251"), (UKRAINIAN, "koi8-u"), (RUSSIAN.upper(), "cp1251"),
    (RUSSIAN.upper(), "koi8-r"), (GERMAN, "cp1252"), (FRENCH, "cp1252"), (GREEK, "iso8859-7"), (CHINESE, "gb18030"), (TAIWANESE, "cp950"),
    (JAPANESE, "cp932"), (JAPANESE, "euc_jp"), (JAPANESE, "iso2022_jp"), (KOREAN, "cp949"),
]  # fmt: skip
each_written = pytest.mark.parametrize(
    ("text", "codec"), WRITTEN, ids=lambda value: value if len(value) < 12 else ""
)


def decoded(octets: bytes, charset: str = "") -> tuple[str, str, dict[str, str]]:
    findings = Findings()
    found = charsets.decode(octets, charset, findings)
    return found.text, found.charset, {each.name: each.evidence for each in findings.all()}


@each_written
def test_undeclared_text_is_read(text: str, codec: str) -> None:
    found, charset, findings = decoded(text.encode(codec))
    assert found == text
    assert charset == name_of(codec)
    assert findings.keys() == (set() if codec == "iso2022_jp" else {"body-8bit"})


@each_written
def test_the_truth_is_believed(text: str, codec: str) -> None:
    assert decoded(text.encode(codec), codec) == (text, name_of(codec), {})


LIES = [
    (text, codec, declared)
    for text, codec in WRITTEN
    for declared in ("iso-8859-1", "windows-1251", "koi8-r", "utf-8")
    if text.encode(codec).decode(codec_of(declared) or "", "replace") != text
    and (
        declared == "utf-8" or text not in {GERMAN, FRENCH}
    )  # a few letters say too little against what is declared
]


@pytest.mark.parametrize(
    ("text", "codec", "declared"), LIES, ids=lambda value: value if len(value) < 13 else ""
)
def test_a_lie_is_found_out(text: str, codec: str, declared: str) -> None:
    octets = text.encode(codec)
    found, charset, findings = decoded(octets, declared)
    assert found == text
    assert findings == {"charset-lies": f"{declared} is {charset}"}


@pytest.mark.parametrize(
    "declared", ["", "us-ascii", "iso-8859-1", "windows-1251", "koi8-r", "x-none"]
)
@pytest.mark.parametrize("text", [RUSSIAN, GERMAN, CHINESE, "naïve"])
def test_utf8_wins(text: str, declared: str) -> None:
    found, charset, findings = decoded(text.encode(), declared)
    assert (found, charset) == (text, "utf-8")
    assert ("charset-lies" in findings) == (declared not in {"", "us-ascii", "x-none"})


def test_utf8_wins_over_charsets_of_two_octets_where_it_is_no_chance() -> None:
    assert decoded(CHINESE.encode(), "shift_jis") == (
        CHINESE,
        "utf-8",
        {"charset-lies": "shift_jis is utf-8"},
    )


def test_two_characters_of_gbk_that_are_utf8_by_chance_are_gbk() -> None:
    assert decoded("联通".encode("gb18030"), "gb2312") == ("联通", "gbk", {})


def test_a_text_cut_inside_a_character_keeps_its_charset() -> None:
    for cut in (1, 2):
        assert decoded(CHINESE.encode()[:-cut], "utf-8") == (CHINESE[:-1], "utf-8", {})
        assert decoded(CHINESE.encode()[:-cut])[0] == CHINESE[:-1]
    assert decoded(CHINESE.encode("gb18030")[:-1], "gbk") == (CHINESE[:-1], "gbk", {})
    assert (
        decoded("un café".encode("latin-1"))[0] == "un café"
    )  # its last octet might begin a character of UTF-8


def test_a_few_broken_characters_do_not_make_another_charset() -> None:
    octets = RUSSIAN.encode().replace("ч".encode(), b"\xd1")
    found, charset, findings = decoded(octets, "utf-8")
    assert (charset, findings) == ("utf-8", {"charset-wrong": "utf-8"})
    assert found == RUSSIAN.replace("ч", "\ufffd")


def test_short_honest_text_is_never_called_a_lie() -> None:
    words = RUSSIAN.replace("!", "").replace(",", "").replace(".", "").split()
    for word in words:
        for codec in ("cp1251", "koi8-r", "iso8859-5"):
            assert decoded(word.encode(codec), codec) == (word, name_of(codec), {})


def test_quotes_and_dashes_alone_are_windows_1252() -> None:
    text = "\u201cIt\u2019s done\u201d \u2013 see you \u2026"
    assert decoded(text.encode("cp1252"))[:2] == (text, "windows-1252")


@given(
    st.binary(max_size=300),
    st.sampled_from(["", "utf-8", "koi8-r", "gb2312", "utf-16", "iso-2022-jp", "utf-7", "x"]),
)
def test_any_octets_are_text_that_utf8_holds(octets: bytes, declared: str) -> None:
    found, charset, findings = decoded(octets, declared)
    found.encode()
    assert charset == charset.lower()
    assert findings.keys() <= {"charset-unknown", "charset-wrong", "charset-lies", "body-8bit"}


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_utf8_comes_back_whatever_it_says(text: str) -> None:
    assert decoded(text.encode(), "utf-8")[0] == text


@given(st.text(alphabet="абвгдеёжзийклмнопрстуфхцчшщъыьэюяАБВГ 0129.,!?", max_size=60))
def test_declared_text_without_any_sense_stays_as_declared_while_short(text: str) -> None:
    octets = text.encode("cp1251")
    chance = octets.decode("utf-8", "ignore")
    # two characters of UTF-8, and nothing else, are it
    assume(octets.isascii() or chance.encode() != octets or len(octets) - len(chance) <= 2)
    if sum(octet > 127 for octet in octets) < charsets.MIN_AGAINST:
        assert decoded(octets, "windows-1251")[0] == text


@pytest.mark.parametrize(
    ("text", "codec"),
    [("её", "koi8-r"), ("Вё", "windows-1251"), ("аёё", "windows-1251"), ("её OK", "koi8-r")],
)
def test_two_russian_letters_that_are_utf8_by_chance_are_russian(text: str, codec: str) -> None:
    assert decoded(text.encode(codec), codec) == (text, codec, {})
    assert decoded(f"{text} и".encode(), codec)[0] == f"{text} и"


HEAD = b"From: a@b.example\nSubject: "


@pytest.mark.parametrize("codec", ["cp1251", "koi8-r"])
def test_a_raw_header_is_in_the_charset_of_its_text(codec: str) -> None:
    raw = (
        HEAD
        + "Счёт".encode(codec)
        + b"\nContent-Type: text/plain; charset="
        + codec.replace("cp", "windows-").encode()
        + b"\n\nhi"
    )
    message = parse(raw)
    assert message.subject == "Счёт"
    assert [finding.name for finding in message.findings] == ["header-8bit"]


def test_raw_headers_without_a_charset_are_guessed_together() -> None:
    raw = "From: Анна <a@b.example>\nTo: x@y.example\nSubject: Высылаю счёт\n за октябрь\n\nhi".encode(
        "koi8-r"
    )
    message = parse(raw)
    assert message.subject == "Высылаю счёт за октябрь"
    assert message.from_ is not None
    assert message.from_.name == "Анна"


def test_an_encoded_word_in_a_lying_charset_is_read() -> None:
    octets = RUSSIAN.encode("koi8-r").hex("=", 1).upper()
    message = parse(HEAD + b"=?windows-1251?Q?=" + octets.encode() + b"?=\n\nhi")
    assert message.subject == RUSSIAN


def test_a_page_that_knows_better_than_its_header() -> None:
    page = b"<meta charset=koi8-r><p>" + RUSSIAN.encode("koi8-r")
    message = parse(HEAD + b"x\nContent-Type: text/html; charset=windows-1251\n\n" + page)
    assert message.text == RUSSIAN
    assert message.charset == "koi8-r"
    assert [(each.name, each.evidence) for each in message.findings] == [
        ("charset-lies", "windows-1251 is koi8-r")
    ]


@pytest.mark.parametrize("name", ["windows-874", "tis-620", "iso-8859-11"])
def test_thai_has_many_names(name: str) -> None:
    text = "ขอเชิญเข้าร่วมประชุมในวันอังคาร"
    assert decoded(text.encode("cp874"), name) == (text, "windows-874", {})


@pytest.mark.parametrize("name", ["iso-8859-1", "iso8859-1", "iso_8859-1", "l1", "latin-1"])
def test_latin_1_is_windows_1252_by_any_name(name: str) -> None:
    assert decoded("“naïve” – café".encode("cp1252"), name) == (
        "“naïve” – café",
        "windows-1252",
        {},
    )


def test_names() -> None:
    for declared, name in (
        ("utf8", "utf-8"), ("latin1", "windows-1252"), ("cp1251", "windows-1251"), ("gb2312", "gbk"), ("x-sjis", "shift_jis"),
        ("ks_c_5601-1987", "euc-kr"), ("us-ascii", "us-ascii"), ("iso-8859-15", "iso-8859-15"), ("iso-2022-jp", "iso-2022-jp"), ("koi8-u", "koi8-r"),
    ):  # fmt: skip
        codec = codec_of(declared)
        assert codec is not None
        assert name_of(codec) == name
    assert codec_of("rot13") is None
    assert codec_of("klingon") is None
