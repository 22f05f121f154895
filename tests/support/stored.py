"""Judges stored in a file of records, joined with the labels beside them, by the ways a user's files go."""

import json
from collections.abc import Sequence
from pathlib import Path

from calibration.answers import answers_in_file, stored_subjects
from calibration.labels import read_labels
from calibration.meaning import Scale, meaning_of
from calibration.pairs import Pairs, Question, join


def write_records(folder: Path, records: Sequence[object], name: str = "records.jsonl") -> Path:
    """The records as a file of lines."""
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def stored_pairs(
    path: Path,
    judge: str = "judges.j.x",
    label: str = "gold.x",
    *,
    gold: Path | None = None,
    positive: str | None = None,
    scale: str | None = None,
    threshold: float | None = None,
    cluster: str | None = None,
    by: tuple[str, ...] = (),
) -> Pairs:
    """One stored judge of a file joined with labels, of the same file unless another is given."""
    [subject] = stored_subjects(path, judge, None)
    labels = read_labels(gold or path, label, cluster=cluster)
    meaning = meaning_of(labels, positive=positive, scale=None if scale is None else Scale.parse(scale))
    question = Question(subject, labels, meaning, threshold, by, cluster)
    [pairs] = join(answers_in_file(path, [subject]), [question], source=str(path))
    return pairs


def records_of(
    gold: Sequence[object], said: Sequence[object], *, groups: Sequence[object] | None = None
) -> list[dict[str, object]]:
    """A record each, with people's label, the judge's answer, and the group it belongs to."""
    return [
        {
            "id": f"c{place}",
            "question": f"question {place}",
            "answer": "word " * (1 + place % 7) + "question" * (place % 5 == 0),
            "gold": {"x": label},
            "judges": {"j": {"x": answer}},
            **({} if groups is None else {"group": groups[place]}),
        }
        for place, (label, answer) in enumerate(zip(gold, said, strict=True))
    ]
