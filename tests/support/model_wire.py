"""The wire formats that the model server speaks: a body becomes a question, an answer becomes a body.

OpenAI: chat completions, Responses, embeddings. Anthropic: messages.
"""

import base64
import hashlib
import math
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from support.model_brain import Answer, Question, Schema

__all__ = [
    "CHAT",
    "EMBEDDINGS",
    "MESSAGES",
    "RESPONSES",
    "Body",
    "TokenCount",
    "Unacceptable",
    "as_list",
    "chat_question",
    "chat_reply",
    "count_tokens",
    "embed",
    "embeddings_reply",
    "error_body",
    "features",
    "messages_question",
    "messages_reply",
    "responses_question",
    "responses_reply",
]

Body: TypeAlias = dict[str, Any]
CHAT, RESPONSES, EMBEDDINGS, MESSAGES = "chat/completions", "responses", "embeddings", "messages"


class Unacceptable(Exception):
    """The body isn't what the API takes."""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens of a call; `read` and `written` of the input are the prompt cache's."""

    input: int
    output: int
    read: int = 0
    written: int = 0
    reasoning: int = 0
    """Part of the output."""


def count_tokens(text: str) -> int:
    """About as many as a model would count."""
    return len(text) // 4 + 1 if text else 0


def chat_question(body: Body) -> Question:
    """Of a chat completion.

    Raises:
        Unacceptable: With what is wrong.
    """
    turns = _turns(body.get("messages"))
    wanted = as_object(body.get("response_format"))
    schema = _given_schema(wanted, as_object(wanted.get("json_schema")), "response_format.json_schema")
    tool: str | None = as_object(as_object(body.get("tool_choice")).get("function")).get("name")
    if tool is not None:
        functions = [as_object(as_object(each).get("function")) for each in as_list(body.get("tools"))]
        schema = _tool_schema(functions, tool, "parameters")
    if wanted.get("type") == "json_object" and not any("json" in text.lower() for _, text in turns):
        raise Unacceptable("'messages' must contain the word 'json' in some form, to use 'response_format'.")
    return Question(
        model=_model(body),
        system="\n".join(text for role, text in turns if role in ("system", "developer")),
        messages=tuple((role, text) for role, text in turns if role not in ("system", "developer")),
        schema=schema,
        max_tokens=int(body.get("max_completion_tokens") or body.get("max_tokens") or 4096),
        top_logprobs=int(body.get("top_logprobs") or 0) if body.get("logprobs") else None,
        tool=tool,
    )


def chat_reply(question: Question, answer: Answer, tokens: TokenCount, number: int, model: str, piece: int) -> Body:
    """A chat completion."""
    message: Body = {"role": "assistant", "content": answer.text, "refusal": None, "annotations": []}
    finish = answer.finish
    if finish == "refusal":
        message |= {"content": None, "refusal": answer.text}
        finish = "stop"
    elif question.tool is not None and finish != "content_filter":
        function = {"name": question.tool, "arguments": answer.text}
        message |= {"content": None, "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}]}
    logprobs = None
    if question.top_logprobs is not None:
        logprobs = {"content": _logprobs(question, answer, piece), "refusal": None}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000 + number,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": logprobs, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": tokens.input,
            "completion_tokens": tokens.output,
            "total_tokens": tokens.input + tokens.output,
            "prompt_tokens_details": {"cached_tokens": tokens.read, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": tokens.reasoning, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": "fp_test",
    }


def responses_question(body: Body) -> Question:
    """Of a response.

    Raises:
        Unacceptable: With what is wrong.
    """
    given = body.get("input")
    turns = [("user", given)] if isinstance(given, str) else _turns(given)
    form = as_object(as_object(body.get("text")).get("format"))
    schema = _given_schema(form, form, "text.format")
    wanted = "message.output_text.logprobs" in as_list(body.get("include"))
    return Question(
        model=_model(body),
        system=str(body.get("instructions") or ""),
        messages=tuple(turns),
        schema=schema,
        max_tokens=int(body.get("max_output_tokens") or 4096),
        top_logprobs=int(body.get("top_logprobs") or 0) if wanted else None,
    )


def responses_reply(
    question: Question, answer: Answer, tokens: TokenCount, number: int, model: str, piece: int
) -> Body:
    """A response."""
    content: Body = {"type": "output_text", "text": answer.text, "annotations": []}
    if question.top_logprobs is not None:
        content["logprobs"] = _logprobs(question, answer, piece)
    if answer.finish == "refusal":
        content = {"type": "refusal", "refusal": answer.text}
    reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
    reason = reasons.get(answer.finish)
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_700_000_000 + number,
        "status": "completed" if reason is None else "incomplete",
        "error": None,
        "incomplete_details": None if reason is None else {"reason": reason},
        "model": model,
        "output": [
            {"type": "reasoning", "id": f"rs_{number}", "summary": []},
            {
                "type": "message",
                "id": f"msg_{number}",
                "status": "completed",
                "role": "assistant",
                "content": [content],
            },
        ],
        "usage": {
            "input_tokens": tokens.input,
            "input_tokens_details": {"cached_tokens": tokens.read},
            "output_tokens": tokens.output,
            "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
            "total_tokens": tokens.input + tokens.output,
        },
    }


