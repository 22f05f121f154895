"""A model service for tests and benchmarks: real HTTP on loopback, both vendors, real limits, faults.

    with RunningServer.start() as server:                         # a process of its own
        server.set(faults=[{"fault": "overloaded", "share": 0.05}], limits={"requests_per_minute": 1500})
        ... OpenAI at server.openai, Anthropic at server.anthropic ...
        server.log()                                              # every request: body, status, time

or by hand, from the folder `tests`: `python -m support.model_server --port 8123 --latency 0.2`.

What it answers is a brain's matter (`support.model_brain`), what it does wrong a fault script's
(`support.model_faults`), what it allows the limits' (`support.model_limits`).
Control: POST, GET, PUT (as new) `/control`; GET, DELETE `/log`.
"""

import argparse
import asyncio
import hashlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import IO, Any, cast

import orjson
from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from support.model_brain import Answer, Brain, Question, load_brain, schema_brain
from support.model_faults import CONTENT_FAULTS, HTTP_ERRORS, FaultScript, HttpError, Rule
from support.model_limits import Account, LimitSettings, retry_after_header
from support.model_wire import (
    CHAT,
    EMBEDDINGS,
    MESSAGES,
    RESPONSES,
    Body,
    TokenCount,
    Unacceptable,
    as_list,
    chat_question,
    chat_reply,
    count_tokens,
    embed,
    embeddings_reply,
    error_body,
    features,
    messages_question,
    messages_reply,
    responses_question,
    responses_reply,
)

__all__ = ["LogEntry", "ModelServer", "Refused", "RunningServer", "Settings"]

PATHS = {
    "/v1/chat/completions": CHAT,
    "/v1/responses": RESPONSES,
    "/v1/embeddings": EMBEDDINGS,
    "/v1/messages": MESSAGES,
}
_TESTS = Path(__file__).resolve().parents[1]


class Refused(BaseModel):
    """A feature that models don't have: a request that uses it gets an error."""

    model_config = ConfigDict(extra="forbid")

    feature: str
    """A parameter's name, `response_format.json_schema`, `response_format.strict`, or `chat`, `responses`, `base64`."""
    model: str | None = None
    """The model that doesn't have it; None for all."""
    status: int | None = None
    message: str | None = None


class Settings(BaseModel):
    """How the server behaves. Everything can be changed while it runs."""

    model_config = ConfigDict(extra="forbid")

    latency: float | tuple[float, float] = 0.0
    """Seconds before each reply, or the range they are drawn from."""
    seed: int = 0
    limits: LimitSettings = Field(default_factory=LimitSettings)
    faults: list[Rule] = Field(default_factory=list[Rule])
    refuses: list[Refused] = Field(default_factory=list[Refused])
    ignores: list[str] = Field(default_factory=list[str])
    """Members of the body that are passed over without a word."""
    keys: list[str] | None = None
    """The only keys let in."""
    models: list[str] | None = None
    """The only models there are."""
    resolves: dict[str, str] = Field(default_factory=dict[str, str])
    """What a model's name stands for, as replies say it."""
    brain: str | None = None
    """`module:function`; None for the one that fills in schemas."""
    reasoning_tokens: int = 0
    cache_minimum: int = 1024
    """System texts of fewer tokens are never kept by the prompt cache."""
    token_length: int = 1000
    """Words longer than this are several tokens, as log-probabilities show them."""
    dimensions: int = 64
    """Of embeddings, unless the request says."""
    texts_per_call: int = 2048
    keep_bodies: bool = True
    """Whether the log holds the bodies."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One request, as the log tells it."""

    number: int
    """From 1."""
    at: float
    """Seconds since the server started."""
    seconds: float
    """How long it took."""
    path: str
    status: int
    """0 if the client left, or the connection was broken on purpose before a reply."""
    fault: str | None
    body: Any
    """What was asked; the text of it if it isn't JSON; None if bodies aren't kept."""
    body_hash: str
    key: str | None
    """A fingerprint of the key, never the key."""
    key_in: str | None
    """The header that had it."""
    headers: Mapping[str, str]
    """Those of the request that matter: versions, betas."""
    input_tokens: int
    output_tokens: int
    in_flight: int
    """Requests under way when it came, itself included."""


