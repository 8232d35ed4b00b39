# ruff: noqa: RUF001 - Russian is Russian
"""What a rule says in capitals, in Cyrillic or in white space of its own is found in facts that
hold neither.
"""

import unicodedata

import pytest

from oborona.errors import PolicyError
from oborona.message.normalise import normalise, normalised_letters, normalised_piece
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.patterns import pattern_for
from oborona.policy.expression.word_class import WORD
from oborona.policy.fact_table import SCHEMA
from tests.policy.written import compiled, fires, letter

LETTER = letter(
    text="Уважаемый клиент!\nКАЗИНО дарит бонус: 100 вращений, «Ёлка» ждёт.\nCrypto Straße.",
    subject="Re: Бонус за Turn-over",
    name="Crypto Desk Казино",
    mailer="Foxmail 7.0",
)


@pytest.mark.parametrize(
    "when",
    [
        "matches(text, r'(?i)(казино|джекпот)')",
        "matches(text, r'КАЗИНО')",
        "matches(text, r'\\bбонус\\b')",
        "matches(text, r'\\bказино\\b.*\\bбонус\\b')",
        "matches(text, r'^уважаемый\\s+клиент\\b')",
        "matches(text, r'\\b\\w+й клиент')",
        "matches(text, r'\\bёлка\\b')",
        "matches(text, r'\\bстра\\B|stra(?:ß|x)e')",
        "matches(text, r'[А-ЯЁ][а-яё]+ый')",
        "matches(text, r'(?:^|[^а-яё])бонус(?:$|[^а-яё])')",
        "matches(text, r'вращени[ейя]')",
        "matches(text, r'дарит  бонус')",
        "matches(text, r'клиент!\\nказино')",
        "contains(text, 'КАЗИНО дарит')",
        "contains(text, ' бонус: ')",
        "contains(text, 'Straße')",
        "'Казино' in text",
        "'Джекпот' not in text",
        "matches(subject, r'Turn')",
        "startswith(subject, 'Re:')",
        "startswith(subject, ('Отв:', 'RE:'))",
        "endswith(subject, 'TURN-OVER')",
        "subject == 'Re: Бонус за Turn-over'",
        "subject in ('x', 'RE: бонус за turn-over')",
        "subject != 'other'",
        "from.name == 'Crypto Desk Казино'",
        "('Crypto Desk Казино' if links == 0 else from.name) == from.name",
        "lower(from.name) == 'CRYPTO DESK КАЗИНО'",
        "contains(subject, 'бонус') and from.name != subject",
        "mailer == 'FoxMail 7.0'",
        "matches(mailer, r'^FoxMail')",
        "'Subject' in headers",
        "matches(headers, r'^Mime-Version$')",
        "any_of(headers, it == 'MIME-Version')",
        "any_of(('Казино', 'Джекпот'), it in text)",
        "from.domain == 'A.Example'",
        "endswith(from.domain, '.EXAMPLE')",
        "contains(from.name.raw, 'Казино') and not contains(from.name.raw, 'казино')",
        "matches(subject.raw, r'\\bБонус\\b') and not matches(subject.raw, r'\\bбонус\\b')",
        "matches(subject.raw, r'(?i)\\bбонус\\b')",
        "matches(text.raw, r'\\p{Cyrillic}{6} клиент') and matches(text.raw, r'(?m)^КАЗИНО')",
        "lower(from.name.raw) == 'Crypto Desk КАЗИНО'",
        (
            "contains(text, from.name) == (contains(text.raw, from.name.raw) and subject.raw "
            "== subject.raw)"
        ),
    ],
)
def test_what_is_there_is_found_however_a_rule_writes_it(when: str) -> None:
    assert fires(when, LETTER)


@pytest.mark.parametrize(
    "when",
    [
        "matches(text, r'\\bонус')",
        "matches(text, r'казин\\b')",
        "matches(text, r'\\Bказино')",
        "contains(text, 'лотерея')",
        "startswith(subject, 'Бонус')",
        "subject == 'Бонус'",
        "'X-Mailers' in headers",
    ],
)
def test_what_is_not_there_is_not(when: str) -> None:
    assert not fires(when, LETTER)


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("contains(text, '\u200b')", 'nothing is left of "\\u200b" in a text that is normalised'),
        ("subject == ' '", "nothing is left of"),
        ("matches(text, r'\\x{200b}')", "holds the invisible character U+200B"),
        ("matches(text, r'[\\x{200b}-\\x{200d}]')", "holds a class of invisible characters"),
        ("matches(text, r'\\p{Lu}')", "asks for capitals"),
        ("matches(text, r'\\p{Cyrillic}')", "asks for letters of a script"),
        ("matches(text, r'[^\\p{Greek}]')", "asks for letters of a script"),
        ("matches(text, r'[\\x{80}-\\x{10ffff}]')", "holds a class of more than 30,000 characters"),
        ("matches(text, r'а\\bб')", "is never found"),
        ("matches(text, r' \\b ')", "is never found"),
        ("matches(text, r'клиент\\b\\w')", "is never found"),
        ("matches(text, r'\\x{301}')", "holds the invisible character U+0301"),
        ("mailer == '" + "x" * 201 + "'", "it has at most 200 characters, and that is 201"),
        ("client.country == 'RUS'", "it has at most 2 characters, and that is 3"),
        (
            "matches(subject, r'a(?!b)')",
            "RE2 has no look-ahead ((?!); ask for it beside the pattern",
        ),
        ("matches(subject, r'(?<=b)a')", "RE2 has no look-behind"),
        ("matches(subject, r'(a)\\1')", "RE2 has no back reference (\\1)"),
        ("matches(subject, r'(?>a)')", "RE2 has no atomic group"),
        ("matches(subject, r'a++')", "RE2 has no possessive repetition"),
        ("matches(subject, r'a\\Z')", "write \\z for the end of the text"),
        ("matches(subject, r'\\C')", "asks for a single octet"),
        ("matches(subject, r'" + "(" * 45 + "a" + ")" * 45 + "')", "is nested too deeply"),
        ("matches(subject, r'(?:\\b[a1-] ?){2,11}')", "has \\b in what comes up to 11 times"),
    ],
)
def test_what_can_never_match_is_refused_with_what_to_write(when: str, words: str) -> None:
    with pytest.raises(PolicyError) as fault:
        compiled(when)
    assert words in fault.value.problem


