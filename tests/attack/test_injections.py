"""What a log says is data: no sentence of ours seems to say it, and nothing that shows it acts on it."""

from __future__ import annotations

import json
import re
import unicodedata
from contextlib import suppress
from dataclasses import replace
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest

from firstbreak import cli
from firstbreak.cli.watch import _message
from firstbreak.engine.diagnose import diagnose
from firstbreak.live.guard.notify import _BODIES, Notification
from firstbreak.readers.read import read
from firstbreak.reports import markdown
from firstbreak.words import LONGEST_NAME, quoted
from tests.attack.injections import ATTACK, ORDER, hostile_run

HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_run(tmp_path_factory.mktemp("hostile"))


def without_quotations(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", text)


def test_a_quoted_name_is_one_short_line() -> None:
    name = quoted(f"{ATTACK}`, and then")
    assert name.isprintable()
    assert name.count("`") == 2
    assert len(quoted("x" * 1000)) == LONGEST_NAME + 2
    assert quoted("checkpoint-500") == "`checkpoint-500`"


def test_what_to_do_and_what_is_sent_quote_the_log(run: Path) -> None:
    dx = diagnose(read(run))
    sent = _message(dx, str(run))
    for text in (dx.verdict.do_first, dx.verdict.summary, sent.text):
        assert ORDER not in without_quotations(text)
    assert ORDER in dx.verdict.do_first + dx.verdict.summary  # else nothing was asked


def test_a_saved_model_is_quoted(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from firstbreak.engine import verdict

    dx = diagnose(read(run))
    best = replace(dx.best_checkpoint, path=ATTACK) if dx.best_checkpoint else None
    assert best is not None
    said = verdict._back_to(best, "step")
    assert ORDER in said
    assert ORDER not in without_quotations(said)


def test_no_heading_of_a_report_is_the_log_s(run: Path) -> None:
    report = markdown.render(diagnose(read(run)))
    headings = [line for line in report.splitlines() if line.startswith("#")]
    assert ORDER not in without_quotations("\n".join(headings))
    assert not re.search(r"(?<!\\)!\[|(?<!\\)\]\(|https?://", without_quotations(report))


@pytest.mark.parametrize("kind", ["slack", "discord"])
def test_a_chat_shows_the_log_s_text_and_does_not_act_on_it(kind: str) -> None:
    body = json.dumps(
        _BODIES[kind](Notification(run=ATTACK, action="stop", text=f"**bold** {ATTACK}")), ensure_ascii=False
    )
    for live in ("<!channel>", "@everyone", "https://", "\x9b", "\u202e"):
        assert live not in body
    plain = '"mrkdwn": false' in body if kind == "slack" else "**bold**" not in body
    assert plain


def test_a_mail_has_one_subject_and_no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    from firstbreak.live.guard import notify

    sent: list[Any] = []

    class Server:
        def __init__(self, *_: object, **__: object) -> None: ...
        def __enter__(self) -> Server:
            return self

        def __exit__(self, *_: object) -> None: ...
        def has_extn(self, _: str) -> bool:
            return False

        def send_message(self, mail: Any) -> None:
            sent.append(mail)

    monkeypatch.setattr(notify.smtplib, "SMTP", Server)
    monkeypatch.setenv(notify.SMTP, "smtp://host")
    notify.sender("mailto:someone@example.org")(
        Notification(run=f"{ATTACK}\nBcc: x@evil.example", action="stop", text=ATTACK)
    )
    mail = message_from_bytes(sent[0].as_bytes())
    assert mail["Bcc"] is None
    assert "https://" not in mail.get_payload(decode=True).decode()


def hostile_commands(run: Path, folder: Path) -> list[list[str]]:
    here, out = str(run), str(folder / "out")
    return [
        ["diagnose", here], ["diagnose", here, "--format", "markdown"], ["diagnose", here, "--format", "json"],
        ["diagnose", str(run.parent), "--recursive"], ["diagnose", str(run.parent), "--recursive", "--format", "markdown"],
        ["inspect", here], ["inspect", here, "--format", "json"], ["compare", here, here], ["audit", here],
        ["closeout", here, "-o", out], ["closeout", "--check", out],
        ["diagnose", f"{here}/nothing"], ["explain", ATTACK.replace("\0", "")], ["replay", here, "--build", "x:y"],
        ["eval", "split", ATTACK, "--kind", "dev", "--ledger", str(folder / "ledger.db")],
        ["eval", "log", "--ledger", str(folder / "ledger.db")],
    ]  # fmt: skip


def test_no_command_sends_a_hidden_character_to_the_terminal(
    run: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in hostile_commands(run, tmp_path):
        with suppress(SystemExit):
            cli.main(command)
        shown = capsysbinary.readouterr()
        for text in (shown.out.decode(), shown.err.decode()):
            hidden = {c for c in text if unicodedata.category(c) in HIDDEN} - {"\n"}
            assert not hidden, (command[0], hidden, text)
    summary = (tmp_path / "out" / "summary.md").read_text()
    assert not re.search(r"(?<!\\)!\[|https?://", without_quotations(summary))
    assert not [line for line in summary.splitlines() if line.startswith(f"# {ORDER}")]
