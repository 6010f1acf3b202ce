"""How often judges are fooled: shares with their intervals, and answers to read."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
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
# Without a verdict of its own a judge is not fooled: an invalid verdict is counted apart.
WRONG = {"attack": "correct", "benign_perturbation": "incorrect"}
log = logging.getLogger(__name__)


def build_rates(
    spec: Mapping[str, Any],
    candidates: Mapping[str, Path],
    attacks: Mapping[str, Path],
    labels: Mapping[tuple[str, str], Path],
    rates: Path,
    examples: Path,
) -> None:
    """Write how often each judge is fooled, and by what.

    Args:
        spec: as `Plan.attack_rates_spec` makes it: `judges` and `tasks`.
        candidates, attacks: task → what `suite.write_attacks` wrote.
        labels: (judge, task) → the judge's verdicts on these answers.
        rates, examples: where the tables go.

    Raises:
        InputError: a file is missing or not what it should be.
    """
    parts, texts = [], []
    revisions: dict[str, str] = {}
    for task in spec["tasks"]:
        known = tables.read(attacks[task], tables.ATTACKS)
        texts.append(tables.read(candidates[task], tables.CANDIDATES)[[*KEY, *TEXTS]].assign(task=task))
        for judge in spec["judges"]:
            said = tables.read(labels[judge, task], tables.LABELS)[[*KEY, "verdict", "score"]]
            joined = known.merge(said, on=KEY, how="left", validate="one_to_one").assign(judge=judge, task=task)
            if missing := int(joined["verdict"].isna().sum()):
                raise InputError(f"{labels[judge, task]}: {missing} of {len(joined)} answers have no verdict; make it anew")
            parts.append(joined)
            revisions |= tables.provenance(labels[judge, task]).get("revisions", {})
    verdicts = pd.concat(parts, ignore_index=True)
    tables.write(fooled(verdicts), rates, tables.ATTACK_RATES, spec, revisions)
    tables.write(examples_of(verdicts, pd.concat(texts)), examples, tables.ATTACK_EXAMPLES, spec, revisions)
    log.info("%s: %d verdicts of %d judges", rates, len(verdicts), len(spec["judges"]))


def fooled(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The rates of each judge, in the schema `tables.ATTACK_RATES`: by family, by theme, by kind.

    Args:
        verdicts: `judge`, `task`, `sample_id`, `family`, `theme`, `kind` and `verdict` of each answer.
    """
    # In the order of the registry.
    places = {name: place for place, name in enumerate(FAMILIES)}
    verdicts = verdicts.sort_values("family", key=lambda names: names.map(places), kind="stable")
    rows = [
        {"judge": judge, "level": level, "group": group, "theme": theme, "kind": kind, **_rate(part, str(kind))}
        for level, columns in (("kind", []), ("theme", ["theme"]), ("family", ["theme", "family"]))
        for judge, kind, theme, group, part in _groups(verdicts, columns)
    ]
    return pd.DataFrame(rows, columns=tables.ATTACK_RATES.names)


def _groups(verdicts: pd.DataFrame, columns: Sequence[str]) -> Iterator[tuple[str, str, str | None, str, pd.DataFrame]]:
    for key, part in verdicts.groupby(["judge", "kind", *columns], sort=False):
        judge, kind, *rest = map(str, key)
        yield judge, kind, rest[0] if rest else None, rest[-1] if rest else kind, part


def _rate(part: pd.DataFrame, kind: str) -> dict[str, Any]:
    interval = statistics.proportion(part["verdict"] == WRONG[kind], part["task"] + " " + part["sample_id"])
    return {
        "n": len(part),
        "questions": len(part[["task", "sample_id"]].drop_duplicates()),
        "error_rate": interval.value,
        "low": interval.low,
        "high": interval.high,
        "invalid": float((part["verdict"] == "invalid").mean()),
    }


def examples_of(verdicts: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """At most `EXAMPLES` answers per judge and family that fooled it, in the schema `tables.ATTACK_EXAMPLES`; a hash draws them.

    Args:
        verdicts: as for `error_rate`, with `score`.
        texts: the answers, with their `task`.
    """
    wrong = verdicts[verdicts["verdict"] == verdicts["kind"].map(WRONG)]
    lot = [keyed_random.fraction("example", *key) for key in zip(wrong["task"], wrong["sample_id"], wrong["attempt"], strict=True)]
    chosen = wrong.assign(lot=lot).sort_values("lot", kind="stable").groupby(["judge", "family"], sort=False).head(EXAMPLES)
    order = chosen.sort_index(kind="stable")
    return order.merge(texts, on=["task", *KEY], how="left", validate="many_to_one")[tables.ATTACK_EXAMPLES.names]
