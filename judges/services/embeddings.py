"""Embedding models that speak OpenAI's dialect: many texts in one call."""

import base64
import math
import struct
from array import array
from collections import defaultdict
from collections.abc import Sequence

from pydantic import BaseModel, ValidationError

from judges.service import EmbeddingReply, EmbeddingRequest
from judges.services.chat import Body, encode
from judges.services.connection import Address, Client, Connection, HttpReply, checked_key
from judges.services.failures import Asked, Problem, failure, read_problem, unreadable
from judges.services.headers import openai_limits
from judges.services.openai import OFFICIAL, openai_client
from judges.usage import Usage

__all__ = ["OpenAIEmbeddings"]

SECONDS = 60.0


class OpenAIEmbeddings:
    """A `ManyService[EmbeddingRequest, EmbeddingReply]`: one call for all texts of a model.

    Texts are sent as they are: what a role asks for (`query: ` and `passage: ` of E5) is put in front of them by
    whoever makes the request. Whoever calls also keeps to the number of texts that a service takes at once.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        key_from: str = "",
        timeout_seconds: float = SECONDS,
    ) -> None:
        """
        Args:
            base_url: Of the API, such as `http://127.0.0.1:8000/v1`; None for OpenAI's own.
            api_key: None where none is needed.
            key_from: Where the key comes from, such as `OPENAI_API_KEY`, for messages.
            timeout_seconds: For each call, from the connection to the last byte.

        Raises:
            InputError: The base URL is none, or the key can't be one.
        """
        self._address = Address.parse(OFFICIAL if base_url is None else base_url)
        self._api_key = checked_key(api_key, key_from)
        self._key_from = key_from
        self._timeout_seconds = timeout_seconds
        self._connection = Connection(self._address, self._make_client)
        self._floats: set[str] = set()
        """Models whose vectors don't come as base64."""

    @property
    def identity(self) -> str:
        """Service and endpoint, for cache keys and fingerprints. Never the key."""
        return f"openai {self._address.url}"

    def __repr__(self) -> str:
        return f"OpenAIEmbeddings({self._address.url!r})"

    async def __call__(self, requests: Sequence[EmbeddingRequest], /) -> list[EmbeddingReply]:
        """The vectors, in the order of the texts.

        Raises:
            ServiceError: The call failed, for all texts.
        """
        groups: dict[str, list[int]] = defaultdict(list)
        for place, request in enumerate(requests):
            groups[repr((request.model, sorted(request.parameters.items())))].append(place)
        replies: dict[int, EmbeddingReply] = {}
        for places in groups.values():
            found = await self._embed([requests[place] for place in places])
            replies.update(zip(places, found, strict=True))
        return [replies[place] for place in range(len(requests))]

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._connection.aclose()

    def _make_client(self) -> Client:
        return openai_client(self._address, self._api_key)

    async def _embed(self, requests: Sequence[EmbeddingRequest]) -> list[EmbeddingReply]:
        model = requests[0].model
        asked = Asked("openai", model, self._address.url, self._api_key, self._key_from)
        http, problem = await self._post(requests, asked)
        if problem is not None and problem.names("encoding_format", "base64") and model not in self._floats:
            self._floats.add(model)
            http, problem = await self._post(requests, asked)
        limits = openai_limits(http.headers)
        if problem is not None:
            raise failure(problem, asked, http, limits)
        try:
            document = _Embeddings.model_validate_json(http.content)
            vectors = document.vectors(len(requests))
        except ValueError as error:
            why = None if isinstance(error, ValidationError) else str(error)
            raise unreadable(asked, http, limits, why) from None
        usages = _shares(document.usage.prompt_tokens if document.usage else 0, requests)
        named = document.model or model
        return [EmbeddingReply(vector, named, usage, limits) for vector, usage in zip(vectors, usages, strict=True)]

    async def _post(self, requests: Sequence[EmbeddingRequest], asked: Asked) -> tuple[HttpReply, Problem | None]:
        body: Body = {"model": asked.model, "input": [request.text for request in requests]}
        body["encoding_format"] = "float" if asked.model in self._floats else "base64"
        http = await self._connection.post(
            "/embeddings",
            encode({**body, **requests[0].parameters}),
            asked=asked,
            timeout_seconds=self._timeout_seconds,
        )
        return http, None if 200 <= http.status < 300 else read_problem(http)


class _Embedding(BaseModel):
    index: int
    embedding: str | list[float]

    def vector(self) -> bytes:
        if isinstance(self.embedding, str):
            return base64.b64decode(self.embedding, validate=True)
        return struct.pack(f"<{len(self.embedding)}f", *self.embedding)


class _EmbeddingUsage(BaseModel):
    prompt_tokens: int = 0


class _Embeddings(BaseModel):
    """A list of embeddings, as much of it as is used."""

    data: list[_Embedding]
    model: str | None = None
    usage: _EmbeddingUsage | None = None

    def vectors(self, count: int) -> list[bytes]:
        """One for each text, in order.

        Raises:
            ValueError: There are too few or too many, they differ in length, or hold something that is no number.
        """
        ordered = sorted(self.data, key=lambda each: each.index)
        if [each.index for each in ordered] != list(range(count)):
            raise ValueError(f"{len(ordered)} embeddings for {count} texts")
        vectors = [each.vector() for each in ordered]
        sizes = {len(vector) for vector in vectors}
        if len(sizes) != 1 or 0 in sizes or any(size % 4 for size in sizes):
            raise ValueError("embeddings of several lengths")
        if not all(math.isfinite(sum(array("f", vector))) for vector in vectors):
            raise ValueError("an embedding with a number that isn't finite")
        return vectors


def _shares(tokens: int, requests: Sequence[EmbeddingRequest]) -> list[Usage]:
    """What each text used: one call together, the tokens by their lengths, so that they add up to the call's."""
    total = sum(len(request.text) for request in requests) or 1
    shares: list[Usage] = []
    given = seen = 0
    for place, request in enumerate(requests):
        seen += len(request.text)
        share = tokens * seen // total - given
        given += share
        shares.append(Usage(calls=1 if place == 0 else 0, input_tokens=share))
    return shares
