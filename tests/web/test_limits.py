"""What one client sends does not keep the server from another: size and time of a request are bounded."""

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from firstbreak.serve.web import listen
from tests.make import write_jsonl
from tests.waiting import PATIENCE, until
from tests.web.serving import Served, serving

BEGINNING = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    write_jsonl(tmp_path / "one" / "metrics.jsonl", 40)
    with serving(tmp_path) as server:
        yield server


@contextlib.contextmanager
def connected(served: Served) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as connection:
        yield connection


def is_closed(connection: socket.socket) -> bool:
    """Whether the server ends the connection, which is waited for."""
    with contextlib.suppress(ConnectionError):
        while connection.recv(65536):
            pass
    return True


def test_endless_headers_are_cut_off_and_an_honest_client_is_answered(served: Served) -> None:
    with contextlib.ExitStack() as open_:
        hostile = [open_.enter_context(connected(served)) for _ in range(4)]
        for connection in hostile:
            connection.sendall(BEGINNING)
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 1 << 28:
                for connection in hostile:
                    connection.sendall(b"x: " + b"y" * 8000 + b"\r\n")
                    sent += 8000
        assert sent < 1 << 28  # refused long before
        assert served.get("/run/one")[0] == 200


@pytest.mark.parametrize(
    "beginning",
    [b"", b"GET", BEGINNING, BEGINNING.replace(b"GET", b"POST") + b"content-length: 9\r\n\r\nx"],
    ids=["silent", "half a line", "half a head", "half a body"],
)
def test_a_request_that_is_never_finished_is_given_up(
    served: Served, monkeypatch: pytest.MonkeyPatch, beginning: bytes
) -> None:
    monkeypatch.setattr(listen, "SLOWEST_REQUEST", 0.1)
    with connected(served) as connection:
        connection.sendall(beginning)
        assert is_closed(connection)
    assert served.get("/run/one")[0] == 200


def test_a_page_that_listens_is_not_taken_for_slow(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "SLOWEST_REQUEST", 0.1)
    with connected(served) as connection:
        connection.sendall(b"GET /live/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in connection.recv(65536)
        # another connection, begun later, is given up before this one is
        with connected(served) as slow:
            assert is_closed(slow)
        write_jsonl(tmp_path / "two" / "metrics.jsonl", 40)
        found = b""
        while b"diagnosed" not in found and (data := connection.recv(65536)):
            found += data
        assert b"diagnosed" in found


def test_connections_that_say_nothing_make_room_for_those_that_do(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "MOST_WAITING", 3)
    with contextlib.ExitStack() as open_:
        silent = [open_.enter_context(connected(served)) for _ in range(6)]
        assert served.get("/run/one")[0] == 200
        assert all(is_closed(connection) for connection in silent[:3])


def test_one_client_crowds_out_its_own_connections_alone(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "MOST_WAITING", 3)
    with contextlib.ExitStack() as open_:
        slow = open_.enter_context(connected(served))
        slow.sendall(BEGINNING)
        one_of = (socket.create_connection(("127.0.0.1", served.port), PATIENCE, ("127.0.0.2", 0)) for _ in range(9))
        crowd = [open_.enter_context(connection) for connection in one_of]
        assert all(is_closed(connection) for connection in crowd[:6])
        slow.sendall(b"\r\n")
        assert b" 200 OK" in slow.recv(65536)


@pytest.mark.parametrize("points", [0, 1, 2])
def test_few_points_of_a_curve_are_its_lowest_and_highest(served: Served, points: int) -> None:
    status, _, body = served.get(f"/curves?run=one&metric=reward.mean&points={points}")
    assert status == 200
    assert len(json.loads(body)["reward.mean"][0]["values"]) == 2


@pytest.mark.parametrize("page", ["run", "samples"])
def test_a_name_may_hold_a_newline(served: Served, tmp_path: Path, page: str) -> None:
    write_jsonl(tmp_path / "two\nlines" / "metrics.jsonl", 40)
    until(lambda: served.get(f"/{page}/two%0Alines")[0] == 200)
