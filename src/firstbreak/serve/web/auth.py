"""Authentication: a request must use the name of this server, come from its own pages, and carry its token.

A page of another site can make a browser send requests to 127.0.0.1 (CSRF), or let its own host name resolve to 127.0.0.1
(DNS rebinding). Neither has the token. The first is visible in `Origin` and `Sec-Fetch-Site`, the second in `Host`.
"""

import hmac
import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from firstbreak.reports.markup import element

LONGEST_QUERY = 28_000  # bytes: a hundred runs with long names; a head is not much longer
LONGEST_BODY = 65536  # bytes; a mark is a few words
COOKIE = "firstbreak-token"  #: followed by the port: a browser sends a cookie to every port of a host
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
CLOSE = {"connection": "close"}  #: who is refused holds no place
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def is_loopback(host: str) -> bool:
    """Whether a server that is bound to `host` is reachable from this machine only."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


class AuthMiddleware:
    """ASGI middleware: refuses requests without permission, and adds security headers to every response.

    `host` is the address of the server. Without a token, only requests to loopback names are answered. With a token, also
    requests to the names of this machine and to plain IP addresses, which DNS rebinding cannot use. `once` opens one browser
    and nothing after that: what opens a browser is seen in the list of processes by everybody on the machine.
    """

    def __init__(self, app: ASGIApp, host: str, token: str | None = None, once: str | None = None) -> None:
        if token is None and not is_loopback(host):
            raise ValueError(f"{host} can be reached from other machines, so a token is needed")
        self.app, self.token, self.once = app, token, once
        own = {host, socket.gethostname(), socket.getfqdn()} if token else set()
        self.names = LOOPBACK_NAMES | {name.lower() for name in own}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # a websocket is never accepted
        request = Request(scope)
        answer = self._refusal(request) or self._login(request)

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (answer or self.app)(scope, receive, protected)

    def _refusal(self, request: Request) -> Response | None:
        headers = request.headers
        host = headers.get("host", "")
        if not self._is_own(host):
            return _refuse(421, f"this server does not answer requests to {host!r}; open the address that it printed")
        if _from_another_site(headers, host):
            return _refuse(403, "the request comes from a page of another site")
        if len(request.scope["query_string"]) > LONGEST_QUERY:
            return _refuse(414, f"the query is longer than {LONGEST_QUERY} bytes")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 9 or int(length) > LONGEST_BODY or "transfer-encoding" in headers:
            return _refuse(413, f"the body must declare its length, at most {LONGEST_BODY} bytes")
        return None

    def _is_own(self, host: str) -> bool:
        try:
            parts = urlsplit(f"//{host}")
            name, _ = parts.hostname or "", parts.port
        except ValueError:
            return False
        return name in self.names or (self.token is not None and _is_address(name))

    def _login(self, request: Request) -> Response | None:
        """None for a permitted request. Else one that asks for the token, or moves a browser's from the URL to a cookie."""
        if self.token is None:
            return None
        query = parse_qsl(request.url.query)
        given = [value for name, value in query if name == "token"]
        cookie = f"{COOKIE}-{urlsplit('//' + request.headers['host']).port or 80}"
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
            if _fits(given, self.token) or self._fits_once(given):
                rest = [(name, value) for name, value in query if name != "token"]
                place = "/" + request.url.path.lstrip("/")  # two of them would name another host
                answer = RedirectResponse(place + (f"?{urlencode(rest)}" if rest else ""), status_code=303)
                answer.set_cookie(cookie, self.token, httponly=True, samesite="lax", path="/")
                return answer
            given = []
        if _fits([*given, bearer, request.cookies.get(cookie, "")], self.token):
            return None
        if "text/html" in request.headers.get("accept", ""):
            return HTMLResponse(_login_page(request.url.path, query), status_code=401, headers=CLOSE)
        return _refuse(401, "open the address with the token that was printed when the server was started")

    def _fits_once(self, given: Iterable[str]) -> bool:
        if self.once is None or not _fits(given, self.once):
            return False
        self.once = None
        return True


def _fits(given: Iterable[str], secret: str) -> bool:
    return any([hmac.compare_digest(value.encode("utf-8", "replace"), secret.encode()) for value in given])


def _from_another_site(headers: Headers, host: str) -> bool:
    """Whether a page of another site made the request. A followed link is allowed: the other page cannot see the response."""
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
        return True
    follows_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not follows_link


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _login_page(path: str, query: Iterable[tuple[str, str]]) -> str:
    """A form for the token, which leads to the page that was asked for."""
    asked = (element("input", type="hidden", name=n, value=value) for n, value in query if n not in ("", "token"))
    field = element("input", name="token", type="password", autocomplete="off", required=True, autofocus=True)
    label, button = element("label", "Token: ", field), element("button", "Open")
    form = element("form", *asked, label, " ", button, action=path, method="get")
    said = element("p", "This page needs the token, the part after token= in the address `firstbreak serve` printed.")
    head = element("head", element("meta", charset="utf-8"), element("title", "Token - firstbreak"))
    body = element("body", element("h1", "firstbreak"), said, form)
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}"


def _refuse(status: int, why: str) -> Response:
    return PlainTextResponse(f"firstbreak: {why}\n", status_code=status, headers=CLOSE)
