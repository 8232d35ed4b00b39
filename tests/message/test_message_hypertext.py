"""HTML to what a reader sees; what hides; and pages built against parsers."""

from __future__ import annotations

import time

import pytest

from oborona.message import hypertext
from oborona.message.findings import Findings
from oborona.message.model import EntityLocation

LOREM = " ".join(f"word{number}" for number in range(60))


def page(source: str) -> hypertext.HtmlPage:
    return hypertext.read(source, 200, Findings())


def judged(source: str) -> set[str]:
    findings = Findings()
    hypertext.read(source, 200, findings)
    return {finding.name for finding in findings.all()}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("V<!-- -->iagra", "Viagra"),
        ("V<b></b>ia<i>g</i>r<span style='color:red'>a</span>", "Viagra"),
        ("V<span>i</span><font size=2>agra</font>", "Viagra"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<p>one<p>two<div>three</div>four", "one\ntwo\nthree\nfour"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"),
        ("one\ntwo\r\n  three", "one two three"),
        ("<title>T</title><style>p{}</style><script>s()</script>x", "x"),
        ("x<style>y</style><script>document.write('z')</script>", "x"),
        ("&lt;b&gt; &amp; &#1086;&nbsp;x", "<b> & \u043e x"),
        ("<select><option>a<option>b</select>", "a\nb"),
        ("no markup", "no markup"),
        ("", ""),
        ("<frameset><frame src=x></frameset>", ""),
        ("<!-- unclosed", ""),
        ("a<!--[if mso]>hidden<![endif]-->b", "ab"),
        ("a\0b", "ab"),
        ("<ul><li>a<li>b</ul>", "a\nb"),
    ],
)
def test_what_a_reader_sees(source: str, text: str) -> None:
    assert page(source).text == text


HIDES = [
    '<div style="display:none">{}</div>',
    '<div style="DISPLAY : none !important">{}</div>',
    '<div style="dis/**/play:none">{}</div>',
    '<div style="d\\69splay:none">{}</div>',
    '<div style="&#100;isplay:none">{}</div>',
    '<span style="visibility:hidden">{}</span>',
    '<span style="font-size:0">{}</span>',
    '<span style="font-size:1px">{}</span>',
    '<span style="font:0px/1 Arial">{}</span>',
    '<span style="opacity:0">{}</span>',
    "<div hidden>{}</div>",
    '<font color="#ffffff">{}</font>',
    '<font color="white">{}</font>',
    '<span style="color:#fefefe">{}</span>',
    '<span style="color:rgb(255, 255, 255)">{}</span>',
    '<span style="color:rgba(0,0,0,0)">{}</span>',
    '<span style="color:transparent">{}</span>',
    '<table bgcolor="#336699"><tr><td><font color="336699">{}</font></td></tr></table>',
    '<div style="background:#123456"><p style="color:#123457">{}</p></div>',
    '<div style="background-color:black">{}</div>',
    '<div style="position:absolute; left:-9999px">{}</div>',
    '<div style="text-indent:-9999px">{}</div>',
    '<div style="height:0;overflow:hidden">{}</div>',
    '<div style="max-height:0px;overflow:hidden">{}</div>',
    '<div style="position:absolute; right:-9999px">{}</div>',
    '<div style="position:absolute; left:9999px">{}</div>',
    '<div style="position:absolute; clip: rect(0 0 0 0)">{}</div>',
    '<div style="clip-path: inset(100%)">{}</div>',
    '<div style="transform: scale(0)">{}</div>',
    '<div style="transform: translate(0, -9999px)">{}</div>',
    '<div style="filter: opacity(0)">{}</div>',
    '<div style="zoom:0">{}</div>',
    '<span style="-webkit-text-fill-color: transparent">{}</span>',
    "<dialog>{}</dialog>",
    "<style>.x1 {{ display: none }}</style><p class=x1>{}</p>",
    "<style>@media only screen {{ .x1 {{ display: none }} }}</style><p class=x1>{}</p>",
    "<style><!-- #gone, p.a {{ visibility:hidden }} --></style><p id=gone>{}</p>",
    '<body text="#ffffff">{}</body>',
    "<style>div.a > p.b {{ display:none }}</style><div class=a><p class=b>{}</p></div>",
    "<style>.a .b {{ color:#fff }}</style><div class=a><div><p class=b>{}</p></div></div>",
    "<style>p.x {{ display:none }} p {{ display:block }}</style><p class=x>{}</p>",
    '<style>.x {{ display:none !important }}</style><p class=x style="display:block">{}</p>',
    '<p style="color:hsl(0, 0%, 100%)">{}</p>',
    '<p style="background:darkblue;color:#00008b">{}</p>',
]


