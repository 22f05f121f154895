"""How fast token overlap is, beside a plain scorer: `python benchmarks/overlap.py [--json]`.

Both score every (claim, passage) pair of the same made-up cases and keep, for each claim, its best passage. The plain
scorer is what one writes in five lines: it lowers claim and passage, finds words by a regular expression, and divides
the size of the sets' intersection by that of the claim's; like most such scorers it does so anew for each pair.
`plain_kept` keeps the passages' sets, to tell what keeping alone is worth: all that ours does more (weights, numbers,
negations, windows, evidence) is paid on top of that.

`ours` makes each passage ready once a case, and that is counted; `ours_ready` leaves it out, as when another system's
answer over the same passages comes next. By default a case has 24 claims, as three answers over the same five passages
have. A plain scorer finds no words in Japanese, so its figures there only tell how long nothing takes.

Figures depend on the machine; read the ratios. CPU time is this process's, all threads together.
"""

import argparse
import json
import platform
import random
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from judges.similarity import Passage, best_overlap, tokenise

WORD = re.compile(r"\w+")

ALPHABETS = {
    "latin": "etaoinshrdlucmfwypvbgk",
    "devanagari": "कखगचजटडतदनपबमयरलवशसह",
    "japanese": "のにはをたがでてとしれさいかなよも日本人大学生時間年会社東京国語力",
}
LANGUAGES = {"latin": "en", "devanagari": "hi", "japanese": "ja"}


@dataclass(frozen=True, slots=True)
class Material:
    """One case: claims, and the passages they are held against."""

    claims: Sequence[str]
    passages: Sequence[str]


@dataclass(frozen=True, slots=True)
class Timing:
    """What one scorer took for all cases."""

    pairs: int
    cpu_seconds: float
    wall_seconds: float

    @property
    def pairs_per_second(self) -> float:
        """By CPU time."""
        return self.pairs / self.cpu_seconds


@dataclass(frozen=True, slots=True)
class Result:
    """All scorers on one script."""

    script: str
    timings: Mapping[str, Timing]

    def ratio(self, name: str, other: str) -> float:
        """How many times as fast as another scorer one is."""
        return self.timings[name].pairs_per_second / self.timings[other].pairs_per_second

    def to_record(self) -> dict[str, object]:
        """The figures as JSON-ready values."""
        return {
            "script": self.script,
            "pairs": self.timings["ours"].pairs,
            "scorers": {
                name: {
                    "pairs_per_second": round(timing.pairs_per_second),
                    "cpu_seconds": round(timing.cpu_seconds, 4),
                    "wall_seconds": round(timing.wall_seconds, 4),
                }
                for name, timing in self.timings.items()
            },
            "ratio_to_plain": round(self.ratio("ours", "plain"), 3),
            "ratio_ready_to_plain": round(self.ratio("ours_ready", "plain"), 3),
            "ratio_to_plain_kept": round(self.ratio("ours", "plain_kept"), 3),
        }


