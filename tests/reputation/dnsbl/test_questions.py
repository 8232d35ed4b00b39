"""What lists are asked, and what answers mean."""

import hashlib
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.dns import DnsAnswer, DnsOutcome
from oborona.reputation.dnsbl import (
    ASKABLE,
    MAX_HOSTS,
    MAX_MAILBOXES,
    DnsblFailure,
    DnsblFault,
    DnsblInputs,
    DnsblListing,
    DnsblQuestion,
    DnsList,
    EmailHash,
    parse,
    questions,
    read,
    refusals,
    strongest,
)
from oborona.reputation.networks import NOWHERE, networks
from oborona.reputation.subject import ListSubject
from oborona.types import RuleMode, Stage
from tests.reputation.dnsbl.lists import EMPTY, NOTHING, SILENCE, a_list, found

EVERYTHING = DnsblInputs(
    client="9.10.11.12",
    rdns="Mail.Example.CO.UK",
    helo="helo.example.com",
    sender="ann@news.example.net",
    from_=("Ann@Example.org",),
    reply_to=("bob@reply.example",),
    links=("www.shop.example.com", "9.10.11.13", "www.shop.example.com"),
    addresses=("Scam.Mer+7@GoogleMail.com", "scammer@gmail.com"),
)


def names(one: DnsList, asked: DnsblInputs = EVERYTHING, own: str = "") -> list[str]:
    return [question.name for question in questions([one], asked, networks(own), lambda _: True)]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (a_list(), ["12.11.10.9.list.test"]),
        (a_list(ListSubject.RDNS), ["example.co.uk.list.test"]),
        (a_list(ListSubject.RDNS, whole=True), ["mail.example.co.uk.list.test"]),
        (a_list(ListSubject.HELO), ["example.com.list.test"]),
        (a_list(ListSubject.SENDER), ["example.net.list.test"]),
        (a_list(ListSubject.SENDER, whole=True), ["news.example.net.list.test"]),
        (a_list(ListSubject.FROM), ["example.org.list.test"]),
        (a_list(ListSubject.REPLY_TO), ["reply.example.list.test"]),
        (a_list(ListSubject.LINKS), ["example.com.list.test"]),
        (a_list(ListSubject.LINKS, ips=True), ["example.com.list.test", "13.11.10.9.list.test"]),
        (
            a_list(ListSubject.LINKS, ips=True, whole=True),
            ["www.shop.example.com.list.test", "13.11.10.9.list.test"],
        ),
        (a_list(ListSubject.ADDRESSES), ["googlemail.com.list.test", "gmail.com.list.test"]),
        (a_list(ListSubject.HELO, ListSubject.LINKS), ["example.com.list.test"]),  # asked once
        (a_list(enabled=False), []),
    ],
)
def test_each_subject_is_asked_about_by_its_name(one: DnsList, expected: list[str]) -> None:
    assert names(one) == expected


def test_an_ipv6_address_is_asked_about_by_nibbles() -> None:
    """The example of RFC 5782 section 2.4."""
    asked = DnsblInputs(client="2001:470:1:2:3:4:567:89ab")
    assert names(a_list(), asked) == []
    assert names(a_list(ipv6=True), asked) == [
        "b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.7.4.0.1.0.0.2.list.test"
    ]
    assert names(a_list(ipv4=False, ipv6=True), DnsblInputs(client="9.10.11.12")) == []
    assert names(a_list(), DnsblInputs(client="::ffff:9.10.11.12")) == ["12.11.10.9.list.test"]


@pytest.mark.parametrize("how", [EmailHash.SHA1, EmailHash.MD5])
def test_mail_addresses_are_asked_about_by_their_hash(how: EmailHash) -> None:
    one = a_list(ListSubject.ADDRESSES, ListSubject.FROM, hash=how)
    asked = questions([one], EVERYTHING, NOWHERE, lambda _: True)
    mailboxes = ["scammer@gmail.com", "ann@example.org"]
    assert [question.subject for question in asked] == mailboxes
    assert [question.name for question in asked] == [
        f"{hashlib.new(how.value, mailbox.encode()).hexdigest()}.list.test" for mailbox in mailboxes
    ]


@pytest.mark.parametrize(
    "client",
    ["10.1.2.3", "172.16.9.9", "192.168.1.1", "127.0.0.1", "169.254.1.1", "100.64.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1",
     "224.0.0.1", "255.255.255.255", "0.0.0.0", "::1", "fe80::1", "fd00::1", "2001:db8::1", "ff02::1", "::ffff:10.1.2.3", "::",
     "9.8.7.6", "2a00::5", "nonsense", "fe80::1%eth0"],
)  # fmt: skip
def test_nothing_is_asked_about_addresses_of_nobody_and_of_our_own(client: str) -> None:
    one = a_list(
        ListSubject.CLIENT,
        ListSubject.RDNS,
        ListSubject.HELO,
        ListSubject.SENDER,
        ipv6=True,
        ips=True,
    )
    asked = DnsblInputs(
        client=client, rdns="a.example.com", helo="b.example.net", sender="c@example.org"
    )
    assert names(one, asked, "9.8.7.0/24 2a00::/16") == ["example.org.list.test"]


