"""Secrets are masked wherever they could be shown or written: one list of them, asked in every place."""

import json
import re
from pathlib import Path

import pytest

from firstbreak import cli
from firstbreak.engine.diagnose import diagnose
from firstbreak.live.guard import evidence
from firstbreak.masking import MASK, Mask, by_look, is_secret
from firstbreak.model import Sample
from firstbreak.readers.read import read
from firstbreak.reports import html, inspection, markdown, terminal
from firstbreak.reports import json as report
from tests.test_cli import healthy

KEEP = "tr0ub4dor-and-3-more"
BY_LOOK = [
    "hf_" + "a" * 34, "sk-" + "b" * 40, "ghp_" + "c" * 36, "AKIA" + "D" * 16, "glpat-" + "e" * 20, "xoxb-" + "f" * 20,
    "https://hooks.slack.com/services/T000/B000/gggggggg", "https://discord.com/api/webhooks/1/hhhhhhhh",
    "https://x.blob.core.windows.net/a?sv=1&sig=iiiiiiii", "https://s3/x?X-Amz-Signature=jjjjjjjj",
    "https://me:kkkkkkkk@example.org/x.git",
]  # fmt: skip
BY_NAME = [
    "pw", "auth", "db.pw", "api_keys", "hf_token", "hub_tokens", "webhook", "slack_webhook_url", "password", "dsn",
]  # fmt: skip
NO_SECRETS = ["max_tokens", "eos_token", "num_tokens", "author", "tokens_per_second", "batch_size", "authority", "keys"]


def secret_part(text: str) -> str:
    found = re.search(r"(.)\1{7,}", text)
    assert found is not None
    return found[0]


@pytest.mark.parametrize("secret", BY_LOOK)
@pytest.mark.parametrize("around", ["{}", "key={}!", "loaded '{}' from_{}", "train/{}"])
def test_a_secret_is_known_by_its_look(secret: str, around: str) -> None:
    masked = by_look(around.format(secret, secret))
    assert secret_part(secret) not in masked
    assert MASK in masked


@pytest.mark.parametrize("name", BY_NAME)
def test_a_secret_is_known_by_its_name(name: str) -> None:
    mask = Mask({})
    assert is_secret(name)
    assert KEEP not in str(mask.tree({name: KEEP, "inner": {name: [KEEP, KEEP]}}))
    assert KEEP not in mask.text(f"{name} = {KEEP}")
    assert KEEP not in " ".join(mask.command(["train", f"--{name.replace('_', '-')}", KEEP]))


@pytest.mark.parametrize("name", NO_SECRETS)
def test_options_about_tokens_are_kept(name: str) -> None:
    assert not is_secret(name)


def test_the_flag_of_a_password_is_not_that_of_a_port() -> None:
    mask = Mask({})
    assert KEEP not in " ".join(mask.command(["mysql", "-p", KEEP]))
    assert list(mask.command(["serve", "-p", "8080"])) == ["serve", "-p", "8080"]


@pytest.mark.parametrize(
    "text", ["a" * 250_000, "a." * 125_000, "-eyJ" * 75_000, "://" + "a." * 100_000, "a =" * 75_000]
)
def test_no_text_takes_long(text: str) -> None:
    assert Mask({"API_KEY": KEEP}).text(text) == text


@pytest.fixture
def told(tmp_path: Path) -> Path:
    healthy(tmp_path)
    options = {name.replace(".", "_"): KEEP for name in BY_NAME}
    options |= {f"option{i}": f"see {text}" for i, text in enumerate(BY_LOOK)}
    (tmp_path / "config.json").write_text(json.dumps(options))
    sample = {"step": 1, "prompt": " ".join(BY_LOOK), "completion": " ".join(BY_LOOK), "reward": 1.0}
    (tmp_path / "completions.jsonl").write_text(json.dumps(sample) + "\n")
    (tmp_path / "firstbreak-context.json").write_text(
        json.dumps({"schema": "firstbreak.context/1", "config": options, "command": ["train", BY_LOOK[0]]})
    )
    return tmp_path


def assert_masked(text: str) -> None:
    assert KEEP not in text
    for secret in BY_LOOK:
        assert secret_part(secret) not in text, secret


def test_no_report_shows_a_secret(told: Path) -> None:
    run = read(told)
    dx = diagnose(run)
    for text in (
        report.render(dx), html.render(dx), markdown.render(dx), terminal.render(dx),
        inspection.renderable(run).string(), inspection.render_json([run]),
    ):  # fmt: skip
        assert_masked(text)


def test_no_bundle_and_no_close_out_holds_a_secret(told: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = " ".join(BY_LOOK)
    files = evidence.files([], {"password": KEEP, "at": text}, [Sample(step=1, prompt=text, completion=text)], None, "")
    assert_masked("".join(content.decode() for content in files.values() if isinstance(content, bytes)))
    out = tmp_path_factory.mktemp("out") / "closeout"
    with pytest.raises(SystemExit):
        cli.main(["closeout", str(told), "-o", str(out)])
    for file in out.rglob("*"):
        if file.is_file():
            assert_masked(file.read_text(errors="replace"))


def test_no_answer_to_an_agent_holds_a_secret(told: Path) -> None:
    server = pytest.importorskip("firstbreak.serve.mcp.server")
    tools = server.McpTools(told)
    for result in (tools.inspect("."), tools.diagnose("."), tools.samples(".")):
        assert_masked(json.dumps(result.structured_content) + result.content[0].text)
