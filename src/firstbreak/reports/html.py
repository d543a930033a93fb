"""The diagnosis as a web page: one file without scripts and external resources, for screens, paper and screen readers."""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from importlib import resources
from pathlib import Path

from firstbreak.model import Action, Diagnosis, Finding, Link, LinkStatus, Outcome, RankedCause, Run, Sample, Series
from firstbreak.reports import content, curves, picture, reference, svg
from firstbreak.reports.content import Exhibit, ReportLine, Section
from firstbreak.reports.markup import Markup, element, filled, join, lines
from firstbreak.reports.text import short_number, shorter, spans
from firstbreak.values import dataclass
from firstbreak.words import link_word, moment, number, percent

About = Callable[[str], str | None]  #: where the page of a detector or a cause is
_JOINT = re.compile(r"(?<=[./_])(?=\w)")
# The mark of the page, and of each verdict, on a 24 x 24 grid.
MARK = "M1 13h6l1.5-3 2 7 3-15 3 17 2-8 1 2h3.5"
ICON = {
    LinkStatus.NOT_MEASURED: "M8 9a4 4 0 1 1 5.3 3.8Q12 13.4 12 15.5M12 20v.01",
    Action.CONTINUE: "M4 12.5l5.5 5.5L20 6.5",
    Action.WATCH: "M2 12s3.6-6.5 10-6.5S22 12 22 12s-3.6 6.5-10 6.5S2 12 2 12zM12 9.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6z",
    Action.STOP: "M8 3h8l5 5v8l-5 5H8l-5-5V8zM8.5 12h7",
    Action.ROLLBACK: "M9 5L4 10l5 5M4 10h10a6 6 0 0 1 0 12h-3",
}


def render(dx: Diagnosis) -> str:
    """One self-contained page."""
    return render_all([dx])


def render_all(diagnoses: Sequence[Diagnosis]) -> str:
    """One self-contained page with one article for each diagnosis. Several are folded below a table, the worst first."""
    order = [*reversed(Action), LinkStatus.NOT_MEASURED]
    shown = sorted(diagnoses, key=lambda dx: order.index(content.mark(dx.verdict)))
    words = [content.ACTION_WORD[content.mark(dx.verdict)] for dx in shown]
    paths = ", ".join(dx.run.path for dx in shown)
    articles = [article(dx, f"d{i}", reference.folded) for i, dx in enumerate(shown, 1)]
    names = [names for names in [reference.appendix(shown)] if names is not None]
    if len(shown) == 1:
        return document(f"{words[0]}: {paths}", *articles, *names)
    heads = ("Verdict", "Run", "First break", "Why")
    said = [(word, literal(dx.run.path)) for word, dx in zip(words, shown, strict=True)]
    rows = (
        (word, element("a", path, href=f"#d{i}-verdict"), *_since(dx))
        for i, ((word, path), dx) in enumerate(zip(said, shown, strict=True), 1)
    )
    folded = (
        element("details", element("summary", f"{word}: ", path), whole, class_="rest")
        for (word, path), whole in zip(said, articles, strict=True)
    )
    return document(paths, table(heads, rows, "overview", named=1), *folded, *names)


def _since(dx: Diagnosis) -> tuple[Markup, Markup]:
    """The first break with its step, and why a run has its verdict."""
    first = dx.first_break
    step = "" if first is None else moment(dx.run.axis_of(first.metric), first.step, None)
    broke = "none found" if first is None else ", ".join(filter(None, (content.place(dx), step)))
    return prose(broke), prose(content.reason(dx))


def document(title: str, *articles: Markup, about: str = "diagnosis") -> str:
    """A self-contained page: nothing is loaded, and nothing runs."""
    main = element("main", *articles)
    return whole_page(title, about, stylesheet(), f"style-src {digest(stylesheet())}; img-src data:", main)


def whole_page(title: str, about: str, style: Markup, policy: str, *parts: Markup, kind: str = "") -> str:
    """A page of these parts. `policy`: what its content security policy lets in; nothing else is loaded or run."""
    policy = f"default-src 'none'; {policy}; base-uri 'none'; form-action 'none'"
    page = resources.files("firstbreak.reports").joinpath("page.html").read_text("utf-8")
    given = {"title": title, "about": about, "style": style, "policy": policy, "mark": icon(MARK), "kind": kind}
    return filled(page, **given, parts=join(*parts))


