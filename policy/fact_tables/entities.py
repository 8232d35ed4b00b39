"""Facts about links and contacts."""

from __future__ import annotations

from typing import Final

from oborona.policy.expression.forms import Form
from oborona.policy.fact_tables.area import Area, Words, fact
from oborona.types import Stage

_M = Stage.CONTENT

AREA: Final = Area(
    "Links and contacts",
    (
        fact("links", int, _M, "links in text and HTML", example=2),
        fact(
            "links.hosts",
            Words,
            _M,
            "host names that links lead to",
            example=frozenset({"www.example.com"}),
            form=Form.SMALL,
        ),
        fact(
            "links.domains",
            Words,
            _M,
            "registrable domains that links lead to",
            example=frozenset({"example.com"}),
            form=Form.SMALL,
        ),
        fact(
            "links.redirected",
            Words,
            _M,
            "registrable domains of links that stand inside other links, as behind a redirector",
            example=frozenset({"example.net"}),
            form=Form.SMALL,
        ),
        fact("links.anchors", int, _M, "links that can be clicked: <a> and <area> of HTML", example=1),
        fact("links.forms", int, _M, "places where forms of the HTML send what is typed", example=0),
        fact("links.pictures", int, _M, "pictures that are fetched from elsewhere", example=1),
        fact("links.codes", int, _M, "links in QR codes and in what is written in pictures", example=0),
        fact("links.documents", int, _M, "links in attached PDFs, and in what these say", example=0),
        fact(
            "links.foreign",
            int,
            _M,
            "registrable domains that links lead to and that are not From's",
            example=1,
        ),
        fact(
            "addresses",
            Words,
            _M,
            "e-mail addresses in the text",
            example=frozenset({"office@example.org"}),
            form=Form.SMALL,
        ),
        fact(
            "phones",
            Words,
            _M,
            "telephone numbers in text, subject and links",
            unit="E.164",
            example=frozenset({"+79051234567"}),
        ),
        fact(
            "wallets",
            Words,
            _M,
            "wallets whose checksums are right",
            example=frozenset({"bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}),
        ),
        fact(
            "handles",
            Words,
            _M,
            "names on messengers and networks",
            example=frozenset({"telegram:name"}),
        ),
        fact(
            "lists.content",
            Words,
            _M,
            "DNS lists that list the From domain, a link or an address in the text",
            example=frozenset({"SURBL"}),
            form=Form.CAPITAL,
        ),
    ),
)
