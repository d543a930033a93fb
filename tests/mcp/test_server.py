"""The tools as an agent meets them: through the official client, over each transport."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from firstbreak.cli.demo import RUN
from firstbreak.engine.catalogue import catalogue
from firstbreak.engine.diagnose import diagnose
from firstbreak.readers.read import read
from firstbreak.reports import agent
from firstbreak.reports import json as report
from tests.attack.injections import ORDER, hostile_run
from tests.command import FIRSTBREAK
from tests.lazy import lazy
from tests.make import write_jsonl
from tests.waiting import PATIENCE
from tests.web.serving import write_hostile

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from mcp.types import CallToolResult

    from mcp import Client

jsonschema = lazy("jsonschema")
mcp = lazy("mcp")
mcp_server = lazy("firstbreak.serve.mcp.server")

TOOLS = {"survey", "brief", "curve", "audit", "inspect", "diagnose", "explain", "samples", "compare", "experiment_plan"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agents") / "runs"
    shutil.copytree(RUN, folder / "demo")
    write_jsonl(folder / "steady" / "metrics.jsonl", 60)
    write_hostile(folder)
    write_doubtful(folder / "doubtful" / "trainer_state.json")
    return folder.resolve()


def write_doubtful(path: Path) -> None:
    """A run of TRL whose score falls while its reward rises, for one of several reasons."""
    rows = [
        {
            "step": step,
            "reward": 0.2 + 0.005 * step,
            "kl": 0.002 * step,
            "frac_reward_zero_std": 0.1,
            "completions/mean_length": 100.0 + 0.1 * (step % 7),
            "completions/clipped_ratio": 0.0,
            "grad_norm": 0.5,
            "learning_rate": 1e-5,
            **({"eval_reward": 0.5 - 0.004 * step + 0.01 * (step % 3)} if step % 5 == 0 else {}),
        }
        for step in range(1, 101)
    ]
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"log_history": rows, "global_step": 100}))


def ask(target: Any, talk: Callable[[Client], Awaitable[Any]]) -> Any:
    """Talk to a server through the SDK's client, which checks structured results against their schema."""

    async def session() -> Any:
        async with mcp.Client(target, read_timeout_seconds=PATIENCE) as client:
            return await talk(client)

    with ThreadPoolExecutor(1) as apart:  # a browser that another test holds open keeps this thread's event loop
        return apart.submit(anyio.run, session).result()


def call(target: Any, tool: str, **arguments: Any) -> CallToolResult:
    return ask(target, lambda client: client.call_tool(tool, arguments))  # type: ignore[no-any-return]


def of_the_run(result: CallToolResult) -> dict[str, Any]:
    """The result without what says which of its strings are data."""
    assert result.structured_content["untrusted"]["note"] == mcp_server.MARK
    return {key: value for key, value in result.structured_content.items() if key != "untrusted"}


def called(root: Path, tool: str, **arguments: Any) -> dict[str, Any]:
    return of_the_run(call(mcp_server.create(root), tool, **arguments))


def refused(root: Path, tool: str, **arguments: Any) -> str:
    result = call(mcp_server.create(root), tool, **arguments)
    assert result.is_error
    return str(result.content[0].text)


@cache
def expected(root: Path) -> dict[str, Any]:
    return report.payload(diagnose(read(root / "demo")))


def test_every_tool_only_reads_and_has_a_schema(root: Path) -> None:
    tools = ask(mcp_server.create(root), lambda client: client.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert len(tool.description) > 60
    schema = next(tool for tool in tools if tool.name == "diagnose").output_schema
    assert schema["properties"].items() >= report.schema()["properties"].items()


def test_a_diagnosis_is_the_json_of_the_command_line(root: Path) -> None:
    result = call(mcp_server.create(root), "diagnose", path="demo")
    assert of_the_run(result) == expected(root)
    jsonschema.validate(result.structured_content, report.schema())


def test_over_standard_input_and_output(root: Path) -> None:
    program, *arguments = [*FIRSTBREAK, "mcp", "--root", str(root)]
    server = mcp.StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
    assert of_the_run(call(server, "diagnose", path="demo")) == expected(root)


@pytest.fixture(scope="module")
def over_http(root: Path) -> Iterator[str]:
    command = [*FIRSTBREAK, "mcp", "--root", str(root), "--http", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield re.search(r"http://\S+", said)[0]  # type: ignore[index]
        process.terminate()


def test_over_http(over_http: str, root: Path) -> None:
    assert of_the_run(call(over_http, "diagnose", path="demo")) == expected(root)


def test_over_http_the_token_is_needed(over_http: str) -> None:
    """The address works as it is printed, and without its token it does not."""
    import httpx

    address, _, token = over_http.partition("?token=")
    assert token
    call = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"accept": "application/json, text/event-stream"}
    codes = [httpx.post(url, json=call, headers=accept, timeout=PATIENCE).status_code for url in (address, over_http)]
    assert codes[0] == 401
    assert codes[1] != 401


def test_http_refuses_a_foreign_name(over_http: str) -> None:
    import http.client
    from urllib.parse import urlsplit

    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(over_http).port, timeout=PATIENCE)
    connection.request("POST", "/mcp", b"{}", {"host": "evil.example", "content-type": "application/json"})
    assert connection.getresponse().status == 421
    connection.close()


