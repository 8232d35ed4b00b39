"""Where signatures are found, that a book is the same however it was made, and that hostile mail
costs little.
"""

from __future__ import annotations

import time
from email.message import EmailMessage

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.message.normalise import normalise
from oborona.message.parse import parse
from oborona.policy.signatures import (
    LiveSignatures,
    Signature,
    SignatureBook,
    SignatureFlag,
    SignatureKind,
    SignatureScope,
    check_signature,
)
from oborona.policy.signatures import book as book_of
from oborona.policy.signatures.book import FEW
from oborona.policy.signatures.finder import MAX_OWN, SignatureMatches, marking_line
from oborona.policy.signatures.segment import SignatureSegment
from oborona.policy.signatures.words import readings, words
from oborona.types import RuleMode

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 64


def sign(
    value: str, kind: SignatureKind = SignatureKind.PHRASE, name: str = "s1", **more: object
) -> Signature:
    return check_signature(
        Signature(id=name, flag=SignatureFlag.SPAM, kind=kind, value=value, **more)  # type: ignore[arg-type]
    )


def letter(text: str = "", subject: str = "news", name: str = "Ann", headers: str = "") -> bytes:
    return (
        f'From: "{name}" <ann@a.example>\nReply-To: eve@evil.example.com\nSubject: '
        f"{subject}\n{headers}"
        f"Content-Type: text/plain; charset=utf-8\n\n{text}\n"
    ).encode("utf-8", "surrogateescape")


def found(some: list[Signature] | SignatureBook, raw: bytes, now: float = 1000.0) -> list[str]:
    book = some if isinstance(some, SignatureBook) else SignatureBook.of(some)
    return [one.id for one in book.find(parse(raw), now).signatures]


@pytest.mark.parametrize(
    "text",
    [
        "buy cheap pills now",
        "CHEAP, pills!",
        "ch3ap p1lls",  # a 1 that is an i
        "c h e a p pills",
        "c.h.e.a.p pills",
        "\u0441h\u0435\u0430\u0440 pills",  # Cyrillic look-alikes
        "cheap\n\n   pills",
        "chea\u00adp pil\u200bls",
        "cheap \u2014 pills",
        "\u2066cheap\u2069 pills",
    ],
)
def test_a_phrase_is_found_in_its_disguises(text: str) -> None:
    assert found([sign("cheap pills")], letter(text)) == ["s1"]


@pytest.mark.parametrize(
    "text", ["cheap spills", "cheapest pills", "cheap. The pills", "pills cheap", ""]
)
def test_a_phrase_is_not_found_in_other_words(text: str) -> None:
    assert found([sign("cheap pills")], letter(text)) == []


def test_inside_words_it_is_found_if_it_is_asked_for() -> None:
    raw = letter("the bestcasinobonus24 is here")
    assert found([sign("casinobonus", inside=True)], raw) == ["s1"]
    assert found([sign("casinobonus")], raw) == []


def test_a_word_of_russian_or_chinese() -> None:
    raw = letter(
        "\u0414\u0415\u0428\u0401\u0412\u042b\u0415 \u0417\u0410\u0419\u041c\u042b! "
        "\u6211\u4eec\u4ee3\u5f00\u53d1\u7968\u5417"
    )
    assert found(
        [sign("\u0434\u0435\u0448\u0451\u0432\u044b\u0435 \u0437\u0430\u0439\u043c\u044b")], raw
    ) == ["s1"]
    assert found([sign("\u4ee3\u5f00\u53d1\u7968")], raw) == ["s1"]


@pytest.mark.parametrize(
    ("where", "there"),
    [
        (SignatureScope.SUBJECT, {"subject": "Cheap pills"}),
        (SignatureScope.NAME, {"name": "Cheap Pills"}),
        (SignatureScope.TEXT, {"text": "cheap pills"}),
        (SignatureScope.HEADER, {"headers": "X-Offer: cheap pills\n"}),
    ],
)
@pytest.mark.parametrize("kind", [SignatureKind.PHRASE, SignatureKind.PATTERN])
def test_it_is_found_where_it_is_wanted_and_nowhere_else(
    where: SignatureScope, there: dict[str, str], kind: SignatureKind
) -> None:
    raw = letter(**there)
    for asked in (
        SignatureScope.SUBJECT,
        SignatureScope.NAME,
        SignatureScope.TEXT,
        SignatureScope.PICTURE,
        SignatureScope.HEADER,
    ):
        # the subject and the name are header fields, too
        wanted = asked is where or (
            asked is SignatureScope.HEADER
            and where in (SignatureScope.SUBJECT, SignatureScope.NAME)
        )
        assert bool(found([sign("cheap pills", kind, where=asked)], raw)) == wanted, asked
    assert bool(found([sign("cheap pills", kind)], raw)) == (where is not SignatureScope.HEADER)


