"""Sends messages to people: webhook, Slack, Discord, e-mail, trackio.

A target is one string:

    https://host/path               a webhook, which gets the message as JSON
    slack+https://host/path         Slack, Mattermost and others with the same format (hooks.slack.com needs no prefix)
    discord+https://host/path       Discord (discord.com needs no prefix)
    mailto:someone@example.org      e-mail, with the server in FIRSTBREAK_SMTP: smtp://user:password@host:587
    trackio:PROJECT/RUN             an alert in this run of trackio

Messages are sent from their own thread, with at most ATTEMPTS attempts and a pause that doubles each time. The same verdict is
sent at most once an hour. A target contains secrets: log messages show only its host. Text in a message that looks like a
secret is masked.
"""

import html
import json
import logging
import os
import queue
import re
import smtplib
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import asdict
from email.message import EmailMessage
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

from firstbreak.masking import Mask
from firstbreak.readers import Unreadable
from firstbreak.reports.text import visible
from firstbreak.values import dataclass

LOG = logging.getLogger("firstbreak.guard")
ATTEMPTS = 5
PAUSE = 1.0  #: seconds before the second attempt; doubled for each further one
AGAIN = 3600.0  #: seconds before the same verdict is sent again
TIMEOUT = 10.0  #: seconds that one attempt may take
TRACKIO_TIMEOUT = 60.0  #: seconds: importing trackio alone takes some
WAITING = 100  #: messages in the queue; further messages are dropped if a target is down
LONGEST = 1800  #: characters: Discord takes 2000
LONGEST_SUBJECT = 200  #: characters
SMTP = "FIRSTBREAK_SMTP"
_MARKDOWN = re.compile(r"[\\`*_~|>\[\]()#<-]")
_NO_PREVIEWS = 1 << 2  #: SUPPRESS_EMBEDS of Discord


@dataclass(frozen=True)
class Notification:
    """A message. Messages with equal `action` and `about` are the same news."""

    run: str
    action: str
    text: str
    about: str = ""  #: the reason: a link, a detector
    step: float | None = None

    def __str__(self) -> str:
        where = "" if self.step is None else f", step {self.step:g}"
        return f"firstbreak: {self.action}: {self.run}{where}\n{self.text}"


Send = Callable[[Notification], None]


class Notifier:
    """Sends messages to targets in the background. Raises `Unreadable` if a target has a wrong form."""

    def __init__(
        self,
        targets: Sequence[str],
        *,
        pause: float = PAUSE,
        again: float = AGAIN,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._senders = [(_host(target), sender(target)) for target in targets]
        self._pause, self._again, self._clock = pause, again, clock
        self._sent: dict[tuple[str, str], float] = {}
        self._waiting: queue.Queue[Notification] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._work, name="firstbreak-notify", daemon=True)
        self._thread.start()

    def send(self, message: Notification) -> bool:
        """Send a message if it is new. Returns whether the message will be sent."""
        key, now = (message.action, message.about), self._clock()
        if now - self._sent.get(key, -self._again) < self._again:
            return False
        self._sent[key] = now
        mask = Mask(os.environ).text
        run, text = mask(message.run), mask(message.text)[:LONGEST]
        try:
            self._waiting.put_nowait(Notification(run, message.action, text, message.about, message.step))
        except queue.Full:
            return False
        return True

    def close(self, seconds: float = 2 * TIMEOUT) -> None:
        """Wait until all messages are sent, at most `seconds`."""
        end = time.monotonic() + seconds
        while self._waiting.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.01)

    def _work(self) -> None:
        while True:
            message = self._waiting.get()
            for host, send in self._senders:
                self._deliver(host, send, message)
            self._waiting.task_done()

    def _deliver(self, host: str, send: Send, message: Notification) -> None:
        pause = self._pause
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return send(message)
            except Exception as error:
                if attempt == ATTEMPTS or not _passes(error):
                    why = f"HTTP {error.code}" if isinstance(error, urllib.error.HTTPError) else type(error).__name__
                    LOG.warning("a message to %s was not sent after %d attempts: %s", host, attempt, why)
                    return
                time.sleep(max(pause, _asked_to_wait(error)))
                pause *= 2


