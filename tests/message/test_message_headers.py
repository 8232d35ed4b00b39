# ruff: noqa: RUF001 - letters of other scripts are what is tested
"""Headers: fields, encoded words, parameters, mailboxes."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oborona.message import mailboxes, parameters, rfc2047
from oborona.message.findings import Findings
from oborona.message.parse import parse


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("plain", "plain"),
        ("=?utf-8?B?0L/RgNC40LLQtdGC?=", "привет"),
        ("=?UTF-8?q?caf=C3=A9_au_lait?= now", "café au lait now"),
        ("=?iso-8859-1?Q?a?= =?iso-8859-1?Q?b?=", "ab"),
        ("=?utf-8?B?0L8=?= x =?utf-8?B?0YA=?=", "п x р"),
        ("=?utf-8?Q?=D0?= =?utf-8?Q?=BF?=", "п"),  # one character in two words
        ("=?utf-8?Q?a?=\t=?koi8-r?B?0NLJ18XU?=", "aпривет"),
        ("=?utf-8*ru?Q?=D0=BF?=", "п"),
        ("=?windows-1251?B?7/Do4uXy?=", "привет"),
        ("pre=?utf-8?Q?x?=post", "prexpost"),
        ("=?utf-8?B?YQ?=", "a"),  # without its padding
        ("=?no-such?Q?a?=", "=?no-such?Q?a?="),
        ("=?utf-8?X?a?=", "=?utf-8?X?a?="),
        ("=?=?=", "=?=?="),
    ],
)
def test_encoded_words(written: str, text: str) -> None:
    assert rfc2047.decode_words(written, Findings()) == text


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("=?utf-8QqBb_ \tAé\n"), max_size=60))
def test_encoded_words_never_raise(value: str) -> None:
    rfc2047.decode_words(value, Findings()).encode()


@pytest.mark.parametrize(
    ("written", "value", "given_"),
    [
        ("text/plain", "text/plain", {}),
        ("Text/HTML; Charset=UTF-8", "text/html", {"charset": "UTF-8"}),
        ('a/b; name="x; y=\\"z\\""', "a/b", {"name": 'x; y="z"'}),
        ("a/b; name=a file.txt; size=3", "a/b", {"name": "a file.txt", "size": "3"}),
        ("a/b; name*=utf-8''%D0%BF.txt", "a/b", {"name": "п.txt"}),
        ("a/b; name*0*=utf-8'ru'%D0; name*1*=%BF; name*2=.exe", "a/b", {"name": "п.exe"}),
        ("a/b; name*1=b; name*0=a", "a/b", {"name": "ab"}),
        ('a/b; name="=?utf-8?B?0L8=?=.txt"', "a/b", {"name": "п.txt"}),
        ('a/b; name="open', "a/b", {"name": "open"}),
        ("a/b;;; ; x=1;", "a/b", {"x": "1"}),
        ("a/b; x=1; X=2", "a/b", {"x": "1"}),
        ("a/b; junk; y=2", "a/b", {"y": "2"}),
        ("a/b; name=good.txt; name*=utf-8''bad.exe", "a/b", {"name": "bad.exe"}),
        ("", "", {}),
    ],
)
def test_parameters(written: str, value: str, given_: dict[str, str]) -> None:
    assert parameters.parse(written, Findings()) == (value, given_)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("a/b;=*01'\"\\% \n\u0431"), max_size=60))
def test_parameters_never_raise(value: str) -> None:
    parameters.parse(value, Findings())


@pytest.mark.parametrize(
    ("written", "boxes"),
    [
        ("a@B.Example", [("", "a@b.example")]),
        ("Ann <a@b.example>", [("Ann", "a@b.example")]),
        (
            '"Doe, Jane" <j@d.example>, Bob <b@d.example>',
            [("Doe, Jane", "j@d.example"), ("Bob", "b@d.example")],
        ),
        ("=?utf-8?Q?Doe=2C_J?= <j@d.example>", [("Doe, J", "j@d.example")]),
        ("a@b.example (Ann B)", [("Ann B", "a@b.example")]),
        ("friends: a@b.example, c@d.example;", [("", "a@b.example"), ("", "c@d.example")]),
        ("undisclosed-recipients:;", []),
        ("<>", []),
        ("", []),
        ("security@bank.example <x@evil.example>", [("security@bank.example", "x@evil.example")]),
        ('"security@bank.example" <x@evil.example>', [("security@bank.example", "x@evil.example")]),
        ("<a@b.example> <x@evil.example>", [("a@b.example", "x@evil.example")]),
        ("<@r.example:a@b.example>", [("", "a@b.example")]),
        ("Nobody", [("Nobody", "")]),
        ('"a b"@c.example', [("", '"a b"@c.example')]),
        ("a@b.example.", [("", "a@b.example")]),
    ],
)
def test_mailboxes(written: str, boxes: list[tuple[str, str]]) -> None:
    found = mailboxes.parse(written, 50, Findings())
    assert [(box.name, box.address) for box in found] == boxes
    assert all(box.domain == box.address.rpartition("@")[2] for box in found)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from('ab@.<>"()\\,;: \u0431=?'), max_size=60))
def test_mailboxes_never_raise(value: str) -> None:
    for box in mailboxes.parse(value, 50, Findings()):
        assert (box.domain == "") == (box.address == "")


@pytest.mark.parametrize(
    ("written", "domains", "odd"),
    [
        ("Bank <alert@bank.example>", ["bank.example"], ""),
        ("alert@bank.example", ["bank.example"], ""),
        ('"Doe, Jane" <j@d.example>, Bob <b@e.example>', ["d.example", "e.example"], ""),
        ('"joe@gmail.example via List" <list@l.example>', ["l.example"], ""),
        ("joe@gmail.example <list@l.example>", ["l.example"], ""),
        ("a@b.example (joe@gmail.example)", ["b.example"], ""),
        ("alert@bank.example>", ["bank.example"], "author-ambiguous"),
        ("<alert@bank.example", ["bank.example"], ""),
        ("'alert@bank.example'", ["bank.example"], "author-ambiguous"),
        ("Bank <'alert@bank.example'>", ["bank.example"], "author-ambiguous"),
        ("Bank [alert@bank.example]", ["bank.example"], "author-ambiguous"),
        ("Bank (x <alert@bank.example>", ["bank.example"], "author-ambiguous"),
        ('"Bank <x@y.example>" alert@bank.example', ["bank.example"], ""),
        ('"a@y.example" alert@bank.example', ["bank.example"], ""),
        ('"Johnson, Joe <joe@joe.example>" joe@joe.example', ["joe.example"], ""),
        ('"( bob@bob.example)" joe@joe.example', ["joe.example"], ""),
        ("<a@b.example> <c@d.example>", ["d.example", "b.example"], "author-ambiguous"),
        ("a@b.example c@d.example", ["b.example", "d.example"], "author-ambiguous"),
        ("(alert@bank.example)", ["bank.example"], "author-ambiguous"),
        ('"alert@bank.example"', ["bank.example"], ""),
        ("=?utf-8?q?alert=40bank=2Eexample?=", ["bank.example"], "author-ambiguous"),
        ("Bank <alert@bank.example> x", ["bank.example"], ""),
        ("alert @ bank.example", ["bank.example"], "author-ambiguous"),
        ("alert@ bank.example", ["bank.example"], "author-ambiguous"),
        ("alert (x) @bank.example", ["bank.example"], "author-ambiguous"),
        ("alert@bank(x).example", ["bank.example"], "author-ambiguous"),
        ("Bank <alert\uff20bank.example>", ["bank.example"], "author-ambiguous"),
        ("alert\uff20bank\u3002example", ["bank.example"], "author-ambiguous"),
        ("Bank <alert@bank.exam\u200bple>", ["bank.example"], "author-ambiguous"),
        ("alert@bank.exam\xadple", ["bank.example"], "author-ambiguous"),
        ("=?utf-8?q?alert=EF=BC=A0bank=2Eexample?=", ["bank.example"], "author-ambiguous"),
        ("alert@bank.example<>b", ["bank.example"], ""),
        ("root@localhost", [], "author-unusable"),
        ("a@[192.0.2.1]", [], "author-unusable"),
        ("Bank @ home <>", [], "author-unusable"),
        ("Nobody", [], ""),
        ("=?utf-8?q?N=C3=B3body?=", [], ""),
    ],
)
def test_a_from_is_read_as_people_read_it(written: str, domains: list[str], odd: str) -> None:
    message = parse(f"From: {written}\n\nx\n".encode())
    assert [
        domain for domain in message.from_domains if "." in domain and "[" not in domain
    ] == domains
    names = {one.name for one in message.findings if one.name.startswith("author-")}
    assert names == ({odd} if odd else set())


@settings(max_examples=1500, deadline=None)
@given(
    st.text(st.sampled_from("Bn <>()[]'\",;:\\|=?"), max_size=25),
    st.text(st.sampled_from("Bn <>()[]'\",;:\\|=?"), max_size=25),
    st.sampled_from(["", "<", '"', "(", "'", "[", " "]),
)
@example("", "<>B", "")
@example("n;", '""B', '"')
def test_the_only_address_of_a_from_is_its_author(before: str, after: str, last: str) -> None:
    """Invariant: what holds exactly one thing of the form local@domain is held to that domain."""
    end = f" {after}" if after[:1] not in tuple("<>()[]'\",; ") else after
    message = parse(f"From: {before}{last} alert@bank.example{end}\n\nx\n".encode())
    assert "bank.example" in message.from_domains, message.from_domains


@pytest.mark.parametrize(
    "part", ["a@", "a@b.c ", "<a@b.c>", "(", '"', "@", "a.", "a", "<", "(a@b.c)"]
)
def test_a_huge_from_takes_no_time(part: str) -> None:
    start = time.process_time()
    parse(b"From: " + part.encode() * 200_000 + b"\n\nx\n")
    assert time.process_time() - start < 5


def test_fields_of_a_message() -> None:
    raw = (
        b"Received: from x\n\tby y\nFROM : Ann <Ann@B.Example>\nFrom: second@b.example\nTo: "
        b"c@d.example, e@f.example\nCc: g@h.example\n"
        b"Reply-To: r@s.example\nSubject: =?utf-8?Q?a?=\n  =?utf-8?Q?b?= c\nDate: Thu, 1 Jan 1970 "
        b"00:01:40 +0000\n"
        b"Message-ID: <id@b.example>\n\nbody"
    )
    for sent in (raw, raw.replace(b"\n", b"\r\n")):
        message = parse(sent)
        assert message.get("received") == "from x by y"
        assert message.headers[0].raw == b"from x\n\tby y"
        assert message.get("x-none") is None
        assert [one.value for one in message.headers if one.name == "from"] == [
            "Ann <Ann@B.Example>",
            "second@b.example",
        ]
        assert message.from_count == 2
        assert message.from_ is not None
        assert message.from_.address == "Ann@b.example"
        assert [box.address for box in message.recipients] == [
            "c@d.example",
            "e@f.example",
            "g@h.example",
        ]
        assert [box.address for box in message.reply_to] == ["r@s.example"]
        assert message.subject == "ab c"
        assert message.date == 100.0
        assert message.message_id == "id@b.example"
        assert message.text == "body"
        assert not message.findings


def named(*senders: str) -> bytes:
    return b"".join(b"From: %b\n" % one.encode() for one in senders) + b"\ntext"


MANY = ", ".join(f"x@{number}.example" for number in range(20))


@pytest.mark.parametrize(
    "before",
    [[MANY], [MANY] * 7, ["x@1.example"] * 30, ["x" * 120_000 + "@1.example"], ["x@1.example " * 9_000] * 3, ["(" * 100_000]],
    ids=["mailboxes", "mailboxes in fields", "fields", "a long one", "long ones", "nonsense"],
)  # fmt: skip
@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
def test_the_first_and_the_last_from_field_are_not_lost_in_a_crowd(
    before: list[str], last: bool
) -> None:
    """Mail programs show one or the other: its domain is among the first that are checked."""
    message = parse(
        named(*before, "CEO <ceo@bank.example>")
        if last
        else named("CEO <ceo@bank.example>", *before)
    )
    assert "bank.example" in message.from_domains[:2]
    assert len(message.from_domains) <= 8 * 8


def test_each_from_field_gives_its_first_mailbox() -> None:
    fields = [f"a@{number}.example, b@{number}.test" for number in range(7)]
    message = parse(named(*fields))
    assert message.from_domains == (
        "0.example", "6.example", *(f"{number}.example" for number in range(1, 6)),
        "0.test", "6.test", *(f"{number}.test" for number in range(1, 6)),
    )  # fmt: skip
    assert message.from_ is not None
    assert message.from_.address == "a@0.example"
    alone = parse(named(MANY))
    assert alone.from_domains == tuple(f"{number}.example" for number in range(8))