def test_words_of_two_fields_are_no_phrase() -> None:
    assert found([sign("cheap pills")], letter(text="pills", subject="cheap", name="cheap")) == []


def test_a_pattern_is_anchored_to_a_field_and_finds_signs() -> None:
    raw = letter("save $$$ 100% now", subject="hello")
    assert found([sign(r"\$\$\$ \d+%", SignatureKind.PATTERN)], raw) == ["s1"]
    assert found([sign(r"^save .*now$", SignatureKind.PATTERN)], raw) == ["s1"]
    assert found([sign(r"hello.*save", SignatureKind.PATTERN)], raw) == []


def test_entities() -> None:
    raw = letter(
        "see https://www.deal.shop.example.com/x?utm_source=1 or call +7 (905) 123-45-67, "
        "https://t.me/badshop ann (at) mail dot example.com"
    )
    for value, kind in (
        ("www.deal.shop.example.com", SignatureKind.HOST),
        ("shop.example.com", SignatureKind.DOMAIN),
        ("https://www.deal.shop.example.com/x", SignatureKind.URL),
        ("+79051234567", SignatureKind.PHONE),
        ("telegram:badshop", SignatureKind.HANDLE),
        ("evil.example.com", SignatureKind.DOMAIN),
        ("eve@evil.example.com", SignatureKind.ADDRESS),
    ):
        assert found([sign(value, kind)], raw) == ["s1"], (kind, value)
    assert found([sign("shop.example.com", SignatureKind.HOST)], raw) == []
    assert found([sign("op.example.com", SignatureKind.DOMAIN)], raw) == []
    assert (
        found([sign("eve@evil.example.com", SignatureKind.ADDRESS, where=SignatureScope.TEXT)], raw)
        == []
    )
    assert found(
        [sign("eve@evil.example.com", SignatureKind.ADDRESS, where=SignatureScope.HEADER)], raw
    ) == ["s1"]


def test_an_attachment_by_its_checksum_and_a_list_by_its_name() -> None:
    mail = EmailMessage()
    mail["From"], mail["List-Id"] = "ann@a.example", "News <news.a.example>"
    mail.set_content("see the file")
    mail.add_attachment(PNG, maintype="application", subtype="octet-stream", filename="x.bin")
    raw = mail.as_bytes()
    (file,) = parse(raw).attachments
    assert found([sign(file.sha256.hex(), SignatureKind.CHECKSUM)], raw) == ["s1"]
    assert found([sign("news.a.example", SignatureKind.LIST)], raw) == ["s1"]


def test_one_that_has_expired_is_not_found() -> None:
    some = [sign("cheap pills", expires=2000.0)]
    assert found(some, letter("cheap pills"), now=1999.0) == ["s1"]
    assert found(some, letter("cheap pills"), now=2000.0) == []


def test_all_that_are_the_same_are_found_in_the_order_of_their_ids() -> None:
    some = [sign("cheap pills", name=f"s{number}") for number in (10, 2, 1)]
    some.append(sign("a.example", SignatureKind.DOMAIN, name="s3"))
    assert found(some, letter("cheap pills")) == ["s1", "s2", "s3", "s10"]


WORD = st.sampled_from(
    [
        "cheap",
        "pills",
        "by",
        "post",
        "c",
        "h",
        "v1agra",
        "ca$h",
        "\u0437\u0430\u0439\u043c",
        "\u4ee3\u5f00\u53d1\u7968",
        "!",
        "\u2014",
    ]
)
TEXT = st.lists(WORD, max_size=12).map(" ".join)


@settings(max_examples=200)
@given(st.lists(TEXT, max_size=12), TEXT)
def test_the_automaton_finds_what_a_search_for_each_phrase_finds(
    phrases: list[str], text: str
) -> None:
    some = []
    for number, value in enumerate(phrases, 1):
        one = Signature(
            id=f"s{number}", flag=SignatureFlag.SPAM, kind=SignatureKind.PHRASE, value=value
        )
        try:
            some.append(check_signature(one))
        except ValueError:
            continue
    said = readings(normalise(text))
    wanted = [
        one.id for one in some if any(words(normalise(one.value)).strip() in each for each in said)
    ]
    exact = [name for name in found(some, letter(text, subject="", name="")) if name in wanted]
    assert found(some, letter(text, subject="", name="")) == exact
    for one in some:
        spaced = words(normalise(one.value))
        if any(spaced in each for each in said):
            assert one.id in exact


