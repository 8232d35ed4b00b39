"""The facts of one message, each declared once: a field with type, meaning, stage and example.

From the fields are made what expressions may name (`policy.fact_table`), docs/policy/facts.md, and
what the journal keeps. Their order is the journal's; a new fact goes to the end of its struct.

    EnvelopeFacts → HeaderFacts → ContentFacts → EvidenceFacts → Facts

Each struct adds what is learned next.
"""

from oborona.policy.facts.content import CODE_LIMIT, NAME_LIMIT, TEXT_LIMIT
from oborona.policy.facts.declaration import Words
from oborona.policy.facts.facts import Facts, with_values
from oborona.policy.facts.header import MAILER_LIMIT

__all__ = [
    "CODE_LIMIT",
    "MAILER_LIMIT",
    "NAME_LIMIT",
    "TEXT_LIMIT",
    "Facts",
    "Words",
    "with_values",
]
