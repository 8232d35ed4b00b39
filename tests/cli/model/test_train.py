"""`oborona model train` and `model final`: from two folders of mail to a model in force, and a page
that needs nothing beside itself.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from oborona import state_files
from oborona.cli import main
from oborona.cli.mailboxes import UnreadableMail
from oborona.cli.model import train
from oborona.cli.sorted_mail import SortedMail, arrival_time, folder_mail, index_mail
from oborona.message.parse import parse

Run = Callable[..., Result]
HAM = [
    "minutes",
    "meeting",
    "budget",
    "draft",
    "review",
    "lunch",
    "thanks",
    "attached",
    "schedule",
    "project",
    "figures",
    "table",
    "travel",
]
SPAM = [
    "jackpot",
    "casino",
    "winner",
    "pills",
    "discount",
    "click",
    "free",
    "million",
    "transfer",
    "guarantee",
    "bonus",
    "offer",
    "credit",
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    (tmp_path / "state").mkdir()
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "one.toml").write_text(
        '[[rule]]\nname = "LINKS"\nwhen = "links > 1"\nscore = 60\n'
    )
    monkeypatch.chdir(tmp_path)

    def call(*words: str, status: int = 0) -> Result:
        settings = [
            "--state",
            str(tmp_path / "state"),
            "--set",
            "site.name=mx.test",
            "--set",
            f"paths.policy={tmp_path / 'policy'}",
            "--set",
            "paths.shipped_policy=none",
        ]
        result = CliRunner().invoke(main, [*settings, *words], catch_exceptions=False)
        assert result.exit_code == status, result.output
        return result

    return call


def letter(chance: random.Random, number: int, *, spam: bool) -> str:
    words = " ".join(chance.choices(SPAM if spam else HAM, k=20) + chance.choices(HAM + SPAM, k=10))
    links = " ".join(
        f"https://{chance.randrange(40)}.example/"
        for _ in range(chance.randrange(3 if spam else 2))
    )
    day, minute = divmod(number, 1440)
    when = f"{1 + day:02} Nov 2026 {minute // 60:02}:{minute % 60:02}:00 +0000"
    return (
        f"Received: from a.example by b.example; {when}\nFrom: "
        f"{chance.choice('abcdefgh')}@{'s' if spam else 'h'}.example\n"
        f"Subject: {words[:30]}\nDate: {when}\n\n{words}\n{links}\n"
    )


@pytest.fixture(scope="module")
def mail(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, chance = tmp_path_factory.mktemp("mail"), random.Random(1)
    for name in ("ham", "spam"):
        (folder / name).mkdir()
    for number in range(500):
        spam = chance.random() < 0.45
        name = f"{number:04}<script>alert(1)</script>&amp;.eml".replace("/", "\N{DIVISION SLASH}")
        (folder / ("spam" if spam else "ham") / name).write_text(letter(chance, number, spam=spam))
    return folder


def test_from_two_folders_to_a_model_in_force_and_back(
    run: Run, mail: Path, tmp_path: Path
) -> None:
    assert "no final model" in run("model", "final", "status").stdout
    first = run("model", "train", "--from", str(mail), "--out", "a.model", "--report", "a.html")
    assert "final model" in first.stdout
    run(
        "model",
        "train",
        "--from",
        str(mail),
        "--shuffled",
        "--out",
        "b.model",
        "--report",
        "b.html",
    )
    state = tmp_path / "state"
    run("model", "final", "install", "a.model")
    assert (state / state_files.FINAL_MODEL).read_bytes() == (tmp_path / "a.model").read_bytes()
    told = json.loads(run("model", "final", "status", "--json").stdout)
    assert (told["mode"], told["live"]) == ("auto", False)
    assert told["summary"]["spam"] + told["summary"]["ham"] == 500
    assert told["summary"]["final"]["loss"] < 10
    assert told["model"] in run("model", "final", "status").stdout
    assert "in force already" in run("model", "final", "install", "a.model").stdout
    run("model", "final", "install", "b.model")
    run("model", "final", "rollback")
    assert (state / state_files.FINAL_MODEL).read_bytes() == (tmp_path / "a.model").read_bytes()
    run("model", "final", "rollback")
    assert (state / state_files.FINAL_MODEL).read_bytes() == (tmp_path / "b.model").read_bytes()
    run("model", "final", "remove")
    assert json.loads(run("model", "final", "status", "--json").stdout)["model"] is None
    assert not (state / state_files.FINAL_MODEL).exists()
    run("model", "final", "rollback")
    assert (
        (state / state_files.FINAL_MODEL).read_bytes()
        == (state / state_files.FINAL_MODEL_BEFORE).read_bytes()
        == (tmp_path / "b.model").read_bytes()
    )
    (state / state_files.FINAL_MODEL).write_bytes(b"broken")
    run("model", "final", "install", "a.model")  # what was broken is not what a roll-back leads to
    assert (state / state_files.FINAL_MODEL_BEFORE).read_bytes() == (
        tmp_path / "b.model"
    ).read_bytes()
    _whole(tmp_path / "a.html")


def _whole(page: Path) -> None:
    """The page is well-formed, loads nothing, runs nothing, and says what its pictures show."""
    text = page.read_text()
    tree = ET.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    assert {re.sub(r"[^/]*$", "", one) for one in re.findall(r"https?://[^\"\s<]+", text)} <= {
        "http://www.w3.org/1999/",  # names of XML, which nobody fetches
        "http://www.w3.org/2000/",
    }
    names = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert names.isdisjoint({"script", "link", "img", "iframe", "object", "image", "foreignObject"})
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    idents = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(idents) == len(set(idents))
    pictures = [element for element in tree.iter() if element.tag.endswith("svg")]
    assert len(pictures) == 4
    assert all(picture.get("role") == "img" and picture.get("aria-label") for picture in pictures)
    assert all(table.find("caption") is not None for table in tree.iter("table"))
    assert "Worst errors" in text


def test_broken_models_and_missing_ones_are_refused_in_a_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "odd.model").write_bytes(b"something else")
    assert "no model of ours" in run("model", "final", "install", "odd.model", status=74).stderr
    assert not (tmp_path / "state" / state_files.FINAL_MODEL).exists()
    assert "before this one" in run("model", "final", "rollback", status=os.EX_DATAERR).stderr
    assert "no final model" in run("model", "final", "remove", status=os.EX_DATAERR).stderr


def test_what_cannot_be_trained_from_is_said_in_a_line(
    run: Run, mail: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "--from" in run("model", "train", status=2).stderr
    (tmp_path / "empty").mkdir()
    assert "ham and spam" in run("model", "train", "--from", "empty", status=66).stderr
    (tmp_path / "index").write_text(
        f"ham {next((mail / 'ham').iterdir())}\nspam {next((mail / 'spam').iterdir())}\n"
    )
    assert "80 of each" in run("model", "train", "--index", "index", status=os.EX_DATAERR).stderr
    monkeypatch.setattr(train, "missing_packages", lambda: "CatBoost is not there")
    assert (
        "CatBoost is not there"
        in run("model", "train", "--from", str(mail), status=os.EX_DATAERR).stderr
    )


def test_an_index_keeps_its_order_and_names_its_bad_lines(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text("Subject: a\n\na\n")
    (tmp_path / "b.eml").write_text("Subject: b\n\nb\n")
    index = tmp_path / "index"
    index.write_text("spam b.eml\n\nHAM a.eml\n")
    with SortedMail(index_mail(index), shuffled=False) as found:
        assert [(one.raw, one.spam) for one in found] == [
            (b"Subject: b\n\nb\n", True),
            (b"Subject: a\n\na\n", False),
        ]
    for line in ("junk a.eml", "ham", "ham nowhere.eml"):
        index.write_text(f"ham a.eml\n{line}\n")
        with pytest.raises(UnreadableMail, match=r"index:2|nowhere"):
            list(index_mail(index))


def test_folders_and_mailboxes_are_told_apart_by_the_word_in_their_name(tmp_path: Path) -> None:
    for name in ("easy-ham-1", "spam", "spam and ham", "drafts"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1").write_text(f"Subject: {name}\n\n{name}\n")
    (tmp_path / "more-spam.mbox").write_text(
        "From a@a.example Fri Nov 20 10:00:00 2026\nSubject: one\n\n1\n"
    )
    with (tmp_path / "more-spam.mbox").open("a") as mailbox:
        mailbox.write("\nFrom a@a.example Fri Nov 20 10:00:00 2026\nSubject: two\n\n2\n")
    found = [(source.raw.splitlines()[0], spam) for source, spam in folder_mail(tmp_path)]
    assert found == [
        (b"Subject: easy-ham-1", False),
        (b"Subject: one", True),
        (b"Subject: two", True),
        (b"Subject: spam", True),
    ]


@pytest.mark.parametrize("shuffled", [False, True])
def test_what_is_no_mail_is_passed_over_and_named(tmp_path: Path, shuffled: bool) -> None:
    for name in ("ham", "spam"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.eml").write_text("Subject: one\n\n1\n")
    odd = {
        "2.json": b'{"verdict": "accept"}\n',
        "3.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "4": b"",
    }
    for name, octets in odd.items():
        (tmp_path / "ham" / name).write_bytes(octets)
    with SortedMail(folder_mail(tmp_path), shuffled=shuffled) as found:
        assert sorted(one.name for one in found) == [
            f"{tmp_path}/ham/1.eml",
            f"{tmp_path}/spam/1.eml",
        ]
        assert sorted(found.no_mail) == sorted(f"{tmp_path}/ham/{name}" for name in odd)


def test_what_is_no_mail_is_said_in_a_line(run: Run, tmp_path: Path) -> None:
    for name in ("ham", "spam"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.eml").write_text("Subject: one\n\n1\n")
        (tmp_path / name / "1.json").write_text("{}\n")
    said = run("model", "train", "--from", str(tmp_path), status=os.EX_DATAERR).stderr
    assert f"{tmp_path}/ham/1.json: there is no message in it, passed over (and 1 more)\n" in said
    assert "80 of each" in said


def test_mail_comes_in_the_order_of_its_newest_hop(tmp_path: Path) -> None:
    hop = "Received: from a by b; Fri, {} Nov 2026 10:00:00 +0000\n"
    late = (hop.format(20) + hop.format(2) + "Date: Fri, 1 Nov 2002 10:00:00 +0000\n\nx\n").encode()
    early = b"Received: from nowhere\n" + hop.format(6).encode() + b"\nx\n"
    assert arrival_time(parse(late)) - arrival_time(parse(early)) == 14 * 86_400
    assert arrival_time(parse(b"Date: Fri, 20 Nov 2026 10:00:00 +0000\n\nx")) == arrival_time(
        parse(late)
    )
    for odd in (
        b"",
        b"Received: ;\n\n",
        b"Received: ; 99 Foo 99999999999 99:99:99 +9999\nDate: x\n\n",
    ):
        assert arrival_time(parse(odd)) == 0.0
