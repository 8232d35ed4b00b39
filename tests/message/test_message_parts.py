"""Which parts are text, which are attachments, and what a reader sees of several."""

from __future__ import annotations

import base64
import binascii
import hashlib

import pytest

from oborona.message import file_names, file_types, transfer_encoding
from oborona.message.findings import Findings
from oborona.message.model import Message
from oborona.message.parse import parse

PLAIN = b"Content-Type: text/plain\n\n"
HTML = b"Content-Type: text/html\n\n"


def multipart(kind: bytes, *parts: bytes) -> bytes:
    return (
        b"Content-Type: multipart/" + kind + b"; boundary=" + kind + b"\n\n"
        + b"".join(b"--" + kind + b"\n" + part + b"\n" for part in parts) + b"--" + kind + b"--\n"
    )  # fmt: skip


def read(raw: bytes) -> Message:
    return parse(b"From: a@b.example\n" + raw)


def names(message: Message) -> set[str]:
    return {finding.name for finding in message.findings}


def test_html_is_what_a_reader_sees_of_two_versions() -> None:
    both = read(multipart(b"alternative", PLAIN + b"plain words", HTML + b"<p>html words"))
    assert both.text == "html words"
    assert (
        read(multipart(b"alternative", HTML + b"<p>html words", PLAIN + b"plain words")).text
        == "html words"
    )
    assert (
        read(multipart(b"alternative", PLAIN + b"plain words", HTML + b"<img src=x>")).text
        == "plain words"
    )
    related = multipart(
        b"related", HTML + b"<p>html words", b"Content-Type: image/png\n\n\x89PNG\r\n\x1a\n...."
    )
    assert read(multipart(b"alternative", PLAIN + b"plain words", related)).text == "html words"


def test_harmless_words_beside_the_html_are_a_finding() -> None:
    one = " ".join(f"one{number}" for number in range(30)).encode()
    other = " ".join(f"other{number}" for number in range(30)).encode()
    assert "alternative-differs" in names(
        read(multipart(b"alternative", PLAIN + one, HTML + other))
    )
    assert "alternative-differs" not in names(
        read(multipart(b"alternative", PLAIN + one, HTML + b"<p>" + one))
    )
    short = PLAIN + b"Your client does not show HTML."
    assert "alternative-differs" not in names(read(multipart(b"alternative", short, HTML + other)))


def test_versions_without_spaces_are_compared_by_characters() -> None:
    text = (
        "今日は、来週の会議についてご連絡いたします。会場は東京駅前のビルに変更になりました。資料は事前に送付いたしますので、ご確認をお願いいたします。"
        * 6
    )
    folded = "\n".join(text[place : place + 36] for place in range(0, len(text), 36)).encode()
    utf8 = [kind.replace(b"\n\n", b"; charset=utf-8\n\n") for kind in (PLAIN, HTML)]
    page = text.replace("。", "。<br>").encode()
    assert "alternative-differs" not in names(
        read(multipart(b"alternative", utf8[0] + folded, utf8[1] + page))
    )
    other = "この商品は三日間だけ半額で販売しております".encode()
    both = multipart(b"alternative", utf8[0] + "ปลาทองสวยงามอยู่ในแม่น้ำ".encode(), utf8[1] + other)
    assert "alternative-differs" in names(read(both))


def test_all_parts_of_a_mixed_message_are_read() -> None:
    inner = b"Content-Type: message/rfc822\n\nFrom: c@d.example\nSubject: x\n\nforwarded"
    message = read(
        multipart(b"mixed", PLAIN + b"first", HTML + b"<b>second</b>", inner, PLAIN + b"last")
    )
    assert message.text.split() == ["first", "second", "forwarded", "last"]
    assert (
        message.mime_tree
        == "multipart/mixed(text/plain,text/html,message/rfc822(text/plain),text/plain)"
    )
    assert [part.path for part in message.parts] == ["", "1", "2", "3", "3.1", "4"]
    assert message.depth == 2


def test_attachments() -> None:
    content = bytes(range(256))
    part = (
        b"Content-Type: application/octet-stream\nContent-Disposition: attachment; "
        b'filename="C:\\\\dir\\\\Invoice.PDF.exe. "\n'
        b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(content)
    )
    (attachment,) = read(multipart(b"mixed", PLAIN + b"hi", part)).attachments
    assert attachment.name == "Invoice.PDF.exe."
    assert attachment.extension == "exe"
    assert attachment.size == 256
    assert attachment.sha256 == hashlib.sha256(content).digest()
    assert not attachment.picture


@pytest.mark.parametrize(
    ("name", "extension"),
    [
        ("a.EXE", "exe"),
        ("a.tar.gz", "gz"),
        ("noext", ""),
        (".bashrc", ""),
        ("a.b c", ""),
        ("a.exe . ", "exe"),
        ("a." + "x" * 21, ""),
        ("a.application", "application"),
        ("a.SettingContent-ms", "settingcontent-ms"),
        ("a.--", ""),
        ("", ""),
    ],
)
def test_extensions(name: str, extension: str) -> None:
    assert file_names.extension(name) == extension