def fragment(dx: Diagnosis) -> str:
    """The report for a notebook cell: verdict, action and drawing; the rest is folded. Its styles affect nothing else."""
    # Ids must differ between the cells of a notebook, and the same diagnosis must give the same text.
    uid = (
        "d" + hashlib.sha256(f"{dx.run.path}\0{dx.verdict.summary}".encode("utf-8", "backslashreplace")).hexdigest()[:8]
    )
    first = {Section.VERDICT, Section.DO_FIRST, Section.OUTLOOK if dx.first_break is None else Section.FIRST_BREAK}
    parts = ([section for section in content.sections(dx) if (section in first) is shown] for shown in (True, False))
    begin, rest = (article(dx, uid, reference.address, part) for part in parts)
    more = element("details", element("summary", "The whole report"), rest, class_="rest")
    return _cell(join(begin, more))


def of_run(run: Run) -> str:
    """A run for a notebook cell: what it is, and each metric with its curve and its last value."""
    every = [s for s in (*run.series.values(), *run.unknown.values()) if len(s.finite)]
    rows = [
        (literal(s.name), svg.spark(s), number(float(s.finite.values[-1])), literal(s.raw or s.name)) for s in every
    ]
    metrics = table(("Metric", "Curve", "Last", "Logged as"), rows, "exhibit")
    return _cell(element("article", element("section", pairs(content.about(run)), metrics)))


def _cell(article: Markup) -> Markup:
    """A part of a notebook. Its styles do not affect the rest."""
    return element("div", element("style", stylesheet()), article, class_="firstbreak")


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str | None]], kind: str = "plain", label: str = "", named: int = 0
) -> Markup:
    """A table whose rows are named by their first cell, or by the cell `named`. It scrolls where it is wider than the page,
    with the keyboard as well. Its region is called as its columns are, or `label`.
    """
    label = label or ", ".join(text for text in heads if text)
    head = element("tr", *(element("th", text, scope="col") if text else element("td") for text in heads))
    cells = ((element("th", c, scope="row") if i == named else element("td", c) for i, c in enumerate(r)) for r in rows)
    body = (element("tr", *row) for row in cells)
    whole = element("table", element("thead", head), element("tbody", *body), class_=kind)
    return scrolling(whole, label)


def scrolling(whole: Markup, label: str) -> Markup:
    """What scrolls where it is wider than the page, with the keyboard as well."""
    return element("div", whole, class_="wide", role="region", aria_label=label, tabindex=0)


@dataclass(frozen=True)
class Plot:
    """The drawing of the first screen: training reward and independent score with the break, and the findings in time."""

    markup: str
    dx: Diagnosis

    def _repr_html_(self) -> str:
        return self.markup

    def __repr__(self) -> str:
        """One line; a notebook shows the drawing."""
        return "<Plot of a diagnosis: a notebook shows it, save(path) writes it as .html, .png, .svg or .pdf>"

    def save(self, path: str | Path) -> None:
        """Write the drawing: .html without scripts, or .png, .svg and .pdf, which matplotlib draws."""
        if Path(path).suffix.lower() not in ("", ".html", ".htm"):
            return picture.save(self.dx, path)
        Path(path).write_text(f"<!DOCTYPE html>\n<meta charset='utf-8'>\n{self.markup}\n", encoding="utf-8")


def plot(dx: Diagnosis) -> Plot:
    """The break, drawn. Its styles do not affect the rest of a notebook. Raises ValueError where no score is recorded."""
    drawing = _drawing(dx, "plot", None)
    if drawing is None:
        raise ValueError("nothing to draw: the run records neither a reward nor a score, and nothing was found")
    inside = element("section", drawing, class_="first-break")
    return Plot(_cell(element("article", inside, class_=content.mark(dx.verdict).value)), dx)


@cache
def stylesheet() -> Markup:
    """The styles of the report, all of them below `.firstbreak`."""
    return Markup(resources.files("firstbreak.reports").joinpath("report.css").read_text("utf-8"))


