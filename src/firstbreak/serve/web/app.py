"""Addresses -> responses. Handlers that read files are plain functions, because Starlette runs these in threads."""

import contextlib
import math
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import anyio
import orjson
from starlette.applications import Starlette
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from firstbreak.audit.marks import MARKS, key_of, load, save
from firstbreak.audit.split_truth import split
from firstbreak.evals.ledger import newest
from firstbreak.model import Run
from firstbreak.preflight.memory import drawing
from firstbreak.readers import Unreadable
from firstbreak.readers.opening import beneath
from firstbreak.reports import html, json
from firstbreak.serve.web import pages
from firstbreak.serve.web.browse import SORTS, SampleQuery, browse, components, findings, for_finding
from firstbreak.serve.web.curves import AXES, as_csv, on_axis, window
from firstbreak.serve.web.pages.run import EvaluationRow, evaluation
from firstbreak.serve.web.run_store import MOST_COMPARED, MOST_SAMPLES, RunStore, StoredRun

MOST_METRICS = 32  #: metrics in one request for curves
MOST_POINTS = 4000  #: points of one curve in one response
MOST_COLUMNS = 30  #: chosen columns of the list
SAMPLES_ON_A_PAGE = 20
LEDGER_FILE = "firstbreak-ledger.db"  #: in the served folder; `firstbreak eval` writes it
MOST_ROWS = 10_000  #: newest rows of the ledger that are looked through
MOST_DIGITS = 20  #: of a whole number in an address
MARKS_FILE = "marks.json"  #: in the served folder; `firstbreak audit --marks` reads it
MOST_LISTENERS = 32  #: open pages that get updates
NOTIFY_EVERY = 0.1  #: seconds between two checks for news for an open page
SURVEY_PATIENCE = 10.0  #: seconds that a page waits for the first search of the folder
AT_ONCE = 2  #: runs that are diagnosed at the same time, so that a large one does not hold up the small ones
RUN_PATIENCE = 20.0  #: seconds that the others wait for one run
LIVE_EVERY = 0.4  #: seconds between two updates of a run whose page is open
LIST_EVERY = 2.0  #: seconds between two updates of all runs while the list is open
UNWATCHED_EVERY = 30.0  #: seconds between them while it is not: the history of a verdict goes on
_T = TypeVar("_T")
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class _AnyName(PathConvertor):
    regex = "(?s:.*)"  # a folder's name may hold a newline


register_url_convertor("any", _AnyName())


