"""Which pictures of a message are kept to be looked at; and what a worker never loads."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from email.message import EmailMessage

from oborona.message.model import Message, PictureOrigin
from oborona.message.parse import parse
from oborona.message.pictures import collection
from tests.message.drawing import advertisement, code, file

PICTURE = file(advertisement(1))
CODE = file(code("https://a.example/"))


def written(octets: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(octets).decode()}"


def letter(html: str = "<p>hello", *attached: bytes, kind: str = "png") -> Message:
    message = EmailMessage()
    message.set_content("hello")
    message.add_alternative(html, subtype="html")
    for number, octets in enumerate(attached):
        message.add_attachment(octets, "image", kind, filename=f"{number}.{kind}")
    return parse(message.as_bytes())


def names(message: Message) -> set[str]:
    return {finding.name for finding in message.findings}


def test_attached() -> None:
    (picture,) = letter("<p>hello", PICTURE).pictures
    assert (picture.octets, picture.name, picture.kind, picture.place) == (
        PICTURE,
        "0.png",
        "png",
        PictureOrigin.ATTACHED,
    )
    assert picture.sha256 == hashlib.sha256(PICTURE).digest()
    assert not picture.looked
    assert not picture.read


def test_shown_inside() -> None:
    message = EmailMessage()
    message.set_content("<img src='cid:a@b'>", subtype="html")
    message.add_related(PICTURE, "image", "png", cid="<a@b>")
    assert [picture.place for picture in parse(message.as_bytes()).pictures] == [
        PictureOrigin.INLINE
    ]


def test_written_into_html() -> None:
    for page in (
        f'<img src="{written(PICTURE)}">',
        f"<IMG SRC='DATA:IMAGE/PNG;charset=x;BASE64,{written(PICTURE).partition(',')[2]}'>",
        f"<div style='background: url({written(PICTURE)}) no-repeat'>x</div>",
        f'<style>p {{ background-image: url("{written(PICTURE)}") }}</style>',
        f"<img src={written(PICTURE, 'image/jpeg').rstrip('=')}>",
    ):
        (picture,) = letter(page).pictures
        assert (picture.octets, picture.kind, picture.place) == (
            PICTURE,
            "png",
            PictureOrigin.DATA,
        ), page[:60]


def test_one_picture_is_one_wherever_it_stands() -> None:
    assert len(letter(f'<img src="{written(PICTURE)}">', PICTURE, PICTURE).pictures) == 1


def test_a_picture_in_html_hides_no_text_behind_it() -> None:
    large = written(b"\x89PNG\r\n\x1a\n" + bytes(1_500_000))
    message = letter(f'<p>before<img src="{large}"><p>behind, with words to read')
    assert "behind, with words to read" in message.text
    assert "html-too-long" not in names(message)
    assert len(message.pictures) == 1


def test_the_largest_are_kept() -> None:
    many = [
        file(code(f"https://a.example/{number}", 2)) for number in range(collection.MAX_PICTURES)
    ]
    message = letter("<p>hello", *many, PICTURE)
    assert len(message.pictures) == collection.MAX_PICTURES
    assert message.pictures[-1].octets == PICTURE
    assert "pictures-too-many" in names(message)


def test_too_large_and_too_small() -> None:
    message = letter("<p>hello", PICTURE + bytes(collection.MAX_OCTETS), b"GIF89a" + bytes(30))
    assert message.pictures == ()
    assert "picture-too-large" in names(message)


def test_what_is_no_picture() -> None:
    assert letter("<p>hello", b"%PDF-1.4" + bytes(500)).pictures == ()
    assert letter("<img src='data:image/png;base64,%%%'><img src='data:image/png,'>").pictures == ()


def test_thousands_in_html_are_bounded() -> None:
    page = "".join(
        f"<img src='{written(PICTURE[:200] + number.to_bytes(4))}'>" for number in range(800)
    )
    message = letter(page)
    assert len(message.pictures) == collection.MAX_PICTURES
    assert "pictures-too-many" in names(message)


def test_a_worker_loads_no_decoder() -> None:
    """Parsing, hashing and putting in what was seen need none of the libraries that decode and
    read.
    """
    code = (
        "import sys, oborona.message.parse, oborona.message.shingles, "
        "oborona.message.pictures.enrichment, oborona.policy.scan, oborona.daemon.worker;"
        "print([name for name in ('PIL', 'zxingcpp', 'tesserocr') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
