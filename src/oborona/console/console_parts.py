"""What all requests to the console share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from oborona.console.declaration import PageDeclaration
from oborona.console.desk_client import DeskClient
from oborona.console.form_token import FormTokens
from oborona.console.language import Language
from oborona.console.machines.machine_set import MachineSet
from oborona.console.route_table import RouteTable
from oborona.console.template_set import TemplateSet


class ConsoleParts(msgspec.Struct, frozen=True, kw_only=True):
    """What all requests share.

    Args:
        desk: answers.
        templates: of pages.
        pages: all there are.
        routes: finds them.
        tokens: of forms.
        languages: by their codes.
        node: name of this machine, where the desk tells none.
        machines: that are asked; None: this one alone.
    """

    desk: DeskClient
    templates: TemplateSet
    pages: Sequence[PageDeclaration]
    routes: RouteTable
    tokens: FormTokens
    languages: Mapping[str, Language]
    node: str = ""
    machines: MachineSet | None = None
