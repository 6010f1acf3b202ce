"""The files of benchmarks of judges: JudgeLM's samples, and conversations with a reference per turn, as in MT-Bench."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, count, pairwise
from pathlib import Path
from typing import Any

from bert_judge.importers.answers import Answer, no_reference_error
from bert_judge.tables.readers import values
from bert_judge.tables.readers.name_words import has_role_words, has_usual_name
from bert_judge.tables.readers.rows import Record, open_rows
from bert_judge.tables.readers.values import get_path

JUDGEMENTS = ("text", "pred_text")
PAIR_COLUMNS = (
    *("question", "reference", "answer_a", "answer_b", "model_a", "model_b"),
    *("label", "grade_a", "grade_b", "rationale", "task", "id"),
)


class JudgeLMReader:
    """Reader of JudgeLM's judge samples and judgements: several answers to a question per line, `answer1_body`, `answer2_body`, ….

    References are in the line (a judgement made with references) or in a second file, a line per question with `question_id` and
    `reference: {text: …}`.

    Args:
        references: question_id → references from the second file, if `required`.
    """

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
    """Reader of the lines of one file as pairs: every two answers of a line, with the better one if the line contains scores.

    Scores are the first line of a judgement, a number per answer: `text` in JudgeLM's training and validation data, `pred_text` in
    its own output. A judgement whose first line is something else (e.g. [-1, -1]) is no label.
    """

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


# Columns of MT-Bench: of questions, and of a model's answers.
QUESTIONS, CHOICES, ID = "turns", "choices", "question_id"


class TurnReader:
    """Reader of conversations with a reference per turn: each turn is a row.

    A list of references as long as the conversation holds one per turn; otherwise it holds references of the last turn, any of
    which is correct. Questions and references may be in a second file with the same `question_id`; MT-Bench's has references for
    some questions only, and the others are read without.

    Args:
        is_conversation: each question begins with the turns before it.
    """

    def __init__(self, path: Path, references: Path | None, is_conversation: bool = False) -> None:
        self.path, self.is_conversation = path, is_conversation
        rows = (record for _, record in open_rows(references).records()) if references else iter(())
        self.companions = {record.get(ID): {**record, "reference": _find_references(record) or _answers(record)} for record in rows}

    def __call__(self, record: Record) -> list[Answer]:
        companion = self.companions.get(record.get(ID), {})
        record = {**{name: companion[name] for name in (QUESTIONS, "reference") if companion.get(name)}, **record}
        if not (turns := list(_split_turns(record, needs_references=not companion))):
            raise no_reference_error(self.path)
        model = next((cell for name, cell in record.items() if has_usual_name(name, "model")), None)
        identity = values.parse_text(record.get(ID))
        rows: list[Answer] = []
        earlier: list[tuple[str, str]] = []
        for number, (question, reference, answer) in enumerate(turns, 1):
            text = values.join_turns(earlier, question) if self.is_conversation else question
            references = tuple(values.parse_texts(reference))
            rows.append(Answer(text, references, answer, values.parse_text(model), id=f"{identity}/{number}"))
            earlier += [(values.USER, question), (values.ASSISTANT, answer)]
        return rows


def are_conversations(sample: Sequence[Record]) -> bool:
    """Return whether all rows have as many references as turns, and some several, or are answers of MT-Bench."""
    if any(_answers(record) and not _find_references(record) for record in sample):
        return True
    counts = [sum(1 for _ in _split_turns(record)) for record in sample]
    return bool(counts) and all(counts) and max(counts) > 1


def _split_turns(record: Record, needs_references: bool = True) -> Iterator[tuple[str, Any, str]]:
    """Yield question, references and answer of each turn; nothing if their numbers differ, unless there may be no reference."""
    messages = next((cell for name, cell in record.items() if _are_messages(cell) and not _has_references(name)), None)
    if messages is None:
        questions = _list_of(record, "question") or record.get(QUESTIONS)
        answers = _answers(record) or _list_of(record, "candidate")
    else:
        roles = [values.message_role(message) for message in messages]
        pairs = [
            positions
            for positions in pairwise(range(len(roles)))
            if [roles[position] for position in positions] == [values.USER, values.ASSISTANT]
        ]
        questions, answers = [messages[user] for user, _ in pairs], [messages[assistant] for _, assistant in pairs]
    references = _find_references(record) or ([] if needs_references else [None] * len(questions or []))
    if questions and answers and len(questions) == len(answers) == len(references):
        for question, reference, answer in zip(questions, references, answers, strict=True):
            yield values.parse_message(question, values.USER), reference, values.parse_message(answer, values.ASSISTANT)


def _find_references(record: Record) -> list[Any]:
    cell = next((cell for name, cell in record.items() if _has_references(name) and isinstance(cell, list)), [])
    return [message for message in cell if values.message_role(message) == values.ASSISTANT] if _are_messages(cell) else cell


def _answers(record: Record) -> list[Any]:
    """Return the turns of the first answer in a file of MT-Bench."""
    turns = get_path(record.get(CHOICES), 0, QUESTIONS)
    return turns if isinstance(turns, list) else []


def _list_of(record: Record, role: str) -> list[Any]:
    """Return the texts of a column with this role, if it holds several."""
    cells = [cell for name, cell in record.items() if has_usual_name(name, role) or has_role_words(name, role)]
    return next((cell for cell in cells if isinstance(cell, list) and all(isinstance(text, str) for text in cell)), [])


def _has_references(name: str) -> bool:
    return has_usual_name(name, "references") or has_role_words(name, "references")


def _are_messages(cell: Any) -> bool:
    return isinstance(cell, list) and bool(cell) and all(map(values.is_message, cell))
