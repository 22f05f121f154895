"""The door of `judges.toml`: judges by name, what is known of services, and prices.

    [judges.strict]                         # --judge strict
    model = "openai:gpt-6-luna"
    rationale = false
    parameters = { temperature = 0 }

    [services.openai]                       # by vendor, or by address: [services."http://localhost:8000/v1"]
    api_key_env = "TEAM_OPENAI_KEY"
    requests_per_minute = 500

    [prices."my-model"]                     # dollars for a million tokens
    input = 0.10
    output = 0.40

    [gates]                                 # judges gate RUN: its options, but for where the output goes
    require = ["faithfulness>=0.9", "recall@4>=0.85"]
    forbid = ["answered_unanswerable>0"]
    qrels = "qrels.txt"                     # files are looked for from the current folder
    complete = true

Keys stay in here: nothing that is made from a key is shown, logged or stored.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from judges.errors import InputError
from judges.toml import read_toml

__all__ = [
    "FILE_NAME",
    "GateSettings",
    "JudgeSettings",
    "PriceSettings",
    "ServiceSettings",
    "Settings",
    "read_settings",
]

FILE_NAME = "judges.toml"

_Count = Annotated[int, Field(ge=1)]
_Share = Annotated[float, Field(ge=0, le=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class JudgeSettings(_Section):
    """One judge: a model, and how it is asked. What isn't said is the default."""

    model: str | None = None
    """`openai:NAME`, `anthropic:NAME`, `embedding:NAME`."""
    base_url: str | None = None
    claims: Literal["sentences", "model"] | None = None
    rationale: bool | None = None
    language: str | None = None
    """Of the rationale, in English words."""
    samples: _Count | None = None
    logprobs: bool | None = None
    threshold: _Share | None = None
    max_tokens: _Count | None = None
    window: _Count | None = None
    """Tokens that the model can read and write at once."""
    long: Literal["refuse", "split"] | None = None
    timeout_seconds: Annotated[float, Field(gt=0)] | None = None
    parameters: Mapping[str, Any] = Field(default_factory=dict)
    """Sent to the service as they are."""
    prefixes: Mapping[Literal["query", "passage"], str] | None = None
    """Of an embedding model whose service doesn't put them in front of texts itself."""
    templates: Mapping[str, str] = Field(default_factory=dict)
    """By criterion: the path of a template."""

    def over(self, other: "JudgeSettings") -> "JudgeSettings":
        """These settings, and the other's where these say nothing."""
        said = self.model_dump(exclude_none=True)
        merged = other.model_dump(exclude_none=True) | said
        for name in ("parameters", "templates"):
            merged[name] = {**getattr(other, name), **getattr(self, name)}
        return JudgeSettings.model_validate(merged)


class ServiceSettings(_Section):
    """An account with a service."""

    api_key: SecretStr | None = None
    api_key_env: str | None = None
    """The environment variable that holds the key."""
    requests_per_minute: _Count | None = None
    tokens_per_minute: _Count | None = None
    input_tokens_per_minute: _Count | None = None
    output_tokens_per_minute: _Count | None = None
    concurrency: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Calls in flight. If it is stated, so many go out at once when a first one was accepted."""


class PriceSettings(_Section):
    """What a model costs, in dollars for a million tokens."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)] = 0.0
    cache_read: Annotated[float, Field(ge=0)] | None = None


class GateSettings(_Section):
    """What `judges gate` holds a run against. The command line goes over it."""

    require: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    against: str | None = None
    """Folder of the baseline."""
    max_drop: _Share | tuple[str, ...] | None = None
    """Of all criteria, or a list as on the command line: `["0.02", "recall@4=0.05"]`."""
    max_failures: _Share | None = None
    on_set: bool | None = None
    strict: bool = False
    cluster: str | None = None
    refusal: tuple[str, ...] = ()
    """What an answer says that refuses to answer."""
    qrels: str | None = None
    """File of what is relevant."""
    complete: bool = False
    answerable: tuple[str, ...] = ()
    """`FIELD=VALUE`: a case that has it can be answered."""
    unanswerable: tuple[str, ...] = ()
    keep_first: bool = False
    """Whether of a document retrieved twice the first copy counts; else it is refused."""


class Settings(_Section):
    """All of the file."""

    judges: Mapping[str, JudgeSettings] = Field(default_factory=dict)
    services: Mapping[str, ServiceSettings] = Field(default_factory=dict)
    prices: Mapping[str, PriceSettings] = Field(default_factory=dict)
    gates: GateSettings = GateSettings()
    cache: str | None = None
    """Folder of the cache."""


def judge_settings(ways: Mapping[str, object]) -> JudgeSettings:
    """The settings of a judge, as they come from a program.

    Raises:
        InputError: One isn't a setting, or has a value that it can't have.
    """
    try:
        return JudgeSettings.model_validate(ways)
    except ValidationError as error:
        raise InputError(_told(error)) from None


def read_settings(path: str | Path | None = None) -> Settings:
    """The settings of a file.

    Args:
        path: By default `judges.toml` in the current folder, if there is one.

    Raises:
        InputError: It can't be read, or holds something that isn't a setting.
    """
    place = Path(FILE_NAME if path is None else path)
    if path is None and not place.exists():
        return Settings()
    found = read_toml(place)
    try:
        return Settings.model_validate(found)
    except ValidationError as error:
        raise InputError(f"{place}: {_told(error)}") from None


_PASSWORD = re.compile(r"//.*@")
"""Of a URL: it may be the name of a section."""


def _told(error: ValidationError) -> str:
    """What is wrong, and where. What was found there isn't repeated: it may be a key."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(_PASSWORD.sub("//…@", str(step)) for step in first["loc"])
    what = "there is no such setting" if first["type"] == "extra_forbidden" else first["msg"].lower()
    return f"`{where}`: {what}"
