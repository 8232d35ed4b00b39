"""`oborona policy schema`: what an editor wants to know of policy files."""

from __future__ import annotations

import click
import msgspec

from oborona.cli.output import echo
from oborona.policy.fact_table import SCHEMA
from oborona.policy.file_schema import file_schema


@click.command()
def schema() -> None:
    """Print the JSON schema of policy files, for editors that complete and check them.

    taplo and Even Better TOML use it where a file begins with `#:schema ./policy.d.schema.json`.
    """
    echo(schema_text().rstrip("\n"))


def schema_text() -> str:
    """Return it as the file that ships."""
    return msgspec.json.format(msgspec.json.encode(file_schema(SCHEMA)), indent=2).decode() + "\n"
