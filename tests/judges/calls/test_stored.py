from hypothesis import given
from hypothesis import strategies as st

from judges.calls.stored import CHAT, EMBEDDING, exported
from judges.service import ChatReply, EmbeddingReply, TokenChoice
from judges.usage import Limit, Limits, Usage

numbers = st.floats(allow_nan=False, allow_infinity=False)
any_text = st.text(st.characters())  # half surrogate pairs included: models do send them
usages = st.builds(Usage, input_tokens=st.integers(0, 2**40), output_tokens=st.integers(0, 2**40))
choices = st.builds(TokenChoice, any_text, numbers, st.lists(st.tuples(any_text, numbers)).map(tuple))
chat_replies = st.builds(
    ChatReply,
    text=any_text,
    model=st.text(),
    finish=st.sampled_from(["stop", "length", "refusal", "content_filter"]),
    usage=usages,
    logprobs=st.none() | st.lists(choices).map(tuple),
)


@given(chat_replies)
def test_a_chat_reply_comes_back_as_it_was(reply: ChatReply) -> None:
    assert CHAT.decode(CHAT.encode(reply)) == reply


@given(st.builds(EmbeddingReply, st.binary(), st.text(), usages))
def test_an_embedding_comes_back_as_it_was(reply: EmbeddingReply) -> None:
    assert EMBEDDING.decode(EMBEDDING.encode(reply)) == reply


def test_limits_are_left_out() -> None:
    reply = ChatReply("yes", "m", limits=Limits(requests=Limit(per_minute=60)))
    assert CHAT.decode(CHAT.encode(reply)).limits is None


def test_an_exported_embedding_has_its_vector_in_base64() -> None:
    assert exported(EMBEDDING.encode(EmbeddingReply(b"\x00\x01", "e"))) == {"model": "e", "vector": "AAE="}