OPERATIONS = st.lists(
    st.tuples(
        st.integers(1, 8),
        st.sampled_from(["cheap pills", "pills by post", "a.example", "post.{1,3}now", None]),
    ),
    max_size=12,
)


@settings(max_examples=100)
@given(OPERATIONS)
def test_a_book_that_changed_finds_what_a_new_one_finds(
    operations: list[tuple[int, str | None]],
) -> None:
    live = LiveSignatures({})
    there: dict[str, Signature] = {}
    raw = letter("cheap pills by post, now")
    for number, value in operations:
        name = f"s{number}"
        if value is None:
            there.pop(name, None)
            live.follow_store([], [name])
        else:
            kind = (
                SignatureKind.PATTERN
                if "{" in value
                else SignatureKind.DOMAIN
                if value == "a.example"
                else SignatureKind.PHRASE
            )
            there[name] = sign(value, kind, name)
            live.follow_store([there[name]], [])
        assert found(live.book, raw) == found(list(there.values()), raw)
        assert len(live.book) == len(there)


def test_many_at_once_are_made_in_pieces_and_a_few_join_the_last() -> None:
    book = SignatureBook.of(
        sign(f"phrase of number {number}", name=f"s{number}") for number in range(1, 2001)
    )
    rests = 0

    def rest() -> None:
        nonlocal rests
        rests += 1

    many = [
        sign(f"another of number {number}", name=f"s{number}") for number in range(3000, 12_000)
    ]
    book = book.with_changes(many, rest=rest)
    assert (len(book.segments), rests) == (4, 3)
    for number in range(20_000, 20_050):
        book = book.with_changes([sign(f"one more {number}", name=f"s{number}")])
    assert len(book.segments) == 5
    raw = letter("phrase of number 17. another of number 11999, one more 20049")
    assert found(book, raw) == ["s17", "s11999", "s20049"]
    assert found(book.with_changes([], ["s17", "nobody"]), raw) == ["s11999", "s20049"]


def test_many_small_segments_are_joined_without_what_is_gone_or_over() -> None:
    live = LiveSignatures({"PILLS": sign("cheap pills by post", name="PILLS")})
    names = [f"s{number}" for number in range(1, 5001)]
    for start in range(0, 5000, 1000):
        some = [sign(f"phrase {name} ended", name=name) for name in names[start : start + 1000]]
        live.follow_store(some, [])
    live.follow_store([sign("phrase that is over", name="s9000", expires=1000.0)], ["s1"])
    raw = letter(
        "phrase s1 ended phrase s77 ended phrase s5000 ended. phrase that is over. Cheap "
        "pills by post"
    )
    before = live.book
    assert len(before.segments) > FEW
    live.settle(1000.0)
    assert len(live.book.segments) == 1
    assert found(live.book, raw) == found(before, raw) == ["s77", "PILLS", "s5000"]
    assert len(live.book) == 5000
    settled = live.book
    live.settle(1000.0)
    assert live.book is settled, "few are left alone"


def test_a_large_segment_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_of, "LARGE", 100)
    many = [sign(f"phrase s{number} ended", name=f"s{number}") for number in range(1, 66)]
    small = [SignatureSegment(many[start : start + 13]) for start in range(0, 65, 13)]
    joined = SignatureBook({one.id: one for one in many}, small).merged(1000.0)
    (large,) = joined.segments
    more = [sign(f"more {number} of it", name=f"s{number}") for number in range(100, 105)]
    again = SignatureBook(
        {one.id: one for one in (*many, *more)}, [large, *(SignatureSegment([one]) for one in more)]
    )
    assert [one is large for one in again.merged(1000.0).segments] == [True, False]
    assert found(again.merged(1000.0), letter("phrase s65 ended, more 104 of it")) == [
        "s65",
        "s104",
    ]


def test_a_signature_that_a_book_cannot_use_is_named_and_costs_nothing_else() -> None:
    broken = Signature(id="s2", flag=SignatureFlag.SPAM, kind=SignatureKind.PATTERN, value="(")
    book = SignatureBook.of([sign("cheap pills"), broken])
    assert list(book.broken) == ["s2"]
    assert found(book, letter("cheap pills (")) == ["s1"]
    assert book.with_changes([], ["s2"]).broken == {}