def test_what_a_log_says_is_marked_as_data(root: Path) -> None:
    hostile = next(path for path in root.iterdir() if path.name.startswith("<script"))
    server = mcp_server.create(root)
    fences = []
    for tool in ("inspect", "diagnose", "samples"):
        result = call(server, tool, path=str(hostile))
        assert not result.is_error, result.content
        assert result.meta["firstbreak/untrusted"] == mcp_server.MARK
        text = result.content[0].text
        head, fence, body = re.match(r"(.*?)\n<(log-data-[0-9a-f]{16})>\n(.*)\n</\2>$", text, re.DOTALL).groups()
        assert head == mcp_server.MARK
        assert "evil.example" in body
        assert fence not in body
        assert json.loads(body) == result.structured_content
        fences.append(fence)
    assert len(set(fences)) == 3  # else a log could close the fence itself


def test_no_path_leads_out_of_the_folder(root: Path) -> None:
    write_jsonl(root.parent / "private" / "metrics.jsonl", 60)
    (root / "sly").symlink_to(root.parent / "private")
    server = mcp_server.create(root)
    for path in ("../private", str(root.parent / "private"), "sly", "/etc/passwd", "demo/../../private"):
        for tool in ("inspect", "diagnose", "samples", "experiment_plan"):
            result = call(server, tool, path=path)
            assert result.is_error
            assert "outside of the served folder" in result.content[0].text
    (root / "sly").unlink()


def test_inspect_lists_the_runs_of_a_folder_and_tells_about_one(root: Path) -> None:
    server = mcp_server.create(root)
    runs = call(server, "inspect").structured_content["runs"]
    assert len(runs) == 4
    one = call(server, "inspect", path=str(root / "demo")).structured_content
    assert (one["schema"], one["trainer"], one["algorithm"]) == ("firstbreak.run/1", "trl", "grpo")
    several = call(server, "diagnose", path=".")
    assert several.is_error
    assert "4 runs" in several.content[0].text


def test_a_survey_has_a_row_for_each_run_the_worst_first(root: Path) -> None:
    found = called(root, "survey")
    assert found["runs_in_all"] == len(found["runs"]) == 4
    assert found["runs"][0]["action"] in ("stop", "rollback")
    assert found["runs"][0]["link"]
    assert len(called(root, "survey", first=3)["runs"]) == 1


def test_a_brief_is_short_and_is_that_of_the_command_line(root: Path) -> None:
    text = called(root, "brief", path="doubtful")["text"]
    assert len(text) <= agent.MOST
    assert text == agent.render(diagnose(read(root / "doubtful")))


def test_a_curve_is_given_in_stretches_by_either_name(root: Path) -> None:
    found = called(root, "curve", path="doubtful", metric="reward.mean", points=4)
    assert found["n"] == 100
    assert found["rows"][0] == pytest.approx([25, 0.205, 0.265, 0.325])
    assert called(root, "curve", path="doubtful", metric="reward", points=4)["rows"] == found["rows"]
    assert "inspect" in refused(root, "curve", path="doubtful", metric="rewad")


def test_an_unknown_argument_is_refused(root: Path) -> None:
    assert "bogus" in refused(root, "diagnose", path="demo", bogus=1)


def test_samples_are_paged_and_found(root: Path) -> None:
    server = mcp_server.create(root)
    first = call(server, "samples", path="demo", count=5).structured_content["samples"]
    then = call(server, "samples", path="demo", first=5, count=5).structured_content["samples"]
    assert len(first) == len(then) == 5
    assert first != then
    late = call(server, "samples", path="demo", lowest_step=100, count=50).structured_content["samples"]
    assert late
    assert min(sample["step"] for sample in late) >= 100
    assert not call(server, "samples", path="demo", contains="no such text").structured_content["samples"]


def test_a_plan_weighs_what_experiments_tell_against_what_they_cost(root: Path) -> None:
    plan = call(mcp_server.create(root), "experiment_plan", path="doubtful").structured_content
    assert plan["causes"][0]["id"] == report.payload(diagnose(read(root / "doubtful")))["causes"][0]["id"]
    possible = [p for p in plan["proposals"] if p["cannot"] is None]
    assert possible
    assert {p["id"] for p in plan["proposals"]} <= set(catalogue())
    worth = [p["bits"] / p["share"] for p in possible]
    assert worth == sorted(worth, reverse=True)
    assert "What it tells" in possible[0]["what"]
    healthy = str(Path(__file__).parents[1] / "data" / "trl_grpo_healthy")
    shutil.copytree(healthy, root / "healthy")
    server = mcp_server.create(root)
    assert call(server, "experiment_plan", path="healthy").structured_content["proposals"] == []
    assert call(server, "experiment_plan", path="healthy", everything=True).structured_content["proposals"]


