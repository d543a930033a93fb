"""HTML and SVG elements that always escape their content."""

from string import Template

from firstbreak.reports.text import visible

Attribute = str | int | float | bool | None
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
_VOID = frozenset({"br", "hr", "input", "link", "meta", "wbr"})


class Markup(str):
    """A string that is HTML already. Every other string is escaped when it is put into an element."""

    __slots__ = ()


def element(name: str, /, *children: str | None, **attributes: Attribute) -> Markup:
    """`<name attribute="...">children</name>`.

    A trailing underscore of an attribute is dropped, and other underscores become hyphens (`class_`, `aria_label`).
    Attributes that are None or False, and children that are None, are left out.
    """
    inside = "".join(escape(child) for child in children if child is not None)
    given = "".join(
        _attribute(key, value) for key, value in attributes.items() if value is not None and value is not False
    )
    return Markup(f"<{name}{given}>" if name in _VOID else f"<{name}{given}>{inside}</{name}>")


def join(*parts: str | None) -> Markup:
    """The parts joined, escaped where they are not markup."""
    return Markup("".join(escape(part) for part in parts if part is not None))


def filled(template: str, /, **parts: str | float) -> Markup:
    """HTML with these parts in the place of each `$name`, escaped where they are not markup."""
    return Markup(
        Template(template).substitute({k: escape(v if isinstance(v, str) else f"{v:.0f}") for k, v in parts.items()})
    )


def lines(text: str) -> Markup:
    """The text with its line breaks; other control characters are made visible."""
    first, *rest = text.split("\n")
    return join(first, *(part for line in rest for part in (element("br"), line)))


def escape(text: str) -> Markup:
    """`text` escaped for the content of an element or for a quoted attribute."""
    return text if isinstance(text, Markup) else Markup(visible(text).translate(_ESCAPED))


def _attribute(key: str, value: Attribute) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f' {name}="{escape(shown)}"'
