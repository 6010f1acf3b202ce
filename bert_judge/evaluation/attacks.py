"""The attack suite: answers to a task's questions with the family of each, the error rates of judges on them, and both for a single
judge without a workflow.
"""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from bert_judge import tables
from bert_judge.judges.protocol import Judge
from bert_judge.labels.stage import label_table
from bert_judge.perturbations.attacks import FAMILIES, AttackedQuestion, Family
from bert_judge.perturbations.labelled_answers import AnswerPool, contains_reference, overlaps_reference
from bert_judge.plan import ATTACKS
from bert_judge.runtime import keyed_random
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.keyed_random import KeyedRandom
from bert_judge.statistics import intervals
from bert_judge.text.options import parse_options

# Wrong answers per question, and draws from other questions' references to find them.
MAX_WRONG_ANSWERS, MAX_DRAWS = 4, 12
KEY = list(tables.CANDIDATES.key)
TEXTS = ["question", "references", "candidate"]
EXAMPLES = 3
# The wrong verdict of each kind; an invalid verdict counts as neither.
WRONG_VERDICT = {"attack": "correct", "benign_perturbation": "incorrect"}
log = logging.getLogger(__name__)


def write_attacks(spec: Mapping[str, Any], task: Path, candidates: Path, attacks: Path) -> None:
    """Write the suite's answers to a task; `spec`: `Plan.attacks_spec`."""
    answers, families = generate_attacks(tables.read(task, tables.TASK), spec["rows"], spec["seed"])
    tables.write(answers, candidates, tables.CANDIDATES, spec)
    tables.write(families, attacks, tables.ATTACKS, spec)
    log.info("%s: %d answers of %d families", candidates, len(answers), families["family"].nunique())