def messages_question(body: Body) -> Question:
    """Of an Anthropic message.

    Raises:
        Unacceptable: With what is wrong.
    """
    if not isinstance(body.get("max_tokens"), int):
        raise Unacceptable("max_tokens: Field required")
    turns = _turns(body.get("messages"))
    if any(role not in ("user", "assistant") for role, _ in turns):
        raise Unacceptable("messages: Unexpected role; use the top-level `system` parameter")
    blocks = body.get("system", "")
    cached = any("cache_control" in block for block in as_list(blocks))
    form = as_object(as_object(body.get("output_config")).get("format"))
    schema = _given_schema(form, {"name": "reply", **form}, "output_config.format")
    if schema is not None:
        _check_closed(schema)
    tool: str | None = as_object(body.get("tool_choice")).get("name")
    if tool is not None:
        schema = _tool_schema(as_list(body.get("tools")), tool, "input_schema")
    return Question(
        model=_model(body),
        system=_text(blocks),
        messages=tuple(turns),
        schema=schema,
        max_tokens=int(body["max_tokens"]),
        tool=tool,
        cached_prefix=cached,
    )


def messages_reply(
    question: Question, answer: Answer, tokens: TokenCount, number: int, model: str, arguments: Any
) -> Body:
    """An Anthropic message; `arguments` is the answer's document where a tool is called."""
    content: list[Body] = [{"type": "text", "text": answer.text}] if answer.text else []
    finishes = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal", "content_filter": "refusal"}
    finish = finishes[answer.finish]
    if question.tool is not None and finish != "refusal":
        content = [{"type": "tool_use", "id": f"toolu_{number}", "name": question.tool, "input": arguments}]
        finish = "tool_use" if finish == "end_turn" else finish
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": finish,
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens.input - tokens.read - tokens.written,
            "cache_creation_input_tokens": tokens.written,
            "cache_read_input_tokens": tokens.read,
            "output_tokens": tokens.output,
            "service_tier": "standard",
        },
    }


_WORD = re.compile(r"\w+")


def embed(text: str, dimensions: int) -> list[float]:
    """A vector of length 1: the words, each at its places. Texts that share words are near."""
    vector = [0.0] * dimensions
    for word in _WORD.findall(text.lower()) or [text]:
        digest = hashlib.blake2b(word.encode(), digest_size=12).digest()
        for place in range(0, 12, 4):
            number = int.from_bytes(digest[place : place + 4], "big")
            vector[(number >> 1) % dimensions] += 1.0 if number & 1 else -1.0
    length = math.sqrt(sum(each * each for each in vector)) or 1.0
    return [each / length for each in vector]


