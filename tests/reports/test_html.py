"""The page: valid, self-contained, in order for a screen reader, and deaf to what a log says."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from firstbreak.cli.demo import RUN
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.registry import causes, detectors
from firstbreak.model import BreakKind, Diagnosis, Series
from firstbreak.readers.read import read
from firstbreak.reports import html, reference, svg
from firstbreak.reports.curves import MOST_POINTS
from firstbreak.reports.markup import Markup, element, escape, join
from firstbreak.reports.picture import _alike
from firstbreak.reports.text import spans, visible
from tests.reports import fixtures
from tests.there import there

VOID = {"meta", "wbr"}
TAGS = frozenset(
    re.findall(
        r"\w+",
        "html head meta title style body header main article section div p span strong code h1 h2 h3 ul ol li dl dt dd wbr "
        "figure figcaption details summary table thead tbody tfoot tr th td "
        "svg g path polygon circle line rect text desc",
    )
)


@dataclass
class Node:
    tag: str
    attributes: dict[str, str | None]
    children: list[Node | str] = field(default_factory=list)

    def walk(self) -> list[Node]:
        return [self, *(deep for child in self.children if isinstance(child, Node) for deep in child.walk())]

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)


class Tree(HTMLParser):
    """A strict reading: every tag that is opened is closed, in the right order."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.stack = [Node("document", {})]
        self.feed(source)
        self.close()
        assert [node.tag for node in self.stack] == ["document"], "not every tag is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute of {tag} is given twice"
        node = Node(tag, dict(attrs))
        self.stack[-1].children.append(node)
        if tag not in VOID:
            self.stack.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.stack[-1].children.append(data)


def nodes(source: str) -> list[Node]:
    return Tree(source).stack[0].walk()


#: what the texts of detectors and causes refer to: nothing of a log is in it
PAPERS = {link for item in (*detectors().values(), *causes().values()) for link in reference._LINK.findall(item.doc)}


def test_page_is_made_of_known_elements_only(dx: Diagnosis) -> None:
    page = nodes(html.render(dx))
    assert {node.tag for node in page} <= TAGS | {"document", "a", "img"}
    ids = {node.attributes.get("id") for node in page}
    for node in page:
        assert not [name for name in node.attributes if name.startswith("on") or name in ("style", "srcset")]
        assert (node.attributes.get("src") or "data:image/svg+xml;base64,").startswith("data:image/svg+xml;base64,")
        if (href := node.attributes.get("href")) is not None:  # a link leads to a part of this page, or to a paper
            assert node.tag == "a"
            assert href in PAPERS or (href.startswith("#") and href[1:] in ids)


