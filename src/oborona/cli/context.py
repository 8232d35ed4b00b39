"""The context of a command: the site that the global options name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from oborona.desk.configured_site import SiteSource
from oborona.desk.site import Site

SYSTEM: Final = Path("/etc/oborona/oborona.toml")
SHIPPED: Final = Path(__file__).resolve().parents[1] / "etc/oborona.toml"


class CliContext(Site):
    """The site of a command; notices are lines on standard error.

    Args:
        config: settings file; None = the system's, else the one that ships.
        state: state folder, None = as set.
        assignments: SECTION.KEY=VALUE each.
    """

    def __init__(
        self, config: Path | None, state: Path | None, assignments: tuple[str, ...]
    ) -> None:
        file = config or (SYSTEM if SYSTEM.exists() else SHIPPED)
        overrides: dict[str, str] = {}
        for assignment in assignments:
            name, equals, value = assignment.partition("=")
            if not equals:
                raise click.BadParameter(
                    f"{assignment!r}: write SECTION.KEY=VALUE", param_hint="--set"
                )
            overrides[name.strip()] = value
        if state is not None:
            overrides["paths.state"] = str(state)
        # without settings a site's rules are looked for where they would be with them
        beside = SYSTEM if config is None and file is SHIPPED else None
        super().__init__(SiteSource(file, overrides, beside), _print_notice)


def _print_notice(text: str) -> None:
    click.echo(f"oborona: {text}", err=True)


pass_cli_context = click.make_pass_decorator(CliContext)
