"""Messages, against servers that really listen."""

import json
import logging
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from firstbreak.live.guard import notify
from firstbreak.live.guard.notify import Notification, Notifier
from firstbreak.masking import MASK
from firstbreak.readers import Unreadable
from tests.waiting import PATIENCE

NEWS = Notification("ppo", "stop", "First break at reward.", "reward", 120.0)
TOKEN = "T0/B0/very-secret"


class Hook:
    """A web server with given answers, which stores what it got."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                hook.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                code, headers = hook.answers.pop(0) if hook.answers else (200, {})
                self.send_response(code)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/{TOKEN}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def hook() -> Iterator[Hook]:
    serving = Hook()
    yield serving
    serving.server.shutdown()
    serving.server.server_close()


def send(*targets: str, messages: tuple[Notification, ...] = (NEWS,), **options: Any) -> list[bool]:
    notifier = Notifier(targets, pause=0.01, **options)
    sent = [notifier.send(message) for message in messages]
    notifier.close(PATIENCE)
    return sent


def test_each_service_gets_what_it_understands(hook: Hook) -> None:
    send(hook.url, f"slack+{hook.url}", f"discord+{hook.url}")
    webhook, slack, discord = hook.got
    assert webhook == {"run": "ppo", "action": "stop", "text": NEWS.text, "about": "reward", "step": 120.0}
    assert slack["text"] == "firstbreak: stop: ppo, step 120\nFirst break at reward."
    assert discord["content"] == slack["text"]
    assert discord["allowed_mentions"] == {"parse": []}, "a name in a log must not page everyone"


def test_a_server_that_is_down_for_a_moment_is_tried_again(hook: Hook) -> None:
    hook.answers = [(503, {}), (429, {"Retry-After": "0"}), (200, {})]
    send(hook.url)
    assert len(hook.got) == 3


def test_an_address_that_is_refused_is_not_tried_again(hook: Hook, caplog: pytest.LogCaptureFixture) -> None:
    hook.answers = [(404, {})] * 5
    with caplog.at_level(logging.WARNING):
        send(hook.url)
    assert len(hook.got) == 1
    assert "HTTP 404" in caplog.text


def test_a_target_that_stays_down_is_given_up_and_the_others_get_the_message(
    hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        send(f"http://127.0.0.1:1/{TOKEN}", hook.url)
    assert len(hook.got) == 1
    assert f"not sent after {notify.ATTEMPTS} attempts" in caplog.text
    assert TOKEN not in caplog.text


def test_a_verdict_that_comes_and_goes_is_sent_once_an_hour(hook: Hook) -> None:
    now = [0.0]
    notifier = Notifier([hook.url], clock=lambda: now[0])
    for minute in range(119):
        now[0] = 60.0 * minute
        for action in ("watch", "stop"):
            notifier.send(Notification("ppo", action, "again", "reward"))
    notifier.close(PATIENCE)
    assert [m["action"] for m in hook.got] == ["watch", "stop"] * 2


@pytest.mark.parametrize(
    ("said", "secret"),
    [
        ("uploading with hf_abcdefghijklmnop", "hf_abcdefghijklmnop"),
        ("WANDB_API_KEY=0123456789abcdef", "0123456789abcdef"),
        ("password: swordfish", "swordfish"),
        ("from https://me:swordfish@host/x", "swordfish"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(hook: Hook, said: str, secret: str) -> None:
    send(hook.url, messages=(Notification("ppo", "stop", said),))
    assert secret not in json.dumps(hook.got)
    assert MASK in json.dumps(hook.got)


def test_mail_goes_through_the_server_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = pytest.importorskip("aiosmtpd.controller")
    got = []

    class Handler:
        async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
            got.append(envelope)
            return "250 OK"

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    listening = controller.Controller(Handler(), hostname="127.0.0.1", port=port)
    listening.start()
    try:
        monkeypatch.setenv(notify.SMTP, f"smtp://127.0.0.1:{port}")
        send("mailto:someone@example.org", messages=(Notification("ppo\r\nBcc: x@y", "stop", "It broke."),))
    finally:
        listening.stop()
    (mail,) = got
    assert mail.rcpt_tos == ["someone@example.org"], "no header can be slipped in"
    assert b"It broke." in mail.content


def test_trackio_gets_an_alert_at_the_run_that_is_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trackio")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    monkeypatch.setattr(notify, "TRACKIO_TIMEOUT", PATIENCE)
    logged = "import trackio; run = trackio.init('project', 'ppo', embed=False); run.log({'reward': 1}); run.finish()"
    subprocess.run([sys.executable, "-c", logged], check=True, capture_output=True)
    notifier = Notifier(["trackio:project/ppo"])
    assert notifier.send(NEWS)
    notifier.close(PATIENCE)
    with closing(sqlite3.connect(tmp_path / "project.db")) as database:
        alerts = database.execute("select run_name, level, step, title, text from alerts").fetchall()
        assert database.execute("select count(*) from metrics").fetchone() == (1,), "what was logged stays as it was"
    assert alerts == [("ppo", "error", 120, "firstbreak: stop", str(NEWS))]


@pytest.mark.parametrize(
    "target", ["", "ftp://host", "nobody", "http://", "smoke+https://host", "mailto:nobody", "trackio:"]
)
def test_what_is_no_target_is_refused_at_once(target: str) -> None:
    with pytest.raises(Unreadable, match="is not a target"):
        Notifier([target])


def test_mail_without_a_server_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(notify.SMTP, raising=False)
    with pytest.raises(Unreadable, match="set FIRSTBREAK_SMTP"):
        Notifier(["mailto:someone@example.org"])
