"""What pages are made of: forms, routes, the search line, charts, files to save."""

from __future__ import annotations

from contextvars import copy_context
from pathlib import Path

import pytest
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from oborona.cli.terminal import plain
from oborona.console.bar_chart import HEIGHT, bar_chart
from oborona.console.browser_state import own_path
from oborona.console.console_answer import csv_file, json_file
from oborona.console.declaration import PAGES, PageDeclaration, page
from oborona.console.form_body import MULTIPART, URLENCODED, FormError, read_form
from oborona.console.form_token import FormTokens
from oborona.console.language import VIEWER, Viewer, load_languages
from oborona.console.route_table import RouteTable
from oborona.console.search_line import targets
from oborona.console.static_files import FOLDER, StaticFiles
from oborona.console.template_set import TemplateSet, flat, lines, moment, peer, share, shown
from oborona.people.rights import Right

TEMPLATES = TemplateSet(StaticFiles())


@given(st.text())
def test_the_terminal_and_pages_mark_the_same_characters(text: str) -> None:
    marked = sum(letter == "?" for letter in plain(text)) - text.count("?")
    assert str(shown(text)).count('<span class="mark">') == marked
    assert str(shown(text)).isprintable()
    assert "<" not in str(shown(text)).replace('<span class="mark">', "").replace("</span>", "")


def test_text_of_strangers_is_shown_as_text() -> None:
    assert peer("a\u202eb<i>") == '<bdi>a<span class="mark">U+202E</span>b&lt;i&gt;</bdi>'
    assert lines("a\n\tb\r") == 'a\n\tb<span class="mark">U+000D</span>'
    assert flat("a\u202e\n<") == "a\ufffd\ufffd<"
    assert shown("\ud800") == '<span class="mark">U+D800</span>'


@given(st.floats() | st.integers())
def test_any_time_is_shown(seconds: float) -> None:
    assert "<" in moment(seconds)


def test_a_template_that_lacks_a_value_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        TEMPLATES.render("state.html")


@given(st.text(), st.text())
def test_a_token_is_that_of_its_session(session: str, other: str) -> None:
    tokens = FormTokens()
    token = tokens.make(session.encode("utf-8", "replace").decode())
    assert tokens.is_good(token, session.encode("utf-8", "replace").decode())
    assert not tokens.is_good(token, f"{other}x{session}".encode("utf-8", "replace").decode())
    assert not tokens.is_good(other, session.encode("utf-8", "replace").decode())
    assert token != tokens.make(session)
    assert not FormTokens().is_good(token, session)


@given(st.binary(max_size=400), st.sampled_from([URLENCODED, MULTIPART, "", "text/plain"]))
def test_any_body_is_a_form_or_is_none(body: bytes, kind: str) -> None:
    for octets in (body, b"--x\r\n" + body + b"\r\n--x--", body.replace(b"\n", b"\r\n--x")):
        try:
            form = read_form(kind, "x", octets)
        except FormError:
            continue
        assert all(isinstance(value, str) for values in form.fields.values() for value in values)


@given(st.binary(max_size=200), st.text(max_size=50))
def test_a_file_is_what_was_sent(octets: bytes, text: str) -> None:
    if b"\r\n--x" in b"\r\n" + octets or "\r\n--x" in f"\r\n{text}":
        return
    said = text.encode("utf-8", "replace")
    body = (
        b'--x\r\nContent-Disposition: form-data; name="m"; filename="a.eml"\r\n'
        b"Content-Type: message/rfc822\r\n\r\n" + octets + b"\r\n--x\r\n"
        b'Content-Disposition: form-data; name="t"\r\n\r\n' + said + b"\r\n--x\r\n"
        b'Content-Disposition: form-data; name="none"; filename=""\r\n\r\n\r\n--x--\r\n'
    )
    form = read_form(MULTIPART, "x", body)
    assert (form.files["m"].name, form.files["m"].octets) == ("a.eml", octets)
    assert form.raw("t") == said.decode()
    assert form.one("t") == said.decode().strip()
    assert "none" not in form.files
    assert form.all("other") == []


async def _nothing(visit: object) -> object:
    raise AssertionError


def _declared(path: str, method: str = "GET") -> PageDeclaration:
    return PageDeclaration(method, path, _nothing)  # type: ignore[arg-type]


def test_a_path_leads_to_one_page() -> None:
    routes = RouteTable(
        [_declared("/a"), _declared("/a", "POST"), _declared("/a/{id}"), _declared("/a/new")]
    )
    assert set(routes.find("/a")[0]) == {"GET", "POST"}
    assert routes.find("/a/new")[1] == {}
    assert routes.find("/a/b%2Fc%40d")[1] == {"id": "b/c@d"}
    for nowhere in ("", "/", "/a/", "/a/b/c", "//a", "/a%2Fnew", "/A"):
        assert routes.find(nowhere) == ({}, {}), nowhere