@pytest.mark.parametrize(
    ("pattern", "form", "made"),
    [
        (r"(?i)Бонус", TextForm.FOLDED, "\u0431ohyc"),
        (r"(?i)Бонус", TextForm.SMALL, "бонус"),
        (r"(?i)Бонус", TextForm.SENT, "(?i:Бонус)"),
        (r"nl", TextForm.CAPITAL, "NL"),
        (r"[А-В]x", TextForm.FOLDED, "[ab\u0431]x"),
        (r"[^А-В]x", TextForm.FOLDED, "[^ab\u0431]x"),
        (r"[aß]", TextForm.FOLDED, "[a]|ss"),
        (r"ü+", TextForm.FOLDED, "u+"),
        (r"ß{2}", TextForm.FOLDED, "(?:ss){2}"),
        (r"и\x{306}", TextForm.FOLDED, "й"),
        ("за\u0301мок", TextForm.FOLDED, normalise("замок")),
        (r"ｶﾞ", TextForm.FOLDED, "ガ"),
        (r"\QA.B\E+", TextForm.FOLDED, r"a\.b+"),
        (r"a \s+ b", TextForm.FOLDED, "a b"),
        (r"^\s+a {2,}$", TextForm.FOLDED, r"\A ?a ?\z"),
        (r"(?i)a(?-i:B)c", TextForm.SENT, "(?i:a)B(?i:c)"),
        (r"(?P<name>a|b)", TextForm.SENT, "a|b"),
        (r"a*?b{2,3}?c{4}", TextForm.SENT, "a*b{2,3}c{4}"),
        (r"[[:alpha:]\d]", TextForm.SENT, "[0-9A-Za-z]"),
        (r"[]a-]", TextForm.SENT, r"[\-\]a]"),
        (r"\pL\p{^Greek}", TextForm.SENT, r"\pL\p{^Greek}"),
        (r"(?s).(?-s).", TextForm.SENT, r"[\x{0}-\x{10ffff}][^\x{a}]"),
        (r"(?m)^a$", TextForm.SENT, "(?m:^)a(?m:$)"),
        (r"foo\b bar\b-", TextForm.SENT, "foo bar-"),
    ],
)
def test_how_patterns_are_looked_for(pattern: str, form: TextForm, made: str) -> None:
    assert pattern_for(pattern, form).text == made


def test_a_class_of_an_alphabet_is_warned_of() -> None:
    (warned,) = compiled("matches(text, r'[а-я]{3}')").warnings
    assert "also finds Latin letters" in warned.problem
    assert not compiled("matches(text, r'[ао]н') and matches(text.raw, r'[а-я]')").warnings


def test_letters_alone_have_the_forms_they_have_in_a_text() -> None:
    letters = [chr(code) for code in range(1, 0x3100) if unicodedata.category(chr(code)) != "Cs"]
    assert normalised_letters(letters) == [normalised_piece(each) for each in letters]
    assert [normalise(each) for each in letters] == [
        each.strip(" ") for each in normalised_letters(letters)
    ]


def test_every_letter_of_every_script_is_of_a_word() -> None:
    """And no punctuation of Latin, Greek, Cyrillic, Hebrew, Arabic, Chinese or Japanese, and no
    emoji.
    """
    words = {code for first, last in WORD for code in range(first, last + 1)}
    for code in range(0x110000):
        sort = unicodedata.category(chr(code))
        if sort in ("Cn", "Cs"):
            continue
        if sort[0] in "LMN" or sort == "Pc":
            assert code in words, hex(code)
        elif (
            code < 0x700
            or 0x2000 <= code < 0x2C00
            or 0x3000 <= code < 0x3100
            or 0x1F000 <= code < 0x1FB00
        ):
            assert code not in words, hex(code)


def test_facts_have_the_forms_that_their_table_says() -> None:
    for text in (
        "Уважаемый ИВАН",
        "ＡＢＣ \u00a0 x",
        "Straße \u0130",
        "v\u00adi\u200bagra",
        " \ufeff ",
    ):
        facts = letter(text=text, subject=text, name=text.strip(), mailer=text.strip() or "X")
        for fact in SCHEMA.facts:
            value = getattr(facts, fact.attribute, None)
            if isinstance(value, str):
                assert fact.form.whole(value) == value, fact.name
            elif isinstance(value, frozenset):
                assert {fact.form.whole(one) for one in value} == value, fact.name
