"""JudgeLM's judge samples and judgements: JSONL with several answers to a question per line, `answer1_body`, `answer2_body`, ….

References are in the line (a judgement made with references) or in a second file, a line per question with `question_id` and
`reference: {text: …}`. Scores are the first line of a judgement, a number per answer: `text` in JudgeLM's training and validation
data, `pred_text` in its own output. A judgement whose first line is something else (e.g. [-1, -1]) is no label.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, count
from pathlib import Path
from typing import Any

from bert_judge.importers.answers import Answer, no_reference_error
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record

KEYS = frozenset({"question_body", "answer1_body"})
JUDGEMENTS = ("text", "pred_text")
PAIR_COLUMNS = (
    *(
        "question",
        "reference",
        "answer_a",
        "answer_b",
        "model_a",
        "model_b",
        "label",
        "grade_a",
        "grade_b",
        "rationale",
        "task",
        "id",
    ),
)


class JudgeLMReader:
    """Reader of the lines of a file; `references`: question_id → references from the second file, if `required`."""

    def __init__(self, path: Path, references: Mapping[str, list[str]], required: bool = True) -> None:
        self.path, self.references, self.required = path, references, required

    def __call__(self, record: Record) -> list[Answer]:
        identity = values.parse_text(record.get("question_id"))
        references = values.parse_texts(record.get("reference")) or self.references.get(identity, [])
        if not references and self.required:
            raise no_reference_error(self.path)
        question = values.parse_text(record["question_body"])
        return [
            Answer(question, tuple(references), text, model or f"answer{number}", self.path.stem, None, identity)
            for number, text, model in numbered_answers(record)
        ]


def numbered_answers(record: Record) -> list[tuple[int, str, str]]:
    """Return number, text and model of `answer1_body`, `answer2_body`, … Raises UnreadableCell: there is no such text."""
    answers: list[tuple[int, str, str]] = []
    for number in count(1):
        if (text := record.get(f"answer{number}_body")) is None:
            break
        answers.append((number, values.parse_text(text), values.parse_text(record.get(f"answer{number}_model_id"))))
    if not answers:
        raise values.UnreadableCell("no answer1_body")
    return answers


class JudgeLMPairReader:
    """Reader of the lines of one file as pairs: every two answers of a line, with the better one if the line contains scores."""

    def __init__(self, path: Path, references: Mapping[str, list[str]] | None = None) -> None:
        self.read_answers = JudgeLMReader(path, references or {}, required=False)

    def __call__(self, record: Record) -> Iterator[dict[str, Any]]:
        """Yield rows with `PAIR_COLUMNS`. Raises UnreadableCell: fewer than two answers, or one that is not a text."""
        answers = self.read_answers(record)
        if len(answers) < 2:
            raise values.UnreadableCell("no answer2_body")
        judgements = ((_parse_scores(record.get(key), len(answers)), record.get(key)) for key in JUDGEMENTS)
        scores, text = next(filter(lambda judgement: judgement[0], judgements), (None, ""))
        # An explanation of more answers than two is none of a pair.
        rationale = str(text).partition("\n")[2].strip() if len(answers) == 2 else ""
        for a, b in combinations(range(len(answers)), 2):
            first, second = answers[a], answers[b]
            yield {
                "question": first.question,
                "reference": list(first.references),
                "answer_a": first.candidate,
                "answer_b": second.candidate,
                "model_a": first.model,
                "model_b": second.model,
                "label": scores and ("tie" if scores[a] == scores[b] else "A" if scores[a] > scores[b] else "B"),
                "grade_a": scores and scores[a],
                "grade_b": scores and scores[b],
                "rationale": rationale or None,
                "task": first.task,
                "id": first.id,
            }


def _parse_scores(judgement: Any, answers: int) -> Sequence[float] | None:
    """Return the scores of a judgement, one per answer; None if its first line contains something else."""
    if not isinstance(judgement, str):
        return None
    words = judgement.partition("\n")[0].replace(",", " ").split()
    scores = [values.to_float(word) for word in words]
    # False for NaN and -1.
    return scores if len(scores) == answers and all(score >= 0 for score in scores) else None