def test_links_to_our_own_or_to_nobody_are_not_asked_about() -> None:
    links = ("9.8.7.6", "192.168.0.1", "[2001:db8::1]", "localhost", "9.8.8.8")
    assert names(
        a_list(ListSubject.LINKS, ips=True, ipv6=True), DnsblInputs(links=links), "9.8.7.0/24"
    ) == ["8.8.8.9.list.test"]


@pytest.mark.parametrize(
    ("helo", "expected"),
    [
        ("[9.10.11.12]", ["12.11.10.9.list.test"]),
        ("[IPv6:2a00::1]", []),
        ("localhost", []),
        ("a..b", []),
        ("", []),
        ("-", []),
        ("x" * 64 + ".example.com", []),
        ("x." * 100 + "example.com", ["example.com.list.test"]),
        ("x." * 200 + "example.com", []),
        ("b\u00fccher.example", ["xn--bcher-kva.example.list.test"]),
        ("mail.example.com.", ["example.com.list.test"]),
        ("two words.example.com", []),
        ("*.example.com", []),
    ],
)
def test_helo_names_of_every_shape(helo: str, expected: list[str]) -> None:
    assert names(a_list(ListSubject.HELO, ips=True), DnsblInputs(helo=helo)) == expected


def test_a_name_too_long_for_the_dns_is_not_asked_for() -> None:
    host = ".".join(["a" * 60] * 4)
    one = a_list(ListSubject.LINKS, whole=True)
    assert len(names(one, DnsblInputs(links=(host,)))[0]) == 253
    assert names(one, DnsblInputs(links=(host + "a",))) == []


def test_of_too_many_links_the_first_and_the_last_are_asked_about() -> None:
    hosts = tuple(f"h{number}.com" for number in range(1000))
    asked = names(a_list(ListSubject.LINKS), DnsblInputs(links=hosts))
    half = MAX_HOSTS // 2
    assert asked == [f"{host}.list.test" for host in (*hosts[:half], *hosts[-half:])]
    addresses = tuple(f"a{number}@example.com" for number in range(1000))
    assert (
        len(
            names(
                a_list(ListSubject.ADDRESSES, hash=EmailHash.SHA1), DnsblInputs(addresses=addresses)
            )
        )
        == MAX_MAILBOXES
    )
    assert names(
        a_list(ListSubject.LINKS),
        DnsblInputs(links=tuple(f"h{n}.example.com" for n in range(1000))),
    ) == ["example.com.list.test"]


def test_nobody_is_asked_about_a_recipient() -> None:
    assert EVERYTHING.values(ListSubject.RECIPIENT) == ()


def test_a_mail_address_of_a_thousand_characters_is_none() -> None:
    one = a_list(ListSubject.SENDER, hash=EmailHash.SHA1)
    assert names(one, DnsblInputs(sender="a" * 1000 + "@example.com")) == []
    assert len(names(one, DnsblInputs(sender="a" * 300 + "@example.com"))) == 1


def test_only_lists_that_may_be_asked_are() -> None:
    good, sick = a_list(name="GOOD", zone="good.test"), a_list(name="SICK", zone="sick.test")
    asked = questions([good, sick], EVERYTHING, NOWHERE, lambda one: one.name == "GOOD")
    assert [question.list.name for question in asked] == ["GOOD"]


def one_question(one: DnsList) -> DnsblQuestion:
    (question,) = questions([one], EVERYTHING, NOWHERE, lambda _: True)
    return question


def test_a_listing_says_what_weighs_most_and_not_the_zone() -> None:
    one = a_list(
        zone="secretkey.list.test",
        codes=parse({"127.0.0.2": 50, "127.0.0.9": 80}, None),
        say="{subject}: {code}",
    )
    listing = read(one_question(one), found("127.0.0.2", "127.0.0.9", "127.0.0.3", "127.0.0.9"))
    assert listing == DnsblListing(
        name="LIST",
        of=ListSubject.CLIENT,
        asked="9.10.11.12",
        codes=("127.0.0.9", "127.0.0.2"),
        score=80,
        say="9.10.11.12: 127.0.0.9 127.0.0.2",
    )
    assert listing.stage is Stage.CONNECT
    assert (listing.hit.name, listing.hit.score, listing.hit.say) == (
        "LIST",
        80,
        "9.10.11.12: 127.0.0.9 127.0.0.2",
    )
    assert "secretkey" not in repr(listing)