@pytest.mark.parametrize("pattern", HIDES)
def test_hidden_text_is_kept_apart(pattern: str) -> None:
    source = "<html><p><font color=black>seen</font></p>" + pattern.format("secret <b>words</b>")
    found = page(source)
    assert "secret" not in found.text
    assert "seen" in found.text
    assert found.hidden == "secret words"


SHOWS = [
    '<td style="font-size:0px"><span style="font-size:13px">{}</span></td>',
    "<font color=white><font color=black>{}</font></font>",
    "<body text=white><table bgcolor=black><tr><td>{}</td></tr></table></body>",
    '<div style="background:#000"><a href="http://a.example" style="color:#fff">{}</a></div>',
    '<div style="color:#fff"><a href="http://a.example">{}</a></div>',
    '<div style="background:#fff url(x.png); color:#fff">{}</div>',
    '<div style="font-size:12px; opacity:.8; display:block">{}</div>',
    "<style>@media (max-width:600px) {{ .m {{ display:none }} }}</style><p class=m>{}</p>",
    '<p style="text-indent:-20px; margin-left:-10px">{}</p>',
    "<p style='line-height:0'>{}</p>",
    '<p style="transform: scale(0.9) translateX(-50%)">{}</p>',
    '<p style="clip-path: inset(5%); filter: opacity(0.9); zoom: 1">{}</p>',
    '<p style="position:relative; left:20px; right:-20px">{}</p>',
    "<dialog open>{}</dialog>",
    "<style>@media print {{ .m {{ display:none }} }}</style><p class=m>{}</p>",
    "<noscript>{}</noscript>",
    '<div style="background:darkblue;color:#fff">{}</div>',
    '<div style="background:hsl(200, 50%, 20%);color:#fff">{}</div>',
    '<div style="background:var(--brand);color:#fff">{}</div>',
    '<div style="background:#000;color:var(--text)"><div style="background:#000">{}</div></div>',
    (
        "<style>table.x th {{ background:#4472c4 }} th {{ color:#fff }}</style><table "
        "class=x><tr><th>{}</th></tr></table>"
    ),
    (
        "<style>.x td {{ background:#123; color:#fff }} td {{ background:#fff "
        "}}</style><table class=x><tr><td>{}</td></tr></table>"
    ),
    '<style>.x {{ display:none }}</style><p class=x style="display:block">{}</p>',
    '<p hidden style="display:block">{}</p>',
    (
        "<style>.m {{ display:none }} @media (min-width:600px) {{ .m {{ display:block }} "
        "}}</style><p class=m>{}</p>"
    ),
]


@pytest.mark.parametrize("pattern", SHOWS)
def test_visible_text_is_not_called_hidden(pattern: str) -> None:
    found = page(pattern.format("plain words"))
    assert found.text == "plain words"
    assert found.hidden == ""


def test_hidden_inside_hidden_closes_where_it_ends() -> None:
    found = page(
        'a <div style="display:none">b <p style="font-size:12px">c</p> <div '
        "hidden>d</div> e</div> f"
    )
    assert found.text == "a\nf" or found.text.split() == ["a", "f"]
    assert found.hidden.split() == ["b", "c", "d", "e"]


@pytest.mark.parametrize(
    "padding",
    [
        "&nbsp;&zwnj;",
        "&#847; &zwnj; &nbsp; &#8199; &#65279; ",
        "&shy; ",
        "&#8203; ",
        "&#8195;&#8205; ",
    ],
)
def test_padding_of_a_preview_line_is_no_text(padding: str) -> None:
    preview = f"<div style='display:none'>Our winter sale begins today {padding * 150}</div>"
    assert judged(preview + "<p>" + "Here is what we have for you. " * 6) == set()


def test_the_version_for_telephones_is_the_text_once_more() -> None:
    twice = f"<p>{LOREM}</p><div style='display:none'>{{}}</div>"
    assert judged(twice.format(LOREM)) == set()
    assert judged(twice.format(LOREM.replace("word", "other"))) == {"hidden-text"}


def test_hidden_text_without_spaces_has_words() -> None:
    hidden = "今天我们在公司里开会讨论下个季度的计划" * 5
    assert judged(f"<p>你好</p><div style='display:none'>{hidden}</div>") == {"hidden-text"}