def digest(text: str) -> str:
    """A style sheet or a script as a content security policy names it: by its hash."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def article(dx: Diagnosis, uid: str, about: About, shown: Sequence[Section] | None = None) -> Markup:
    """The report, for a page with the styles. Ids begin with `uid`; the id of a finding ends with its detector.

    `about`: where the page of a detector or a cause is; `shown`: some of its sections.
    """
    sections = [_section(dx, section, uid, about) for section in shown or content.sections(dx)]
    return element("article", *sections, aria_labelledby=f"{uid}-verdict", class_=content.mark(dx.verdict).value)


def _section(dx: Diagnosis, section: Section, uid: str, about: About) -> Markup:
    name = f"{uid}-{section.value}"
    called = content.kind_of_break(dx).capitalize() if section is Section.FIRST_BREAK else section.heading
    heading = None if section is Section.VERDICT else element("h2", called, id=name)
    inside, kind = _SECTIONS[section](dx, name, about), section.value.replace("_", "-")
    return element("section", heading, inside, aria_labelledby=name, class_=kind)


def _verdict(dx: Diagnosis, uid: str, about: About) -> Markup:
    action = content.mark(dx.verdict)
    run = shorter(content.title(dx.run))
    return join(
        element("p", literal(dx.run.path), element("span", run) if run else None, class_="run"),
        element("h2", icon(ICON[action]), content.ACTION_WORD[action], id=uid),
        element("p", _summary(dx, uid.removesuffix(Section.VERDICT.value)), class_="summary"),
    )


def _summary(dx: Diagnosis, base: str) -> Markup:
    """The summary, in which the names of causes lead to them."""
    text, parts = dx.verdict.summary, []
    for cause in content.causes(dx) if Section.CAUSES in content.sections(dx) else ():
        found = re.search(re.escape(f"{cause.title} ({percent(cause.probability)} likely"), text, re.IGNORECASE)
        if found is not None:
            end = found.start() + len(cause.title)
            parts.append(
                (found.start(), end, element("a", prose(text[found.start() : end]), href=f"#{base}causes-{cause.id}"))
            )
    done, said = 0, []
    for start, end, link in sorted(parts):
        if start >= done:
            said += [prose(text[done:start]), link]
            done = end
    return join(*said, prose(text[done:]))


def _loop(dx: Diagnosis, uid: str, about: About) -> Markup:
    reasons = [
        element("li", element("strong", f"{link_word(link)} ({status}):"), prose(f" {why}"))
        for link, status, why in content.link_reasons(dx)
    ]
    if relations := content.relations_line(dx):
        reasons.append(element("li", prose(relations)))
    base = uid.removesuffix(Section.LOOP.value)
    return join(svg.ring(dx, f"{uid}-ring", partial(_address, dx, base)), element("ul", *reasons) if reasons else None)


def _address(dx: Diagnosis, base: str, link: Link) -> str | None:
    """Where a click on a link of the loop goes: its worst finding, or what is missing."""
    found = next((o.detector for o in dx.findings if o.link is link), None)
    if found is not None:
        return f"#{base}{Section.FINDINGS.value}-{found}"
    unseen = dx.links[link].status is LinkStatus.NOT_MEASURED and Section.NOT_MEASURED in content.sections(dx)
    return f"#{base}{Section.NOT_MEASURED.value}" if unseen else None


def _first_break(dx: Diagnosis, uid: str, about: About) -> Markup:
    return join(
        _drawing(dx, uid, uid.removesuffix(Section.FIRST_BREAK.value)), _guilty(dx), pairs(content.first_break(dx))
    )


LONGEST_SAMPLE = 600  #: characters of a sample beside the break
LONGEST_PROMPT = 200  #: characters of its prompt


def _guilty(dx: Diagnosis) -> Markup | None:
    """What was rewarded most since the break, beside what was rewarded most before it."""
    pair = content.guilty(dx)
    if pair is None:
        return None
    heads = ("Rewarded most since the break", "Rewarded most before it")
    return element("div", *(_one_sample(head, s) for head, s in zip(heads, pair, strict=True)), class_="pair")


def _one_sample(head: str, sample: Sample) -> Markup:
    parts = [f"step {number(sample.step)}", f"reward {number(sample.reward)}"]
    parts += [f"{name} {number(value)}" for name, value in sample.rewards.items()]
    text = sample.completion
    shown = text if len(text) <= LONGEST_SAMPLE else f"{text[:LONGEST_SAMPLE]} ..."
    said = element("p", lines(shown), dir="auto", class_="text")
    facts = element("p", ", ".join(parts), class_="facts")
    return element("div", element("strong", head), facts, _asked(sample.prompt), said)


def _asked(prompt: str) -> Markup | None:
    """The end of a prompt, in which the question stands."""
    if not prompt:
        return None
    shown = prompt if len(prompt) <= LONGEST_PROMPT else f"... {prompt[-LONGEST_PROMPT:]}"
    return element("p", "Prompt: ", element("span", lines(shown), dir="auto"), class_="facts asked")


def _drawing(dx: Diagnosis, uid: str, base: str | None) -> Markup | None:
    """The break, drawn: training reward and independent score with the onset, and under them the findings in time.

    `base`: with what the ids of the findings begin, to which the names lead; None where the findings are not on the page.
    """
    first, best, drawn = dx.first_break, dx.best_checkpoint, content.scores(dx)
    bars = content.cascade(dx)
    rows = [
        element(
            "li",
            element("a", bar.outcome.detector, href=f"#{base}{Section.FINDINGS.value}-{bar.outcome.detector}")
            if base is not None
            else element("code", bar.outcome.detector),
            element(
                "span",
                shorter(f"{link_word(bar.outcome.link)}, {bar.since}"),
                class_=f"facts at-{bar.outcome.link.value}",
            ),
            svg.bar(bar.start, bar.interval, bar.outcome.link),
        )
        for bar in bars
    ]
    cascade = element("ol", *rows, class_="cascade", aria_label="Findings in order of time") if rows else None
    if not drawn:
        return cascade
    onset, interval = (None, None) if first is None else (first.step, first.interval)
    same = first is not None and dx.run.axis_of(first.metric) == drawn[0].axis
    exhibit = Exhibit("", None, onset if same else None, interval if same else None)
    legend = [
        element("li", name, element("span", said), class_=f"key {kind}") for kind, name, said in content.marks(dx)
    ]
    domain, back = content.domain(dx, drawn[0]), None if best is None else best.back_to
    panels: list[Markup] = []
    for i, series in enumerate(drawn):
        key = element("li", literal(series.name), element("span", _last(series)), class_="key")
        plot = svg.curve(exhibit, series, domain, f"{uid}-drawing-{i}", best=back)
        panels += [element("ul", key, *legend[i :: len(drawn)]), _edges(series, None), plot]
    return join(element("div", *panels, class_="overlay"), cascade)


def _last(series: Series) -> str:
    """'last 0.9'."""
    return f"last {short_number(float(series.finite.values[-1]))}" if len(series.finite) else ""


def _edges(series: Series, level: float | None) -> Markup:
    """The ends of the scale of a curve, beside its drawing."""
    scale = curves.scale(series, level)
    edges = [curves.label(scale.high), "log scale" if scale.log else "", curves.label(scale.low)] if scale else []
    return element("div", *(element("span", edge) for edge in edges), class_="edges", aria_hidden="true")


def _outlook(dx: Diagnosis, uid: str, about: About) -> Markup:
    drawing = None if dx.first_break is not None else _drawing(dx, uid, uid.removesuffix(Section.OUTLOOK.value))
    return join(drawing, pairs(content.outlook(dx)))


def _findings(dx: Diagnosis, uid: str, about: About) -> Markup:
    return join(*(_finding(dx, outcome, f"{uid}-{outcome.detector}", about) for outcome in dx.findings))


def _finding(dx: Diagnosis, outcome: Outcome, uid: str, about: About) -> Markup:
    finding = content.found(outcome)
    head = element(
        "h3", severity(finding), " ", _named(element("code", outcome.detector), about(outcome.detector)), id=uid
    )
    facts = element("p", shorter(", ".join(content.finding_facts(dx, outcome))), class_="facts")
    figures = (_figure(dx, item, f"{uid}-{i}") for i, item in enumerate(content.exhibits_once(dx, finding), 1))
    return element(
        "section", head, facts, element("p", prose(finding.message)), *figures, aria_labelledby=uid, class_="finding"
    )


def severity(finding: Finding) -> Markup:
    """How bad a finding is, in one word."""
    word = content.SEVERITY_WORD[finding.severity].capitalize()
    return element("span", word, class_=f"severity {finding.severity.value}")


def _named(name: Markup, address: str | None) -> Markup:
    """A name that leads to its page, where there is one."""
    return name if address is None else element("a", name, href=address, title="What this means", class_="meaning")


def _figure(dx: Diagnosis, exhibit: Exhibit, uid: str) -> Markup:
    series = exhibit.series
    if series is None:
        return element("p", prose(exhibit.text), class_="evidence")
    return figure(exhibit, series, content.domain(dx, series), uid)


def figure(exhibit: Exhibit, series: Series, domain: tuple[float, float], uid: str) -> Markup:
    """The curve of an exhibit between the ends of its scale, with what it shows."""
    said = element("figcaption", prose(content.caption(exhibit)))
    return element("figure", said, _edges(series, exhibit.level), svg.curve(exhibit, series, domain, uid))


def _causes(dx: Diagnosis, uid: str, about: About) -> Markup:
    causes = element("ol", *(_cause(dx, cause, uid, about) for cause in content.causes(dx)))
    rest = content.other_causes(dx)
    return join(causes, element("p", rest.capitalize() + ".", class_="facts") if rest else None)


def _cause(dx: Diagnosis, cause: RankedCause, uid: str, about: About) -> Markup:
    place = content.cause_place(cause)
    bar = svg.share(cause.probability)
    title = _named(element("strong", cause.title), about(cause.id))
    name = element("span", title, f" ({place})" if place else None)
    return element(
        "li",
        element("div", element("span", percent(cause.probability), class_="number"), bar, name),
        _why(dx, cause, uid.removesuffix(Section.CAUSES.value)),
        id=f"{uid}-{cause.id}",
        class_="cause",
    )


def _why(dx: Diagnosis, cause: RankedCause, base: str) -> Markup | None:
    """What speaks for a cause and against it, opened for the leading causes; a finding's name leads to it."""
    if not dx.findings or not (lines := content.evidence(dx, cause)):
        return None
    title = element("summary", f"Why {percent(cause.probability)}")
    found = {outcome.detector for outcome in dx.findings}

    def told(line: ReportLine) -> Markup:
        name, colon, rest = line.text.partition(": ")
        if name not in found:
            return prose(line.text)
        return join(element("a", name, href=f"#{base}{Section.FINDINGS.value}-{name}"), colon, prose(rest))

    return element("details", title, pairs(lines, told), open=cause in content.argued(dx))


