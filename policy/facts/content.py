"""Facts of the text, its links and contacts, attachments and pictures."""

from functools import partial
from typing import Annotated, Final

from oborona.policy.expression.forms import TextForm
from oborona.policy.facts.declaration import SHARE, FactArea, FactDeclaration, Words
from oborona.policy.facts.header import HeaderFacts
from oborona.types import Stage

# characters that rules can search
TEXT_LIMIT: Final = 65_536  # of text: what a reader looks at, and bounded work for every pattern
CODE_LIMIT: Final = 200  # of a code: a link's host and path
NAME_LIMIT: Final = 255  # of a file's name: more no file system takes

_message = partial(FactDeclaration, FactArea.MESSAGE, Stage.CONTENT)
_text = partial(FactDeclaration, FactArea.TEXT, Stage.CONTENT)
_links = partial(FactDeclaration, FactArea.LINKS, Stage.CONTENT)
_files = partial(FactDeclaration, FactArea.FILES, Stage.CONTENT)


class ContentFacts(HeaderFacts, frozen=True, kw_only=True):
    """What the body holds."""

    text: Annotated[
        str,
        _text(
            "text",
            "the visible text; the first 65,536 characters",
            "dear bob, lunch on friday?",
            form=TextForm.FOLDED,
            longest=TEXT_LIMIT,
            kept=False,
        ),
    ] = ""
    text_raw: Annotated[
        str,
        _text(
            "text.raw",
            (
                "the same as it was sent: capitals, letters of each script, line ends; as "
                "many characters"
            ),
            "Dear Bob,\nlunch on Friday?",
            longest=TEXT_LIMIT,
            kept=False,
        ),
    ] = ""
    text_language: Annotated[
        str | None,
        _text(
            "text.language",
            "its language; none where there is too little text",
            "ru",
            unit="ISO 639-1",
            form=TextForm.SMALL,
            longest=2,
        ),
    ] = None
    text_charset: Annotated[
        str,
        _text(
            "text.charset",
            (
                "the charset it was read in, declared or found out: utf-8, us-ascii, "
                "windows-1251, koi8-r, gbk, ..."
            ),
            "utf-8",
        ),
    ] = ""
    text_words: Annotated[int, _text("text.words", "words of the visible text", 120)] = 0
    text_length: Annotated[
        int, _text("text.length", "the visible text, as it was sent", 640, unit="characters")
    ] = 0
    text_own_share: Annotated[
        float | None,
        _text(
            "text.own_share",
            (
                "what is left of it without quotations, signature and boilerplate; none where "
                "there is no text"
            ),
            0.8,
            unit=SHARE,
        ),
    ] = None
    text_hidden_share: Annotated[
        float, _text("text.hidden_share", "hidden words of the HTML, among all", 0.0, unit=SHARE)
    ] = 0.0
    html: Annotated[bool, _text("html", "there is an HTML part", True)] = False
    html_only: Annotated[
        bool, _text("html.only", "there is one, and no plain text beside it", False)
    ] = False
    html_share: Annotated[
        float | None,
        _text(
            "html.share",
            (
                "octets of HTML parts among those of all text parts, as sent; none where "
                "there are none"
            ),
            0.7,
            unit=SHARE,
        ),
    ] = None
    links: Annotated[int, _links("links", "links in text and HTML", 2)] = 0
    links_hosts: Annotated[
        Words,
        _links(
            "links.hosts",
            "host names that links lead to",
            frozenset({"www.example.com"}),
            form=TextForm.SMALL,
        ),
    ] = frozenset()
    links_domains: Annotated[
        Words,
        _links(
            "links.domains",
            "registrable domains that links lead to",
            frozenset({"example.com"}),
            form=TextForm.SMALL,
        ),
    ] = frozenset()
    links_redirected: Annotated[
        Words,
        _links(
            "links.redirected",
            "registrable domains of links that stand inside other links, as behind a redirector",
            frozenset({"example.net"}),
            form=TextForm.SMALL,
        ),
    ] = frozenset()
    links_anchors: Annotated[
        int, _links("links.anchors", "links that can be clicked: <a> and <area> of HTML", 1)
    ] = 0
    links_forms: Annotated[
        int, _links("links.forms", "places where forms of the HTML send what is typed", 0)
    ] = 0
    links_pictures: Annotated[
        int, _links("links.pictures", "pictures that are fetched from elsewhere", 1)
    ] = 0
    links_codes: Annotated[
        int, _links("links.codes", "links in QR codes and in what is written in pictures", 0)
    ] = 0
    links_documents: Annotated[
        int, _links("links.documents", "links in attached PDFs, and in what these say", 0)
    ] = 0
    links_foreign: Annotated[
        int,
        _links(
            "links.foreign", "registrable domains that links lead to and that are not From's", 1
        ),
    ] = 0
    addresses: Annotated[
        Words,
        _links(
            "addresses",
            "e-mail addresses in the text",
            frozenset({"office@example.org"}),
            form=TextForm.SMALL,
        ),
    ] = frozenset()
    phones: Annotated[
        Words,
        _links(
            "phones",
            "telephone numbers in text, subject and links",
            frozenset({"+79051234567"}),
            unit="E.164",
        ),
    ] = frozenset()
    wallets: Annotated[
        Words,
        _links(
            "wallets",
            "wallets whose checksums are right",
            frozenset({"bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}),
        ),
    ] = frozenset()
    handles: Annotated[
        Words, _links("handles", "names on messengers and networks", frozenset({"telegram:name"}))
    ] = frozenset()
    list_id: Annotated[
        str,
        _message(
            "list_id",
            "the mailing list's name in List-Id",
            "chess.example.org",
            form=TextForm.SMALL,
        ),
    ] = ""
    attachments: Annotated[int, _files("attachments", "attached files, pictures included", 1)] = 0
    attachments_names: Annotated[
        Words,
        _files(
            "attachments.names",
            "their names",
            frozenset({"invoice.pdf"}),
            form=TextForm.SMALL,
            longest=NAME_LIMIT,
        ),
    ] = frozenset()
    attachments_extensions: Annotated[
        Words,
        _files(
            "attachments.extensions",
            "their extensions, without the dot",
            frozenset({"pdf"}),
            form=TextForm.SMALL,
        ),
    ] = frozenset()
    attachments_kinds: Annotated[
        Words,
        _files(
            "attachments.kinds",
            (
                "what they are by content: exe, lnk, zip, rar, 7z, iso, pdf, doc, docx, html, "
                "png, jpeg, ...; those that are known"
            ),
            frozenset({"pdf"}),
            form=TextForm.SMALL,
        ),
    ] = frozenset()
    attachments_members: Annotated[
        Words,
        _files(
            "attachments.members",
            "extensions of the files in archives, and in archives in those",
            frozenset({"js"}),
            form=TextForm.SMALL,
        ),
    ] = frozenset()
    attachments_files: Annotated[int, _files("attachments.files", "files in archives", 0)] = 0
    attachments_encrypted: Annotated[
        bool,
        _files("attachments.encrypted", "an archive or an office document needs a password", False),
    ] = False
    attachments_macros: Annotated[
        bool,
        _files(
            "attachments.macros", "an office document has macros, also one in an archive", False
        ),
    ] = False
    attachments_size: Annotated[
        int, _files("attachments.size", "all of them, decoded", 65_536, unit="bytes")
    ] = 0
    pictures: Annotated[int, _files("pictures", "pictures, attached or shown inside", 0)] = 0
    pictures_codes: Annotated[
        Words,
        _files(
            "pictures.codes",
            "what QR codes and their like in pictures hold; 200 characters of each",
            frozenset({"https://example.com/pay"}),
            longest=CODE_LIMIT,
        ),
    ] = frozenset()
    pictures_text: Annotated[
        str,
        _files(
            "pictures.text",
            "what is written in pictures; empty until they have been read",
            "sale today",
            form=TextForm.FOLDED,
            longest=TEXT_LIMIT,
        ),
    ] = ""
    pictures_words: Annotated[int, _files("pictures.words", "words of that", 2)] = 0
    pictures_only: Annotated[
        bool,
        _files(
            "pictures.only",
            "a picture large enough for a message, and next to no text beside it",
            False,
        ),
    ] = False
