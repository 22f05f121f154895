"""Reason and flag codes of figures in words."""

from collections.abc import Callable, Mapping

from judges.figures import Figure

__all__ = ["FLAGS", "REASONS", "figure_in_words", "share_in_words", "two_digits"]

REASONS: Mapping[str, str] = {
    "no_data": "no cases",
    "too_few": "too few cases",
    "single_category": "only one label was ever given",
    "constant_rater": "people or judge gave every case the same label",
    "constant_input": "all scores are the same",
    "constant_judge": "the judge says the same of every case",
    "no_positive_gold": "people pass none",
    "no_negative_gold": "people fail none",
    "no_positive_pred": "it passes none",
    "no_negative_pred": "it fails none",
    "no_positives": "people pass none",
    "no_pairable": "no case has two labels",
    "no_discordant": "the same verdict on every case",
    "judge_uninformative": "the judge may be no better than chance",
    "no_threshold": "no threshold reaches it",
    "empty_stratum": "no labels among its passes or its fails",
    "not_identified": "can't be told from these labels",
    "too_few_clusters": "fewer than two groups",
    "tie": "a tie",
    "no_relevant": "nothing relevant",
    "no_elbow": "no elbow",
    "singular": "nothing varies, or scores of exactly 0 or 1",
    "many_undefined_resamples": "undefined in too many resamples",
}
"""Why a value, or its interval, is undefined."""

FLAGS: Mapping[str, str] = {
    "constant_rater": "people or judge gave every case the same label",
    "small_n": "fewer than 30 cases",
    "few_clusters": "fewer than 30 groups",
    "rare_class": "fewer than 10 cases of one label",
    "high_drop": "more than 5% of the judgements are abstentions or failures",
}
"""What to keep in mind."""


def figure_in_words(figure: Figure | None) -> str:
    """A figure with its interval: `0.83 [0.77, 0.88]`, or in words why there is none."""
    return _in_words(figure, two_digits)


def share_in_words(figure: Figure | None) -> str:
    """Likewise of a share: what isn't nothing never reads as 0.00, nor what isn't all as 1.00: `<0.01 [0.00, 0.01]`."""
    return _in_words(figure, _share)


def _in_words(figure: Figure | None, number: Callable[[float], str]) -> str:
    if figure is None:
        return "–"
    if figure.value is None:
        return f"none: {REASONS.get(figure.reason or '', figure.reason)}"
    if figure.ci_low is None or figure.ci_high is None:
        return f"{number(figure.value)} [–]"
    return f"{number(figure.value)} [{number(figure.ci_low)}, {number(figure.ci_high)}]"


def _share(value: float) -> str:
    text = two_digits(value)
    if text == "0.00" and value > _ROUNDING:
        return "<0.01"
    return ">0.99" if text == "1.00" and value < 1 - _ROUNDING else text


_ROUNDING = 1e-9
"""What an interval that ends at 0 or 1 may be off by."""


def two_digits(value: float) -> str:
    """A number with two digits after the point; what rounds to 0 has no sign."""
    text = f"{value:.2f}"
    return text.removeprefix("-") if float(text) == 0 else text