@dataclass(slots=True)
class _Call:
    """A request on its way through the server."""

    number: int
    kind: str
    vendor: str
    raw: bytes
    body: Body
    model: str
    status: int = 0
    fault: str | None = None
    rule: Rule | None = None
    input_tokens: int = 0
    output_tokens: int = 0


class ModelServer:
    """The server itself; needs an event loop. `RunningServer` runs one in a process of its own."""

    def __init__(self, settings: Settings | None = None, log_file: IO[bytes] | None = None) -> None:
        self._log_file = log_file
        self._began = time.monotonic()
        self._in_flight = 0
        self._runner: web.ServerRunner | None = None
        self.url = ""
        self.settings = Settings()
        self.apply(settings or Settings())
        self.clear()

    def apply(self, settings: Settings) -> None:
        """Behave so from now on. Counts of faults and what is left of limits begin anew if they are new."""
        fresh = not hasattr(self, "_faults")
        if fresh or settings.faults != self.settings.faults:
            self._faults = FaultScript(settings.faults)
        if fresh or settings.limits != self.settings.limits:
            self._account = Account(settings.limits, time.monotonic())
        self._brain: Brain = load_brain(settings.brain) if settings.brain else schema_brain
        self._random = Random(settings.seed)
        self.settings = settings

    def clear(self) -> None:
        """Forget all requests, and what the prompt cache has."""
        self._number = 0
        self._entries: list[bytes] = []
        self._prefixes: set[tuple[str, str]] = set()

    async def start(self, port: int = 0) -> None:
        """Listen on loopback; `url` says where."""
        self._runner = web.ServerRunner(
            web.Server(self._handle, access_log=None, handler_cancellation=True, keepalive_timeout=3600)
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, shutdown_timeout=0.1, backlog=1024)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        """Listen no more."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        kind = PATHS.get(request.path.removeprefix("/anthropic").removeprefix("/openai"))
        if kind is None or request.method != "POST":
            return await self._control(request)
        self._number += 1
        self._in_flight += 1
        in_flight, began = self._in_flight, time.monotonic()
        raw = await request.read()
        vendor = "anthropic" if kind == MESSAGES else "openai"
        call = _Call(self._number, kind, vendor, raw, {}, "")
        try:
            return await self._answer(request, call)
        finally:
            self._in_flight -= 1
            self._write_log(request, call, in_flight, began)

    async def _answer(self, request: web.BaseRequest, call: _Call) -> web.StreamResponse:
        settings = self.settings
        try:
            body: object = orjson.loads(call.raw)
        except ValueError:
            return self._error(call, HttpError(400, "We could not parse the JSON body of your request."))
        if not isinstance(body, dict):
            return self._error(call, HttpError(400, "The body must be a JSON object."))
        call.body = cast("Body", body)
        call.model = str(call.body.get("model"))
        key = _key(request)
        if settings.keys is not None and key not in settings.keys:
            return self._error(call, HTTP_ERRORS["unauthorised"], key=key or "(none)")
        if settings.models is not None and call.model not in settings.models:
            return self._error(call, HTTP_ERRORS["no_model"])
        refusal = self._refused(call)
        if refusal is not None:
            return self._error(call, refusal)
        for name in settings.ignores:
            call.body.pop(name, None)
        rule = self._faults.meet(call.raw, request.path, call.model) if settings.faults else None
        if rule is not None:
            call.fault, call.rule = rule.fault, rule
            if rule.fault in HTTP_ERRORS:
                await self._wait()
                return self._error(call, HTTP_ERRORS[rule.fault], key=key or "(none)")
            if rule.fault == "hang":
                await asyncio.sleep(3600)
            if rule.fault == "reset":
                return _broken(request)
        try:
            reply = self._reply(call)
        except Unacceptable as problem:
            return self._error(call, HttpError(400, str(problem)))
        now = time.monotonic()
        over = self._account.take(call.input_tokens, call.output_tokens, self._in_flight, now)
        if over is not None:
            call.fault = "over_limit"
            return self._error(
                call, HTTP_ERRORS["rate_limited"], extra=retry_after_header(settings.limits.retry_after, over.wait)
            )
        await self._wait()
        call.status = 200
        headers = self._account.headers(call.vendor, time.monotonic())
        headers["x-request-id" if call.vendor == "openai" else "request-id"] = f"req_{call.number}"
        if rule is not None and rule.fault not in CONTENT_FAULTS:
            return await self._spoiled(request, call, rule, orjson.dumps(reply), headers)
        return web.Response(body=orjson.dumps(reply), headers=headers, content_type="application/json")

    def _reply(self, call: _Call) -> Body:
        """What is answered if all goes well.

        Raises:
            Unacceptable: The body isn't what the API takes.
        """
        settings = self.settings
        named = settings.resolves.get(call.model, call.model)
        if call.kind == EMBEDDINGS:
            return self._embeddings(call, named)
        readers = {CHAT: chat_question, RESPONSES: responses_question, MESSAGES: messages_question}
        question = readers[call.kind](call.body)
        answer = self._think(question, call.rule)
        tokens = self._count(question, answer, call)
        call.input_tokens, call.output_tokens = tokens.input, tokens.output
        if call.kind == CHAT:
            return chat_reply(question, answer, tokens, call.number, named, settings.token_length)
        if call.kind == RESPONSES:
            return responses_reply(question, answer, tokens, call.number, named, settings.token_length)
        arguments: object = None
        if question.tool is not None:
            try:
                arguments = orjson.loads(answer.text)
            except ValueError:
                arguments = {}
        return messages_reply(question, answer, tokens, call.number, named, arguments)

    def _think(self, question: Question, rule: Rule | None) -> Answer:
        said = self._brain(question)
        answer = said if isinstance(said, Answer) else Answer(said)
        if rule is not None and rule.fault in CONTENT_FAULTS:
            answer = CONTENT_FAULTS[rule.fault](answer)
        if count_tokens(answer.text) > question.max_tokens and answer.finish == "stop":
            answer = Answer(answer.text[: question.max_tokens * 4 - 4], "length", answer.probabilities)
        return answer

    def _count(self, question: Question, answer: Answer, call: _Call) -> TokenCount:
        """The tokens of a call, with those that the prompt cache has of the system text."""
        prefix = count_tokens(question.system)
        given = prefix + sum(count_tokens(text) + 4 for _, text in question.messages)
        output = count_tokens(answer.text) + self.settings.reasoning_tokens
        read = written = 0
        marked = call.vendor == "openai" or question.cached_prefix
        if marked and prefix >= self.settings.cache_minimum:
            kept = (call.model, question.system)
            if kept in self._prefixes:
                read = prefix // 128 * 128 if call.vendor == "openai" else prefix
            else:
                self._prefixes.add(kept)
                written = 0 if call.vendor == "openai" else prefix
        return TokenCount(given, output, read, written, self.settings.reasoning_tokens)

    def _embeddings(self, call: _Call, named: str) -> Body:
        given = call.body.get("input")
        texts: list[Any] = [given] if isinstance(given, str) else as_list(given)
        if not texts or not all(isinstance(each, str) and each for each in texts):
            raise Unacceptable("'$.input' is invalid. Please check the API reference.")
        if len(texts) > self.settings.texts_per_call:
            raise Unacceptable(f"'$.input' is too long. Maximum number of inputs is {self.settings.texts_per_call}.")
        call.input_tokens = sum(count_tokens(each) for each in texts)
        dimensions = int(call.body.get("dimensions") or self.settings.dimensions)
        vectors = [embed(each, dimensions) for each in texts]
        fault = call.rule.fault if call.rule is not None else None
        as_base64 = call.body.get("encoding_format") == "base64" and fault != "no_base64"
        if fault == "uneven_vectors":
            vectors[-1] = vectors[-1][:-1]
        reply = embeddings_reply(vectors, named, call.input_tokens, as_base64=as_base64)
        if fault == "shuffled":
            reply["data"].reverse()
        if fault == "missing_vector":
            reply["data"].pop()
        return reply

    def _refused(self, call: _Call) -> HttpError | None:
        """What the model doesn't have, of what is asked for."""
        if not self.settings.refuses:
            return None
        wanted = {*features(call.body), "chat" if call.kind == CHAT else call.kind}
        if call.body.get("encoding_format") == "base64":
            wanted.add("base64")
        for refused in self.settings.refuses:
            if refused.feature in wanted and refused.model in (None, call.model):
                usual = _refusal(refused.feature, call.vendor)
                return HttpError(
                    refused.status or usual.status,
                    refused.message or usual.message,
                    openai_code=usual.openai_code,
                    parameter=usual.parameter,
                )
        return None

    def _error(
        self, call: _Call, error: HttpError, *, key: str = "", extra: Mapping[str, str] | None = None
    ) -> web.Response:
        rule = call.rule
        message = rule.message if rule is not None and rule.message is not None else error.message
        parameter = rule.parameter if rule is not None and rule.parameter is not None else error.parameter
        message = message.replace("{model}", call.model).replace("{parameter}", parameter or "?").replace("{key}", key)
        headers = {**self._account.headers(call.vendor, time.monotonic()), **(extra or {})}
        if rule is not None:
            headers |= rule.headers
            if rule.retry_after is not None:
                headers |= retry_after_header(rule.retry_after_as, rule.retry_after)
        kind = error.anthropic_type if call.vendor == "anthropic" else error.openai_type
        body = error_body(call.vendor, kind, message, error.openai_code, parameter, call.number)
        call.status = error.status
        return web.Response(
            status=error.status, body=orjson.dumps(body), headers=headers, content_type="application/json"
        )

    async def _spoiled(
        self, request: web.BaseRequest, call: _Call, rule: Rule, body: bytes, headers: dict[str, str]
    ) -> web.StreamResponse:
        """A good reply, made bad on its way."""
        match rule.fault:
            case "truncated_json":
                return web.Response(body=body[: len(body) // 2], headers=headers, content_type="application/json")
            case "html":
                page = "<html><head><title>Just a moment...</title></head><body>checking your browser</body></html>"
                return web.Response(text=page, content_type="text/html")
            case "empty_body":
                return web.Response(body=b"", headers=headers, content_type="application/json")
            case "no_choices":
                return web.Response(body=b'{"object": "chat.completion"}', content_type="application/json")
            case "error_as_success":
                refusal = b'{"error": {"code": 429, "message": "upstream is busy"}}'
                return web.Response(body=refusal, content_type="application/json")
            case "redirect":
                call.status = 307
                return web.Response(status=307, headers={"location": "https://example.invalid/v2/elsewhere"})
            case "slow" | "reset_body":
                response = web.StreamResponse(headers={**headers, "content-length": str(len(body))})
                response.content_type = "application/json"
                await response.prepare(request)
                half = len(body) // 2
                await response.write(body[:half])
                if rule.fault == "reset_body":
                    return _broken(request, response)
                steps = 20
                for step in range(steps):
                    await asyncio.sleep(rule.seconds / steps)
                    await response.write(
                        body[
                            half + (len(body) - half) * step // steps : half + (len(body) - half) * (step + 1) // steps
                        ]
                    )
                return response
            case _:
                return web.Response(body=body, headers=headers, content_type="application/json")

    async def _wait(self) -> None:
        latency = self.settings.latency
        seconds = self._random.uniform(*latency) if isinstance(latency, tuple) else latency
        if seconds > 0:
            await asyncio.sleep(seconds)

    def _write_log(self, request: web.BaseRequest, call: _Call, in_flight: int, began: float) -> None:
        kept: object = None
        if self.settings.keep_bodies:
            try:
                kept = orjson.loads(call.raw)
            except ValueError:
                kept = call.raw.decode("utf-8", "replace")
        key = _key(request)
        shown = ("anthropic-version", "anthropic-beta", "user-agent", "content-type", "x-stainless-retry-count")
        entry = LogEntry(
            number=call.number,
            at=round(began - self._began, 4),
            seconds=round(time.monotonic() - began, 4),
            path=request.path_qs,
            status=call.status,
            fault=call.fault,
            body=kept,
            body_hash=hashlib.blake2b(call.raw, digest_size=12).hexdigest(),
            key=None if key is None else hashlib.sha256(key.encode()).hexdigest()[:12],
            key_in=next((name for name in _KEY_HEADERS if name in request.headers), None),
            headers={name: request.headers[name] for name in shown if name in request.headers},
            input_tokens=call.input_tokens,
            output_tokens=call.output_tokens,
            in_flight=in_flight,
        )
        line = orjson.dumps(entry)
        self._entries.append(line)
        if self._log_file is not None:
            self._log_file.write(line + b"\n")
            self._log_file.flush()

    async def _control(self, request: web.BaseRequest) -> web.Response:
        """Health, settings, log; 404 for anything else."""
        match request.method, request.path:
            case "GET", "/health":
                return web.json_response({"status": "ok"})
            case "GET", "/v1/models":
                listed = [{"id": each, "object": "model"} for each in self.settings.models or []]
                return web.json_response({"object": "list", "data": listed})
            case "GET", "/control":
                return web.json_response(self.settings.model_dump(mode="json"))
            case "POST", "/control":
                try:
                    changes = json.loads(await request.read())
                    self.apply(Settings.model_validate({**self.settings.model_dump(), **changes}))
                except (ValidationError, ValueError, ImportError, AttributeError) as problem:
                    return web.json_response({"error": str(problem)}, status=422)
                return web.json_response({})
            case "PUT", "/control":
                self.apply(Settings())
                self._account = Account(self.settings.limits, time.monotonic())
                self.clear()
                return web.json_response({})
            case "GET", "/log":
                return web.Response(body=b"[" + b",".join(self._entries) + b"]", content_type="application/json")
            case "GET", "/log/count":
                return web.json_response({"requests": self._number, "in_flight": self._in_flight})
            case "DELETE", "/log":
                self.clear()
                return web.json_response({})
            case _:
                return web.json_response({"detail": "Not Found"}, status=404)


def _refusal(feature: str, vendor: str) -> HttpError:
    """How services say that they don't have something."""
    if vendor == "anthropic":
        return HttpError(400, f"{feature}: Extra inputs are not permitted")
    match feature:
        case "max_tokens":
            message = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
            return HttpError(400, message, openai_code="unsupported_parameter", parameter="max_tokens")
        case "max_completion_tokens":
            return HttpError(400, "Unrecognized request argument supplied: max_completion_tokens")
        case "logprobs":
            return HttpError(403, "You are not allowed to request logprobs from this model.")
        case "temperature":
            message = "Unsupported value: 'temperature' does not support 0. Only the default (1) value is supported."
            return HttpError(400, message, openai_code="unsupported_value", parameter="temperature")
        case "chat":
            message = "This model is only supported in v1/responses and not in v1/chat/completions."
            return HttpError(404, message, parameter="model")
        case "response_format.strict":
            message = "Invalid schema for response_format 'reply': In context=(), 'minLength' is not permitted."
            return HttpError(400, message, parameter="response_format")
        case "response_format.json_schema" | "response_format.json_object":
            kind = feature.removeprefix("response_format.")
            message = f"Invalid parameter: 'response_format' of type '{kind}' is not supported with this model."
            return HttpError(400, message)
        case "base64":
            return HttpError(400, "encoding_format 'base64' is not supported", parameter="encoding_format")
        case _:
            message = f"Unsupported parameter: '{feature}' is not supported with this model."
            return HttpError(400, message, openai_code="unsupported_parameter", parameter=feature)


_KEY_HEADERS = ("authorization", "x-api-key", "api-key")


def _key(request: web.BaseRequest) -> str | None:
    found = [request.headers[name] for name in _KEY_HEADERS if name in request.headers]
    return found[0].removeprefix("Bearer ") if found else None


def _broken(request: web.BaseRequest, response: web.StreamResponse | None = None) -> web.StreamResponse:
    """Cut the connection as a crash would: with a reset."""
    if request.transport is not None:
        request.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        request.transport.abort()
    return response or web.Response()


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A model server in a process of its own, and how to steer it."""

    url: str
    process: "subprocess.Popen[bytes]"

    @classmethod
    @contextmanager
    def start(
        cls, *, log_file: Path | None = None, python_path: str | Path | None = None, port: int = 0, **settings: object
    ) -> Generator["RunningServer"]:
        """Start one, and end it with the block.

        Args:
            log_file: Where the log is written too, one entry a line.
            python_path: Where a brain of your own is found.
            port: 0 for any that is free.
            settings: Fields of `Settings`.
        """
        arguments = [sys.executable, "-m", "support.model_server", "--port", str(port), "--until-stdin-ends"]
        arguments += ["--settings", json.dumps(settings)]
        if log_file is not None:
            arguments += ["--log-file", str(log_file)]
        found = [str(_TESTS), *([str(python_path)] if python_path else []), os.environ.get("PYTHONPATH", "")]
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(each for each in found if each)},
        )
        try:
            line = process.stdout.readline() if process.stdout is not None else b""
            assert line, "the model server did not start; its standard error says why"
            yield cls(json.loads(line)["url"], process)
        finally:
            process.terminate()
            process.wait(20)
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

    @property
    def openai(self) -> str:
        """The base URL for OpenAI's dialect."""
        return f"{self.url}/v1"

    @property
    def anthropic(self) -> str:
        """The base URL for Anthropic's dialect."""
        return self.url

    def set(self, **changes: object) -> None:
        """Change settings; the others stay."""
        self._ask("POST", "/control", changes)

    def reset(self) -> None:
        """As it was at first: default settings, nothing logged, nothing counted."""
        self._ask("PUT", "/control")

    def log(self) -> list[LogEntry]:
        """All requests that have ended, in the order of their ends."""
        return [LogEntry(**each) for each in cast("list[dict[str, Any]]", self._ask("GET", "/log"))]

    def bodies(self) -> list[dict[str, Any]]:
        """What was asked, in the order in which it came."""
        return [entry.body for entry in sorted(self.log(), key=lambda entry: entry.number)]

    def statuses(self) -> Counter[int]:
        """How often each status was given."""
        return Counter(entry.status for entry in self.log())

    def requests(self) -> int:
        """How many came, those under way included."""
        return cast("dict[str, int]", self._ask("GET", "/log/count"))["requests"]

    def in_flight(self) -> int:
        """How many are under way."""
        return cast("dict[str, int]", self._ask("GET", "/log/count"))["in_flight"]

    def clear_log(self) -> None:
        """Forget all requests."""
        self._ask("DELETE", "/log")

    def _ask(self, method: str, path: str, body: object = None) -> object:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)  # noqa: S310  # loopback
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=30) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            with error:
                raise ValueError(json.loads(error.read())["error"]) from None


