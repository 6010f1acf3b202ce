"""Error rates of judges on attacks and benign perturbations, with intervals and examples."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.evaluation import statistics
from bert_judge.evaluation.attacks import FAMILIES
from bert_judge.runtime import keyed_random
from bert_judge.runtime.errors import InputError

KEY = list(tables.CANDIDATES.key)
TEXTS = ["question", "references", "candidate"]
EXAMPLES = 3
# The wrong verdict of each kind; an invalid verdict counts as neither.
WRONG_VERDICT = {"attack": "correct", "benign_perturbation": "incorrect"}
log = logging.getLogger(__name__)


def build_rates(
    spec: Mapping[str, Any],
    candidates: Mapping[str, Path],
    attacks: Mapping[str, Path],
    labels: Mapping[tuple[str, str], Path],
    rates: Path,
    examples: Path,
) -> None:
    """Write the error rates of each judge and some of the errors.

    Args:
        spec: `Plan.attack_rates_spec`: `judges` and `tasks`.
        candidates, attacks: task → tables that `suite.write_attacks` wrote.
        labels: (judge, task) → the judge's verdicts on these answers.
        rates, examples: output tables.

    Raises:
        InputError: a file cannot be read, or an answer has no verdict.
    """
    frames, texts = [], []
    revisions: dict[str, str] = {}
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
            revisions |= tables.provenance(path).get("revisions", {})
    verdicts = pd.concat(frames, ignore_index=True)
    tables.write(error_rates(verdicts), rates, tables.ATTACK_RATES, spec, revisions)
    tables.write(sample_errors(verdicts, pd.concat(texts)), examples, tables.ATTACK_EXAMPLES, spec, revisions)
    log.info("%s: %d verdicts of %d judges", rates, len(verdicts), len(spec["judges"]))


def error_rates(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Compute the error rates of each judge by kind, theme and family, in the schema `tables.ATTACK_RATES`.

    Args:
        verdicts: `judge`, `task`, `sample_id`, `family`, `theme`, `kind` and `verdict` of each answer.
    """
    order = {name: index for index, name in enumerate(FAMILIES)}
    verdicts = verdicts.sort_values("family", key=lambda names: names.map(order), kind="stable")
    rows: list[dict[str, Any]] = []
    for level, columns in (("kind", []), ("theme", ["theme"]), ("family", ["theme", "family"])):
        for key, answers in verdicts.groupby(["judge", "kind", *columns], sort=False):
            judge, kind, *group = map(str, key)
            questions = answers["task"] + " " + answers["sample_id"]
            error_rate = statistics.proportion(answers["verdict"] == WRONG_VERDICT[kind], questions)
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
