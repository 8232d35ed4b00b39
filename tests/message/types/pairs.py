"""Unique pairs: P is of two things, U of the first of them."""

from oborona.message.shingles import ShingleType
from oborona.types import Client, Envelope, Location, ProvedIdentity
from tests.message.types.case import LONG, OTHER, Case, mail

HERE, THERE = "192.0.2.7", "198.51.100.9"
SHORT = "Cheap pills for everybody who writes back"
TINY = "It is to be 12345 or so"
ANN, EVE = "From: Ann <ann@a.example>", "From: eve@a.example"
GERMANY, RUSSIA = Location(country="DE"), Location(country="RU")


def sent(sender: str = "ann@a.example", *to: str, ip: str = "", login: str = "") -> Envelope:
    return Envelope(client=Client(ip=ip), sender=sender, recipients=to, login=login)


def link(*domains: str) -> str:
    return " ".join(f"http://www.{domain}/x" for domain in domains)


AUTHOR = ProvedIdentity(author="ann@a.example", author_domain="a.example")


CASES = {
    ShingleType.ENTITY_RECIPIENT: Case(
        same=(
            mail("x", ANN, envelope=sent("ann@a.example", "bob@b.example"), who=AUTHOR),
            mail("y", ANN, envelope=sent("bounce@c.example", "BOB@b.example"), who=AUTHOR),
        ),
        differ=(
            mail(envelope=sent("ann@a.example", "bob@b.example", ip=HERE)),
            mail(envelope=sent("ann@a.example", "joe@b.example", ip=HERE)),
            mail(envelope=sent("ann@a.example", "bob@b.example", ip=THERE)),
            mail(link("a.example"), envelope=sent("", "bob@b.example")),
            # writes, and is not linked to
            mail(envelope=sent("", "bob@b.example"), who=ProvedIdentity(author_domain="a.example")),
            mail(envelope=sent("", "bob@b.example"), who=ProvedIdentity(account="ann@a.example")),
            mail(envelope=sent("", "bob@b.example"), who=ProvedIdentity(sender="ann@a.example")),
        ),
        none=(mail("x", ANN, envelope=sent("ann@a.example", "bob@b.example")), mail("x", ANN, who=AUTHOR)),
    ),
    ShingleType.ENTITY_RECIPIENTS: Case(
        same=(
            mail("x", ANN, envelope=sent("ann@a.example", "bob@b.example"), who=AUTHOR),
            # a link to oneself
            mail(link("a.example"), envelope=sent("x@a.example", "joe@b.example", "eve@c.example"), who=AUTHOR),
        ),
        differ=(
            mail(link("c.example"), envelope=sent("", "bob@b.example")),
            mail("Call +49 30 901820 now", envelope=sent("", "bob@b.example")),
            mail("Pay to 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", envelope=sent("", "bob@b.example")),
        ),
        none=(mail(link("c.example")), mail("x", ANN, envelope=sent("ann@a.example", "bob@b.example"))),
    ),
    ShingleType.SENDER_RECIPIENT: Case(
        same=(
            mail(envelope=sent("ann@a.example", "bob@b.example")),
            mail("x", EVE, envelope=sent("Ann@A.example", "BOB@b.example", ip=HERE)),
            mail("x", ANN, envelope=sent("", "bob@b.example")),  # a bounce: its From
        ),
        differ=(
            mail(envelope=sent("ann@a.example", "bob@b.example")),
            mail(envelope=sent("ann@a.example", "joe@b.example")),
            mail(envelope=sent("eve@a.example", "bob@b.example")),
        ),
        none=(mail(envelope=sent("ann@a.example")), mail("x", envelope=sent("", "bob@b.example"))),
    ),
    ShingleType.SENDER_RECIPIENTS: Case(
        same=(mail(envelope=sent("ann@a.example", "bob@b.example")), mail(envelope=sent("Ann@a.example", "joe@c.example", "x@d.example"))),
        differ=(mail(envelope=sent("ann@a.example", "bob@b.example")), mail(envelope=sent("eve@a.example", "bob@b.example"))),
        none=(mail(envelope=sent("ann@a.example")), mail(envelope=sent("", "bob@b.example"))),
    ),
    ShingleType.SENDER_DOMAIN: Case(
        same=(
            mail(envelope=sent("ann@a.example", "bob@b.example")),
            mail(envelope=sent("ANN@a.example", "joe@B.example.", "eve@b.example")),
        ),
        differ=(
            mail(envelope=sent("ann@a.example", "bob@b.example")),
            mail(envelope=sent("ann@a.example", "bob@c.example")),
            mail(envelope=sent("eve@a.example", "bob@b.example")),
        ),
        none=(mail(envelope=sent("ann@a.example")), mail(envelope=sent("ann@a.example", "root"))),
    ),
    ShingleType.SENDER_DOMAINS: Case(
        same=(mail(envelope=sent("ann@a.example", "bob@b.example")), mail(envelope=sent("ann@a.example", "bob@c.example", "x@d.example"))),
        differ=(mail(envelope=sent("ann@a.example", "bob@b.example")), mail(envelope=sent("eve@a.example", "bob@b.example"))),
        none=(mail(envelope=sent("ann@a.example")), mail(envelope=sent("ann@a.example", "root"))),
    ),
    ShingleType.IP_SENDER: Case(
        same=(mail(envelope=sent("ann@a.example", ip=HERE)), mail("x", EVE, envelope=sent("Ann@A.example", "bob@b.example", ip=HERE))),
        differ=(mail(envelope=sent("ann@a.example", ip=HERE)), mail(envelope=sent("eve@a.example", ip=HERE)), mail(envelope=sent("ann@a.example", ip=THERE))),
        none=(mail(envelope=sent("ann@a.example")),),
    ),
    ShingleType.IP_SENDERS: Case(
        same=(mail(envelope=sent("ann@a.example", ip=HERE)), mail(envelope=sent("eve@a.example", ip=HERE)), mail(envelope=sent("", ip=HERE))),
        differ=(mail(envelope=sent("ann@a.example", ip=HERE)), mail(envelope=sent("ann@a.example", ip=THERE))),
        none=(mail(envelope=sent("ann@a.example")),),
    ),
    ShingleType.LINK_SENDER: Case(
        same=(
            mail(link("shop.co.uk"), ANN),
            mail("http://other.SHOP.co.uk/y", "From: ANN@a.example", envelope=sent("bounce-7@l.example")),
            mail(link("shop.co.uk"), envelope=sent("ann@a.example")),  # without a From: MAIL FROM
        ),
        differ=(mail(link("shop.co.uk"), ANN), mail(link("shop.co.uk"), EVE), mail(link("bank.co.uk"), ANN)),
        none=(mail("no link", ANN), mail(link("shop.co.uk")), mail(html="<img src='http://shop.co.uk/a.png'>x")),
    ),
    ShingleType.LINK_SENDERS: Case(
        same=(mail(link("shop.co.uk"), ANN), mail("http://other.SHOP.co.uk/y", EVE)),
        differ=(mail(link("shop.co.uk"), ANN), mail(link("bank.co.uk"), ANN)),
        none=(mail("no link", ANN), mail(link("shop.co.uk"))),
    ),
    ShingleType.TEXT_IP: Case(
        same=(mail(LONG, envelope=sent(ip=HERE)), mail(LONG.upper() + " 12345", EVE, envelope=sent("x@x.example", ip=HERE))),
        differ=(mail(LONG, envelope=sent(ip=HERE)), mail(LONG, envelope=sent(ip=THERE)), mail(OTHER, envelope=sent(ip=HERE))),
        none=(mail(LONG), mail("Call me at 6", envelope=sent(ip=HERE))),
    ),
    ShingleType.TEXT_IPS: Case(
        same=(mail(SHORT, envelope=sent(ip=HERE)), mail(SHORT + " 12345", envelope=sent(ip=THERE))),
        differ=(mail(SHORT, envelope=sent(ip=HERE)), mail(LONG, envelope=sent(ip=HERE)), mail(TINY, envelope=sent(ip=HERE))),
        none=(mail(SHORT), mail("Call me at 6", envelope=sent(ip=HERE))),
    ),
    ShingleType.TEXT_RECIPIENT: Case(
        same=(mail(LONG, envelope=sent("", "bob@b.example")), mail(LONG + " 12345", EVE, envelope=sent("e@e.example", "Bob@B.example"))),
        differ=(mail(LONG, envelope=sent("", "bob@b.example")), mail(LONG, envelope=sent("", "joe@b.example")), mail(OTHER, envelope=sent("", "bob@b.example"))),
        none=(mail(LONG), mail("Call me at 6", envelope=sent("", "bob@b.example"))),
    ),
    ShingleType.TEXT_RECIPIENTS: Case(
        same=(mail(TINY, envelope=sent("", "bob@b.example")), mail("It is to be 99 or so", envelope=sent("", "joe@b.example"))),
        differ=(mail(LONG, envelope=sent("", "bob@b.example")), mail(OTHER, envelope=sent("", "bob@b.example"))),
        none=(mail(LONG), mail("Call me at 6", envelope=sent("", "bob@b.example"))),
    ),
    ShingleType.TEXT_SENDER: Case(
        same=(
            mail(LONG, ANN),
            mail(LONG.upper() + " 12345", "From: ANN@a.example", envelope=sent("bounce-7@l.example", "bob@b.example", ip=HERE)),
            mail(LONG, envelope=sent("ann@a.example")),
        ),
        differ=(mail(LONG, ANN), mail(LONG, EVE), mail(OTHER, ANN)),
        none=(mail(LONG), mail("Call me at 6", ANN)),
    ),
    ShingleType.TEXT_SENDERS: Case(
        same=(mail(SHORT, ANN), mail(SHORT + " 12345", EVE)),
        differ=(mail(SHORT, ANN), mail(LONG, ANN), mail(TINY, ANN)),
        none=(mail(SHORT), mail("Call me at 6", ANN)),
    ),
    ShingleType.SENDER_COUNTRY: Case(
        same=(
            mail("x", ANN, location=GERMANY),
            mail("x", "From: ANN@A.example", location=Location(country="DE", as_number=64496), envelope=sent("b@l.example", ip=THERE)),
            mail("x", location=GERMANY, envelope=sent("ann@a.example")),
        ),
        differ=(mail("x", ANN, location=GERMANY), mail("x", ANN, location=RUSSIA), mail("x", EVE, location=GERMANY)),
        none=(mail("x", ANN), mail("x", location=GERMANY)),
    ),
    ShingleType.SENDER_COUNTRIES: Case(
        same=(mail("x", ANN, location=GERMANY), mail("x", ANN, location=RUSSIA)),
        differ=(mail("x", ANN, location=GERMANY), mail("x", EVE, location=GERMANY)),
        none=(mail("x", ANN), mail("x", location=GERMANY)),
    ),
    ShingleType.ACCOUNT_IP: Case(
        same=(
            mail(envelope=sent(ip="2001:db8:0:1::7", login="ann")),
            mail(envelope=sent("e@e.example", "b@b.example", ip="2001:db8:0:1:a:b:c:d", login="Ann")),
        ),
        differ=(
            mail(envelope=sent(ip=HERE, login="ann")),
            mail(envelope=sent(ip="192.0.2.8", login="ann")),
            mail(envelope=sent(ip="2001:db8:0:2::7", login="ann")),
            mail(envelope=sent(ip=HERE, login="eve")),
        ),
        none=(mail(envelope=sent(ip=HERE)), mail(envelope=sent(login="ann"))),
    ),
    ShingleType.ACCOUNT_IPS: Case(
        same=(mail(envelope=sent(ip=HERE, login="ann")), mail(envelope=sent(ip=THERE, login="ANN"))),
        differ=(mail(envelope=sent(ip=HERE, login="ann")), mail(envelope=sent(ip=HERE, login="ann@a.example"))),
        none=(mail(envelope=sent(ip=HERE)), mail(envelope=sent(login="ann"))),
    ),
    ShingleType.ACCOUNT_COUNTRY: Case(
        same=(
            mail(envelope=sent(ip=HERE, login="ann"), location=GERMANY),
            mail(envelope=sent("e@e.example", ip=THERE, login="ANN"), location=Location(country="DE", as_number=64496)),
        ),
        differ=(
            mail(envelope=sent(ip=HERE, login="ann"), location=GERMANY),
            mail(envelope=sent(ip=HERE, login="ann"), location=RUSSIA),
            mail(envelope=sent(ip=HERE, login="eve"), location=GERMANY),
        ),
        none=(mail(envelope=sent(ip=HERE), location=GERMANY), mail(envelope=sent(ip=HERE, login="ann")), mail(envelope=sent(login="ann"), location=GERMANY)),
    ),
    ShingleType.ACCOUNT_COUNTRIES: Case(
        same=(mail(envelope=sent(ip=HERE, login="ann"), location=GERMANY), mail(envelope=sent(ip=THERE, login="ANN"), location=RUSSIA)),
        differ=(mail(envelope=sent(ip=HERE, login="ann"), location=GERMANY), mail(envelope=sent(ip=HERE, login="ann@a.example"), location=GERMANY)),
        none=(mail(envelope=sent(ip=HERE), location=GERMANY), mail(envelope=sent(ip=HERE, login="ann"))),
    ),
}  # fmt: skip
