"""One endpoint: a client for each event loop, our own time-out, and every reply as it came.

The SDK brings the headers, aiohttp the transport; what a status means is for `judges.services.failures` to say.
"""

import asyncio
import os
import re
import ssl
import weakref
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from judges.errors import InputError, Rejected, ServiceError, Unavailable
from judges.printable import printable

__all__ = [
    "CONNECTIONS",
    "CONNECT_SECONDS",
    "LONGEST_REPLY",
    "Address",
    "Client",
    "Connection",
    "HttpReply",
    "checked_key",
    "client_of",
    "no_trust",
]

CONNECT_SECONDS = 15.0
"""For the connection alone: a host that drops packets is found out before the time for a reply is over."""
CONNECTIONS = 1024
"""The most that a client keeps open: more than calls are ever in flight, so that none waits for another's."""
LONGEST_REPLY = 32_000_000
"""Bytes, unpacked: 256 embeddings of 4,096 numbers written out are 23 million. What is longer is no reply."""

_ABOUT_THE_MACHINE = "x-stainless-"
"""Headers in which the SDKs tell of system, processor and interpreter. Nobody needs them."""
_EVERYWHERE = frozenset({"accept", "content-type", "user-agent", "anthropic-version"})
"""All that an address gets which isn't the vendor's own, beside the key that was given for it."""
_KEYS = frozenset({"authorization", "x-api-key", "api-key"})


@dataclass(frozen=True, slots=True)
class Address:
    """Where an endpoint is."""

    url: str
    """Without query, user name and final slash: fit to be shown."""
    host: str
    query: Mapping[str, str]
    """Sent with every request, such as Azure's `api-version`."""

    @classmethod
    def parse(cls, text: str) -> "Address":
        """The address that a base URL names.

        Raises:
            InputError: It is no `http` or `https` URL, or it holds a user name or password.
        """
        if "@" in text:  # wherever it is: a password may hold what ends a host
            raise InputError("base URL: it holds an @, so a user name or password: give it without, and the key apart")
        shown = printable(text.split("?")[0], 80)
        try:
            parts = urlsplit(text.strip())
            port = parts.port
        except ValueError as error:
            raise InputError(f"base URL: {error}; write it as in http://127.0.0.1:8000/v1") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"base URL: `{shown}` is no address; write it as in http://127.0.0.1:8000/v1")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        place = host if port is None else f"{host}:{port}"
        url = f"{parts.scheme}://{place}{parts.path}".rstrip("/")
        return cls(url, parts.hostname, dict(parse_qsl(parts.query)))

    def is_at(self, domain: str) -> bool:
        """Whether the host is `domain` or lies below it."""
        return self.host == domain or self.host.endswith("." + domain)

    def is_own(self, domain: str, variable: str) -> bool:
        """Whether it is a vendor's own: the host is at its `domain`, or is the one that `variable` of the environment
        names in its place.
        """
        return self.is_at(domain) or urlsplit(self.url).netloc == urlsplit(os.environ.get(variable, "")).netloc.lower()


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What came back, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """By name in lower case."""
    content: bytes


@dataclass(frozen=True, slots=True)
class Client:
    """A client ready to be used in one event loop."""

    post: Callable[[str, bytes, float], Awaitable[HttpReply]]
    """Path, JSON body and the seconds that all of it may take; the reply, whatever its status."""
    close: Callable[[], Awaitable[None]]


def checked_key(key: str | None, where: str = "") -> str | None:
    """A key as it can be sent: without the white space that it was pasted or stored with; None for an empty one.

    Args:
        key: The key.
        where: Where it comes from, for the message.

    Raises:
        InputError: It holds something that no key has. The message says nothing of what it holds.
    """
    key = (key or "").strip()
    if _UNFIT.search(key):
        raise InputError(
            f"the key{where and f' from {where}'} holds a line break or a letter that no key has: copy it anew"
        )
    return key or None


_UNFIT = re.compile(r"[^ -~]")


