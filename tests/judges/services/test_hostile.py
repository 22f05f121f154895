"""Servers, proxies and environments that would do harm: what they get, and what is said of them."""

import asyncio
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from judges.errors import InputError, Rejected, ServiceError, Unavailable
from judges.services.anthropic import AnthropicChat
from judges.services.connection import LONGEST_REPLY, Address, checked_key
from judges.services.embeddings import OpenAIEmbeddings
from judges.services.openai import OpenAIChat
from support.asking import KEY, question

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]
Make = Callable[[str], OpenAIChat | AnthropicChat]

OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def openai(url: str) -> OpenAIChat:
    return OpenAIChat(f"{url}/v1", KEY)


def anthropic(url: str) -> AnthropicChat:
    return AnthropicChat(url, KEY)


BOTH = pytest.mark.parametrize("make", [openai, anthropic])


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """None but the test's own."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


class RawServer:
    """Answers each request with the bytes it is given, and keeps what came before the body."""

    def __init__(self, answer: Answer) -> None:
        self.heads: list[str] = []
        self.url = ""
        self._answer = answer

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            await self._answer(writer)
            await writer.drain()
        except ConnectionError:  # who asked has heard enough
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(answer: Answer) -> AsyncGenerator[RawServer]:
    raw = RawServer(answer)
    server = await asyncio.start_server(raw.take, "127.0.0.1", 0)
    raw.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield raw
    finally:
        server.close()


def saying(data: bytes) -> Answer:
    async def say(writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return say


async def error_of(service: OpenAIChat | AnthropicChat) -> ServiceError:
    """What a question comes to."""
    try:
        with pytest.raises(ServiceError) as raised:
            await service(question())
        return raised.value
    finally:
        await service.aclose()


# --- Replies without end ----------------------------------------------------------------------------------------------


async def without_end(writer: asyncio.StreamWriter) -> None:
    writer.write(OK + b"transfer-encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
        await writer.drain()


def packed(size: int) -> bytes:
    body = zlib.compressobj(wbits=31)
    data = body.compress(b" " * size) + body.flush()
    return OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(data) + data


@BOTH
@pytest.mark.parametrize("answer", [without_end, saying(packed(LONGEST_REPLY + 1))], ids=["endless", "gzip bomb"])
def test_a_reply_without_end_is_not_read_to_its_end(make: Make, answer: Answer) -> None:
    async def run() -> None:
        async with serving(answer) as server:
            error = await error_of(make(server.url))
            assert isinstance(error, Unavailable)
            assert error.may_be_billed
            assert "the reply is longer than 32,000,000 bytes" in str(error)

    asyncio.run(run())


# --- Where the key goes -----------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_key_follows_no_redirect(make: Make, status: int) -> None:
    async def run() -> None:
        async with serving(saying(OK + b"\r\n")) as other:
            moved = b"HTTP/1.1 %d Moved\r\nlocation: %s\r\ncontent-length: 0\r\n\r\n" % (status, other.url.encode())
            async with serving(saying(moved)) as server:
                error = await error_of(make(server.url))
                assert isinstance(error, Rejected)
                assert "has moved" in str(error)
                assert other.heads == []

    asyncio.run(run())


REFUSES = saying(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")


@BOTH
def test_a_proxy_is_not_told_the_key_of_an_encrypted_connection(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with serving(REFUSES) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//someone:pass-word@"))
            error = await error_of(make("https://judges.invalid"))
            assert isinstance(error, Rejected)
            assert "the proxy says 407 Proxy Authentication Required; look at HTTPS_PROXY" in str(error)
            assert "pass-word" not in str(error)
            [head] = proxy.heads
            assert head.startswith("CONNECT judges.invalid:443 ")
            assert "Proxy-Authorization: Basic " in head
            assert KEY not in head

    asyncio.run(run())


def test_a_proxy_of_plain_http_is_used_and_its_refusal_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with serving(REFUSES) as proxy:
            monkeypatch.setenv("ALL_PROXY", proxy.url.removeprefix("http://"))
            error = await error_of(OpenAIChat("http://judges.invalid/v1", KEY))
            assert isinstance(error, Rejected)
            assert "the proxy that HTTP_PROXY names wants a user name and password (407)" in str(error)
            assert proxy.heads[0].startswith("POST http://judges.invalid/v1/chat/completions ")

    asyncio.run(run())


def test_a_proxy_that_does_not_answer_is_not_taken_for_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://someone:pass-word@127.0.0.1:9")
    error = asyncio.run(error_of(OpenAIChat("http://judges.invalid/v1", KEY)))
    assert isinstance(error, Rejected)
    assert "the proxy at 127.0.0.1:9 doesn't answer (connection refused)" in str(error)
    assert "pass-word" not in str(error)


@pytest.mark.parametrize("no_proxy", ["127.0.0.1", "127.0.0.1:{port}", "*"])
def test_hosts_that_need_no_proxy_are_asked_directly(no_proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with serving(saying(b"HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n")) as server:
            monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
            monkeypatch.setenv("NO_PROXY", no_proxy.format(port=server.url.rpartition(":")[2]))
            assert "was not accepted (401)" in str(await error_of(OpenAIChat(f"{server.url}/v1", KEY)))

    asyncio.run(run())


@pytest.mark.parametrize(
    "proxy", ["socks5h://u:pass-word@127.0.0.1:9", "http://[pass-word", "http://:80", "http://h:p"]
)
def test_a_proxy_of_another_kind_is_said_and_not_shown(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        monkeypatch.setenv("HTTP_PROXY", proxy)
        with pytest.raises(InputError, match="the proxy that HTTP_PROXY or ALL_PROXY names is no address") as raised:
            await OpenAIChat("http://judges.invalid/v1", KEY)(question())
        assert "pass-word" not in str(raised.value)

    asyncio.run(run())


ENVIRONMENT = {
    "OPENAI_API_KEY": "of-the-vendor",
    "ANTHROPIC_API_KEY": "of-the-vendor",
    "ANTHROPIC_AUTH_TOKEN": "of-the-vendor",
    "OPENAI_ORG_ID": "of-the-vendor",
    "OPENAI_PROJECT_ID": "of-the-vendor",
    "OPENAI_CUSTOM_HEADERS": "X-Gateway: of-the-vendor\nX-Api-Key: of-the-vendor",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Gateway: of-the-vendor\nAuthorization: of-the-vendor",
}


@BOTH
def test_what_the_environment_has_for_the_vendor_goes_to_no_other_address(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with serving(saying(b"HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n")) as server:
            await error_of(make(server.url))
            assert "of-the-vendor" not in server.heads[0]
            assert server.heads[0].count(KEY) == 1
            for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):  # a gateway in the vendor's place
                monkeypatch.setenv(name, server.url)
            await error_of(make(server.url))
            assert "X-Gateway: of-the-vendor" in server.heads[1]
            assert server.heads[1].count(KEY) == 1

    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    asyncio.run(run())


def test_a_header_of_the_environment_with_a_line_break_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org\r\nX-Other: 1")

    async def run() -> None:
        with pytest.raises(InputError, match="the header OpenAI-Organization, as the environment has it, holds a line"):
            await OpenAIChat(api_key=KEY)(question())

    asyncio.run(run())


# --- What can't be shown ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://user:secret@host/v1",
        "http://user:se/cret@host/v1",
        "http://user:se?cret@host/v1",
        "http://user:se#cret@host/v1",
        "http://user:se[cret@host/v1",
        "http://secret@host/v1",
        "user:secret@host/v1",
    ],
)
def test_a_password_in_a_base_url_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(InputError, match="a user name or password: give it without") as raised:
        Address.parse(url)
    assert "cret" not in str(raised.value)


def test_a_query_of_the_base_url_is_in_no_message() -> None:
    error = asyncio.run(error_of(OpenAIChat("http://127.0.0.1:9/v1?api-key=secret", KEY)))
    assert "nothing answers at http://127.0.0.1:9/v1 (" in str(error)
    assert "secret" not in str(error)


@pytest.mark.parametrize("space", ["\n", "\r\n", " ", "\t"])
def test_white_space_around_a_key_is_left_out(space: str) -> None:
    assert checked_key(f"{space}{KEY}{space}") == KEY
    assert checked_key(space) is None


@pytest.mark.parametrize("unfit", ["a\nb", "a\tb", "a\x00b", "“ab”", "ключ", "a\ufeff"])
@pytest.mark.parametrize("make", [OpenAIChat, AnthropicChat, OpenAIEmbeddings])
def test_what_is_no_key_is_said_by_its_place_and_not_shown(
    make: type[OpenAIChat | AnthropicChat | OpenAIEmbeddings], unfit: str
) -> None:
    with pytest.raises(InputError) as raised:
        make("http://127.0.0.1:9/v1", unfit, key_from="TEAM_KEY")
    assert str(raised.value) == ("the key from TEAM_KEY holds a line break or a letter that no key has: copy it anew")
