"""Who is answered, and with which protection."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from firstbreak.serve.web.app import MOST_METRICS, MOST_POINTS
from firstbreak.serve.web.auth import LONGEST_BODY, LONGEST_QUERY, is_loopback
from tests.every import every
from tests.make import write_jsonl
from tests.web.serving import Served, serving

TOKEN = "a-token-for-tests"
BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    write_jsonl(folder / "runs" / "one" / "metrics.jsonl", 60)
    write_jsonl(folder / "runs" / "two" / "metrics.jsonl", 60)
    write_jsonl(folder / "private" / "metrics.jsonl", 60)
    return folder


@pytest.fixture(scope="module")
def open_(small: Path) -> Iterator[Served]:
    with serving(small / "runs") as served:
        yield served


@pytest.fixture(scope="module")
def guarded(small: Path) -> Iterator[Served]:
    with serving(small / "runs", host="0.0.0.0", token=TOKEN) as served:
        yield served


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "", "[", "10.0.0.1", "localhost:x"]
)
def test_a_foreign_name_is_refused(open_: Served, host: str) -> None:
    """DNS rebinding: the browser believes that evil.example is this machine."""
    assert open_.get("/", host=host)[0] == 421


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1", "[::1]:8765", "LOCALHOST"])
def test_the_own_names_are_answered(open_: Served, host: str) -> None:
    assert open_.get("/", host=host)[0] == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1.evil.example"]
)
def test_a_page_of_another_origin_is_refused(open_: Served, origin: str) -> None:
    assert open_.get("/run/one", origin=origin)[0] == 403


def test_the_own_origin_is_answered(open_: Served) -> None:
    assert open_.get("/run/one", origin=open_.address)[0] == 200


def test_another_site_may_link_here_and_not_load_from_here(open_: Served) -> None:
    foreign = {"sec_fetch_site": "cross-site"}
    assert open_.get("/", sec_fetch_mode="navigate", sec_fetch_dest="document", **foreign)[0] == 200
    for mode, dest in (("no-cors", "script"), ("cors", "empty"), ("navigate", "iframe"), ("no-cors", "image")):
        assert open_.get("/", sec_fetch_mode=mode, sec_fetch_dest=dest, **foreign)[0] == 403


def test_other_machines_need_the_token(guarded: Served) -> None:
    for path in ("/", "/run/one", "/curves?run=one&metric=loss", "/static/page.js", "/live/", "/?token=wrong"):
        status, _, body = guarded.get(path)
        assert (status, b"loss" in body) == (401, False), path


def test_the_token_opens_by_address_cookie_or_header(guarded: Served) -> None:
    status, headers, _ = guarded.get(f"/run/one?page=2&token={TOKEN}", accept=BROWSER)
    assert (status, headers["location"]) == (303, "/run/one?page=2")  # so that it stays out of history and screenshots
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=lax" in cookie.lower()
    assert guarded.get("/", cookie=cookie.partition(";")[0])[0] == 200
    assert guarded.get("/", authorization=f"Bearer {TOKEN}")[0] == 200
    assert guarded.get(f"/diagnosis/one?token={TOKEN}")[0] == 200  # a program keeps no cookie


def test_a_browser_without_the_token_gets_a_form_that_leads_on(guarded: Served) -> None:
    status, _, body = guarded.get("/samples/one?sort=%22%3E%3Cb%3E&token=wrong", accept=BROWSER)
    assert status == 401
    assert b'action="/samples/one"' in body
    assert b'name="sort" value="&quot;&gt;&lt;b&gt;"' in body
    assert b"wrong" not in body


def test_two_servers_of_one_host_keep_their_cookies(guarded: Served) -> None:
    """A browser sends a cookie to every port."""
    ports = [
        guarded.get(f"/?token={TOKEN}", accept=BROWSER, host=host)[1]["set-cookie"].partition("=")[0]
        for host in ("localhost:1", "localhost:2", "localhost")
    ]
    assert len(set(ports)) == 3


def test_a_path_does_not_become_another_host(guarded: Served) -> None:
    assert guarded.get(f"//evil.example/?token={TOKEN}", accept=BROWSER)[1]["location"] == "/evil.example/"


def test_what_opens_the_browser_opens_it_once(small: Path) -> None:
    """The list of processes shows it to everybody on the machine."""
    with serving(small / "runs", token=TOKEN, once="once") as served:
        assert served.get("/?token=once")[0] == 401
        status, headers, _ = served.get("/?token=once", accept=BROWSER)
        assert (status, served.get("/", cookie=headers["set-cookie"].partition(";")[0])[0]) == (303, 200)
        assert served.get("/?token=once", accept=BROWSER)[0] == 401


def test_with_a_token_addresses_are_answered_and_foreign_names_are_not(guarded: Served) -> None:
    assert guarded.get("/", host="10.1.2.3:8765", authorization=f"Bearer {TOKEN}")[0] == 200
    assert guarded.get("/", host="evil.example", authorization=f"Bearer {TOKEN}")[0] == 421


def test_no_server_for_other_machines_without_a_token(small: Path) -> None:
    with pytest.raises(ValueError, match="token is needed"), serving(small, host="0.0.0.0"):
        pass
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "0.0.0.0", "::", "box")] == [
        True, True, True, True, False, False, False
    ]  # fmt: skip


@pytest.mark.parametrize(
    "path", ["/", "/run/one", "/curves?run=one&metric=loss", "/report/one", "/nothing", "/static/page.js"]
)
def test_every_answer_carries_the_policy(open_: Served, path: str) -> None:
    headers = open_.get(path)[1]
    policy = headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


OUTSIDE = ["../private", "..%2fprivate", "%2e%2e/private", "one/../../private", "/etc/passwd", "%2fetc%2fpasswd", "one%00",
           ".", ".."]  # fmt: skip


@pytest.mark.parametrize("kind", ["run", "curves", "samples", "report", "diagnosis", "live"])
def test_no_path_leads_out_of_the_folder(open_: Served, kind: str) -> None:
    def refused(name: str) -> None:
        address = f"/curves?metric=loss&run={name}" if kind == "curves" else f"/{kind}/{name}"
        status, _, body = open_.get(address)
        assert status == 404
        assert b"root:" not in body

    every(OUTSIDE, refused)


@pytest.mark.parametrize("name", ["../app.py", "..%2fapp.py", "%2fetc%2fpasswd", "uPlot.LICENSE", "nothing.js"])
def test_only_the_page_s_own_files_are_served(open_: Served, name: str) -> None:
    assert open_.get(f"/static/{name}")[0] == 404


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "private" / "metrics.jsonl", 60, extra={"secret": 42.0})
    (tmp_path / "runs" / "sly").mkdir(parents=True)
    (tmp_path / "runs" / "sly" / "metrics.jsonl").symlink_to(tmp_path / "private" / "metrics.jsonl")
    write_jsonl(tmp_path / "runs" / "plain" / "metrics.jsonl", 60)
    (tmp_path / "runs" / "plain" / "latest.jsonl").symlink_to("metrics.jsonl")
    with serving(tmp_path / "runs") as served:
        status, _, body = served.get("/run/sly")
        assert status == 200
        assert b"is a link out of the folder" in body
        assert b"secret" not in body
        assert served.get("/curves?run=sly&metric=secret")[0] == 409
        assert b"<article" in served.get("/run/plain")[2]


def test_nothing_can_be_uploaded(open_: Served) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert open_.get("/run/one", method=method, body=b"x")[0] == 405
    assert open_.get("/run/one", method="POST", content_length=str(LONGEST_BODY + 1))[0] == 413
    assert open_.get("/run/one", method="POST", transfer_encoding="chunked")[0] == 413


def test_a_mark_is_a_word_and_a_place_and_comes_from_our_own_page(small: Path, open_: Served) -> None:
    good = b'{"place": 0, "mark": "keep"}'
    assert open_.get("/marks/one", method="POST", body=good, origin="https://evil.example")[0] == 403
    assert open_.get("/marks/one", method="POST", body=good, sec_fetch_site="cross-site")[0] == 403
    for bad in (b"", b"[]", b'{"place": 0, "mark": "../x"}', b'{"place": -1, "mark": "keep"}', b'{"place": "x"}'):
        assert open_.get("/marks/one", method="POST", body=bad)[0] == 400, bad
    assert open_.get("/marks/one", method="POST", body=good)[0] == 404  # it has no samples
    assert not (small / "runs" / "marks.json").exists()


def test_every_query_has_a_limit(open_: Served) -> None:
    assert open_.get("/curves?run=one&" + "&".join(["metric=loss"] * (MOST_METRICS + 1)))[0] == 400
    assert open_.get(f"/curves?run=one&metric=loss&points={MOST_POINTS + 1}")[0] == 400
    assert open_.get("/?x=" + "y" * LONGEST_QUERY)[0] == 414
    for bad in ("points=-1", "points=1e9", "points=%C2%B2", "from=x", "to=nan"):
        assert open_.get(f"/curves?run=one&metric=loss&{bad}")[0] == 400, bad
    for long in ("9" * 21, "9" * 5000):  # Python refuses to read the second one
        assert open_.get(f"/samples/one?page={long}")[0] == 400
        assert open_.get(f"/live/one?grown={long}")[0] == 400
        assert open_.get(f"/curves?run=one&metric=loss&points={long}")[0] == 400
    assert open_.get("/run/one", method="POST", content_length="9" * 5000)[0] in (400, 413)
    assert open_.get("/marks/one", method="POST", body=b'{"place": 1e999, "mark": "keep"}')[0] == 400
