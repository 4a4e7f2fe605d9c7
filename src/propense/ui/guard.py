"""Who may talk to the server: a browser on this machine that was given the token, from the server's own pages.

Every other request is refused before its body is read.
"""

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["REPORT_POLICY", "Guard"]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# A report has scripts and styles of its own. In a sandbox they can neither read the server's pages nor send anything.
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    # Not no-referrer: a browser would then send the origin of a form as null.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_PAGE = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>propense</title>{head}<p>{words}</p></html>'
# Bytes of a form that is not an upload: thousands of columns.
_FORM = 4 << 20


class Guard:
    """Wraps an application; see the module.

    Parameters
    ----------
    app : ASGI application
    token : str
        The secret of the address that the user was given.
    port : int
    limit : int
        Bytes of an upload.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int, limit: int) -> None:
        self._app, self._token, self._limit = app, token, limit
        self._cookie = f"propense-{port}"
        names = ("127.0.0.1", "localhost")
        self._hosts = {f"{name}:{port}" for name in names} | ({*names} if port == 80 else set())

    @property
    def form_token(self) -> str:
        """What every form must send back. It does not give away the token."""
        return hmac.new(self._token.encode(), b"form", hashlib.sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        secured = _secured(send)
        refusal = self._answer(scope, Headers(scope=scope))
        if refusal is not None:
            await refusal(scope, receive, secured)
            return
        if _size(Headers(scope=scope)) > (self._limit if scope["path"] == "/upload" else _FORM):
            # The browser shows an answer only after it has sent everything. Nothing of it is kept.
            message: Message = {"more_body": True}
            while message.get("more_body"):
                message = await receive()
            scope["propense.too_large"] = True
        await self._app(scope, receive, secured)

    def _answer(self, scope: Scope, headers: Headers) -> Response | None:
        """A refusal, or the page that gives a browser its cookie; None for a request that may pass."""
        if headers.get("host", "").lower() not in self._hosts:
            # Another site whose name was made to point to this machine.
            return _refusal(421, "This server answers only as 127.0.0.1 and localhost.")
        method = scope["method"]
        if method not in ("GET", "HEAD", "POST"):
            return _refusal(405, "This server answers GET and POST.")
        if method == "POST" and not self._is_own(headers):
            return _refusal(403, "This request does not come from a page of this server.")
        if scope["path"] == "/" and method == "GET" and scope["query_string"]:
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
            if _same(given, self._token):
                return self._welcome()
            return _refusal(403, "The token in this address is not that of this server.")
        if not _same(self._presented(headers), self._token):
            return _refusal(403, "Open the address that propense serve has printed: it contains the token.")
        if method == "POST" and "content-length" not in headers:
            return _refusal(411, "A request must say how long it is.")
        return None

    def _welcome(self) -> Response:
        # Not a redirect: after one that began on another site, a browser would keep the new cookie back.
        head = '<link rel="icon" href="data:,"><meta http-equiv="refresh" content="0; url=/">'
        response = HTMLResponse(_PAGE.format(head=head, words='<a href="/">Continue</a>'))
        response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
        return response

    def _presented(self, headers: Headers) -> str:
        """The token in the cookie of a request."""
        try:
            found: Any = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return "" if found is None else str(found.value)

    def _is_own(self, headers: Headers) -> bool:
        """Whether a form was sent from a page of this server."""
        site = headers.get("sec-fetch-site", "same-origin")
        origin = headers.get("origin") or headers.get("referer") or ""
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return site in ("same-origin", "none") and parts.scheme == "http" and parts.netloc == headers.get("host")


def _same(given: str, true: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), true.encode())


def _size(headers: Headers) -> int:
    length = headers.get("content-length", "0")
    return int(length) if length.isdigit() else 0


def _refusal(status: int, words: str) -> Response:
    return HTMLResponse(_PAGE.format(head="", words=words), status)


def _secured(send: Send) -> Send:
    """`send`, with the headers that every answer has unless it has others."""

    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return with_headers