def test_a_list_in_shadow_mode_says_so() -> None:
    listing = read(one_question(a_list(mode=RuleMode.SHADOW)), found("127.0.0.2"))
    assert isinstance(listing, DnsblListing)
    assert listing.hit.mode is RuleMode.SHADOW


@pytest.mark.parametrize(
    "answer", [NOTHING, EMPTY, found(), found("127.0.0.1"), found("127.0.0.4")]
)
def test_no_code_that_weighs_anything_is_no_listing(answer: DnsAnswer) -> None:
    assert read(one_question(a_list(codes=parse({"127.0.0.2": 100}, None))), answer) is None


@pytest.mark.parametrize(
    ("answer", "fault", "words"),
    [
        (SILENCE, DnsblFault.TEMPERROR, "timeout"),
        (DnsAnswer(outcome=DnsOutcome.TEMPERROR), DnsblFault.TEMPERROR, "no answer"),
        (found("127.255.255.252"), DnsblFault.REFUSED, "the zone is misspelt"),
        (found("127.255.255.254"), DnsblFault.REFUSED, "public resolver"),
        (found("127.255.255.255"), DnsblFault.REFUSED, "too many queries"),
        (found("127.255.255.7"), DnsblFault.REFUSED, "127.255.255.7"),
        (found("127.0.0.250"), DnsblFault.REFUSED, "127.0.0.250"),
        (found("127.0.0.2", "127.255.255.254"), DnsblFault.REFUSED, "public resolver"),
        (found("203.0.113.80"), DnsblFault.MADE_UP, "203.0.113.80"),
        (found("127.0.0.2", "10.0.0.1"), DnsblFault.MADE_UP, "10.0.0.1"),
        (found("not an address"), DnsblFault.MADE_UP, "not an address"),
        (found("::1"), DnsblFault.MADE_UP, "::1"),
    ],
)
def test_what_is_no_answer_of_a_list_is_trouble(
    answer: DnsAnswer, fault: DnsblFault, words: str
) -> None:
    one = a_list(refused=refusals(["127.0.0.250"]), zone="secretkey.list.test")
    trouble = read(one_question(one), answer)
    assert isinstance(trouble, DnsblFailure)
    assert (trouble.name, trouble.fault) == ("LIST", fault)
    assert words in trouble.why
    assert "secretkey" not in trouble.why


def test_a_list_counts_once_by_what_weighs_most() -> None:
    def listing(name: str, score: float, asked: str) -> DnsblListing:
        return DnsblListing(
            name=name, of=ListSubject.LINKS, asked=asked, codes=("127.0.0.2",), score=score, say=""
        )

    some = [
        listing("A", 10, "1"),
        listing("B", -5, "2"),
        listing("A", 30, "3"),
        listing("B", 5, "4"),
        listing("A", 30, "5"),
    ]
    assert [(one.name, one.score, one.asked) for one in strongest(some)] == [
        ("A", 30, "3"),
        ("B", -5, "2"),
    ]
    assert strongest([]) == ()


ANY = st.text(max_size=300) | st.sampled_from(
    ["a@b.example", "@", "[", "[1.2.3.4]", "1.2.3.4", "\ud800@\udfff.com", "a" * 64 + ".com"]
)
MANY = st.lists(ANY, max_size=30).map(tuple)


@given(
    st.builds(
        DnsblInputs,
        client=ANY,
        rdns=ANY,
        helo=ANY,
        sender=ANY,
        from_=MANY,
        reply_to=MANY,
        links=MANY,
        addresses=MANY,
    ),
    st.booleans(),
    st.sampled_from(EmailHash),
)
def test_whatever_a_message_holds_every_question_is_a_name(
    asked: DnsblInputs, whole: bool, how: EmailHash
) -> None:
    """Invariant: never raises; each name is under the zone, fits the DNS, and is there once.

    Their number has a bound.
    """
    of = (
        ASKABLE
        if how is EmailHash.NONE
        else (ListSubject.SENDER, ListSubject.FROM, ListSubject.REPLY_TO, ListSubject.ADDRESSES)
    )
    one = a_list(*of, whole=whole, ips=True, ipv6=True, hash=how)
    found_names = names(one, asked)
    assert len(found_names) == len(set(found_names)) <= 4 + 4 * MAX_HOSTS
    for name in found_names:
        assert name.endswith(".list.test")
        assert len(name) <= 253
        labels = name.removesuffix(".list.test").split(".")
        assert all(0 < len(label) <= 63 for label in labels)
        assert name.isascii()


@given(st.lists(st.ip_addresses(v=4).map(str) | ANY, max_size=6).map(tuple))
def test_whatever_is_answered_only_loopback_addresses_list(records: tuple[str, ...]) -> None:
    result = read(one_question(a_list()), DnsAnswer(outcome=DnsOutcome.FOUND, records=records))
    if isinstance(result, DnsblListing):
        assert all(ip_address(code).is_loopback for code in result.codes)
        assert not any(record.startswith("127.255.255.") for record in records)