def test_runs_are_compared(root: Path) -> None:
    server = mcp_server.create(root)
    result = call(server, "compare", paths=["demo", "steady"]).structured_content
    assert [side["name"] for side in result["sides"]] == ["demo", "steady"]
    assert "learning_rate" in [d["name"] for d in result["differences"]]
    assert {p["link"] for p in result["partings"]} <= set(expected(root)["links"])
    assert "what differs" in result["text"]
    alone = call(server, "compare", paths=["demo"])
    assert alone.is_error
    assert "2 to" in alone.content[0].text


def test_explain_says_what_a_name_is_and_what_is_near(root: Path) -> None:
    server = mcp_server.create(root)
    assert "kl" in call(server, "explain", name="kl-spike").structured_content["text"].lower()
    assert "audit of samples" in call(server, "explain", name="judge-bias").structured_content["text"]
    unknown = call(server, "explain", name="kl-spikes")
    assert unknown.is_error
    assert "did you mean kl-spike" in unknown.content[0].text


def test_the_guide_ships_with_the_package(root: Path) -> None:
    guide = ask(mcp_server.create(root), lambda client: client.read_resource("firstbreak://guide")).contents[0].text
    for word in ("first_break", "not_measured", "When to stop and ask", "data"):
        assert word in guide


def test_bad_input_is_one_clear_line(root: Path) -> None:
    result = call(mcp_server.create(root), "diagnose", path="nothing")
    assert result.is_error
    assert "no such file or folder" in result.content[0].text
    assert "Traceback" not in result.content[0].text


def places(value: Any, wanted: str, place: str = "") -> set[str]:
    """Where a text stands in a result, written as `untrusted` writes it."""
    if isinstance(value, str):
        return {place} if wanted in value else set()
    if isinstance(value, list):
        return {found for item in value for found in places(item, wanted, f"{place}[]")}
    if isinstance(value, dict):
        by_the_log = any(wanted in key for key in value)
        found = {f for key, item in value.items() for f in places(item, wanted, f"{place}.{key}".lstrip("."))}
        return {f"{place}.*"} if by_the_log else found
    return set()


MAPS = re.compile(r"(\.(?:rewards|options|overrides|config_recorded|facts))\..*", re.DOTALL)


def test_every_string_of_the_log_is_named_as_untrusted(tmp_path: Path) -> None:
    run = hostile_run(tmp_path)
    server = mcp_server.create(tmp_path)
    for tool in ("inspect", "diagnose", "samples"):
        result = call(server, tool, path=run.name).structured_content
        marked = set(result["untrusted"]["strings"])
        there = {MAPS.sub(r"\1.*", place) for place in places(result, ORDER)}
        assert there - {"untrusted.note"} <= marked, tool
        assert there
        assert not {place for place in marked if place.endswith((".action", ".link", ".schema"))}
    refused = call(server, "diagnose", path=f"{run.name}/nothing")
    assert refused.is_error
    assert refused.content[0].text.isprintable()


def test_answers_are_bounded_and_paged(tmp_path: Path) -> None:
    rows = [{"step": i, "reward": i / 50, **{f"metric {n} {'x' * 200}": 0.5 for n in range(1200)}} for i in range(2)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    server = mcp_server.create(tmp_path)
    for tool, list_ in (("diagnose", "run.not_understood"), ("inspect", "not_understood")):
        first, then = (call(server, tool, path=".", first=start) for start in (0, 100))
        for result in (first, then):
            assert len(json.dumps(result.structured_content, indent=2)) < 1.1 * mcp_server.MOST_OF_AN_ANSWER
            assert result.structured_content["left_out"][list_] > 1000
        assert first.structured_content != then.structured_content


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "x" * 300 + "/y", "\udcff"])
def test_no_path_is_too_strange_to_be_refused_in_one_line(root: Path, path: str) -> None:
    from mcp.server.mcpserver.exceptions import ToolError

    with pytest.raises(ToolError) as refused:
        mcp_server.McpTools(root).diagnose(path)
    assert str(refused.value).isprintable()


def test_every_number_is_bounded(root: Path) -> None:
    tools = mcp_server.McpTools(root)
    for number in (-(10**30), 10**30):
        assert tools.samples("demo", first=number, count=number).structured_content["schema"] == "firstbreak.samples/1"
        assert tools.diagnose("demo", first=number).structured_content["schema"] == report.SCHEMA
    assert tools.samples("demo", lowest_step=float("nan")).structured_content["samples"] == []
