"""A schema of a few facts, and facts objects for it."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from oborona.policy.expression import CountedType, Fact, FactSchema
from oborona.types import Stage

SCHEMA = FactSchema(
    facts=(
        Fact(name="client.ip", type=str, stage=Stage.CONNECT, doc="Address of the client."),
        Fact(name="client.listed", type=bool, stage=Stage.CONNECT, doc="On a list."),
        Fact(name="sender", type=str, stage=Stage.SENDER, doc="MAIL FROM."),
        Fact(name="recipients", type=int, stage=Stage.RECIPIENT, doc="How many so far."),
        Fact(name="from.domain", type=str, stage=Stage.CONTENT, doc="Domain in From."),
        Fact(name="subject", type=str, stage=Stage.CONTENT, doc="Subject."),
        Fact(name="text.words", type=int, stage=Stage.CONTENT, doc="Words a reader sees."),
        Fact(
            name="text.hidden_share", type=float, stage=Stage.CONTENT, doc="Hidden share, 0 to 1."
        ),
        Fact(name="link.hosts", type=frozenset[str], stage=Stage.CONTENT, doc="Hosts of links."),
        Fact(name="time.now", type=float, stage=Stage.CONNECT, doc="Now."),
        Fact(name="model", type=float, stage=Stage.CONTENT, doc="A guess.", optional=True),
        Fact(name="language", type=str, stage=Stage.CONTENT, doc="A language.", optional=True),
        Fact(name="signed", type=bool, stage=Stage.CONTENT, doc="Signed.", optional=True),
        Fact(
            name="friends", type=frozenset[str], stage=Stage.CONTENT, doc="Friends.", optional=True
        ),
        Fact(
            name="spf.result",
            type=str,
            stage=Stage.SENDER,
            doc="SPF.",
            words=("none", "pass", "fail", "temperror"),
        ),
    ),
    counted=(
        CountedType(name="ClientIp", number=15, stage=Stage.CONNECT, doc="Client address."),
        CountedType(name="From", number=14, stage=Stage.CONTENT, doc="From address."),
        CountedType(
            name="SenderRecipients",
            number=31,
            stage=Stage.CONTENT,
            doc="Recipients.",
            distinct="recipients per sender",
        ),
    ),
    findings={"listed-client": Stage.CONNECT, "hidden-text": Stage.CONTENT},
)


def facts(**changed: Any) -> Any:
    """Return facts of a short message; `changed` by attribute."""
    methods: dict[str, Callable[..., Any]] = {
        "count": lambda type_, window, metric: type_ * 100 + window * 10 + metric,
        "ham": lambda type_, window: type_ + window,
        "spam_share": lambda type_, window: type_ / 100 + window / 1000,
        "robotic": lambda type_: None if type_ == 15 else type_ / 20,
        "found": lambda name: name == "hidden-text",
    }
    values = {
        "client_ip": "192.0.2.1",
        "client_listed": False,
        "sender": "a@example.org",
        "recipients": 1,
        "from_domain": "example.org",
        "subject": "Free tickets",
        "spf_result": "pass",
        "text_words": 7,
        "text_hidden_share": 0.25,
        "link_hosts": frozenset({"www.example.com", "tickets.example.ru"}),
        "time_now": 1_700_000_000.0,  # Tuesday, 2023-11-14 22:13:20 UTC
        "model": None,
        "language": None,
        "signed": None,
        "friends": None,
    }
    return SimpleNamespace(**(methods | values | changed))