def _remedy(dx: Diagnosis, uid: str, about: About) -> Markup:
    return join(*(_one_remedy(dx, cause, f"{uid}-{i}") for i, cause in enumerate(content.remedies(dx), 1)))


def _one_remedy(dx: Diagnosis, cause: RankedCause, uid: str) -> Markup:
    fixes = element("ul", *(element("li", "Fix: ", prose(fix)) for fix in cause.fix)) if cause.fix else None
    plan = None if cause.experiment is None else pairs(content.experiment(dx.run, cause.experiment))
    return element("section", element("h3", cause.title, id=uid), fixes, plan, aria_labelledby=uid)


def _not_measured(dx: Diagnosis, uid: str, about: About) -> Markup:
    links, rest, each = content.unmeasured_links(dx), content.further_unmeasured(dx), content.missing_inputs(dx)
    lacking = element("summary", f"All {len(each)} things that checks lack")
    folded = element("details", lacking, pairs(each)) if each else None
    return join(pairs(links) if links else None, _bullets(rest) if rest else None, folded)


def pairs(lines: Iterable[ReportLine], told: Callable[[ReportLine], Markup] | None = None) -> Markup:
    """Labels with what is said of each; `told` writes it."""
    said = ((pair, told(pair) if told else literal(pair.text) if pair.literal else prose(pair.text)) for pair in lines)
    cells = ((pair.label, element("dd", text, class_="copied" if pair.copied else None)) for pair, text in said)
    return element("dl", *(element("div", element("dt", label), cell) for label, cell in cells))