def client_of(
    address: Address,
    headers: Mapping[str, object],
    key: Mapping[str, str],
    close: Callable[[], Awaitable[None]],
    *,
    is_own: bool,
) -> Client:
    """Posts with the headers that an SDK makes, through aiohttp, which the SDK's own transport rests on.

    The headers are made once. An SDK's own `post` makes them and the URL anew for each call, wraps reply and transport
    twice, and reads a reply that we read ourselves: three times the processor time.

    Args:
        address: Where to.
        headers: By name; what isn't text marks a header that is left out.
        key: The header that carries the key, if there is one.
        close: Closes the SDK.
        is_own: Whether the address is the vendor's own. Only there goes what the environment tells the SDK to send:
            organisation, project, headers of the user's own. They may be as secret as the key.

    Raises:
        InputError: A header or the proxy that the environment names is unfit.
    """
    import aiohttp
    from yarl import URL

    proxy = _proxy(address)
    sent = {
        name: _fit(name, value)
        for name, value in headers.items()
        if isinstance(value, str)
        and not name.lower().startswith(_ABOUT_THE_MACHINE)
        and name.lower() not in _KEYS
        and (is_own or name.lower() in _EVERYWHERE)
    } | dict(key)
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=CONNECTIONS,
            ssl=_trust(address.url, proxy),
            keepalive_timeout=30.0,
        ),
        headers=sent if proxy is None else None,
        cookie_jar=aiohttp.DummyCookieJar(),
        proxy=proxy,
    )
    urls: dict[str, URL] = {}
    timeouts: dict[float, aiohttp.ClientTimeout] = {}
    with_each = None if proxy is None else sent
    """A session tells its headers to the proxy too, the key in clear, before the connection is encrypted."""

    async def post(path: str, body: bytes, seconds: float) -> HttpReply:
        url = urls.get(path)
        if url is None:
            url = urls[path] = URL(address.url + path).with_query(dict(address.query) or None)
        timeout = timeouts.get(seconds)
        if timeout is None:
            timeout = timeouts[seconds] = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        # A key goes where the user sent it and nowhere else: no redirect is followed.
        async with session.post(url, data=body, headers=with_each, allow_redirects=False, timeout=timeout) as response:
            parts: list[bytes] = []
            size = 0
            while part := await response.content.readany():
                parts.append(part)
                size += len(part)
                if size > LONGEST_REPLY:
                    raise _TooLongError
        names = {name.lower(): value for name, value in response.headers.items()}
        return HttpReply(response.status, names, b"".join(parts))

    async def close_both() -> None:
        await session.close()
        await close()

    return Client(post, close_both)