class Site:
    """The web page over the runs below `root`, beside those in `baseline`. `app` needs `AuthMiddleware` around it."""

    def __init__(self, root: Path, baseline: Path | None = None) -> None:
        self.store = RunStore(root, baseline)
        self.files = _static_files()
        self.watched: Counter[str] = Counter()  #: run -> open pages; "" is the list
        self.marks = (root if root.is_dir() else root.parent) / MARKS_FILE
        self._surveyed = threading.Event()
        self._marking = threading.Lock()

    def app(self) -> Starlette:
        routes = [
            Route("/", self.index),
            Route("/run/{name:any}", self.run),
            Route("/compare", self.compare),
            Route("/curves", self.curves),
            Route("/samples/{name:any}", self.samples),
            Route("/marks/{name:any}", self.mark, methods=["POST"]),
            Route("/report/{name:any}", self.report),
            Route("/diagnosis/{name:any}", self.diagnosis),
            Route("/csv/{name:any}", self.csv),
            Route("/live/{name:any}", self.live),
            Route("/explain/{name:any}", self.explain),
            Route("/static/{name}", self.static),
        ]
        handlers = {HTTPException: _problem, Unreadable: _problem}
        return Starlette(routes=routes, exception_handlers=handlers, lifespan=self.lifespan)

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._update_store)
            tasks.start_soon(self._follow_watched)
            yield
            tasks.cancel_scope.cancel()

    async def _update_store(self) -> None:
        """Diagnose every run once, then the runs that change: soon while the list is open, and now and then while it is not."""
        latest = -math.inf
        while True:
            if self.watched[""] or not self._surveyed.is_set() or time.monotonic() - latest >= UNWATCHED_EVERY:
                with contextlib.suppress(Exception):  # a folder that is missing for a moment must not stop the service
                    await anyio.to_thread.run_sync(self.store.survey)
                self._surveyed.set()
                some = anyio.Semaphore(AT_ONCE)
                async with anyio.create_task_group() as tasks:
                    for entry in await anyio.to_thread.run_sync(self.store.waiting):
                        tasks.start_soon(self._update, entry, some)
                latest = time.monotonic()
            await anyio.sleep(LIST_EVERY)

    async def _update(self, entry: StoredRun, some: anyio.Semaphore) -> None:
        """Diagnose a run. One that takes long goes on in its thread, and the others no longer wait for it."""
        async with some:
            with anyio.move_on_after(RUN_PATIENCE):
                await anyio.to_thread.run_sync(entry.update, abandon_on_cancel=True)
            self.store.tidy()

    async def _follow_watched(self) -> None:
        """Update the runs whose pages are open."""
        while True:
            async with anyio.create_task_group() as tasks:
                for entry in self.store.entries():
                    if self.watched[entry.name] and not entry.busy:
                        tasks.start_soon(self._follow, entry.name)
            await anyio.sleep(LIVE_EVERY)

    async def _follow(self, name: str) -> None:
        """Update a run whose page is open; one that takes long goes on in its thread."""
        with anyio.move_on_after(RUN_PATIENCE):
            await anyio.to_thread.run_sync(self.store.entry, name, abandon_on_cancel=True)

    # --- pages --------------------------------------------------------------------------------------------------------

    def index(self, request: Request) -> Response:
        self._surveyed.wait(timeout=5)
        live = pages.frame.address("live", seen=self.store.state())
        store, columns = self.store, tuple(dict.fromkeys(request.query_params.getlist("column")))
        known = store.root, store.summaries(), live, self._surveyed.is_set(), store.without_log
        return HTMLResponse(pages.listing.page(*known, columns[:MOST_COLUMNS]))

    def run(self, request: Request) -> Response:
        entry = self._entry(request)
        dx = entry.diagnosis
        live = pages.frame.address("live", entry.name, grown=entry.grown, revision=entry.revision)
        if dx is None:
            return HTMLResponse(pages.run.unreadable(entry.summary, live))
        problems: list[str] = []
        marks, rows = self._marks(problems), self._evaluations(entry, problems)
        plan = _tried(lambda: drawing.saved(entry.path), entry.root, problems, None)
        known = entry.summary, dx, live, entry.to_read, marks, rows, problems, entry.history, plan
        return HTMLResponse(pages.run.page(*known))

    def _marks(self, problems: list[str]) -> dict[str, str]:
        """The marks of the served folder, or why they cannot be read."""
        return _tried(partial(load, self.marks), self.marks.parent, problems, {})

    def _evaluations(self, entry: StoredRun, problems: list[str]) -> list[EvaluationRow]:
        """The evaluations of a run in the ledger of the served folder, or why it cannot be read. Empty without a ledger."""
        place = self.store.root / LEDGER_FILE
        if not place.is_file():
            return []
        names = {entry.name, entry.path.name, str(entry.path)}
        rows: list[dict[str, Any]] = _tried(partial(newest, place, MOST_ROWS), self.store.root, problems, [])
        return [
            evaluation(r) for r in rows if r.get("kind") == "evaluation" and str(r.get("run", "")).rstrip("/") in names
        ]

    def samples(self, request: Request) -> Response:
        entry = self._entry(request)
        page = _whole(request, "page", 0, most=MOST_SAMPLES)
        run, found = _held(entry.run), findings(entry.diagnosis)
        parts = components(run)
        query = {name: value for name in pages.samples.ASKED if (value := request.query_params.get(name))}
        finding = found.get(query.get("finding", ""))
        since, by = (-math.inf, "") if finding is None else for_finding(finding, parts)
        by = query.get("sort", by)
        asked = SampleQuery(
            text=query.get("q", ""),
            step=_number(request, "step", since),
            until=_number(request, "until", math.inf),
            by=by if by in (*SORTS, *parts) else "",
            rising=query.get("order") == "rising",
            least=_number(request, "least", -math.inf),
            most=_number(request, "most", math.inf),
            once=query.get("once") == "1",
        )
        shown = browse(run, asked, page * SAMPLES_ON_A_PAGE, SAMPLES_ON_A_PAGE)
        problems: list[str] = []
        marks = self._marks(problems)
        return HTMLResponse(pages.samples.page(entry.summary, shown, page, query, asked, parts, found, marks, problems))

    async def mark(self, request: Request) -> Response:
        """Save a mark of a sample in the marks file of the served folder. The mark "" removes an earlier one."""
        try:
            wanted = orjson.loads(await request.body())
            place, word = int(wanted["place"]), wanted["mark"]
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, OverflowError):
            raise HTTPException(400, "a mark has the form {place, mark}") from None
        if word not in (*MARKS, "") or not 0 <= place < MOST_SAMPLES:
            raise HTTPException(400, f"a mark is one of {', '.join(MARKS)}, for a sample of this run")
        run = _held((await anyio.to_thread.run_sync(self._entry, request)).run)
        await anyio.to_thread.run_sync(self._mark, run, place, word)
        return Response(status_code=204)

    def _mark(self, run: Run, place: int, word: str) -> None:
        sample = next(islice(run.samples or (), place, None), None)
        if sample is None:
            raise HTTPException(404, "this sample does not exist")
        seen, _ = split(sample)
        told = {name: getattr(seen, name) for name in ("step", "reward", "prompt", "completion")}
        with self._marking, beneath(self.marks.parent):
            save(self.marks, {key_of(seen): {"mark": word, **told} if word else None})

    def compare(self, request: Request) -> Response:
        compared = self._asked(request)
        if len(compared) < 2:
            raise HTTPException(400, "select two or more runs in the list to compare them")
        return HTMLResponse(pages.comparison.page([(entry.summary, run) for entry, run in compared]))

    def explain(self, request: Request) -> Response:
        """The page of a name. Nothing is read: a name is looked up among the known ones."""
        try:
            return HTMLResponse(pages.explanation.page(request.path_params["name"]))
        except Unreadable as error:
            raise HTTPException(404, str(error)) from None

    # --- data ---------------------------------------------------------------------------------------------------------

    def curves(self, request: Request) -> Response:
        """Each `metric` of each `run` between `from` and `to`, with at most `points` points; null where a run lacks it.

        `x`: over tokens, time or another metric (as JSON) instead of the steps, where a run records them.
        """
        names = request.query_params.getlist("metric")
        if len(names) > MOST_METRICS:
            raise HTTPException(400, f"at most {MOST_METRICS} metrics in one request")
        points = max(2, _whole(request, "points", 600, most=MOST_POINTS))
        span = _number(request, "from", float("-inf")), _number(request, "to", float("inf"))
        axis = request.query_params.get("x", "")
        if axis and axis not in AXES and not axis.startswith('"'):
            raise HTTPException(400, f"x is one of {', '.join(AXES)}, or a metric as JSON")
        runs = [run for _, run in self._asked(request)]

        def drawn(run: Run, name: str) -> dict[str, Any] | None:
            series = run.series.get(name, run.unknown.get(name))
            series = on_axis(run, series, axis) if axis and series is not None else series
            return None if series is None else window(series, points, *span)

        found = {name: [drawn(run, name) for run in runs] for name in names}
        data = orjson.dumps(found, option=orjson.OPT_SERIALIZE_NUMPY)  # NaN becomes null: a gap in the line
        return Response(data, media_type="application/json", headers={"cache-control": "no-store"})

    def report(self, request: Request) -> Response:
        page = html.render(_held(self._entry(request).diagnosis))
        return _download(page.encode("utf-8", "backslashreplace"), "text/html", "diagnosis.html")

    def diagnosis(self, request: Request) -> Response:
        return _download(
            json.render(_held(self._entry(request).diagnosis)).encode(), "application/json", "diagnosis.json"
        )

    def csv(self, request: Request) -> Response:
        return _download(as_csv(_held(self._entry(request).run)).encode(), "text/csv", "metrics.csv")

    async def static(self, request: Request) -> Response:
        """A file of the page. It is in memory: no thread is waited for."""
        name = request.path_params["name"]
        if name not in self.files:
            raise HTTPException(404)
        return Response(self.files[name], media_type=_TYPES[Path(name).suffix], headers={"cache-control": "no-cache"})

    # --- live ---------------------------------------------------------------------------------------------------------

    async def live(self, request: Request) -> Response:
        """Server-sent events for updates of a page: `grown` for new points, `diagnosed` for a new diagnosis."""
        name = request.path_params["name"]
        if self.watched.total() >= MOST_LISTENERS:
            raise HTTPException(503, "too many pages are open; close one of them")
        if name:
            entry = await anyio.to_thread.run_sync(self._entry, request)
            events = self._run_events(entry, _whole(request, "grown", 0), _whole(request, "revision", 0))
        else:
            events = self._list_events(_whole(request, "seen", 0))
        headers = {"cache-control": "no-store"}
        return StreamingResponse(self._watching(name, events), media_type="text/event-stream", headers=headers)

    async def _watching(self, name: str, events: AsyncIterator[str]) -> AsyncIterator[str]:
        self.watched[name] += 1
        try:
            async for event in events:
                yield event
        finally:
            self.watched[name] -= 1

    async def _run_events(self, entry: StoredRun, grown: int, revision: int) -> AsyncIterator[str]:
        yield "retry: 1000\n\n"
        while True:
            if entry.revision != revision:
                grown, revision = entry.grown, entry.revision
                yield f"event: diagnosed\ndata: {entry.summary.changed:.0f}\n\n"
            elif entry.grown != grown:
                grown = entry.grown
                yield f"event: grown\ndata: {entry.summary.changed:.0f}\n\n"
            await anyio.sleep(NOTIFY_EVERY)

    async def _list_events(self, seen: int) -> AsyncIterator[str]:
        yield "retry: 1000\n\n"
        while True:
            if (state := self.store.state()) != seen:
                seen = state
                yield "event: diagnosed\ndata:\n\n"
            await anyio.sleep(LIST_EVERY / 2)

    def _entry(self, request: Request) -> StoredRun:
        """The run in the address. The name is looked up among the known runs and never used as a path."""
        return self._known(request.path_params["name"])

    def _asked(self, request: Request) -> list[tuple[StoredRun, Run]]:
        """The runs of the query, without duplicates. They are held: another one may close them."""
        names = list(dict.fromkeys(request.query_params.getlist("run")))
        if len(names) > MOST_COMPARED:
            raise HTTPException(400, f"at most {MOST_COMPARED} runs at a time")
        return [(entry, _held(entry.run)) for entry in map(self._known, names)]

    def _known(self, name: str) -> StoredRun:
        if not self._surveyed.wait(timeout=SURVEY_PATIENCE):
            raise HTTPException(503, "the folder is still being searched for runs; reload in a moment")
        entry = self.store.entry(name)
        if entry is None:  # it may have been started a moment ago
            self.store.survey()
            entry = self.store.entry(name)
        if entry is None:
            raise HTTPException(404, "there is no run with this name in the served folder")
        return entry