def test_a_page_is_declared_once() -> None:
    before = list(PAGES)
    page("GET", "/only-here/{id}", Right.TRACK)(_nothing)  # type: ignore[type-var]
    with pytest.raises(AssertionError):
        page("GET", "/only-here/{name}")(_nothing)  # type: ignore[type-var]
    PAGES[:] = before


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("0SAH375J007Q5", "/message/0SAH375J007Q5"),
        (" 0sah375j007q5\n", "/message/0SAH375J007Q5"),
        ("0SAH375J007Q5.ABCDEFGHJKMNPQRS", "/message/0SAH375J007Q5"),
        ("192.0.2.7", "/entity/192.0.2.7"),
        ("[2001:DB8:0::7]", "/entity/2001%3Adb8%3A%3A7"),
        ("<Ann@Shop.example>", "/entity/ann%40shop.example"),
        ("shop.example.", "/entity/shop.example"),
        ("пример.рф", "/entity/%D0%BF%D1%80%D0%B8%D0%BC%D0%B5%D1%80.%D1%80%D1%84"),
        ("4Ztn1G2Bk3zQwXc", "/track?q=queue%3A4Ztn1G2Bk3zQwXc"),
        ("7F3A2B1C9D", "/track?q=queue%3A7F3A2B1C9D"),
        ("from:a to:b", "/track?q=from%3Aa+to%3Ab"),
        ("192.0.2.0/24", "/entity/192.0.2.0%2F24"),
        ("//evil.example/x", "/track?q=%2F%2Fevil.example%2Fx"),
        ("\ud800", "/track?q=%3F"),
    ],
)
def test_a_search_line_leads_to_the_page_of_what_it_names(line: str, first: str) -> None:
    assert next(targets(line)) == first


@given(st.text())
def test_a_search_line_leads_to_a_page_of_ours(line: str) -> None:
    for url in targets(line):
        assert own_path(url) == url


def test_bars_fill_their_chart() -> None:
    chart = bar_chart(["a", "b"], ["0", "1", "2"], [[1, 3], [0, 0], [0, 2]])
    assert chart.most == 4
    assert min(bar.y for bar in chart.bars) == 0
    assert all(bar.y >= 0 and bar.y + bar.height <= HEIGHT + 0.01 for bar in chart.bars)
    assert [bar.series for bar in chart.bars] == [0, 1, 1]
    assert bar_chart([], [], []).bars == []
    macro = '{{ m.bars("x", chart, "t") }}'
    drawn = TEMPLATES._environment.from_string(macro).render(chart=chart)
    assert drawn.count("<rect") == 3
    assert drawn.count('scope="row"') == 3


def test_a_table_names_its_cells_and_leads_to_its_files() -> None:
    macro = """{% call(row, key) m.table("Mail", [("a", "From"), ("b", "To")], rows, "/track?q=x") %}
        {{ row[key]|peer }}{% endcall %}"""
    drawn = TEMPLATES._environment.from_string(macro).render(rows=[{"a": "<x>", "b": "y"}])
    assert '<th scope="row" data-label="From">' in drawn
    assert '<td data-label="To">' in drawn
    assert "&lt;x&gt;" in drawn
    assert 'href="/track?q=x&amp;as=csv"' in drawn


def test_files_to_save_hold_no_formula_and_no_code() -> None:
    request = make_mocked_request("GET", "/")
    rows = [["=1+1", "+7 900", "-x", "@a", "a=b", -5, None, "\ud800"]]
    answer = csv_file(request, "a/../b", ["h"], rows)
    assert answer.body == b"h\r\n'=1+1,'+7 900,'-x,'@a,a=b,-5,,?\r\n"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="a_.._b.csv"'
    assert json_file(request, "x", {"a": 1}).headers["X-Content-Type-Options"] == "nosniff"


def test_what_is_vendored_is_what_was_published() -> None:
    import hashlib

    octets = (FOLDER / "htmx.min.js").read_bytes()
    assert hashlib.sha512(octets).hexdigest().startswith("c6ca5adedf4caf32e4c1d7e8ebb2dbb2")
    assert "Zero-Clause BSD" in (FOLDER / "htmx.LICENSE").read_text()


def test_numbers_of_people() -> None:
    def in_russian() -> str:
        VIEWER.set(Viewer(load_languages()["ru"]))
        return TEMPLATES._environment.from_string("{{ _('Sign out') }}").render()

    assert copy_context().run(in_russian) == "Выйти"
    assert share(0.256, 1) == "25.6\u00a0%"
    assert Path(TEMPLATES._environment.loader.searchpath[0]).name == "templates"  # type: ignore[union-attr]
