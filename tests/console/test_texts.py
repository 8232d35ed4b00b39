"""Every text is translated, whole, and stands nowhere bare."""

from __future__ import annotations

import re
from itertools import chain

import pytest
from markupsafe import escape

from oborona.console.language import LANGUAGES, load_languages
from oborona.console.po_file import PoEntry, read_po
from oborona.console.static_files import StaticFiles
from oborona.console.template_set import TemplateSet
from tests.console.texts import (
    CONSOLE,
    TEMPLATES,
    bare_texts,
    found_texts,
    known_entries,
    written,
)

CODES = sorted(set(LANGUAGES) - {"en"})
PLACE = re.compile(r"%(?:\(\w+\))?.")
TAG = re.compile(r"<[a-zA-Z/!]")


@pytest.mark.parametrize("code", CODES)
def test_files_hold_the_texts_of_the_sources(code: str) -> None:
    found = found_texts()
    files = {path.stem: path for path in (CONSOLE / "locale" / code).glob("*.po")}
    assert files.keys() == found.keys(), "run: python -m tests.console.texts"
    for name, entries in known_entries(code).items():
        known = {(entry.text, entry.plural): entry for entry in entries}
        assert files[name].read_text() == written(found[name], known), (
            f"{name}: run: python -m tests.console.texts"
        )


@pytest.mark.parametrize("code", CODES)
def test_every_text_is_translated_with_its_placeholders(code: str) -> None:
    wrong = []
    for entry in chain(*known_entries(code).values()):
        if not entry.text:
            continue
        wanted = sorted(PLACE.findall(entry.plural or entry.text))
        if entry.fuzzy or not all(entry.translations):
            wrong.append(f"not translated: {entry.text}")
        elif len(entry.translations) != (3 if entry.plural else 1):
            wrong.append(f"not in all forms: {entry.text}")
        elif any(sorted(PLACE.findall(form)) != wanted for form in entry.translations):
            wrong.append(f"other placeholders: {entry.text}")
        elif any(form.strip() != form for form in entry.translations):
            wrong.append(f"blanks around: {entry.text}")
    assert wrong == []


@pytest.mark.parametrize("code", CODES)
def test_a_text_has_one_translation(code: str) -> None:
    known: dict[str, PoEntry] = {}
    for entry in chain(*known_entries(code).values()):
        if entry.text:
            assert known.setdefault(entry.text, entry).translations == entry.translations, entry


def test_texts_hold_no_elements() -> None:
    for one, many in chain(*found_texts().values()):
        assert not TAG.search(one + many), one


@pytest.mark.parametrize(
    "path", sorted(TEMPLATES.rglob("*.html")), ids=lambda path: str(path.relative_to(TEMPLATES))
)
def test_a_template_shows_no_text_that_is_not_marked(path: object) -> None:
    assert list(bare_texts(TEMPLATES.joinpath(str(path)).read_text())) == []


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("<p>Hello</p>", ["Hello"]),
        ("<p>{{ _('Hello') }}</p>", []),
        ("<p>{{ name }} of {{ other }}</p>", ["of"]),
        ('<img alt="A dog" src="/x">', ["A dog"]),
        ("<b aria-label=\"{{ _('A dog') }}\">1,024 · {{ n }}</b>", []),
        ("{{ m.table('All mail', x) }}", ["All mail"]),
        ("{{ m.table(_('All mail'), x) }}", []),
        ("{{ ngettext('One dog', 'Two dogs', 2) }}", []),
        ("{% if row.kind == 'spam' %}<br>{% endif %}", []),
    ],
)
def test_bare_texts_are_found(template: str, found: list[str]) -> None:
    assert list(bare_texts(template)) == found


def test_numbers_have_their_forms() -> None:
    ru, xx = load_languages(pseudo=True)["ru"], load_languages(pseudo=True)["xx"]
    one, many = "Try again in %(n)s second.", "Try again in %(n)s seconds."
    forms = [ru.number(one, many, n) for n in (1, 21, 2, 24, 5, 11, 12, 0)]
    assert [text.split()[-1] for text in forms] == [
        "секунду.", "секунду.", "секунды.", "секунды.", "секунд.", "секунд.", "секунд.", "секунд.",
    ]  # fmt: skip
    assert xx.number(one, many, 2).startswith("⟦Try again in ·")
    assert "%(n)s" in xx.number(one, many, 2)
    assert ru.number("cat", "cats", 2) == "cats"


@pytest.mark.parametrize(
    "words",
    ['msgid "a', "msgid a", '"a"', "hello", 'msgid "a"\nmsgstr "b" c', 'msgid "a"\nx'],
)
def test_a_damaged_file_is_told(words: str) -> None:
    with pytest.raises(ValueError, match="line"):
        list(read_po(words))


def test_a_file_is_read_as_it_is_written() -> None:
    texts = [('a "quoted"\n\tline \\', ""), ("%(n)s cat", "%(n)s cats"), ("ё", "")]
    known = {
        texts[0]: PoEntry(texts[0][0], "", ['"\\n"\n\t\\']),
        texts[1]: PoEntry(*texts[1], ["кот", "кота", "котов"], fuzzy=True),
    }
    read = list(read_po(written(texts, known)))[1:]
    assert read == [known[texts[0]], known[texts[1]], PoEntry("ё", "", [""])]


def test_a_strangers_words_are_no_text_of_ours() -> None:
    """What a template takes for a text of ours and is none is shown as it is, and is no markup."""
    environment = TemplateSet(StaticFiles())._environment
    template = environment.from_string("{{ _(said) }}|{{ _('Search') }}")
    for said in ("<script>alert(1)</script>", "100 % of %(n)s %s", "{{ 7 * 7 }}", ""):
        assert template.render(said=said) == f"{escape(said)}|Search"