@pytest.mark.parametrize("kind", [b"text/plain", b"text/html", b"application/x"])
def test_a_message_that_is_a_file(kind: bytes) -> None:
    content = b"MZ" + bytes(200)
    head = b"Content-Type: " + kind + b"; name=invoice.exe\nContent-Transfer-Encoding: base64\n\n"
    (attachment,) = read(head + base64.encodebytes(content)).attachments
    assert (attachment.extension, attachment.kind) == ("exe", "exe")


def test_a_forwarded_message_under_a_file_name_is_read_and_is_a_file() -> None:
    for field in (b"; name=x.exe", b"\nContent-Disposition: attachment"):
        forwarded = b"Content-Type: message/rfc822" + field + b"\n\nSubject: x\n\nwords"
        message = read(multipart(b"mixed", PLAIN + b"first", forwarded))
        assert message.text.split() == ["first", "words"]
        assert [each.content_type for each in message.attachments] == ["message/rfc822"]
        alone = read(forwarded)
        assert (alone.text, len(alone.attachments)) == ("words", 1)
    unnamed = read(
        multipart(b"mixed", PLAIN + b"x", b"Content-Type: message/rfc822\n\nSubject: x\n\nwords")
    )
    assert not unnamed.attachments


def test_direction_marks_do_not_hide_an_extension() -> None:
    part = 'Content-Type: a/b; name="invoice\u202egpj.exe"\n\nx'.encode()
    (attachment,) = read(multipart(b"mixed", PLAIN + b"hi", part)).attachments
    assert attachment.name == "invoicegpj.exe"
    assert attachment.extension == "exe"


def test_a_text_sent_as_attachment_is_read_when_there_is_nothing_else() -> None:
    attached = (
        b"Content-Type: text/html; name=offer.html\nContent-Disposition: attachment\n\n<p>Buy "
        b"now</p>"
    )
    alone = read(multipart(b"mixed", attached))
    assert alone.text == "Buy now"
    beside = read(multipart(b"mixed", PLAIN + b"See attachment", attached))
    assert beside.text == "See attachment"
    assert [attachment.extension for attachment in beside.attachments] == ["html"]


def test_pictures_are_told_by_their_octets() -> None:
    bitmap = b"BM" + (1000).to_bytes(4, "little") + bytes(8)
    for octets in (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"GIF89a", b"RIFF....WEBP", bitmap):
        assert file_types.kind(octets + b"...") in file_types.PICTURES
    assert file_types.kind(b"%PDF-1.4") not in file_types.PICTURES
    assert not file_types.kind(b"BMW is a make of cars")


def test_uuencoded_files_leave_the_text() -> None:
    content = b"MZ" + bytes(200)
    lines = b"".join(binascii.b2a_uu(content[at : at + 45]) for at in range(0, len(content), 45))
    message = read(PLAIN + b"before\nbegin 644 run.exe\n" + lines + b"`\nend\nafter")
    assert message.text.split() == ["before", "after"]
    (attachment,) = message.attachments
    assert (attachment.extension, attachment.size) == ("exe", len(content))
    assert read(PLAIN + b"begin 644 prose of a story\nthat goes on\nend").text.startswith(
        "begin 644"
    )


def test_uuencoded_lines_give_no_more_than_they_are() -> None:
    findings = Findings()
    octets = transfer_encoding.decode(
        b"begin 644 a\n" + b"M\n" * 1000 + b"end\n", "x-uuencode", findings
    )
    assert len(octets) <= 2000
    assert "uuencode-broken" in {each.name for each in findings.all()}
    short = (
        binascii.b2a_uu(b"ends in zeros" + bytes(9)).rstrip(b"\n ") + b"\n"
    )  # a program took the spaces off
    line = binascii.b2a_uu(b"x" * 45)
    found = transfer_encoding.decode(
        b"begin 644 a\n" + line + short + b"`\nend\n", "x-uuencode", Findings()
    )
    assert found == b"x" * 45 + b"ends in zeros" + bytes(9)


def test_transfer_encodings() -> None:
    findings = Findings()
    assert transfer_encoding.decode(b"a=3Db=\nc", "quoted-printable", findings) == b"a=bc"
    assert transfer_encoding.decode(b"aGk=\n", "base64", findings) == b"hi"
    assert transfer_encoding.decode(b"aGk\n", "base64", Findings()) == b"hi"
    assert transfer_encoding.decode(b"=" * 9000 + b"aGk=", "base64", Findings()) == b"hi"
    assert transfer_encoding.decode(b"as is", "8bit", findings) == b"as is"
    assert findings.all() == ()


def test_charsets() -> None:
    russian = "привет".encode("windows-1251")
    assert read(b"Content-Type: text/plain; charset=windows-1251\n\n" + russian).text == "привет"
    assert read(PLAIN + "привет".encode()).text == "привет"
    meta = b"<meta http-equiv=Content-Type content='text/html; charset=windows-1251'><p>"
    assert read(HTML + meta + russian).text == "привет"
    assert (
        read(b"Content-Type: text/plain; charset=utf-16\n\n" + "привет".encode("utf-16")).text
        == "привет"
    )


def test_hidden_share() -> None:
    message = read(HTML + b"<p>a b c</p><div hidden>d</div>")
    assert message.hidden_text == "d"
    assert message.hidden_share == 0.25
    assert message.words == 3