def test_the_line_for_hidden_text() -> None:
    hidden = f'<div style="display:none">{LOREM}</div>'
    preview = (
        '<div style="display:none">Our summer sale starts today, up to 50% off everything</div>'
    )
    assert "hidden-text" in judged(f"<p>Buy now</p>{hidden}")
    assert "hidden-text" not in judged(f"{preview}<p>{LOREM}</p>")
    assert "hidden-text" not in judged(f"{preview}<p>Buy now</p>")
    assert "hidden-text" not in judged(f"{hidden}{f'<p>{LOREM}</p>' * 10}")
    cut = "".join(f'V<span style="display:none">x{number}</span>iagra ' for number in range(3))
    assert page(cut).text == "Viagra Viagra Viagra"
    assert "hidden-text" in judged(cut)


def test_a_page_cannot_forge_our_marks() -> None:
    for mark in ("\0h", "&#0;h", "&#x0;e", "\\0h"):
        assert page(f"<p>{mark}seen</p><div hidden>not</div>").hidden == "not"
        assert "seen" in page(f"<p>{mark}seen</p><div hidden>not</div>").text


def test_links() -> None:
    found = page(
        '<a href="http://evil.example/x">http://<b>bank</b>.example</a><img src=//c.example/p.gif>'
        "<form action=https://f.example></form><map><area href=http://m.example></map><iframe "
        "src=http://i.example></iframe>"
    )
    assert [(each.url, each.shown, each.place) for each in found.targets] == [
        ("http://evil.example/x", "http://bank.example", EntityLocation.ANCHOR),
        ("//c.example/p.gif", "", EntityLocation.PICTURE),
        ("https://f.example", "", EntityLocation.FORM),
        ("http://m.example", "", EntityLocation.ANCHOR),
        ("http://i.example", "", EntityLocation.FRAME),
    ]


def test_spacers_do_not_push_links_out() -> None:
    findings = Findings()
    found = hypertext.read(
        "<img src=x>" * 300 + '<a href="http://evil.example">x</a>', 100, findings
    )
    assert [each.url for each in found.targets] == ["http://evil.example"]
    assert "links-too-many" in {finding.name for finding in findings.all()}


HOSTILE = {
    "100,000 nested div": "<div>" * 100_000 + "deep",
    "40,000 nested div, closings first": "</div>" * 40_000 + "<div>" * 40_000 + "deep",
    "attributes": "<p " + " ".join(f"a{number}=1" for number in range(30_000)) + ">deep",
    "attributes in quotes": "<p "
    + " ".join(f'a{number}="<>"' for number in range(20_000))
    + ">deep",
    "attributes without space": "<p" + "".join(f"/a{number}" for number in range(30_000)) + ">deep",
    "formatting reopened": "<p>"
    + "".join(f"<font a={number}>" for number in range(2000))
    + "<p>x" * 2000
    + "deep",
    "formatting reopened, closed at last": "<p>"
    + "".join(f"<b id={number}>" for number in range(3000))
    + "<p>x" * 3000
    + "deep"
    + "</b>" * 3000,
    "links in tables": "<a href=http://a.example/>x<table><td>" * 5000 + "deep",
    "styles": "<p style='color:#fff'>x" * 10_000 + "<p style='color:#000'>deep",
    "style sheet": "<style>"
    + "".join(f".c{number}{{display:none}}" for number in range(5000))
    + "</style>"
    + "<p class=z>deep",
    "broken style sheet": "<style>" + "@media{a{" * 7000 + "</style>deep",
    "unclosed comments": "deep" + "<!--" * 50_000,
    "open brackets": "deep " + "<" * 200_000,
    "quotes": "deep<p a=" + "\"'" * 100_000,
    "hidden in hidden": "deep" + "<i style='display:none'>x" * 300,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_take_bounded_time(name: str) -> None:
    source = HOSTILE[name][: 512 << 10]
    start = time.process_time()
    found = page(source)
    assert time.process_time() - start < 5.0
    assert "deep" in found.text + found.hidden


@pytest.mark.parametrize(
    "name",
    [
        "100,000 nested div",
        "40,000 nested div, closings first",
        "attributes",
        "attributes without space",
        "formatting reopened",
    ],
)
def test_exhausting_pages_are_a_finding(name: str) -> None:
    assert "html-too-complex" in judged(HOSTILE[name])


def test_an_ordinary_large_newsletter_is_parsed() -> None:
    row = (
        "<tr><td style='color:#333'><p>Text <b>bold</b> <a "
        "href='http://shop.example/1'>link</a><br></td></tr>"
    )
    assert judged(f"<table>{row * 150}</table>") <= {"links-too-many"}
    assert judged(f"<p>{'<li>x' * 5000}") == set()
