from pathlib import Path

import pytest

from judges.errors import InputError
from judges.settings import JudgeSettings, read_settings

WHOLE = """
cache = "somewhere"

[judges.strict]
model = "openai:gpt-6-luna"
rationale = false
samples = 3
parameters = { temperature = 0 }

[services.openai]
api_key = "sk-very-secret"
requests_per_minute = 500

[services."http://localhost:8000/v1"]
concurrency = 4

[prices."my-model"]
input = 0.1
output = 0.4
"""


def test_a_file_says_judges_services_and_prices(tmp_path: Path) -> None:
    file = tmp_path / "judges.toml"
    file.write_text(WHOLE)
    settings = read_settings(file)
    assert settings.judges["strict"].parameters == {"temperature": 0}
    assert settings.services["openai"].requests_per_minute == 500
    assert settings.services["http://localhost:8000/v1"].concurrency == 4
    assert (settings.prices["my-model"].input, settings.prices["my-model"].output) == (0.1, 0.4)
    assert settings.cache == "somewhere"


def test_a_key_is_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "judges.toml"
    file.write_text(WHOLE)
    settings = read_settings(file)
    assert "sk-very-secret" not in f"{settings!r} {settings}"
    key = settings.services["openai"].api_key
    assert key is not None
    assert key.get_secret_value() == "sk-very-secret"


def test_without_a_file_there_are_no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_settings().judges == {}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[judges.a]\nmodle = 'x'", "`judges.a.modle`: there is no such setting"),
        ("[judges.a]\nsamples = 0", "`judges.a.samples`: input should be greater than or equal to 1"),
        ('[services."https://user:secret@host/v1"]\nx = 1', "`services.https://…@host/v1.x`: there is no such setting"),
        ("[services.openai]\napi_key = 5", "`services.openai.api_key`"),
        ("[services.openai", "no TOML"),
        ("[prices.a]\noutput = 1", "`prices.a.input`: field required"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_named_in_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "judges.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"judges\.toml") as caught:
        read_settings(file)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_key_does_not_get_into_the_complaint(tmp_path: Path) -> None:
    file = tmp_path / "judges.toml"
    file.write_text("[services.openai]\napi_kee = 'sk-very-secret'")
    with pytest.raises(InputError) as caught:
        read_settings(file)
    assert "sk-very-secret" not in str(caught.value)


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_settings(tmp_path / "none.toml")


def test_what_the_command_line_says_goes_over_what_the_file_says() -> None:
    of_file = JudgeSettings(model="openai:a", samples=3, parameters={"temperature": 0, "seed": 1})
    said = JudgeSettings(samples=1, parameters={"temperature": 1})
    merged = said.over(of_file)
    assert (merged.model, merged.samples, merged.parameters) == ("openai:a", 1, {"temperature": 1, "seed": 1})
