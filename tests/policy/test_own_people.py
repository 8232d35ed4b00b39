"""Own people: whose name a display name bears, and from where they write."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.new_site import envelope_of_stranger, new_site
from oborona.errors import PolicyError
from oborona.message.model import Mailbox
from oborona.message.parse import parse
from oborona.policy.checks import person_impersonated
from oborona.policy.checks.context import CheckContext
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.own_people import MAX_PEOPLE, OwnPeople
from oborona.policy.scan import scan
from oborona.policy.signatures import LiveSignatures
from oborona.types import Client, Envelope
from tests.event_loop import finished

SHIPPED: Final = Path(__file__).parents[2] / "etc/policy.d"
NOW: Final = 1_795_170_000.0
TABLE = """
[[own_person]]
name = "DIRECTOR"
names = ["Anna Maria Beispiel", "Jörg Müller", "\u5c71\u7530\u592a\u90ce", "\u0418\u0432\u0430\u043d \u041f\u0435\u0442\u0440\u043e\u0432", "Maria de la Cruz"]
addresses = ["Anna@private.example"]
domains = ["firm.example"]
"""


def people(folder: Path, text: str = TABLE) -> OwnPeople:
    (folder / "90-local.toml").write_text(text, "utf-8")
    return load_policy(folder, SCHEMA).people


def borrowed(own: OwnPeople, name: str, address: str = "x@free.example") -> str:
    person = own.borrowed(Mailbox(name, address, address.rpartition("@")[2]))
    return "" if person is None else person.name


@pytest.mark.parametrize(
    "name",
    [
        "Anna Beispiel",
        "ANNA MARIA BEISPIEL",
        "Beispiel, Anna",
        "Beispiel Anna",
        "A. Beispiel",
        "Beispiel A.",
        "Anna M. Beispiel",
        "Dr. Anna Beispiel (CEO)",
        "Anna Beispiel, CEO",
        "Anna Beispiel - Firm Ltd",
        "Anna Beispiel | Head of everything",
        "Änna Béispiel",
        "\u0410nn\u0430 B\u0435ispiel",
        "Anna Be1sp1el",
        "Anna B\u200beispiel",
        "\uff21\uff4e\uff4e\uff41 Beispiel",
        "Anna Beispiel anna@firm.example",
        "anna@private.example",
        "Jörg Müller",
        "Joerg Mueller",
        "Jorg Muller",
        "\u5c71\u7530 \u592a\u90ce",
        "\u592a\u90ce \u5c71\u7530",
        "\u041f\u0435\u0442\u0440\u043e\u0432 \u0418\u0432\u0430\u043d",
        "\u0418. \u041f\u0435\u0442\u0440\u043e\u0432",
        "de la Cruz, Maria",
    ],
)
def test_a_name_is_known_however_it_is_written(name: str, tmp_path: Path) -> None:
    own = people(tmp_path)
    assert borrowed(own, name) == "DIRECTOR"
    assert borrowed(own, name, "anna@PRIVATE.example".lower()) == ""
    assert borrowed(own, name, "a@mail.firm.example") == ""
    assert borrowed(own, name, "a@otherfirm.example") == "DIRECTOR"
    assert borrowed(own, name, "a@firm.example.test") == "DIRECTOR"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "CEO",
        "Anna",
        "Beispiel",
        "Anna B.",
        "B. Anna",
        "Anna Klara Beispiel",
        "Hanna Beispiel",
        "K. Beispiel",
        "Anna Beispiel via Sign Service",
        "Anna Beispiel (Tickets)",
        "Jürg Müller",
        "\u5c71\u7530",
        "Anna & Karl Beispiel",
        ", ,",
        " - ",
    ],
)
def test_other_peoples_names_are_left_alone(name: str, tmp_path: Path) -> None:
    assert borrowed(people(tmp_path), name) == ""


def test_the_check_tells_name_and_address(tmp_path: Path) -> None:
    own = people(tmp_path)

    def check(sender: str) -> str:
        finding = person_impersonated.check(
            CheckContext(
                message=parse(f"From: {sender}\nSubject: x\n\nHello\n".encode()),
                envelope=Envelope(client=Client(ip="198.51.100.7", name="")),
                site="mx.firm.example",
                now=1_795_170_000.0,
                people=own,
            )
        )
        return "" if finding is None else finding.evidence

    assert check("Anna Beispiel <x@free.example>") == (
        "Anna Beispiel <x@free.example> is not DIRECTOR"
    )
    assert check("=?utf-8?q?Beispiel=2C_Anna?= <x@free.example>") != ""
    assert check("Anna Beispiel <a@firm.example>") == ""
    assert check("Anna Beispiel") == ""
    assert check("x@free.example") == ""


def test_namesakes_share_their_addresses(tmp_path: Path) -> None:
    more = TABLE.replace("DIRECTOR", "CLERK").replace("Anna@private", "other@private")
    own = people(tmp_path, TABLE + more.replace("Anna Maria", "Anna Klara"))
    for address in ("anna@private.example", "other@private.example"):
        assert borrowed(own, "Anna Beispiel", address) == ""
    assert borrowed(own, "Anna Klara Beispiel") == "DIRECTOR"


def test_as_many_as_there_may_be_with_one_name(tmp_path: Path) -> None:
    tables = "".join(
        f"[[own_person]]\nname = 'P{number}'\nnames = ['Anna N{number}a Beispiel']\n"
        f"addresses = ['p{number}@private.example']\n"
        for number in range(MAX_PEOPLE)
    )
    own = people(tmp_path, tables)
    assert borrowed(own, "Anna Beispiel") == "P0"
    assert borrowed(own, "Anna N7a Beispiel") == "P0"
    assert borrowed(own, "Anna Beispiel", f"p{MAX_PEOPLE - 1}@private.example") == ""
    with pytest.raises(PolicyError, match=f"more than {MAX_PEOPLE} own persons"):
        people(
            tmp_path,
            tables + "[[own_person]]\nname='X'\nnames=['A B']\ndomains=['firm.example']\n",
        )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = 'X'\nnames = ['Anna Beispiel']", "addresses or domains is missing"),
        ("name = 'X'\ndomains = ['firm.example']", "names is missing"),
        ("name = 'X'\nnames = ['Anna']\ndomains = ['firm.example']", "not first and last name"),
        ("name = 'X'\nnames = ['CEO 1']\ndomains = ['firm.example']", "not first and last name"),
        ("name = 'X'\nnames = []\ndomains = ['firm.example']", "names"),
        ("name = 'X'\nnames = 'Anna B'\ndomains = ['firm.example']", "names"),
        ("name = 'X'\nnames = ['Anna B']\ndomains = ['example']", "domains"),
        ("name = 'X'\nnames = ['Anna B']\ndomains = ['a@firm.example']", "domains"),
        ("name = 'X'\nnames = ['Anna B']\naddresses = ['firm.example']", "addresses"),
        ("name = 'X'\nnames = ['Anna B']\naddress = ['a@b.example']", "addresses"),
        ("names = ['Anna B']\ndomains = ['firm.example']", "without name"),
        (f"name = 'X'\nnames = ['{'a ' * 900}']\ndomains = ['firm.example']", "names"),
        (f"name = 'X'\nnames = {['Anna B'] * 51}\ndomains = ['firm.example']", "names"),
    ],
)
def test_broken_tables_are_told_with_their_place(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=says) as told:
        people(tmp_path, f"[[own_person]]\n{text}\n")
    assert "90-local.toml" in str(told.value)


def test_a_later_file_changes_or_removes_a_person(tmp_path: Path) -> None:
    assert people(tmp_path).all[0].domains == {"firm.example"}
    (tmp_path / "10-people.toml").write_text(TABLE, "utf-8")
    one = people(tmp_path, "[[own_person]]\nname = 'DIRECTOR'\ndomains = ['new.example']\n").all
    assert one[0].domains == {"new.example"}
    assert len(one[0].names) == 5
    assert people(tmp_path, "[[own_person]]\nname = 'DIRECTOR'\nenabled = false\n").all == ()


def test_who_is_known_is_part_of_a_policys_version(tmp_path: Path) -> None:
    versions = set()
    for text in (TABLE, TABLE.replace("firm.example", "new.example"), "# none\n"):
        (tmp_path / "90-local.toml").write_text(text, "utf-8")
        versions.add(load_policy(tmp_path, SCHEMA).version)
    assert len(versions) == 3


LETTER = (
    "From: Anna Beispiel <x@free.example>\nTo: clerk@firm.example\nSubject: hello\n"
    "Date: Fri, 20 Nov 2026 10:00:00 +0000\nMessage-ID: <1@free.example>\n\n{}\n"
)


@pytest.mark.parametrize(
    ("asks", "rules"),
    [
        ("See you at the fair.", {"PERSON_IMPERSONATED"}),
        (
            "I need some gift cards today.",
            {"PERSON_IMPERSONATED", "PERSON_IMPERSONATED_ASKS"},
        ),
        (
            "Pay to IBAN DE89 3704 0044 0532 0130 00",
            {"PERSON_IMPERSONATED", "PERSON_IMPERSONATED_ASKS"},
        ),
    ],
)
def test_a_strangers_letter_in_such_a_name(asks: str, rules: set[str], tmp_path: Path) -> None:
    folder = shutil.copytree(SHIPPED, tmp_path / "policy.d")
    people(folder)
    policy = load_policy(folder, SCHEMA)
    site = new_site(LiveSignatures(policy.signatures))

    def fired(raw: str) -> set[str]:
        judged = finished(
            scan(raw.encode(), envelope_of_stranger(), site, policy, NoInquiry(), now=NOW)
        )
        assert (judged.verdict.score >= policy.verdict.spam_score) is (len(rules) > 1)
        return {hit.name for hit in judged.verdict.rules if hit.name.startswith("PERSON_")}

    assert fired(LETTER.format(asks)) == rules


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> OwnPeople:
    return people(tmp_path_factory.mktemp("people"))


@given(name=st.text(max_size=300), address=st.emails())
def test_any_name_is_somebodys_or_nobodys(own: OwnPeople, name: str, address: str) -> None:
    domain = address.rpartition("@")[2].lower()
    for shown in (name, f"Anna {name}", f"{name} Beispiel", f"{name}, Anna"):
        assert own.borrowed(Mailbox(shown, address, domain)) in (None, *own.all)
        assert own.borrowed(Mailbox(shown, "a@x.firm.example", "x.firm.example")) is None


@given(st.permutations(["Anna", "Maria", "Beispiel"]), st.sampled_from([" ", "  ", "\t", "\u00a0"]))
def test_a_persons_own_words_in_any_way_never_fail_for_the_person(
    own: OwnPeople, words: list[str], space: str
) -> None:
    shown = space.join(words)
    assert own.borrowed(Mailbox(shown, "anna@private.example", "private.example")) is None
