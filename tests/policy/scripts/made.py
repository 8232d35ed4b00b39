"""Scripts of a test, loaded as a policy folder loads them, and facts for them."""

from typing import Any

import msgspec

from oborona.policy.counts import MessageCounts
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.merge import merge
from oborona.policy.scripts.loader import LoadedScripts
from oborona.policy.scripts.scripts import ScriptResults, Scripts
from oborona.toml import parse
from oborona.types import Stage

FILE = "60-test.lua"


def loaded(text: str | bytes, *, later: str = "", file: str = FILE) -> Scripts:
    """Return the scripts of one file, with a TOML file after it."""
    raw = text if isinstance(text, bytes) else text.encode()
    scripts = LoadedScripts({file: raw if raw.endswith(b"\n") else raw + b"\n"}, SCHEMA)
    merged = merge([scripts.document(file), parse(later.encode(), "90-local.toml")])
    bound = scripts.bound(merged.rules)
    assert bound is not None
    return bound


def rule(body: str, *, before: str = "", name: str = "X", score: float = 10) -> str:
    """Return a script with one rule."""
    return (
        f'{before}\noborona.rule {{ name = "{name}", score = {score}, when = '
        f"function()\n{body}\nend }}\n"
    )


def real(body: str, /, **more: Any) -> str:
    """Return a rule whose body does its work on a message, and not when it is tried on an empty
    one.
    """
    return rule(f"if facts.subject == '' then return end\n{body}", **more)


def facts(**changed: Any) -> Facts:
    """Return facts of a message; `changed` by attribute."""
    return msgspec.structs.replace(
        Facts(
            known=MessageCounts(), subject="free tickets", text="free tickets for you", text_words=4
        ),
        **changed,
    )


def judged(script: str | bytes, /, stage: Stage = Stage.CONTENT, **changed: Any) -> ScriptResults:
    """Return what a script says of a message."""
    return loaded(script).judge(facts(**changed), stage)


def said(expression: str, before: str = "", /, **changed: Any) -> str:
    """Return a Lua expression's value as a text; it must not fail."""
    found = judged(real(f"{before}\nreturn true, tostring({expression})"), **changed)
    assert not found.problems, found.problems
    (hit,) = found.hits
    return hit.say


def failure(body: str, /, **more: Any) -> str:
    """Return what is wrong with a body that fails."""
    found = judged(real(body, **more))
    assert not found.hits
    (problem,) = found.problems
    assert problem.name == "X"
    assert problem.file == FILE
    return problem.words