def no_trust() -> ssl.SSLContext:
    """Trusts nobody: for what is never used, or never encrypted. To read all certificates takes 30 ms or more."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _trust(*urls: str | None) -> ssl.SSLContext:
    """Trusts whom the SDK would, where anything is encrypted."""
    import httpx2

    is_encrypted = any(url is not None and url.startswith("https:") for url in urls)
    return httpx2.create_ssl_context() if is_encrypted else no_trust()


class _TooLongError(Exception):
    """The reply is longer than any should be."""


def _fit(name: str, value: str) -> str:
    value = value.strip()
    if _BREAKS.search(value):
        raise InputError(f"the header {name}, as the environment has it, holds a line break or the like: set it anew")
    return value


_BREAKS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def _proxy(address: Address) -> str | None:
    """The proxy that the environment names for an address. Looked up once: aiohttp would for each call.

    Raises:
        InputError: It is none, or of a kind that isn't spoken. The message doesn't show it: it may hold a password.
    """
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(address.url)
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or proxy_bypass(parts.netloc):
        return None
    url = named if "://" in named else f"http://{named}"
    try:
        found = urlsplit(url)
        fit = found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:
        fit = False
    if not fit:
        variable = f"{parts.scheme}_proxy".upper()
        raise InputError(
            f"the proxy that {variable} or ALL_PROXY names is no address of an HTTP proxy, as in "
            "http://127.0.0.1:3128; mend it, or name hosts that need none in NO_PROXY"
        )
    return url


class Connection:
    """An endpoint that requests can be posted to, from any number of event loops, one after another or at once."""

    def __init__(self, address: Address, make_client: Callable[[], Client]) -> None:
        self._address = address
        self._make_client = make_client
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Client] = weakref.WeakKeyDictionary()
        self._gates: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()
        self._reached = False

    @property
    def gate(self) -> asyncio.Lock:
        """A lock of the running event loop, for calls that must be made alone."""
        return self._gates.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    async def post(self, path: str, body: bytes, *, asked: object, timeout_seconds: float) -> HttpReply:
        """Post a JSON body.

        Args:
            path: Below the base URL, with a slash in front.
            body: JSON.
            asked: Who is asked: messages begin with it as text.
            timeout_seconds: For all of it, from the connection to the last byte.

        Returns:
            The reply, also if its status tells of an error.

        Raises:
            Unavailable: There was no reply, or only a part of one.
            Rejected: Nothing answers there, and nothing ever has.
        """
        from aiohttp import ClientError

        client = self._client()
        try:
            reply = await client.post(path, body, timeout_seconds)
        except ClientError as error:
            raise self._broken(error, asked) from error
        except _TooLongError:
            said = f"{asked}: the reply is longer than {LONGEST_REPLY:,} bytes"
            raise Unavailable(said, may_be_billed=True) from None
        except TimeoutError:
            raise Unavailable(f"{asked}: no reply within {timeout_seconds:g} s", may_be_billed=True) from None
        except OSError as error:
            raise self._broken(error, asked) from error
        self._reached = True
        return reply

    async def aclose(self) -> None:
        """Close what the running event loop has open. A later call opens it again."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _client(self) -> Client:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = self._make_client()
        return client

    def _broken(self, error: Exception, asked: object) -> ServiceError:
        """What it means that there was no reply."""
        from aiohttp import (
            ClientConnectorError,
            ClientHttpProxyError,
            ClientProxyConnectionError,
            ConnectionTimeoutError,
        )

        causes = [error, *_causes(error)]
        refused = next((each for each in causes if isinstance(each, ClientConnectorError)), None)
        if isinstance(error, ClientHttpProxyError):
            said = f"{asked}: the proxy says {error.status} {printable(error.message, 60)}"
            if self._reached or error.status >= 500:
                return Unavailable(said)
            return Rejected(f"{said}; look at HTTPS_PROXY, or name the host in NO_PROXY")
        if isinstance(error, ConnectionTimeoutError):
            return Unavailable(f"{asked}: no connection to {self._address.url} within {CONNECT_SECONDS:g} s")
        if refused is None:
            last = causes[-1]
            reason = printable(str(last), 100) or type(last).__name__
            return Unavailable(f"{asked}: the connection broke ({reason})", may_be_billed=True)
        if self._reached:
            return Unavailable(f"{asked}: no connection any more ({_reason(refused)})")
        if isinstance(refused, ClientProxyConnectionError):
            where = f"{printable(refused.host, 80)}:{refused.port}"
            return Rejected(
                f"{asked}: the proxy at {where} doesn't answer ({_reason(refused)}); look at HTTP_PROXY and "
                "HTTPS_PROXY, or name the host in NO_PROXY"
            )
        where = f"nothing answers at {self._address.url} ({_reason(refused)})"
        return Rejected(f"{asked}: {where}; is the server running, and is this its address?")


def _causes(error: BaseException) -> list[BaseException]:
    cause = error.__cause__
    return [] if cause is None else [cause, *_causes(cause)]


def _reason(error: OSError) -> str:
    text = f"{error} {error.__cause__}".lower()
    for sign, reason in (
        ("certificate", "its certificate can't be verified"),
        ("ssl", "no TLS there"),
        ("name or service", "no such host"),
        ("name resolution", "no such host"),
        ("nodename", "no such host"),
        ("getaddrinfo", "no such host"),
        ("dns", "no such host"),
        ("connect call failed", "connection refused"),
        ("refused", "connection refused"),
    ):
        if sign in text.replace("ssl:default", "").replace("ssl:true", "").replace("ssl:<ssl.sslcontext", ""):
            return reason
    return printable(str(error), 100)
