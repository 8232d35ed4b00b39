"""Benchmarks that look into the house find what they look for."""

from __future__ import annotations

from gettext import NullTranslations
from pathlib import Path

import pytest

from benchmarks.clean_facts import is_clean
from benchmarks.generated.django_template import DjangoTemplate
from benchmarks.generated.notices import LANGUAGES
from benchmarks.generated.senders import Look
from benchmarks.generated_mail import WAYS, bounces, letters, write
from benchmarks.message import STEPS
from benchmarks.sources import COLUMNS, JudgedMessage, figures, indexed, judge, wrong
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.models.final.features import general
from tests.event_loop import finished

ROOT = Path(__file__).resolve().parents[2]
GTUBE = (ROOT / "tests/golden/mails").glob("*gtube*.eml")
HEAD = "\t".join((*COLUMNS, "date"))


@pytest.mark.parametrize(
    ("step", "where", "name"), STEPS, ids=[f"{step}: {name}" for step, _, name in STEPS]
)
def test_a_step_is_a_function_that_is_there(step: str, where: object, name: str) -> None:
    assert step
    assert callable(getattr(where, name))


def index(folder: Path, *lines: str, head: str = HEAD) -> Path:
    (folder / "index.tsv").write_text("\n".join((head, *lines, "")))
    return folder


def test_each_source_has_its_own_shares(tmp_path: Path) -> None:
    (tmp_path / "spam.eml").write_bytes(next(GTUBE).read_bytes())
    (tmp_path / "ham.eml").write_bytes(b"From: a@b.example\nTo: \nSubject: x\n\nat noon\n")
    mail = indexed(
        index(
            tmp_path,
            "spam.eml\tspam\tone\t192.0.2.7\tmx.a.example\tmx.a.example\ta@a.example\t",
            "ham.eml\tham\ttwo\t\t\t\t\t",
            "ham.eml\tspam\ttwo\t\t\t\t\t",
        )
    )
    judged = finished(judge(load_policy(ROOT / "etc/policy.d", SCHEMA), mail))
    rows = figures(judged)
    assert [(row["source"], row["label"], row["filed"], row["messages"]) for row in rows] == [
        ("one", "spam", 1, 1),
        ("two", "spam", 0, 1),
        ("two", "ham", 0, 1),
    ]
    assert all(row["low"] <= row["share"] <= row["high"] for row in rows)
    assert [(message.path, message.spam) for message in wrong(judged)] == [("ham.eml", True)]


def test_the_worst_of_each_source_comes_first() -> None:
    judged = [
        JudgedMessage(source="a", path=name, spam=spam, score=score, filed=not spam, rules=())
        for name, spam, score in (("1", True, 20.0), ("2", False, 120.0), ("3", True, 90.0))
    ]
    assert [message.path for message in wrong(judged)] == ["2", "3", "1"]


@pytest.mark.parametrize(
    ("lines", "head", "why"),
    [
        (["x\tjunk\ta\t\t\t\t\t"], HEAD, "line 2: label 'junk'"),
        (["x"], "path\tlabel", "lacks client_ip, helo, mail_from, rdns, source"),
        ([], "", "lacks client_ip, helo, label"),
    ],
)
def test_an_index_that_can_not_be_used_is_an_error(
    tmp_path: Path, lines: list[str], head: str, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        list(indexed(index(tmp_path, *lines, head=head)))


def test_clean_numbers_tell_of_the_message_alone() -> None:
    clean = {name for name in general(SCHEMA) if is_clean(name)}
    assert {"text.words", "links.shorteners", "len(links.domains)"} & set(general(SCHEMA)) <= clean
    traces = ("dkim", "dmarc", "spf", "client", "count[", "list", "received", "headers", "message.")
    assert not [name for name in clean if name.startswith(traces)]
    assert len(clean) > 20


def test_generated_letters_are_in_every_language_and_read_as_a_source(tmp_path: Path) -> None:
    mail = [*letters(Look(css="", page='<p style="">Hi there,</p>')), *bounces()]
    kinds = {(message.kind, message.language) for message in mail}
    assert kinds == {(kind, name) for kind in (*WAYS, "bounce") for name in LANGUAGES}
    write(tmp_path, mail)
    sourced = list(indexed(tmp_path))
    assert [message.raw for message in sourced] == [message.raw for message in mail]
    assert all(b"\nX-Generated: " in message.raw for message in sourced)
    assert not any(message.spam for message in sourced)


def test_a_template_of_django_is_filled_in(tmp_path: Path) -> None:
    (tmp_path / "base.txt").write_text(
        "{% block head %}old{% endblock %}, {% block foot %}by{% endblock %}"
    )
    (tmp_path / "mail.txt").write_text(
        '{% extends "base.txt" %}{% block head %}{% blocktrans with a=b.name %}Hello {{ a }}'
        '{% endblocktrans %}{% if x %} and{% else %} or{% endif %} {% trans "more" %}{% endblock %}'
    )
    words = NullTranslations()
    assert DjangoTemplate(tmp_path, words, {"name": "Ann", "other": "?"}).of(Path("mail.txt")) == (
        "Hello Ann and more, by"
    )