def generate_attacks(questions: pd.DataFrame, rows: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Generate the suite's answers to some of the questions.

    Args:
        questions: in the schema `tables.TASK`.
        rows: number of questions to sample; all if there are fewer.
        seed: of the sample and of the random draws within families.

    Returns:
        Frames in the schemas `tables.CANDIDATES` and `tables.ATTACKS`, in the same order.
    """
    order = [keyed_random.fraction(seed, "question", sample_id) for sample_id in questions["sample_id"]]
    sample = questions.assign(order=order).sort_values("order").head(rows)
    # Sorted, so that draws do not depend on the order of the rows.
    pool = AnswerPool(sorted(map(tuple, questions["references"])))
    answers: list[dict[str, Any]] = []
    families: list[dict[str, Any]] = []
    for row in sample.to_dict("records"):
        sample_id, references = row["sample_id"], list(row["references"])
        question = attacked_question(row["question"], tuple(references), pool, KeyedRandom((seed, "others", sample_id)))
        for attempt, (family, text) in enumerate(generate_answers(question, seed, sample_id)):
            key = {"sample_id": sample_id, "attempt": attempt}
            status = "ok" if text.strip() else "empty"
            answers.append({**key, "question": row["question"], "references": references, "candidate": text, "status": status})
            families.append({**key, "family": family.name, "theme": family.theme, "kind": family.kind})
    constants = {"model": ATTACKS, "reasoning": None, "reason": None, "prompt_tokens": None, "completion_tokens": None}
    columns = [name for name in tables.CANDIDATES.names if name not in constants]
    return pd.DataFrame(answers, columns=columns).assign(**constants), pd.DataFrame(families, columns=tables.ATTACKS.names)


def generate_answers(question: AttackedQuestion, seed: int, sample_id: str) -> Iterator[tuple[Family, str]]:
    """Yield (family, answer) for each answer of the suite to a question."""
    references = question.references
    for family in FAMILIES.values():
        may_quote = family.quotes_reference or family.kind == "benign_perturbation"
        for text in family.generate(question, KeyedRandom((seed, family.name, sample_id))):
            if may_quote or not (contains_reference(text, references) or text.strip() in references):
                yield family, text


def attacked_question(question: str, references: tuple[str, ...], pool: AnswerPool, rng: KeyedRandom) -> AttackedQuestion:
    """Add wrong answers of the same form: other options, or other questions' references without a word in common."""
    options = parse_options(question)
    if options:
        wrong = [letter for letter, text in options.items() if letter not in references and text not in references]
        letters = rng.shuffled(wrong, "options") if len(wrong) < len(options) else []
        return AttackedQuestion(question, references, tuple(letters[:MAX_WRONG_ANSWERS]), options)
    wrong_answers: dict[str, None] = {}
    for draw in range(MAX_DRAWS):
        similar = pool.similar_references(references[0] if references else "", KeyedRandom((*rng.key, draw)))
        if similar and not overlaps_reference(similar[0], references) and len(wrong_answers) < MAX_WRONG_ANSWERS:
            wrong_answers[similar[0]] = None
    return AttackedQuestion(question, references, tuple(wrong_answers), {})


def build_rates(
    spec: Mapping[str, Any],
    *,
    candidates: Mapping[str, Path],
    attacks: Mapping[str, Path],
    labels: Mapping[tuple[str, str], Path],
    rates: Path,
    examples: Path,
) -> None:
    """Write the error rates of each judge and some of the errors.

    Args:
        spec: `Plan.attack_rates_spec`: `judges` and `tasks`.
        candidates, attacks: task → tables that `write_attacks` wrote.
        labels: (judge, task) → the judge's verdicts on these answers.

    Raises:
        InputError: a file cannot be read, or an answer has no verdict.
    """
    frames, texts = [], []
    for task in spec["tasks"]:
        families = tables.read(attacks[task], tables.ATTACKS)
        texts.append(tables.read(candidates[task], tables.CANDIDATES)[[*KEY, *TEXTS]].assign(task=task))
        for judge in spec["judges"]:
            path = labels[judge, task]
            verdicts = tables.read(path, tables.LABELS)[[*KEY, "verdict", "score"]]
            frame = families.merge(verdicts, on=KEY, how="left", validate="one_to_one").assign(judge=judge, task=task)
            if missing := int(frame["verdict"].isna().sum()):
                raise InputError(f"{path}: {missing} of {len(frame)} answers have no verdict; delete it and run again")
            frames.append(frame)
    verdicts, revisions = pd.concat(frames, ignore_index=True), tables.merge_revisions(labels.values())
    tables.write(error_rates(verdicts), rates, tables.ATTACK_RATES, spec, revisions=revisions)
    tables.write(sample_errors(verdicts, pd.concat(texts)), examples, tables.ATTACK_EXAMPLES, spec, revisions=revisions)
    log.info("%s: %d verdicts of %d judges", rates, len(verdicts), len(spec["judges"]))


def error_rates(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Compute the error rates of each judge by kind, theme and family, in the schema `tables.ATTACK_RATES`.

    `verdicts`: `judge`, `task`, `sample_id`, `family`, `theme`, `kind` and `verdict` of each answer.
    """
    order = {name: index for index, name in enumerate(FAMILIES)}
    verdicts = verdicts.sort_values("family", key=lambda names: names.map(order), kind="stable")
    rows: list[dict[str, Any]] = []
    for level, columns in (("kind", []), ("theme", ["theme"]), ("family", ["theme", "family"])):
        for key, answers in verdicts.groupby(["judge", "kind", *columns], sort=False):
            judge, kind, *group = map(str, key)
            questions = answers["task"] + " " + answers["sample_id"]
            error_rate = intervals.proportion(answers["verdict"] == WRONG_VERDICT[kind], questions)
            row = {"judge": judge, "kind": kind, "level": level, "group": [kind, *group][-1], "theme": next(iter(group), None)}
            counts = {"n": len(answers), "questions": questions.nunique()}
            invalid = float((answers["verdict"] == "invalid").mean())
            rows.append({**row, **counts, **error_rate.columns("error_rate"), "invalid": invalid})
    return pd.DataFrame(rows, columns=tables.ATTACK_RATES.names)


def sample_errors(verdicts: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """Sample at most `EXAMPLES` errors per judge and family, in the schema `tables.ATTACK_EXAMPLES`.

    Args:
        verdicts: as for `error_rates`, with `score`.
        texts: the answers, with their `task`.
    """
    errors = verdicts[verdicts["verdict"] == verdicts["kind"].map(WRONG_VERDICT)]
    keys = zip(errors["task"], errors["sample_id"], errors["attempt"], strict=True)
    errors = errors.assign(draw=[keyed_random.fraction("example", *key) for key in keys])
    sample = errors.sort_values("draw", kind="stable").groupby(["judge", "family"], sort=False).head(EXAMPLES)
    in_order = sample.sort_index(kind="stable")
    return in_order.merge(texts, on=["task", *KEY], how="left", validate="many_to_one")[tables.ATTACK_EXAMPLES.names]


class AttackTables(NamedTuple):
    """The tables that `attack_judge` writes."""

    candidates: Path
    families: Path
    labels: Path
    rates: Path
    examples: Path


def attack_judge(
    judge: Judge, *, labels_spec: Mapping[str, Any], task_table: Path, rows: int, seed: int, folder: Path
) -> AttackTables:
    """Generate the suite's answers, label them and compute the error rates; an interrupted run resumes.

    `labels_spec`: `Plan.labels_spec` of the judge: its name, `task` and settings.
    """
    outputs = AttackTables(*(folder / f"{name}.parquet" for name in AttackTables._fields))
    name, task = labels_spec["judge"], labels_spec["task"]
    write_attacks({"task": task, "rows": rows, "seed": seed}, task_table, outputs.candidates, outputs.families)
    label_table({**labels_spec, "model": ATTACKS}, outputs.candidates, outputs.labels, judge, work_folder=folder / ".work")
    build_rates(
        {"judges": [name], "tasks": [task]},
        candidates={task: outputs.candidates},
        attacks={task: outputs.families},
        labels={(name, task): outputs.labels},
        rates=outputs.rates,
        examples=outputs.examples,
    )
    return outputs
