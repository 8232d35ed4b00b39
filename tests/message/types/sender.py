"""Types of who sent it: by the mail server's word, and by the message's own."""

from oborona.message.shingles import ShingleType
from oborona.types import Client, Envelope, ProvedIdentity
from tests.message.types.case import Case, mail


def by(ip: str = "", name: str = "", helo: str = "", sender: str = "") -> Envelope:
    return Envelope(client=Client(ip=ip, name=name), helo=helo, sender=sender)


def header(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}: {len(name)}" for name in names)


THUNDERBIRD = header(
    "Message-ID", "Date", "MIME-Version", "User-Agent", "From", "To", "Subject", "Content-Type"
)
MUTT = header(
    "Date", "From", "To", "Message-ID", "MIME-Version", "Content-Type", "User-Agent", "Subject"
)

CASES = {
    ShingleType.FROM: Case(
        same=(mail("x", "From: Ann <ann@a.example>"), mail("y", 'From: "Somebody else" <Ann@A.Example>')),
        differ=(mail("x", "From: ann@a.example"), mail("x", "From: eve@a.example"), mail("x", "From: ann@b.example")),
        none=(mail("x"), mail("x", "From: Ann")),
    ),
    ShingleType.AUTHOR: Case(
        same=(mail("x", "From: Ann <ann@a.example>", who=ProvedIdentity(author="ann@a.example")), mail("y", envelope=by("192.0.2.7"), who=ProvedIdentity(author="ann@a.example", author_domain="a.example"))),
        differ=(mail(who=ProvedIdentity(author="ann@a.example")), mail(who=ProvedIdentity(author="eve@a.example"))),
        none=(mail("x", "From: ann@a.example"), mail("x", "From: ann@a.example", who=ProvedIdentity(sender="ann@a.example"))),
    ),
    ShingleType.AUTHOR_DOMAIN: Case(
        same=(mail("x", who=ProvedIdentity(author="ann@a.example", author_domain="a.example")), mail("y", who=ProvedIdentity(author="eve@mail.a.example", author_domain="a.example"))),
        differ=(mail(who=ProvedIdentity(author_domain="a.example")), mail(who=ProvedIdentity(author_domain="b.example"))),
        none=(mail("x", "From: ann@a.example", proved=("a.example",)),),
    ),
    ShingleType.PROVED_SENDER: Case(
        same=(mail("x", who=ProvedIdentity(sender="ann@a.example")), mail("y", "From: eve@b.example", envelope=by("192.0.2.7", sender="Ann@A.example"), who=ProvedIdentity(sender="ann@a.example"))),
        differ=(mail(who=ProvedIdentity(sender="ann@a.example")), mail(who=ProvedIdentity(sender="ann+1@a.example"))),
        none=(mail(envelope=by(sender="ann@a.example")), mail("x", "From: ann@a.example", who=ProvedIdentity(author="ann@a.example"))),
    ),
    ShingleType.ACCOUNT: Case(
        same=(mail("x", who=ProvedIdentity(account="bob")), mail("y", envelope=by("192.0.2.7", sender="bob@b.example"), who=ProvedIdentity(account="bob"))),
        differ=(mail(who=ProvedIdentity(account="bob")), mail(who=ProvedIdentity(account="joe"))),
        none=(mail(envelope=by(sender="bob@b.example")),),
    ),
    ShingleType.CLIENT_IP: Case(
        same=(mail(envelope=by("192.0.2.7")), mail(envelope=by("192.0.2.7", "a.example", "b.example", "c@d.example"))),
        differ=(mail(envelope=by("192.0.2.7")), mail(envelope=by("192.0.2.8")), mail(envelope=by("2001:db8::7"))),
        none=(mail(envelope=by("")),),
    ),
    ShingleType.CLIENT_NETWORK: Case(
        same=(mail(envelope=by("192.0.2.7")), mail(envelope=by("192.0.2.200")), mail(envelope=by("::ffff:192.0.2.9"))),
        differ=(mail(envelope=by("192.0.2.7")), mail(envelope=by("192.0.3.7")), mail(envelope=by("2001:db8:0:1::7")), mail(envelope=by("2001:db8:0:2::7"))),
        none=(mail(envelope=by("")), mail(envelope=by("unknown"))),
    ),
    ShingleType.HELO: Case(
        same=(mail(envelope=by(helo="mx.a.example")), mail(envelope=by("192.0.2.7", helo="MX.A.Example."))),
        differ=(mail(envelope=by(helo="mx.a.example")), mail(envelope=by(helo="a.example")), mail(envelope=by(helo="[192.0.2.7]"))),
        none=(mail(envelope=by()),),
    ),
    ShingleType.RDNS: Case(
        same=(mail(envelope=by("192.0.2.7", "mx.a.example")), mail(envelope=by("192.0.2.8", "MX.A.Example."))),
        differ=(mail(envelope=by("192.0.2.7", "mx1.a.example")), mail(envelope=by("192.0.2.7", "mx2.a.example"))),
        none=(mail(envelope=by("192.0.2.7")),),
    ),
    ShingleType.RDNS_DOMAIN: Case(
        same=(
            mail(envelope=by("192.0.2.7", "7-2-0-192.dsl.isp.co.uk")),
            mail(envelope=by("192.0.2.8", "Host8.Pool.ISP.co.uk.")),
            mail(envelope=by("192.0.2.9", "isp.co.uk")),
        ),
        differ=(mail(envelope=by("192.0.2.7", "mx.isp.co.uk")), mail(envelope=by("192.0.2.7", "mx.bank.co.uk"))),
        none=(mail(envelope=by("192.0.2.7")), mail(envelope=by("127.0.0.1", "localhost"))),
    ),
    ShingleType.MAIL_FROM: Case(
        same=(mail(envelope=by(sender="ann@a.example")), mail(envelope=by("192.0.2.7", sender="Ann@A.Example"))),
        differ=(mail(envelope=by(sender="ann@a.example")), mail(envelope=by(sender="ann+1@a.example"))),
        none=(mail("x", "From: ann@a.example", envelope=by("192.0.2.7")),),
    ),
    ShingleType.MAIL_FROM_DOMAIN: Case(
        same=(mail(envelope=by(sender="ann@a.example")), mail(envelope=by(sender='"e@ve"@A.example'))),
        differ=(mail(envelope=by(sender="ann@a.example")), mail(envelope=by(sender="ann@b.a.example"))),
        none=(mail(envelope=by()), mail(envelope=by(sender="root"))),
    ),
    ShingleType.FROM_DOMAIN: Case(
        same=(mail("x", "From: ann@mail.a.co.uk"), mail("x", "From: Eve <eve@A.CO.UK>")),
        differ=(mail("x", "From: ann@a.co.uk"), mail("x", "From: ann@b.co.uk"), mail("x", "From: ann@a.blogspot.com"), mail("x", "From: ann@b.blogspot.com")),
        none=(mail("x"), mail("x", "From: Ann")),
    ),
    ShingleType.FROM_NAME: Case(
        same=(
            mail("x", "From: Pay Pal <a@a.example>"),
            mail("x", 'From: "PAY  P\u0430l" <b@b.example>'),
            mail("x", "From: =?utf-8?Q?Pay=C2=A0Pal?= <c@c.example>"),
        ),
        differ=(mail("x", "From: Pay Pal <a@a.example>"), mail("x", "From: PayPal <a@a.example>")),
        none=(mail("x", "From: a@a.example"), mail("x", "From: Al <a@a.example>")),
    ),
    ShingleType.DKIM_DOMAIN: Case(
        same=(mail("x", "From: a@a.example", proved=("a.example",)), mail("y", "From: a@b.example", proved=("a.example",))),
        differ=(mail(proved=("a.example",)), mail(proved=("b.example",))),
        none=(mail("x", "DKIM-Signature: v=1; d=a.example; s=k; b=abcd"),),
    ),
    ShingleType.REPLY_TO: Case(
        same=(mail("x", "Reply-To: ann@a.example"), mail("x", "Reply-To: Prize Desk <Ann@A.example>")),
        differ=(mail("x", "Reply-To: ann@a.example"), mail("x", "Reply-To: eve@a.example")),
        none=(mail("x", "From: ann@a.example"), mail("x", "Reply-To: Ann")),
    ),
    ShingleType.MESSAGE_ID_DOMAIN: Case(
        same=(mail("x", "Message-ID: <1.abc@mx.a.example>"), mail("x", "Message-Id: <99999@MX.A.example>")),
        differ=(mail("x", "Message-ID: <1@a.example>"), mail("x", "Message-ID: <1@b.example>")),
        none=(mail("x"), mail("x", "Message-ID: <1.abc>")),
    ),
    ShingleType.MAILER: Case(
        same=(
            mail("x", "X-Mailer: Microsoft Outlook Express 6.00.2600.0000"),
            mail("x", "X-Mailer: microsoft outl\u043e\u043ek  express V6.00.2900.5512"),
            mail("x", "User-Agent: Microsoft Outlook Express 6 (Windows; de)"),
        ),
        differ=(
            mail("x", "X-Mailer: Microsoft Outlook Express 6.00.2600.0000"),
            mail("x", "X-Mailer: Microsoft Outlook Express 5.50.4133.2400"),
            mail("x", "X-Mailer: Microsoft Outlook 16.0"),
            mail("x", "X-Mailer: iPhone Mail (16G77)"),
            mail("x", "User-Agent: Mozilla/5.0 (X11; U; Linux i686; rv:1.4) Gecko/20030624"),
            mail("x", "User-Agent: Mozilla Thunderbird"),
        ),
        none=(mail("x"), mail("x", "X-Mailer:"), mail("x", "X-Mailer: 5.2"), mail("x", "X-Mailer: (v2.1) [x]"), mail("x", "X-Mailer: 8f3a9c1e0b")),
    ),
    ShingleType.HEADER_ORDER: Case(
        same=(
            mail("x", *THUNDERBIRD),
            mail("y", *header("Received", "DKIM-Signature", "X-Spam-Flag", "ARC-Seal", "Authentication-Results"), *THUNDERBIRD),
            mail("x", *THUNDERBIRD[:6], "In-Reply-To: <1@a.example>", "References: <1@a.example>", "Cc: a@a.example", "X-Qzw7: 1", *THUNDERBIRD[6:]),
            mail("x", *(field.upper() for field in THUNDERBIRD)),
        ),
        differ=(mail("x", *THUNDERBIRD), mail("x", *MUTT), mail("x", *THUNDERBIRD, "List-Id: <l.a.example>")),
        none=(mail("x"), mail("x", *header("From", "To", "Subject", "Date")), mail("x", *header("From", "To", "Subject", "Date", "Received", "X-Qzw7", "Cc"))),
    ),
}  # fmt: skip
