"""Who is answered: a browser that asked this server by its own name, from its own pages, and with its token.

A page of some other site may make a visitor's browser ask 127.0.0.1 (CSRF), and may let its own name point there (DNS
rebinding). Neither knows the token; the first shows in `Origin` and `Sec-Fetch-Site`, the second in `Host`.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_QUERY = 8192  # bytes
LONGEST_BODY = 65536  # bytes: a mark is a few words
COOKIE = "firstbreak-token"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def is_loopback(host: str) -> bool:
    """Whether binding to `host` reaches this machine only."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def new_token() -> str:
    """256 random bits, fit for an address."""
    return secrets.token_urlsafe(32)


class Gate:
    """ASGI around an app: refuses strangers, and sends the protective headers with every answer.

    `host` is what the server is bound to. With `token` None only loopback names are answered; with a token also the
    machine's own names and plain IP addresses, which no rebinding can imitate.
    """

    def __init__(self, app: ASGIApp, host: str = "127.0.0.1", token: str | None = None) -> None:
        if token is None and not is_loopback(host):
            raise ValueError(f"{host} can be reached from other machines: a token is needed")
        self.app, self.token = app, token
        own = {host, socket.gethostname(), socket.getfqdn()} if token else set()
        self.names = LOOPBACK_NAMES | {name.lower() for name in own}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # a websocket is never accepted
        request = Request(scope)
        answer = self._refusal(request) or self._admission(request)

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
            return _refuse(421, f"this server does not answer to the name {host!r}; open it by its address")
        if _from_another_site(headers, host):
            return _refuse(403, "asked by a page of another site")
        if len(request.scope["query_string"]) > LONGEST_QUERY:
            return _refuse(414, f"the query is longer than {LONGEST_QUERY} bytes")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LONGEST_BODY or "transfer-encoding" in headers:
            return _refuse(413, f"a body of at most {LONGEST_BODY} bytes of declared length is taken")
        return None

    def _is_own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self.names or (self.token is not None and _is_address(name))

    def _admission(self, request: Request) -> Response | None:
        """None for who may come in; else the answer that asks for the token or turns the one in the address into a cookie."""
        if self.token is None:
            return None
        given = [value for name, value in parse_qsl(request.url.query) if name == "token"]
        if request.method == "GET" and given and self._fits(given):
            rest = [(name, value) for name, value in parse_qsl(request.url.query) if name != "token"]
            answer = RedirectResponse(request.url.path + (f"?{urlencode(rest)}" if rest else ""), status_code=303)
            answer.set_cookie(COOKIE, self.token, httponly=True, samesite="lax", path="/")
            return answer
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self._fits([bearer, request.cookies.get(COOKIE, "")]):
            return None
        return _refuse(401, "open the address with the token that `firstbreak serve` printed")

    def _fits(self, given: Iterable[str]) -> bool:
        assert self.token is not None
        return any([hmac.compare_digest(value.encode(), self.token.encode()) for value in given])


def _from_another_site(headers: Headers, host: str) -> bool:
    """Whether a foreign page asks. Following a link to this page is no asking: the other page sees nothing of the answer."""
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


def _refuse(status: int, why: str) -> Response:
    return PlainTextResponse(f"firstbreak: {why}\n", status_code=status)
