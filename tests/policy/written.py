"""Facts of a small letter, as a message of it would have them."""

from email.message import EmailMessage
from typing import Any

from oborona.message.parse import parse
from oborona.policy.expression import CompiledRules, compile_rules
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.facts.build_body import with_body
from oborona.policy.facts.build_header import with_header
from oborona.policy.rules import Rule
from oborona.types import Envelope, Stage


def letter(text: str = "", subject: str = "", name: str = "", mailer: str = "") -> Facts:
    """Return the facts that a letter's own octets tell."""
    mail = EmailMessage()
    mail["From"] = f'"{name}" <ann@a.example>' if name else "ann@a.example"
    mail["To"] = "bob@b.example"
    mail["Subject"] = subject
    if mailer:
        mail["X-Mailer"] = mailer
    mail.set_content(text)
    message = parse(mail.as_bytes())
    return with_body(with_header(Facts(), message, Envelope(), now=0.0), message, "a.example")


def compiled(when: str) -> CompiledRules:
    """Return a rule of one condition."""
    return compile_rules([Rule(name="ONE", when=when, score=1.0)], SCHEMA)


def fires(when: str, facts: Any) -> bool:
    """Tell whether a condition holds for a letter."""
    hits, errors = compiled(when).run(facts, Stage.CONTENT)
    assert not errors
    return bool(hits)
