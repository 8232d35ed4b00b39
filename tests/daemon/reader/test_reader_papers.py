"""PDFs: what they say and where they lead.

Looked at in the confined process, and what is made of it.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator
from email.message import EmailMessage

import msgspec
import pytest

from oborona.config import ReaderSettings
from oborona.daemon.reader.picture_queue import PictureQueue, pool_plans
from oborona.daemon.reader.pool import STARTED
from oborona.daemon.reader.wire import PictureContent, PictureOutcome, PictureResult, ReaderTask
from oborona.message.documents import pdf_text
from oborona.message.model import EntityLocation, Picture
from oborona.message.parse import parse
from oborona.message.pictures.enrichment import enrich_message
from tests.daemon.reader.mails import WORDS
from tests.daemon.reader.papers import hostile, page, raw, stream, written
from tests.daemon.reader.plans import eventually
from tests.daemon.reader.test_reader_children import ask
from tests.daemon.reader.test_reader_scan import Make, office

__all__ = ["office"]

LINK = "https://casino.example/win"
HARD = hostile()
MOST_CPU_S = 20.0  # of a hostile file; without bounds they take minutes, gigabytes or for ever


@pytest.fixture
async def desk() -> AsyncIterator[PictureQueue]:
    one = PictureQueue(pool_plans(ReaderSettings(look_s=20.0)), cache_entries=0)
    yield one
    await one.close()


def read(octets: bytes) -> pdf_text.PdfText:
    return pdf_text.read(octets, time.process_time)


def letter(*files: bytes, words: str = WORDS) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ann <ann@a.example>", "joe@example.test", "Plans"
    mail["Date"], mail["Message-ID"] = "Fri, 20 Nov 2026 10:00:00 +0000", "<1@a.example>"
    mail.set_content(words)
    for octets in files:
        mail.add_attachment(octets, maintype="application", subtype="pdf", filename="plan.pdf")
    return mail.as_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def test_text_and_links_are_read() -> None:
    found = read(written("call 8.8.8.8 or visit example.com", LINK, "mailto:ann@b.example"))
    assert found == pdf_text.PdfText(
        links=(LINK, "mailto:ann@b.example"), text="call 8.8.8.8 or visit example.com"
    )


@pytest.mark.parametrize(
    ("password", "findings", "links"), [("", (), (LINK,)), ("secret", (pdf_text.ENCRYPTED,), ())]
)
def test_an_encrypted_one_is_told_if_it_asks_for_a_password(
    password: str, findings: tuple[str, ...], links: tuple[str, ...]
) -> None:
    found = read(written("x", LINK, password=password))
    assert (found.findings, found.links) == (findings, links)


@pytest.mark.parametrize("name", HARD)
def test_a_hostile_one_ends(name: str) -> None:
    start = time.process_time()
    found = read(HARD[name])
    assert time.process_time() - start < MOST_CPU_S
    assert len(found.text) <= pdf_text.MAX_TEXT
    assert len(found.links) <= pdf_text.MAX_LINKS


def test_a_broken_one_is_nothing_or_as_much_as_can_be_read() -> None:
    chance, whole = random.Random(3), written("visit example.com", LINK)
    for _ in range(150):
        octets = bytearray(
            whole[: chance.randrange(len(whole))] if chance.random() < 0.3 else whole
        )
        for _change in range(chance.randrange(1, 8)):
            if octets:
                octets[chance.randrange(len(octets))] = chance.randrange(256)
        found = read(bytes(octets))
        assert len(found.text) <= pdf_text.MAX_TEXT


def test_bounds() -> None:
    urls = [f"https://a{number}.example/" for number in range(200)]
    assert len(read(written("x", *urls)).links) == pdf_text.MAX_LINKS
    long = page(stream(b"BT /F1 12 Tf " + b"(%s) Tj " % (b"a" * 1000) * 100 + b"ET"))
    assert len(read(long).text) == pdf_text.MAX_TEXT
    kids = raw({
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Kids[" + b"3 0 R " * 50 + b"]/Count 50>>",
        3: b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        4: stream(b"BT /F1 12 Tf (page) Tj ET"),
        5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    })  # fmt: skip
    assert 1 <= read(kids).text.count("page") <= pdf_text.MAX_TEXT_PAGES


def no_unicode() -> bytes:
    """Return a PDF whose font says that letters are halves of characters: text that no encoding can
    hold.
    """
    halves = b"2 beginbfchar <41> <d83d> <42> <de00> endbfchar 1 beginbfchar <43> <d800> endbfchar"
    return raw({
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: (b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 "
            b"R>>>>/Annots[7 0 R]>>"),
        4: stream(b"BT /F1 12 Tf (ABC example.com) Tj ET"),
        5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>",
        6: stream(b"begincmap 1 begincodespacerange <00> <ff> endcodespacerange " + halves + b" endcmap"),
        7: b"<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI(" + LINK.encode() + b")>>>>",
    })  # fmt: skip


async def test_what_is_no_unicode_hides_no_link(desk: PictureQueue) -> None:
    found = read(no_unicode())
    assert found == pdf_text.PdfText(links=(LINK,), text="\U0001f600\ufffd example.com")
    result = await ask(desk, ReaderTask.LOOK, no_unicode())
    assert (result.outcome, result.found.codes, result.found.text) == (
        PictureOutcome.DONE,
        (LINK,),
        found.text,
    )


def in_encoding(cmap: bytes, text: bytes, url: bytes) -> bytes:
    """Return a PDF whose font has a predefined encoding of Chinese, Japanese or Korean, and a link
    that is written in UTF-16.
    """
    return raw({
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: (b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 "
            b"R>>>>/Annots[6 0 R]>>"),
        4: stream(b"BT /F1 12 Tf <" + text.hex().encode() + b"> Tj ET"),
        5: b"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/" + cmap + b"/DescendantFonts[7 0 R]>>",
        6: b"<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI<" + url.hex().encode() + b">>>>>",
        7: b"<</Type/Font/Subtype/CIDFontType0/BaseFont/X/CIDSystemInfo<</Registry(A)/Ordering(B)/Supplement 2>>>>",
    })  # fmt: skip


@pytest.mark.parametrize(
    ("cmap", "codec"),
    [(b"GBK-EUC-H", "gbk"), (b"UniGB-UTF16-H", "utf-16-be"), (b"ETen-B5-H", "big5")],
)
async def test_a_confined_process_has_every_encoding(
    desk: PictureQueue, cmap: bytes, codec: str
) -> None:
    """It opens no file: what Python loads when a text first asks for it is loaded before."""
    octets = in_encoding(cmap, "中文".encode(codec), b"\xfe\xff" + LINK.encode("utf-16-be"))
    wanted = read(octets)
    assert (wanted.links, wanted.text) == ((LINK,), "中文")
    result = await ask(desk, ReaderTask.LOOK, octets)
    assert (result.found.codes, result.found.text) == (wanted.links, wanted.text)


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256-R5", "AES-256"])
async def test_a_confined_process_has_every_cipher(desk: PictureQueue, algorithm: str) -> None:
    octets = written("visit example.com", LINK, password="", algorithm=algorithm)
    result = await ask(desk, ReaderTask.LOOK, octets)
    assert (result.found.codes, result.found.text) == ((LINK,), "visit example.com")
    assert result.found.findings == ()


async def test_a_confined_process_finds_what_is_found_outside(desk: PictureQueue) -> None:
    files = [
        written("visit example.com", LINK),
        written("visit example.com", LINK, password=""),
        written("visit example.com", LINK, password="secret"),
        HARD["kids of themselves"],
        HARD["empty"],
    ]
    for octets in files:
        result, wanted = await ask(desk, ReaderTask.LOOK, octets), read(octets)
        assert result.outcome is PictureOutcome.DONE
        found = result.found
        assert (found.kind, found.codes, found.text, found.findings) == (
            "pdf", wanted.links, wanted.text, wanted.findings,
        )  # fmt: skip
    assert STARTED.value("look") == 1


@pytest.mark.parametrize("name", ["bomb", "laughs", "many moves"])
async def test_a_hostile_one_costs_itself_alone(name: str) -> None:
    at = PictureQueue(pool_plans(ReaderSettings(look_s=3.0)), cache_entries=0)
    try:
        assert (await ask(at, ReaderTask.LOOK, HARD[name])).outcome in (
            PictureOutcome.DONE,
            PictureOutcome.STOPPED,
        )
        assert (await ask(at, ReaderTask.LOOK, written("x", LINK))).found.codes == (LINK,)
    finally:
        await at.close()


def test_what_a_document_names_is_put_into_its_message() -> None:
    message = parse(letter(written("x"), written("y")))
    assert [one.kind for one in message.documents] == ["pdf", "pdf"]
    assert message.pictures == ()
    one = PictureContent(
        kind="pdf", codes=(LINK, "mailto:bob@b.example"), text="at shop.example.com, ann@c.example"
    )
    looked = [_looked(message.documents[0], one), message.documents[1]]
    for again in (
        enrich_message(message, looked),
        enrich_message(enrich_message(message, looked), ()),
        enrich_message(enrich_message(message, looked), looked),
    ):
        assert [(link.url, link.place) for link in again.links] == [
            (LINK, EntityLocation.DOCUMENT),
            ("http://shop.example.com/", EntityLocation.DOCUMENT),
        ]
        assert set(again.addresses) == {"bob@b.example", "ann@c.example"}
        assert again.documents[0].text == one.text


def _looked(document: Picture, found: PictureContent) -> Picture:
    return msgspec.structs.replace(document, looked=True, codes=found.codes, text=found.text)


def test_few_and_small_ones_are_looked_at() -> None:
    message = parse(letter(*(written(str(number)) for number in range(9))))
    assert len(message.documents) == 3
    huge = parse(letter(b"%PDF-1.7\n" + bytes(7 << 20)))
    assert huge.documents == ()
    assert "documents-too-large" in {one.name for one in huge.findings}


async def test_a_link_in_a_document_is_judged_asked_of_lists_and_counted(office: Make) -> None:
    at = office(
        look=PictureResult(
            PictureOutcome.DONE, PictureContent(kind="pdf", codes=(LINK,), findings=())
        )
    )
    result = await at.scan(letter(written("x")))
    assert result.facts.links_documents == 1
    assert result.facts.links_domains == {"casino.example"}
    assert result.facts.lists_content == {"LISTED"}
    assert result.verdict.score == 160


async def test_an_encrypted_one_is_a_finding(office: Make) -> None:
    at = office(
        look=PictureResult(
            PictureOutcome.DONE, PictureContent(kind="pdf", findings=(pdf_text.ENCRYPTED,))
        )
    )
    result = await at.scan(letter(written("x")))
    (found,) = [one for one in result.verdict.findings if one.name == pdf_text.ENCRYPTED]
    assert found.evidence == "plan.pdf"


async def test_one_that_was_not_looked_at_in_time_is_found_late(office: Make) -> None:
    at = office(look=PictureResult(PictureOutcome.LATE))
    result = await at.scan(letter(written("x")))
    assert result.verdict.score == 0
    at.reading.results[ReaderTask.LOOK] = PictureResult(
        PictureOutcome.DONE, PictureContent(kind="pdf", codes=(LINK,))
    )
    late = at.late()
    late.add(7, result)
    await eventually(lambda: bool(at.journal))
    assert at.journal[0].facts["links_domains"] == {"casino.example"}
    await late.close(0)
