"""Diagnosis -> what people and programs read. A report sees nothing but a Diagnosis, and decides nothing about the run.

`content` decides what a report says, in which order and in which words. `terminal`, `html` and `markdown` are three ways to
show it, `json` is the same content for programs, and `inspection` shows a Run before any diagnosis.

When this package is imported, a Diagnosis learns to show itself in notebooks and with rich.
"""

from __future__ import annotations

from typing import Any

from firstbreak.model import Diagnosis, render_with


def _html(diagnosis: Diagnosis) -> str:
    from firstbreak.reports import html

    return html.fragment(diagnosis)


def _rich(diagnosis: Diagnosis) -> Any:
    from firstbreak.reports import terminal

    return terminal.renderable(diagnosis)


render_with(html=_html, rich=_rich)