def make_cases(
    alphabet: str, *, spaced: bool, cases: int, claims: int, passages: int, characters: int
) -> list[Material]:
    """Text whose words are as frequent as in natural language: the n-th word about 1/n as often as the first."""
    chance = random.Random(7)  # noqa: S311 - made-up text, no secret
    words = ["".join(chance.choices(alphabet, k=min(2 + rank // 60, 9))) for rank in range(1, 6000)]
    weights = [1 / rank for rank in range(1, 6000)]

    def write(length: int) -> str:
        sentences: list[str] = []
        size = 0
        while size < length:
            sentence = (" " if spaced else "").join(chance.choices(words, weights, k=chance.randint(8, 24))) + ". "
            sentences.append(sentence)
            size += len(sentence)
        return "".join(sentences)

    made: list[Material] = []
    for _ in range(cases):
        texts = [write(characters) for _ in range(passages)]
        told: list[str] = []
        for _ in range(claims):  # half of a sentence of a passage, half made up: partly supported
            copied = chance.choice(chance.choice(texts).split(". ")[:-1])
            told.append(copied[: len(copied) // 2] + " " + write(40))
        made.append(Material(told, texts))
    return made


def score_plainly(case: Material) -> list[float]:
    return [max(share(claim, passage) for passage in case.passages) for claim in case.claims]


def share(claim: str, passage: str) -> float:
    words = set(WORD.findall(claim.lower()))
    return len(words & set(WORD.findall(passage.lower()))) / len(words)


def score_plainly_with_kept_sets(case: Material) -> list[float]:
    passages = [set(WORD.findall(passage.lower())) for passage in case.passages]
    scores: list[float] = []
    for claim in case.claims:
        words = set(WORD.findall(claim.lower()))
        scores.append(max(len(words & passage) / len(words) for passage in passages))
    return scores


def score_ours(lang: str) -> Callable[[Material], list[float]]:
    def score(case: Material) -> list[float]:
        passages = [Passage(text, lang) for text in case.passages]
        return [best_overlap(tokenise(claim, lang), passages)[1].score for claim in case.claims]

    return score


def score_ours_ready(lang: str, cases: Sequence[Material]) -> Callable[[Material], list[float]]:
    ready = {id(case): [Passage(text, lang) for text in case.passages] for case in cases}

    def score(case: Material) -> list[float]:
        return [best_overlap(tokenise(claim, lang), ready[id(case)])[1].score for claim in case.claims]

    return score


def clock(score: Callable[[Material], list[float]], cases: Sequence[Material]) -> Timing:
    pairs = sum(len(case.claims) * len(case.passages) for case in cases)
    cpu, wall = time.process_time(), time.perf_counter()
    for case in cases:
        score(case)
    return Timing(pairs, time.process_time() - cpu, time.perf_counter() - wall)


def measure(script: str, *, cases: int, claims: int, passages: int, characters: int, repeats: int) -> Result:
    material = make_cases(
        ALPHABETS[script],
        spaced=script != "japanese",
        cases=cases,
        claims=claims,
        passages=passages,
        characters=characters,
    )
    lang = LANGUAGES[script]
    scorers = {
        "ours": score_ours(lang),
        "ours_ready": score_ours_ready(lang, material),
        "plain": score_plainly,
        "plain_kept": score_plainly_with_kept_sets,
    }
    # Scorers take turns, so that what slows the machine for a while slows all; the fastest of a scorer's rounds counts.
    rounds = [{name: clock(score, material) for name, score in scorers.items()} for _ in range(repeats)]
    timings = {
        name: min((round_[name] for round_ in rounds), key=lambda timing: timing.cpu_seconds) for name in scorers
    }
    return Result(script, timings)


def main() -> None:
    parser = argparse.ArgumentParser(description="Pairs of claim and passage a second, beside a plain scorer.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--cases", type=int, default=20, help="cases to score (default: 20)")
    parser.add_argument("--claims", type=int, default=24, help="claims a case (default: 24)")
    parser.add_argument("--passages", type=int, default=5, help="passages a case (default: 5)")
    parser.add_argument("--characters", type=int, default=1500, help="characters a passage (default: 1500)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds, of which the fastest counts (default: 5)")
    options = parser.parse_args()
    results = [
        measure(
            script,
            cases=options.cases,
            claims=options.claims,
            passages=options.passages,
            characters=options.characters,
            repeats=options.repeats,
        )
        for script in ALPHABETS
    ]
    if options.json:
        document = {
            "benchmark": "overlap",
            "python": platform.python_version(),
            "unicode": unicodedata.unidata_version,
            "claims_per_case": options.claims,
            "passages_per_case": options.passages,
            "characters_per_passage": options.characters,
            "results": [result.to_record() for result in results],
        }
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        return
    print(f"{'':<12}{'pairs a second of CPU':>44}{'ratio to plain':>22}{'CPU / wall seconds':>22}")
    print(f"{'':<12}{'ours':>11}{'ready':>11}{'plain':>11}{'kept':>11}{'ours':>11}{'ready':>11}{'ours':>22}")
    for script, result in zip(ALPHABETS, results, strict=True):
        timings = result.timings
        rates = "".join(f"{timing.pairs_per_second:>11,.0f}" for timing in timings.values())
        ours = timings["ours"]
        print(
            f"{script:<12}{rates}{result.ratio('ours', 'plain'):>11.2f}{result.ratio('ours_ready', 'plain'):>11.2f}"
            f"{f'{ours.cpu_seconds:.3f} / {ours.wall_seconds:.3f}':>22}"
        )


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # whoever reads has seen enough: | head
        main()