HOSTILE = [
    "cheap " * 50_000,
    "c h e a p " * 30_000,
    "1l" * 100_000,
    "\u0430" * 200_000,
    "cheap\u200b pills " * 15_000,
    "\0" * 200_000,
    "\u202e\u0300" * 60_000,
    "pills " + "x" * 250_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_takes_no_longer_than_its_length_says(text: str) -> None:
    chain = [sign(" ".join(["cheap"] * length), name=f"s{length}") for length in range(2, 10)]
    patterns = [
        sign(
            rf"cheap.{{0,20}}pill{number}|x{{20}}y{number}",
            SignatureKind.PATTERN,
            f"s{100 + number}",
        )
        for number in range(100)
    ]
    book, message = SignatureBook.of([*chain, *patterns]), parse(letter(text))
    began = time.process_time()
    book.find(message, 0.0)
    assert time.process_time() - began < 2.0


def test_what_is_told_is_one_printable_line_of_bounded_length() -> None:
    one = sign(
        "cheap pills\nby\tpost \u202e\u0434\u0435\u0448\u0451\u0432\u044b\u0435",
        owner="anna\r\nX: y",
        reason="r" * 400,
    )
    line = marking_line([one] * 9)
    assert line.isprintable()
    assert len(line) <= 200
    assert line.startswith('s1 "cheap pills by post ')
    assert marking_line([]) == ""


def test_live_ones_without_a_score_are_the_rules_and_the_others_are_their_own() -> None:
    plain, own = sign("cheap pills"), sign("by post", name="s2", score=30.0, owner="anna")
    shadow = sign("casino", name="s3", mode=RuleMode.SHADOW, score=50.0, owner="bob")
    listed = msgspec.structs.replace(own, id="PHARMA:3fa2c19d01ab", score=-10.0)
    matched = SignatureMatches(signatures=(plain, own, shadow, listed))
    assert matched.all_of(SignatureFlag.SPAM) == (plain,)
    assert matched.all_of(SignatureFlag.HAM) == ()
    assert matched.owners == {"anna"}
    assert [(hit.name, hit.score, hit.mode) for hit in matched.hits] == [
        ("SIGNATURE_S3", 50.0, RuleMode.SHADOW),
        ("SIGNATURE_S2", 30.0, RuleMode.LIVE),
        ("SIGNATURE_PHARMA_3FA2C19D01AB", -10.0, RuleMode.LIVE),
    ]
    assert len(SignatureMatches(signatures=(own,) * 100).hits) == MAX_OWN


POLICIES = [
    {"A": sign("cheap pills", name="A")},
    {"A": sign("by post", name="A"), "B": sign("pills by", name="B")},
    {"B": sign("pills by", name="B")},
]


def test_a_message_has_the_signatures_of_the_policy_that_it_is_judged_by() -> None:
    first, second, third = POLICIES
    raw = letter("cheap pills by mail")
    live = LiveSignatures(first, [sign("by mail", name="s1")])
    assert live.hold(second, first)
    assert found(live.under(first), raw) == ["A", "s1"]
    assert found(live.under(second), raw) == ["B", "s1"]
    live.follow_store([sign("cheap", name="s2")], ["s1"])
    assert found(live.under(first), raw) == ["A", "s2"], "the store is of every policy"
    assert found(live.under(second), raw) == ["B", "s2"]
    assert live.of_store == {"s2"}
    assert live.hold(third, second)
    assert found(live.under(third), raw) == ["B", "s2"]
    assert found(live.under(first), raw) == ["A", "s2"], (
        "of a policy that was, for what is looked at late"
    )
    assert not live.hold(third, second), "nothing changed"


@given(OPERATIONS, st.lists(st.sampled_from(POLICIES), min_size=1, max_size=6))
@settings(max_examples=50)
def test_whatever_policies_and_store_change_each_policy_finds_its_own(
    operations: list[tuple[int, str | None]], policies: list[dict[str, Signature]]
) -> None:
    raw = letter("cheap pills by post, now")
    current = POLICIES[0]
    live = LiveSignatures(current)
    there: dict[str, Signature] = {}
    for place, (number, value) in enumerate(operations):
        name = f"s{number}"
        if value is None or "{" in value or value == "a.example":
            there.pop(name, None)
            live.follow_store([], [name])
        else:
            there[name] = sign(value, SignatureKind.PHRASE, name)
            live.follow_store([there[name]], [])
        following = policies[place % len(policies)]
        live.hold(following, current)
        for policy in (current, following, *POLICIES):
            assert found(live.under(policy), raw) == found([*policy.values(), *there.values()], raw)
        current = following
