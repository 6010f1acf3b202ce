"""The answers of the suite to a task's questions: an ordinary table of candidates, and beside it what each of them is."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.datasets.augmentation.answers import AnswerPool, contains_reference, overlaps_reference
from bert_judge.evaluation.attacks import FAMILIES
from bert_judge.evaluation.attacks.families import Family, Subject
from bert_judge.judges.lexical.choices import options_of
from bert_judge.plan import ATTACKS
from bert_judge.runtime import keyed_random
from bert_judge.runtime.keyed_random import KeyedRandom

# Wrong answers per question, and how many others are looked at for them.
OTHERS, TURNS = 4, 12
log = logging.getLogger(__name__)


def write_attacks(spec: Mapping[str, Any], task: Path, candidates: Path, attacks: Path) -> None:
    """Write the suite's answers to a task.

    Args:
        spec: as `Plan.attacks_spec` makes it.
        task: the task's table.
        candidates: where the answers go.
        attacks: where it goes what they are.

    Raises:
        InputError: the task's table cannot be read.
    """
    answers, families = attacked(tables.read(task, tables.TASK), spec["rows"], spec["seed"])
    tables.write(answers, candidates, tables.CANDIDATES, spec)
    tables.write(families, attacks, tables.ATTACKS, spec)
    log.info("%s: %d answers of %d families", candidates, len(answers), families["family"].nunique())


def attacked(questions: pd.DataFrame, rows: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The suite's answers to some of the questions.

    Args:
        questions: of the schema `tables.TASK`.
        rows: so many questions are drawn; all, where there are fewer.
        seed: another seed, other questions and other draws within families.

    Returns:
        Frames of the schemas `tables.CANDIDATES` and `tables.ATTACKS`, in the same order.
    """
    order = [keyed_random.fraction(seed, "question", sample_id) for sample_id in questions["sample_id"]]
    drawn = questions.assign(order=order).sort_values("order").head(rows)
    # Sorted: what is borrowed must not depend on the order of the rows.
    others = AnswerPool(sorted(map(tuple, questions["references"])))
    answers: list[dict[str, Any]] = []
    families: list[dict[str, Any]] = []
    for row in drawn.to_dict("records"):
        sample_id, references = row["sample_id"], list(row["references"])
        subject = subject_of(row["question"], tuple(references), others, KeyedRandom((seed, "others", sample_id)))
        for attempt, (family, text) in enumerate(answers_to(subject, seed, sample_id)):
            key = {"sample_id": sample_id, "attempt": attempt}
            status = "ok" if text.strip() else "empty"
            answers.append({**key, "question": row["question"], "references": references, "candidate": text, "status": status})
            families.append({**key, "family": family.name, "theme": family.theme, "kind": family.kind})
    without = {"model": ATTACKS, "reasoning": None, "reason": None, "prompt_tokens": None, "completion_tokens": None}
    made = pd.DataFrame(answers, columns=[name for name in tables.CANDIDATES.names if name not in without]).assign(**without)
    return made, pd.DataFrame(families, columns=tables.ATTACKS.names)


def answers_to(subject: Subject, seed: int, sample_id: str) -> Iterator[tuple[Family, str]]:
    """(family, answer) for each answer that the suite makes to a question."""
    for family in FAMILIES.values():
        for text in family.make(subject, KeyedRandom((seed, family.name, sample_id))):
            if family.quotes or not (contains_reference(text, subject.references) or text.strip() in subject.references):
                yield family, text


def subject_of(question: str, references: tuple[str, ...], others: AnswerPool, rng: KeyedRandom) -> Subject:
    """The question with wrong answers of its shape: other options, or other questions' references that share no word with them."""
    options = options_of(question)
    if options:
        wrong = [letter for letter, text in options.items() if letter not in references and text not in references]
        letters = rng.shuffled(wrong, "options") if len(wrong) < len(options) else []
        return Subject(question, references, tuple(letters[:OTHERS]), options)
    found: dict[str, None] = {}
    for turn in range(TURNS):
        borrowed = others.similar_references(references[0] if references else "", KeyedRandom((*rng.key, turn)))
        if borrowed and not overlaps_reference(borrowed[0], references) and len(found) < OTHERS:
            found[borrowed[0]] = None
    return Subject(question, references, tuple(found), {})