async def _serve(port: int, settings: Settings, log_file: IO[bytes] | None, *, until_stdin_ends: bool) -> None:
    server = ModelServer(settings, log_file)
    await server.start(port)
    print(json.dumps({"url": server.url}), flush=True)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # on Windows the process just ends
            loop.add_signal_handler(each, ended.set)
    if until_stdin_ends:  # whoever started us is gone
        loop.run_in_executor(None, lambda: (sys.stdin.buffer.read(), loop.call_soon_threadsafe(ended.set)))
    await ended.wait()
    os._exit(0)  # requests that hang are left hanging


def main() -> None:
    """Run the server until it is told to end."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, help="seconds before each reply")
    parser.add_argument("--brain", help="module:function")
    parser.add_argument("--settings", default="{}", help="JSON: fields of Settings")
    parser.add_argument("--log-file", type=Path)
    parser.add_argument("--until-stdin-ends", action="store_true")
    given = parser.parse_args()
    settings: dict[str, object] = json.loads(given.settings)
    for name in ("latency", "brain"):
        if getattr(given, name) is not None:
            settings[name] = getattr(given, name)
    log_file = given.log_file.open("ab") if given.log_file else None
    asyncio.run(
        _serve(given.port, Settings.model_validate(settings), log_file, until_stdin_ends=given.until_stdin_ends)
    )


if __name__ == "__main__":
    main()
