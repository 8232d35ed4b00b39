"""`oborona policy schema`: what an editor wants to know of policy files."""

from __future__ import annotations

import click

from oborona.cli.output import echo
from oborona.desk.policy.schema_text import schema_text


@click.command()
def schema() -> None:
    """Print the JSON schema of policy files, for editors that complete and check them.

    taplo and Even Better TOML use it where a file begins with `#:schema ./policy.d.schema.json`.
    """
    echo(schema_text().rstrip("\n"))