def test_page_asks_for_nothing_and_runs_nothing(dx: Diagnosis) -> None:
    source = html.render(dx)
    style = there(re.search(r"<style>(.*?)</style>", source, re.DOTALL))
    assert not re.search(r"url\(|@import|https?:", style[1])
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = next(n.attributes["content"] for n in nodes(source) if n.attributes.get("http-equiv"))
    assert (
        policy == f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_ids_are_unique_and_every_label_exists(dx: Diagnosis) -> None:
    page = nodes(html.render_all([dx, dx]))
    ids = [node.attributes["id"] for node in page if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    labels = {name for node in page for name in (node.attributes.get("aria-labelledby") or "").split()}
    assert labels
    assert labels <= set(ids)


def test_headings_leave_no_level_out(dx: Diagnosis) -> None:
    levels = [int(node.tag[1]) for node in nodes(html.render(dx)) if re.fullmatch(r"h[1-6]", node.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))


def test_a_screen_reader_finds_its_way() -> None:
    page = nodes(html.render(fixtures.grpo_truncation()))
    tags = [node.tag for node in page]
    assert (tags.count("main"), tags.count("header"), tags.count("article")) == (1, 1, 1)
    assert next(node for node in page if node.tag == "html").attributes["lang"] == "en"
    pictures = [node for node in page if node.tag == "svg" and node.attributes.get("role") in ("group", "img")]
    assert len(pictures) == 1 + 1 + 4
    for picture in pictures:
        title, description = picture.children[:2]
        assert isinstance(title, Node)
        assert isinstance(description, Node)
        assert (title.tag, description.tag) == ("title", "desc")
        assert title.text
        assert len(description.text) > 60
    assert "rollout broken, reward suspect" in pictures[0].text
    assert "lowest 0 at" in pictures[1].text
    assert "Onset marked: step 193 (between 184 and 204)" in pictures[1].text
    assert all(node.attributes.get("scope") == "col" for node in page if node.tag == "th")
    decoration = [node for node in page if node.tag == "svg" and node.attributes.get("role") not in ("group", "img")]
    assert not [node for node in decoration if node.attributes.get("aria-hidden") not in ("true", None)]


def test_hostile_strings_are_text() -> None:
    page = nodes(html.render(fixtures.hostile()))
    shown = visible(fixtures.HOSTILE)
    unquoted = "".join(piece for piece, _ in spans(shown))
    assert [node.text for node in page if node.tag == "code"].count(shown) >= 3
    assert next(node for node in page if node.tag == "title").text == f"Stop: {shown}"
    assert any(node.tag == "p" and node.text == unquoted for node in page)
    html.render(fixtures.hostile()).encode("utf-8")


def test_curves_are_light_and_share_their_axis() -> None:
    n = 50_000
    dx = fixtures.grpo_truncation()
    long = fixtures.curve("kl.ref", fixtures.noise(n))
    finding = there(dx.findings[0].finding)
    shown = fixtures.Finding(
        message="",
        severity=finding.severity,
        metric="kl.ref",
        onset=n / 2,
        evidence=(fixtures.Evidence(text="", series=long),),
    )
    outcome = fixtures.Outcome(detector="x", link=fixtures.Link.REWARD, status=fixtures.Status.FOUND, finding=shown)
    page = nodes(html.render(dataclasses.replace(dx, outcomes=(outcome,))))
    figure = next(node for node in page if node.tag == "figure").walk()
    trace = next(node for node in figure if node.attributes.get("class") == "trace")
    assert 100 < len(re.findall(r"[ML]", trace.attributes["d"] or "")) <= MOST_POINTS
    onset = next(node for node in figure if node.attributes.get("class") == "onset").children[0]
    assert isinstance(onset, Node)
    assert onset.attributes["x1"] == "50.00%"


def test_gaps_levels_and_bands_are_drawn() -> None:
    classes = [node.attributes.get("class") for node in nodes(html.render(fixtures.nan_ridden()))]
    assert classes.count("curve") == 3
    assert classes.count("trace") == 2  # the third curve has no finite value
    assert classes.count("gap") > 50
    assert (classes.count("band"), classes.count("affected"), classes.count("level")) == (3, 2, 1)


def test_what_stands_between_backticks_is_code() -> None:
    dx = fixtures.healthy()
    expected = ("set `a<b` to 1, not ` c `",)
    page = nodes(html.render(dataclasses.replace(dx, expected=expected)))
    item = next(node for node in page if node.tag == "li" and node.text == "set a<b to 1, not ` c `")
    assert [child.text for child in item.children if isinstance(child, Node)] == ["a<b"]


def test_fragments_of_one_notebook_do_not_share_ids() -> None:
    one, two = html.fragment(fixtures.healthy()), html.fragment(fixtures.cannot_tell())
    ids = [node.attributes["id"] for source in (one, two) for node in nodes(source) if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    assert one == fixtures.healthy()._repr_html_()
    assert "<html" not in one


def test_a_fragment_styles_nothing_but_itself() -> None:
    style = re.sub(r"/\*.*?\*/", "", html.stylesheet())
    outermost, depth, start = [], 0, 0
    for i, c in enumerate(style):
        if c == "{":
            if depth == 0:
                outermost.append(style[start:i].strip())
            depth += 1
        elif c == "}":
            depth -= 1
            start = i + 1
    assert outermost == [".firstbreak", "@media print"]
    assert re.findall(r"(\S[^\n{]*) \{ font-size: 10pt; \}", style) == ["html:has(> .firstbreak.page)"]


def test_elements_escape_what_is_put_into_them() -> None:
    assert element("p", "<b>", Markup("<i>"), title='"') == '<p title="&quot;">&lt;b&gt;<i></p>'
    assert element("details", None, open=True, hidden=False, aria_label="x", class_="y") == (
        '<details open aria-label="x" class="y"></details>'
    )
    assert escape("\x1b<") == r"\x1b&lt;"
    assert join("<", None, Markup("<br>")) == "&lt;<br>"


@pytest.mark.parametrize("several", [1, 2])
def test_several_runs_make_one_page(several: int) -> None:
    page = nodes(html.render_all([fixtures.healthy(), fixtures.sb3_collapse()][:several]))
    assert len([node for node in page if node.tag == "article"]) == several


def test_several_runs_are_folded_below_a_table_that_leads_to_them_worst_first() -> None:
    page = html.render_all([fixtures.healthy(), fixtures.sb3_collapse()])
    rows = re.findall(r'<tr><td>([^<]+)</td><th scope="row"><a href="#(d\d-verdict)">', page)
    assert [word for word, _ in rows] == ["Roll back", "Continue"]
    assert all(f'id="{anchor}"' in page for _, anchor in rows)
    assert page.count('<details class="rest">') == 2


def test_each_curve_is_drawn_on_its_own_scale_and_in_short_numbers() -> None:
    page = html.render(fixtures.sb3_collapse())
    first = page[page.index('class="overlay"') :].partition('class="cascade"')[0]
    assert first.count('class="curve"') == first.count('class="edges"') == first.count('class="trace"') > 0
    assert not re.search(r">\d{6,}<", page)


def test_the_first_screen_is_drawn_in_a_notebook_and_saved(tmp_path: Path) -> None:
    dx = diagnose(read(RUN))
    drawing = dx.plot()
    shown = drawing._repr_html_()
    assert "reward-proxy-only" in shown
    assert 'class="overlay"' in shown
    assert "<script" not in shown
    assert "first break<span>step 61 (between " in shown
    assert "best score<span>step 70</span>" in shown
    whole = dx._repr_html_()
    assert (
        whole.index('class="overlay"')
        < whole.index("<summary>The whole report</summary>")
        < whole.index('class="ring"')
    )
    assert all(o.detector in whole for o in dx.findings)
    drawing.save(tmp_path / "break.html")
    assert shown in (tmp_path / "break.html").read_text()
    pytest.importorskip("matplotlib")
    for suffix, begin in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        drawing.save(tmp_path / f"break.{suffix}")
        assert (tmp_path / f"break.{suffix}").read_bytes().startswith(begin)
    drawn = (tmp_path / "break.svg").read_text()
    assert all(
        f"<!-- {text} -->" in drawn
        for text in ("Roll back: first break: reward, or earlier, step 61", "best score, step 70", "steps")
    )
    assert "<!-- run -->" in drawn  # the name of its folder


def test_two_scores_of_one_size_share_an_axis_and_two_axes_have_zero_at_one_height() -> None:
    small, alike, large = (Series(name="r", steps=np.arange(2.0), values=np.array([-v, v])) for v in (1.0, 1.5, 90.0))
    assert _alike([small, alike])
    assert not _alike([small, large])


def test_the_heading_of_a_sign_that_has_done_no_harm_is_first_sign() -> None:
    dx = fixtures.sb3_collapse()
    sign = dataclasses.replace(dx, first_break=dataclasses.replace(there(dx.first_break), kind=BreakKind.FIRST_SIGN))
    for shown, heading in ((dx, "First break"), (sign, "First sign")):
        assert re.search(rf"<h2[^>]*>{heading}</h2>", html.render(shown))


def test_a_run_shows_itself_in_a_notebook() -> None:
    shown = read(RUN)._repr_html_()
    assert {"reward.mean", "kl.ref"} <= {node.text for node in nodes(shown) if node.tag == "code"}
    assert "<script" not in fixtures.hostile().run._repr_html_()


def test_the_best_rewarded_sample_since_the_break_stands_beside_an_early_one() -> None:
    page = html.render(diagnose(read(RUN)))
    shown = page.partition('class="pair"')[2].partition("<dl>")[0]
    late, early = re.findall(r"step (\d+), reward ([\d.]+)", shown)
    assert float(late[0]) >= 61 > float(early[0])
    assert float(late[1]) > float(early[1])
    assert shown.count("thoroughness") == 2


@pytest.mark.parametrize(("step", "lines"), [("at step 61", 1), ("at environment step 2048", 2)])
def test_the_step_in_the_ring_stays_between_its_nodes(step: str, lines: int) -> None:
    shown = svg._short(step)
    assert " ".join(shown) == step
    assert len(shown) == lines
    assert max(map(len, shown)) <= svg.MIDDLE
