import struct

import pytest

from judges.errors import Declined, ServiceError, Unauthorised, Unavailable
from judges.service import EmbeddingRequest
from judges.services.embeddings import OpenAIEmbeddings
from support.asking import KEY, embed
from support.model_server import RunningServer

TEXTS = ["The bridge opened in 1932.", "Ice melts at zero.", "The bridge opened."]


def requests(texts: list[str] | None = None, model: str = "embed-1", **parameters: int) -> list[EmbeddingRequest]:
    return [EmbeddingRequest(model, text, parameters=parameters) for text in texts or TEXTS]


def numbers(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def cosine(first: bytes, second: bytes) -> float:
    return sum(a * b for a, b in zip(numbers(first), numbers(second), strict=True))


def test_many_texts_are_one_call_and_like_texts_are_near(model_server: RunningServer) -> None:
    model_server.set(resolves={"embed-1": "embed-1-v2"})
    replies = embed(OpenAIEmbeddings(model_server.openai, KEY), requests())
    assert model_server.requests() == 1
    assert {len(reply.vector) for reply in replies} == {64 * 4}
    assert {reply.model for reply in replies} == {"embed-1-v2"}
    assert cosine(replies[0].vector, replies[2].vector) > cosine(replies[0].vector, replies[1].vector)
    [entry] = model_server.log()
    assert entry.body == {"model": "embed-1", "input": TEXTS, "encoding_format": "base64"}


def test_the_shares_of_the_texts_add_up_to_the_call(model_server: RunningServer) -> None:
    texts = [f"text {'x' * each}" for each in range(50)]
    replies = embed(OpenAIEmbeddings(model_server.openai, KEY), requests(texts))
    assert sum(reply.usage.calls for reply in replies) == 1
    assert sum(reply.usage.input_tokens for reply in replies) == model_server.log()[0].input_tokens


def test_vectors_are_put_in_the_order_of_the_texts(model_server: RunningServer) -> None:
    service = OpenAIEmbeddings(model_server.openai, KEY)
    straight = embed(service, requests())
    model_server.set(faults=[{"fault": "shuffled"}])
    assert [reply.vector for reply in embed(service, requests())] == [reply.vector for reply in straight]


def test_a_service_without_base64_is_asked_for_numbers_from_then_on(model_server: RunningServer) -> None:
    service = OpenAIEmbeddings(model_server.openai, KEY)
    straight = embed(service, requests())
    model_server.set(refuses=[{"feature": "base64"}])
    model_server.clear_log()
    for _ in range(2):
        assert [reply.vector for reply in embed(service, requests())] == [reply.vector for reply in straight]
    assert [entry.status for entry in model_server.log()] == [400, 200, 200]


def test_a_service_that_passes_over_base64_is_understood(model_server: RunningServer) -> None:
    model_server.set(faults=[{"fault": "no_base64"}])
    assert len(embed(OpenAIEmbeddings(model_server.openai, KEY), requests())[0].vector) == 256


def test_texts_of_several_models_or_parameters_are_a_call_for_each(model_server: RunningServer) -> None:
    mixed = [*requests(["a"]), *requests(["b"], model="embed-2"), *requests(["c"]), *requests(["d"], dimensions=32)]
    replies = embed(OpenAIEmbeddings(model_server.openai, KEY), mixed)
    assert [body["input"] for body in model_server.bodies()] == [["a", "c"], ["b"], ["d"]]
    assert [len(reply.vector) // 4 for reply in replies] == [64, 64, 64, 32]
    assert [reply.model for reply in replies] == ["embed-1", "embed-2", "embed-1", "embed-1"]


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ("missing_vector", Unavailable, "the reply can't be read (2 embeddings for 3 texts)"),
        ("uneven_vectors", Unavailable, "the reply can't be read (embeddings of several lengths)"),
        ("html", Unavailable, "the reply can't be read (text/html"),
        ("truncated_json", Unavailable, "the reply can't be read (application/json"),
        ("unauthorised", Unauthorised, "the key was not accepted (401)"),
        ("no_model", Unauthorised, "no such model"),
        ("bad_request", Declined, "the request was refused (400)"),
    ],
)
def test_a_reply_that_is_not_whole_is_none(
    model_server: RunningServer, fault: str, kind: type[ServiceError], says: str
) -> None:
    model_server.set(faults=[{"fault": fault}])
    with pytest.raises(ServiceError) as caught:
        embed(OpenAIEmbeddings(model_server.openai, KEY), requests())
    assert type(caught.value) is kind
    assert says in str(caught.value)
    assert KEY not in str(caught.value)


def test_no_texts_are_no_call(model_server: RunningServer) -> None:
    assert embed(OpenAIEmbeddings(model_server.openai, KEY), []) == []
    assert model_server.requests() == 0


def test_the_key_is_in_no_name_of_the_service() -> None:
    service = OpenAIEmbeddings("https://example.org/v1", KEY)
    assert KEY not in repr(service) + service.identity