def embeddings_reply(vectors: Sequence[Sequence[float]], model: str, tokens: int, *, as_base64: bool) -> Body:
    """A list of embeddings."""

    def written(vector: Sequence[float]) -> object:
        return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode() if as_base64 else list(vector)

    data = [{"object": "embedding", "index": place, "embedding": written(each)} for place, each in enumerate(vectors)]
    return {
        "object": "list",
        "data": data,
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def error_body(vendor: str, kind: str, message: str, code: str | None, parameter: str | None, number: int) -> Body:
    """An error as the vendor writes it."""
    if vendor == "anthropic":
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": f"req_{number}"}
    return {"error": {"message": message, "type": kind, "param": parameter, "code": code}}


def features(body: Body) -> set[str]:
    """What a model may not support, of what the body asks for: names of parameters, `response_format.json_schema`,
    `response_format.strict`.
    """
    found = {name for name in body if name not in ("model", "messages", "input")}
    wanted = as_object(body.get("response_format"))
    if wanted:
        found.add(f"response_format.{wanted.get('type')}")
    if as_object(wanted.get("json_schema")).get("strict"):
        found.add("response_format.strict")
    return found


def as_object(value: object) -> Body:
    """`value` if it is an object, else an empty one."""
    return cast("Body", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """`value` if it is a list, else an empty one."""
    return list(cast("Iterable[Any]", value)) if isinstance(value, list) else []


def _given_schema(form: Body, holder: Body, where: str) -> Schema | None:
    if form.get("type", "text") in ("text", "json_object"):
        return None
    if not isinstance(holder.get("name"), str) or not isinstance(holder.get("schema"), dict):
        raise Unacceptable(f"Missing required parameter: '{where}'.")
    return cast("Schema", holder["schema"])


def _tool_schema(tools: list[Any], name: str, member: str) -> Schema:
    for tool in tools:
        if as_object(tool).get("name") == name:
            return as_object(as_object(tool).get(member))
    raise Unacceptable(f"tool_choice: '{name}' is not among the tools")


def _model(body: Body) -> str:
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise Unacceptable("you must provide a model parameter")
    return model


def _turns(given: object) -> list[tuple[str, str]]:
    turns: list[tuple[str, str]] = []
    for turn in map(as_object, as_list(given)):
        if not isinstance(turn.get("role"), str) or not isinstance(turn.get("content"), str | list):
            raise Unacceptable("Invalid type for 'messages[0].content'.")
        turns.append((turn["role"], _text(turn["content"])))
    if not turns:
        raise Unacceptable("Invalid 'messages': empty array. Expected an array with minimum length 1.")
    return turns


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(as_object(block).get("text", "")) for block in as_list(content))


_OPEN = ("minimum", "maximum", "minLength", "maxLength", "multipleOf", "maxItems")


def _check_closed(schema: object) -> None:
    """Anthropic's rules for schemas: objects are closed, and limits of values aren't supported."""
    for each in as_list(schema):
        _check_closed(each)
    form = as_object(schema)
    kind = form.get("type")
    if kind == "object" and form.get("additionalProperties") is not False:
        raise Unacceptable("output_config.format.schema: For 'object' type, 'additionalProperties' must be false")
    for name in _OPEN:
        if name in form and not isinstance(form[name], dict):
            raise Unacceptable(f"output_config.format.schema: For '{kind}' type, property '{name}' is not supported")
    for each in form.values():
        _check_closed(each)


_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


def _logprobs(question: Question, answer: Answer, piece: int) -> list[Body]:
    """One entry a token; words that the schema lists have the other words of the list as alternatives."""
    wanted = question.top_logprobs or 0
    lists = _word_lists(question.schema)
    entries: list[Body] = []
    for word in _TOKEN.findall(answer.text):
        shares = answer.probabilities.get(word) or _shares(word, lists.get(word, (word,)), question.text)
        for start in range(0, len(word), piece):
            token = word[start : start + piece]
            options: dict[str, float] = {}
            for other, share in shares.items():  # words with a common beginning share their first token
                if start == 0 or other.startswith(word[:start]):
                    options[other[start : start + piece]] = options.get(other[start : start + piece], 0.0) + share
            total = sum(options.values())
            ranked = sorted(options.items(), key=lambda each: -each[1])[:wanted]
            entry = _entry(token, options.get(token, 1e-9) / total)
            entry["top_logprobs"] = [_entry(other, share / total) for other, share in ranked if other]
            entries.append(entry)
    return entries


def _entry(token: str, share: float) -> Body:
    return {"token": token, "logprob": round(math.log(max(share, 1e-9)), 6), "bytes": list(token.encode())}


def _shares(word: str, words: Sequence[str], text: str) -> Mapping[str, float]:
    """How likely each of the words was: the one said the likeliest."""
    number = int.from_bytes(hashlib.blake2b(f"{word}\0{text}".encode(), digest_size=4).digest(), "big") / 2**32
    said = 0.6 + 0.399 * number
    others = [each for each in words if each != word]
    return {word: said, **{each: (1 - said) / len(others) for each in others}} if others else {word: 0.999}


def _word_lists(schema: object) -> dict[str, tuple[str, ...]]:
    """Each word that the schema lists, with all words of its list."""
    found: dict[str, tuple[str, ...]] = {}
    words = tuple(str(each) for each in as_list(as_object(schema).get("enum")))
    found |= dict.fromkeys(words, words)
    for each in (*as_list(schema), *as_object(schema).values()):
        found |= _word_lists(each)
    return found
