"""How fast token overlap is, beside a plain scorer: `python benchmarks/overlap.py [--json]`.

Both score every (claim, passage) pair of the same made-up cases and keep, for each claim, its best passage. The plain
scorer is what one writes in five lines: it lowers claim and passage, finds words by a regular expression, and divides
the size of the sets' intersection by that of the claim's; like most such scorers it does so anew for each pair. Ours
makes a passage ready once a case, which is counted, and does more: weights, numbers, negations, windows, evidence.
A second plain scorer keeps the passages' sets, to tell what keeping alone is worth.

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
from collections.abc import Callable, Sequence
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
        return self.pairs / self.cpu_seconds


def make_cases(alphabet: str, *, spaced: bool, cases: int, claims: int, passages: int, characters: int) -> list[Material]:
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
    return [
        max(
            len(set(WORD.findall(claim.lower())) & set(WORD.findall(passage.lower())))
            / len(set(WORD.findall(claim.lower())))
            for passage in case.passages
        )
        for claim in case.claims
    ]


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


def clock(score: Callable[[Material], list[float]], cases: Sequence[Material], repeats: int) -> Timing:
    """The fastest of several rounds: what disturbs a round only ever slows it."""
    pairs = sum(len(case.claims) * len(case.passages) for case in cases)
    rounds: list[tuple[float, float]] = []
    for _ in range(repeats):
        cpu, wall = time.process_time(), time.perf_counter()
        for case in cases:
            score(case)
        rounds.append((time.process_time() - cpu, time.perf_counter() - wall))
    return Timing(pairs, *min(rounds))


def measure(script: str, *, cases: int, claims: int, passages: int, characters: int, repeats: int) -> dict[str, object]:
    material = make_cases(
        ALPHABETS[script],
        spaced=script != "japanese",
        cases=cases,
        claims=claims,
        passages=passages,
        characters=characters,
    )
    timings = {
        "ours": clock(score_ours(LANGUAGES[script]), material, repeats),
        "plain": clock(score_plainly, material, repeats),
        "plain_kept": clock(score_plainly_with_kept_sets, material, repeats),
    }
    return {
        "script": script,
        "pairs": timings["ours"].pairs,
        "claims_per_case": claims,
        "passages_per_case": passages,
        "characters_per_passage": characters,
        "scorers": {
            name: {
                "pairs_per_second": round(timing.pairs_per_second),
                "cpu_seconds": round(timing.cpu_seconds, 4),
                "wall_seconds": round(timing.wall_seconds, 4),
            }
            for name, timing in timings.items()
        },
        "ratio_to_plain": round(timings["ours"].pairs_per_second / timings["plain"].pairs_per_second, 2),
        "ratio_to_plain_kept": round(timings["ours"].pairs_per_second / timings["plain_kept"].pairs_per_second, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Pairs of claim and passage a second, beside a plain scorer.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--cases", type=int, default=20, help="cases to score (default: 20)")
    parser.add_argument("--claims", type=int, default=8, help="claims a case (default: 8)")
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
            "results": results,
        }
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        return
    print("pairs a second (CPU)      ours     plain     ratio   plain, sets kept     ratio   ours CPU / wall s")
    for script, result in zip(ALPHABETS, results, strict=True):
        scorers = result["scorers"]
        assert isinstance(scorers, dict)
        ours, plain, kept = scorers["ours"], scorers["plain"], scorers["plain_kept"]
        print(
            f"{script:<20}{ours['pairs_per_second']:>10,}{plain['pairs_per_second']:>10,}{result['ratio_to_plain']:>10}"
            f"{kept['pairs_per_second']:>19,}{result['ratio_to_plain_kept']:>10}"
            f"   {ours['cpu_seconds']:.3f} / {ours['wall_seconds']:.3f}"
        )


if __name__ == "__main__":
    main()