def _bullets(lines: Iterable[str]) -> Markup:
    return element("ul", *(element("li", prose(line)) for line in lines))


def prose(text: str) -> Markup:
    """Running text. Text between backticks is code, as in all messages of firstbreak."""
    return join(*(element("code", piece) if code else piece for piece, code in spans(shorter(text))))


def literal(text: str) -> Markup:
    """A name from the log, with automatic text direction and possible line breaks after `.`, `/` and `_`."""
    first, *rest = _JOINT.split(text)
    return element("code", first, *(part for piece in rest for part in (element("wbr"), piece)), dir="auto")


def icon(path: str) -> Markup:
    return element("svg", element("path", d=path), viewBox="0 0 24 24", class_="icon", aria_hidden="true")


_Section = Callable[[Diagnosis, str, About], Markup]


def _labelled(lines: Callable[[Diagnosis], Sequence[ReportLine]]) -> _Section:
    return lambda dx, uid, about: pairs(lines(dx))


def _listed(lines: Callable[[Diagnosis], Sequence[str]]) -> _Section:
    return lambda dx, uid, about: _bullets(lines(dx))


_SECTIONS: dict[Section, _Section] = {
    **{section: _labelled(lines) for section, lines in content.LABELLED.items()},
    **{section: _listed(lines) for section, lines in content.LISTED.items()},
    Section.VERDICT: _verdict,
    Section.DO_FIRST: lambda dx, uid, about: element("p", prose(dx.verdict.do_first)),
    Section.LOOP: _loop,
    Section.FIRST_BREAK: _first_break,
    Section.OUTLOOK: _outlook,
    Section.FINDINGS: _findings,
    Section.CAUSES: _causes,
    Section.REMEDY: _remedy,
    Section.NOT_MEASURED: _not_measured,
}