def _tried(read: Callable[[], _T], root: Path, problems: list[str], otherwise: _T) -> _T:
    """What is read below `root`. What cannot be read becomes a line of `problems`."""
    try:
        with beneath(root):
            return read()
    except Unreadable as error:
        problems.append(str(error))
        return otherwise


def _held(read: _T | None) -> _T:
    """A run or its diagnosis, once there is one."""
    if read is None:
        raise HTTPException(409, "this run cannot be read yet")
    return read


def _whole(request: Request, name: str, default: int, most: int = 2**63) -> int:
    text = request.query_params.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or len(text) > MOST_DIGITS or int(text) > most:
        raise HTTPException(400, f"{name} must be a whole number from 0 to {most}")
    return int(text)


def _number(request: Request, name: str, default: float) -> float:
    text = request.query_params.get(name, "")
    try:
        number = float(text) if text else default
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise HTTPException(400, f"{name} must be a number")
    return number


def _download(data: bytes, media_type: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return Response(data, media_type=media_type, headers=headers)


def _problem(request: Request, error: Exception) -> Response:
    status, why = (error.status_code, error.detail) if isinstance(error, HTTPException) else (409, str(error))
    return HTMLResponse(pages.frame.message(f"{status}", why), status_code=status)


def _static_files() -> Mapping[str, bytes]:
    """All static files, read once, so that no address is ever used as a path. The first paint waits for one style sheet."""
    folder = resources.files("firstbreak.serve.web").joinpath("static")
    own = {item.name: item.read_bytes() for item in folder.iterdir() if Path(item.name).suffix in _TYPES}
    styles = html.stylesheet().encode(), *(own.pop(name) for name in ("uPlot.css", "page.css"))
    return {**own, "style.css": b"\n".join(styles)}
