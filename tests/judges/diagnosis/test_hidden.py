import numpy as np

from judges.diagnosis.hidden import hidden_slices


def values(**slices: tuple[int, float]) -> tuple[dict[str, float], dict[str, list[str]]]:
    """So many cases of each slice, of which a share scores 1 and the rest 0."""
    scores: dict[str, float] = {}
    names: dict[str, list[str]] = {}
    for name, (count, share) in slices.items():
        for number in range(count):
            scores[f"{name}{number}"] = float(number < share * count)
            names[f"{name}{number}"] = [name]
    return scores, names


def test_a_slice_far_below_the_rest_is_called_out_with_the_mean_that_hides_it() -> None:
    scores, names = values(easy=(90, 0.95), hard=(20, 0.2))
    [found], compared = hidden_slices({"recall": scores}, {"type": names})
    assert (found.measure, found.field, found.value, compared) == ("recall", "type", "hard", 2)
    assert found.inside.value == 0.2
    assert found.overall > 0.8
    assert found.gap.ci_high is not None
    assert found.gap.ci_high < 0
    assert found.gap.level == 1 - 0.05 / 2


def test_a_slice_that_may_be_low_by_chance_or_only_a_little_is_not() -> None:
    for easy, hard in ((0.9, 0.5), (0.9, 0.85)):
        scores, names = values(easy=(60, easy), hard=(4 if hard == 0.5 else 400, hard))
        assert hidden_slices({"recall": scores}, {"type": names})[0] == []


def test_one_case_is_no_slice() -> None:
    scores, names = values(easy=(60, 1.0), hard=(1, 0.0))
    assert hidden_slices({"recall": scores}, {"type": names})[0] == []


def test_a_field_with_one_value_is_compared_with_nothing() -> None:
    scores, names = values(all=(60, 0.5))
    assert hidden_slices({"recall": scores}, {"type": names}) == ([], 0)


def test_slices_that_differ_by_chance_alone_are_hardly_ever_called_out() -> None:
    """Forty slices a data set: without allowing for their number every other set would call one out."""
    generator = np.random.default_rng(5)
    alarms = 0
    for _ in range(60):
        scores = {f"c{number}": float(score) for number, score in enumerate(generator.random(800) < 0.6)}
        names = {case: [f"s{number % 40}"] for number, case in enumerate(scores)}
        alarms += bool(hidden_slices({"recall": scores}, {"type": names})[0])
    assert alarms <= 6