def sender(target: str) -> Send:
    """The function that sends a message to one target. Raises `Unreadable` if the form of the target is unknown."""
    kind, _, rest = target.partition("+")
    address = urlsplit(target if not rest.startswith("http") else rest)
    known = {"hooks.slack.com": "slack", "discord.com": "discord", "discordapp.com": "discord"}
    if address.scheme in ("http", "https") and address.hostname:
        kind = kind if rest.startswith("http") else known.get(address.hostname, "webhook")
        if kind in _BODIES:
            return partial(_post, address.geturl(), _BODIES[kind])
    if address.scheme == "mailto" and "@" in address.path:
        server = urlsplit(os.environ.get(SMTP, ""))
        if server.scheme not in ("smtp", "smtps") or not server.hostname:
            raise Unreadable(target, "no mail server is set", f"set {SMTP}=smtp://user:password@host:587")
        return partial(_mail, address.path, server)
    project, _, run = address.path.partition("/")
    if address.scheme == "trackio" and project and run:
        return partial(_trackio, project, run)
    known_targets = "an https: address, mailto:NAME@HOST or trackio:PROJECT/RUN"
    raise Unreadable(_host(target), "is not a target for messages", f"use {known_targets}")


def _post(url: str, body: Callable[[Notification], dict[str, Any]], message: Notification) -> None:
    data = json.dumps(body(message)).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "firstbreak"}
    request = urllib.request.Request(url, data, headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        answer.read()


_BODIES: dict[str, Callable[[Notification], dict[str, Any]]] = {
    "webhook": asdict,
    "slack": lambda message: {"text": html.escape(_inert(message), quote=False), "mrkdwn": False, "link_names": False},
    "discord": lambda message: {
        "content": _MARKDOWN.sub(r"\\\g<0>", _inert(message)),
        "allowed_mentions": {"parse": []},
        "flags": _NO_PREVIEWS,
    },
}


def _inert(message: Notification) -> str:
    """The message without hidden characters, mentions and links: parts of it were chosen by a log."""
    lines = "\n".join(map(visible, str(message).split("\n")))
    return lines.replace("@", "@\N{ZERO WIDTH SPACE}").replace("://", ":\N{ZERO WIDTH SPACE}//")


def _mail(to: str, server: Any, message: Notification) -> None:
    mail = EmailMessage()
    mail["Subject"] = visible(f"firstbreak: {message.action}: {message.run}")[:LONGEST_SUBJECT]
    mail["To"] = to
    mail["From"] = unquote(server.username) if server.username and "@" in unquote(server.username) else to
    mail.set_content(_inert(message))
    encrypted = server.scheme == "smtps"
    connect = smtplib.SMTP_SSL if encrypted else smtplib.SMTP
    with connect(server.hostname, server.port or (465 if encrypted else 587), timeout=TIMEOUT) as connection:
        if not encrypted and connection.has_extn("starttls"):
            connection.starttls()
        if server.username and server.password:
            connection.login(unquote(server.username), unquote(server.password))
        connection.send_message(mail)


def _trackio(project: str, run: str, message: Notification) -> None:
    """In its own process: trackio prints to stdout, and would end a run that this process has open."""
    level = "ERROR" if message.action in ("stop", "rollback") else "WARN"
    step = "" if message.step is None else str(int(message.step))
    title = f"firstbreak: {message.action}"
    line = [sys.executable, "-c", _ALERT, project, run, level, step, title, _inert(message)]
    subprocess.run(line, check=True, capture_output=True, timeout=TRACKIO_TIMEOUT)


_ALERT = """
import sys, trackio
project, name, level, step, title, text = sys.argv[1:]
run = trackio.init(project, name, resume="allow", embed=False, auto_log_gpu=False, auto_log_cpu=False)
run.alert(title, text, trackio.AlertLevel[level], int(step) if step else None)
run.finish()
"""


def _passes(error: Exception) -> bool:
    """Whether another attempt may succeed. Not if the address or the message was refused."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code in (408, 425, 429) or error.code >= 500
    return isinstance(error, OSError) and not isinstance(error, smtplib.SMTPAuthenticationError)


def _asked_to_wait(error: Exception) -> float:
    """Seconds to wait from the Retry-After header, at most 60."""
    asked = error.headers.get("Retry-After") if isinstance(error, urllib.error.HTTPError) else None
    return min(float(asked), 60.0) if asked is not None and asked.isdigit() else 0.0


def _host(target: str) -> str:
    """The part of a target that may be shown."""
    address = urlsplit(target)
    return f"{address.scheme}://{address.hostname}" if address.hostname else f"{address.scheme or 'target'}:..."
