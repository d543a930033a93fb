"""The page of each detector and cause, for the reports: its text, its picture, and its address where a site is named.

`pictures.tar.xz` holds the pictures, packed together: 60 KB instead of 900. `make docs` draws them, and `make site` unpacks them.
"""

import base64
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from firstbreak.engine import index, registry
from firstbreak.engine.checks import Check
from firstbreak.engine.families import in_words
from firstbreak.engine.registry import Cause
from firstbreak.model import Diagnosis
from firstbreak.reports import content
from firstbreak.reports.markup import Markup, element, escape, join
from firstbreak.reports.text import spans
from firstbreak.words import link_word

SITE = "FIRSTBREAK_DOCS"  #: environment variable: where the documentation's site is (`make site`), for links to it
_SCHEMES = ("https://", "http://", "file://")
_OPTION = re.compile(r"\{(\w+)\}")  #: `{learning_rate}` stands for the trainer's own option; here no trainer is known
_LINK = re.compile(r"(https?://[^\s<>)`]*[^\s<>)`.,;])")


def known(name: str) -> Check | Cause | None:
    """The detector or cause of this name; no two share one."""
    return registry.detectors().get(name) or registry.causes().get(name)


def address(name: str) -> str | None:
    """The page of a detector or a cause on the site that the environment names; None where it names none, or has no page."""
    site, item = os.environ.get(SITE, "").rstrip("/"), known(name)
    if not site.startswith(_SCHEMES) or item is None:
        return None
    kind = "detectors" if name in registry.detectors() else "causes"
    return f"{site}/reference/{kind}/{name}/index.html" if name in index.own(kind) else None  # a plugin's is elsewhere


def named(dx: Diagnosis) -> tuple[str, ...]:
    """The detectors and causes that a report of this diagnosis names."""
    names = [*(o.detector for o in dx.findings), *(c.id for c in content.causes(dx))]
    return tuple(name for name in dict.fromkeys(names) if known(name) is not None)


def picture(name: str) -> str | None:
    """The picture of a detector or a cause as SVG, where one was made."""
    return pictures().get(name)


@cache
def pictures() -> Mapping[str, str]:
    """Detector or cause -> its picture."""
    import tarfile

    packed = Path(__file__).with_name("pictures.tar.xz").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        files = {member.name: archive.extractfile(member) for member in archive}
        return {name.removesuffix(".svg"): file.read().decode() for name, file in files.items() if file is not None}


def appendix(diagnoses: Iterable[Diagnosis]) -> Markup | None:
    """What the names of these reports mean, folded, each at its own anchor."""
    names = dict.fromkeys(name for dx in diagnoses for name in named(dx))
    if not names:
        return None
    heading = element("h2", "What the names mean", id="names")
    parts = (
        element("details", element("summary", element("code", name)), entry(name, _anchor(name))) for name in names
    )
    return element("section", heading, *parts, aria_labelledby="names", class_="names")


def folded(name: str) -> str | None:
    """Where a name stands in the appendix."""
    return f"#{_anchor(name)}" if known(name) is not None else None


def _anchor(name: str) -> str:
    return f"about-{name}"


def entry(name: str, uid: str | None = None, level: str = "h3") -> Markup:
    """The title of a detector or a cause, its picture and its text under headings of `level`. Raises KeyError for other names."""
    item = known(name)
    if item is None:
        raise KeyError(name)
    kind = "detector" if name in registry.detectors() else "cause"
    parts = registry.sections(in_words(item.doc))
    texts = (join(element(level, heading), *_blocks(text)) for heading, text in parts.items() if heading and text)
    head = element("p", element("strong", item.title), f" ({kind}, {link_word(item.link)})", id=uid)
    return join(head, _drawn(name), *texts)


def _drawn(name: str) -> Markup | None:
    svg = picture(name)
    if svg is None:
        return None
    data = base64.b64encode(svg.encode()).decode()
    alt = f"What {name} looks like: a broken run beside a healthy one"
    return element("p", element("img", src=f"data:image/svg+xml;base64,{data}", alt=alt), class_="drawn")


def _blocks(text: str) -> Iterator[Markup]:
    """Paragraphs and lists of a docstring."""
    for block in text.split("\n\n"):
        before, *items = re.split(r"(?:\A|\n)- ", block)
        if before.strip():
            yield element("p", _prose(before))
        if items:
            yield element("ul", *(element("li", _prose(item)) for item in items))


def _prose(text: str) -> Markup:
    text = _OPTION.sub(r"`\1`", " ".join(text.split()))
    return join(*(element("code", piece) if code else _linked(piece) for piece, code in spans(text)))


def _linked(text: str) -> Markup:
    pieces = _LINK.split(text)
    return join(*(element("a", piece, href=piece) if i % 2 else escape(piece) for i, piece in enumerate(pieces)))
