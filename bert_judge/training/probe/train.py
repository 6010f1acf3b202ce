"""The stage that makes a probe: a dataset and tables of hidden states in, a folder with everything about the probe out."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.errors import InputError
from bert_judge.probes import folder as folders
from bert_judge.probes import heads
from bert_judge.probes.features import FeatureTable
from bert_judge.probes.metrics import measured
from bert_judge.training.probe.baselines import told_by_baselines
from bert_judge.training.probe.card import write_card
from bert_judge.training.probe.fitting import Aspect, Fitted, fit, predict
from bert_judge.training.probe.selection import Place

log = logging.getLogger(__name__)
# The aspect that any teacher gives: his verdict.
CORRECTNESS = "correctness"


class TrainingStates:
    """Hidden states of the rows of a dataset, read a place at a time from the tables of all its models and tasks.

    Args:
        paths: tables of hidden states.
        rows: rows of the dataset, with model, task, sample_id and attempt.
        named: (model, task) of each path.
        poolings: those to choose from.

    Raises:
        InputError: a table lacks an answer.
    """

    def __init__(
        self, paths: Sequence[str | Path], rows: pd.DataFrame, named: Sequence[Sequence[str]], poolings: Sequence[str]
    ) -> None:
        self._tables = [FeatureTable(path) for path in paths]
        self._size = len(rows)
        where = {
            (*pair, *key): (number, row)
            for number, (pair, table) in enumerate(zip(named, self._tables, strict=True))
            for row, key in enumerate(table.keys)
        }
        keys = zip(rows["model"], rows["task"], rows["sample_id"], rows["attempt"], strict=True)
        try:
            found = np.array([where[key] for key in keys]).reshape(-1, 2)
        except KeyError as error:
            raise InputError(f"{paths[0]}: neither it nor its neighbours hold the answer {error.args[0]}; delete them") from error
        self._rows = [(np.flatnonzero(found[:, 0] == n), found[found[:, 0] == n, 1]) for n in range(len(self._tables))]
        self.places: list[Place] = [(layer, pooling) for layer in range(self._tables[0].layers) for pooling in poolings]

    def at(self, place: Place) -> np.ndarray:
        """float32, shape (rows, width)."""
        found: np.ndarray | None = None
        for table, (mine, theirs) in zip(self._tables, self._rows, strict=True):
            if len(mine):
                states = table.states(*place)[theirs]
                found = np.zeros((self._size, states.shape[1]), np.float32) if found is None else found
                found[mine] = states
        assert found is not None
        return found


def train_probe(
    spec: Mapping[str, Any],
    train: str | Path,
    validation: str | Path,
    features: Mapping[str, Sequence[str | Path]],
    revisions: Mapping[str, str],
    folder: str | Path,
) -> None:
    """Fit, measure and describe a probe.

    Args:
        spec: `Plan.probe_spec`.
        train: dataset table; all choices are made on it.
        validation: dataset table, the test part: it is only measured on.
        features: set of hidden states → its tables, in the order of the spec's `tables`.
        revisions: backbone → revision.
        folder: gets the classifiers, metrics.json, README.md and, last, probe.json.

    Raises:
        InputError: an aspect has no labels, or too few to learn from.
    """
    folder = Path(folder)
    parts = [tables.read(path, tables.DATASET) for path in (train, validation)]
    rows, cut = pd.concat(parts, ignore_index=True), len(parts[0])
    aspects: dict[str, folders.Told] = {}
    metrics: dict[str, Any] = {}
    for name, aspect in spec["aspects"].items():
        states = TrainingStates(features[aspect["features"]], rows, spec["tables"], spec["pooling"])
        head = {key: aspect[key] for key in ("head", "range", "good")}
        fitted, metrics[name] = _aspect(name, head, states, rows, cut, spec)
        aspects[name] = folders.Told(head, aspect["features"], fitted.places, fitted.model)
        log.info("%s: %s on %s, test %s", name, fitted.name, fitted.places, metrics[name]["test"]["probe"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / folders.CARD).unlink(missing_ok=True)
    with tables.atomic(folder / "metrics.json") as temporary:
        temporary.write_text(json.dumps({"aspects": metrics}, indent=2, ensure_ascii=False) + "\n", "utf-8")
    write_card(folder, spec, metrics, revisions)
    folders.save(folder, aspects, spec, revisions)


def values_of(name: str, rows: pd.DataFrame) -> np.ndarray:
    """The teacher's values of an aspect, shape (rows,), not a number where he gave none.

    Raises:
        InputError: he gave none at all.
    """
    values = rows["aspects"].map(lambda found: (found or {}).get(name, np.nan)).astype(float)
    if name == CORRECTNESS and values.isna().all():
        values = rows["label"].astype(float)
    if values.isna().all():
        known = sorted({aspect for found in rows["aspects"] for aspect in found or ()})
        raise InputError(f"aspects.{name}: the teacher gives no such aspect; there are: {', '.join(known) or 'none'}")
    return values.to_numpy()


def _aspect(
    name: str, head: Mapping[str, Any], states: TrainingStates, rows: pd.DataFrame, cut: int, spec: Mapping[str, Any]
) -> tuple[Fitted, dict[str, Any]]:
    """The classifier of an aspect, and how well it and the baselines tell it: in the cross-validation, and on the test part.

    Args:
        rows: training rows and, from `cut` on, test rows.
    """
    values = values_of(name, rows)
    known = np.flatnonzero(~np.isnan(values))
    learn, test = known[known < cut], known[known >= cut]
    classes = np.zeros(len(rows), int)
    classes[known] = heads.classes_of(name, values[known], head)
    groups = rows["question"].map(lambda question: tables.question_key(tables.question_stem(question))).to_numpy()
    fitted, out_of_fold = fit(states, Aspect(name, head, learn, classes, groups), spec)
    beside = np.concatenate([states.at(place)[test] for place in fitted.places], axis=1)
    cv, on_test = told_by_baselines(rows, classes, groups, learn, test, spec["folds"], spec["seed"])
    cv["probe"] = out_of_fold
    on_test["probe"] = predict(fitted, beside) if len(test) else np.zeros(0, int)
    return fitted, {
        "head": head,
        "classes": {"train": _counts(classes[learn]), "test": _counts(classes[test])},
        "classifier": fitted.name,
        "settings": fitted.settings,
        "places": [list(place) for place in fitted.places],
        "choice_f1": fitted.inner_f1,
        "best_places": [[layer, pooling, round(score, 4)] for (layer, pooling), score in fitted.ranking[:10]],
        "cross_validation": {who: measured(classes[learn], told, groups[learn]) for who, told in cv.items()},
        "test": {who: measured(classes[test], told, groups[test]) for who, told in on_test.items()} if len(test) else {},
    }


def _counts(classes: np.ndarray) -> dict[str, int]:
    return {str(known): int((classes == known).sum()) for known in np.unique(classes)}
