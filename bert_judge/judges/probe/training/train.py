"""The stage that makes a probe: a dataset and tables of hidden states in, classifiers and what they tell of unseen rows out."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.judges.probe import folder as folders
from bert_judge.judges.probe.features import FeatureTable
from bert_judge.judges.probe.training.baselines import told_without_model
from bert_judge.judges.probe.training.fitting import Aspect, Fitted, fit
from bert_judge.judges.probe.training.labels import CROSS_VALIDATION, TEST, both_parts, known, told_table
from bert_judge.judges.probe.training.selection import Place
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)
# What was chosen in the training, by aspect, and the classes that the probe and those tell that need no model.
SELECTION, PREDICTIONS = "selection.json", "predictions.parquet"


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
    """Fit a probe, and have it tell the rows that it has not learnt from.

    Args:
        spec: `Plan.probe_spec`.
        train: dataset table; all choices are made on it.
        validation: dataset table, the test part: it is only told.
        features: set of hidden states → its tables, in the order of the spec's `tables`.
        revisions: backbone → revision.
        folder: gets the classifiers, selection.json, predictions.parquet and, last, probe.json.

    Raises:
        InputError: an aspect has no labels, or too few to learn from.
    """
    folder = Path(folder)
    rows, cut = both_parts(train, validation)
    aspects: dict[str, folders.Told] = {}
    choices: dict[str, Any] = {}
    told: list[pd.DataFrame] = []
    for name, aspect in spec["aspects"].items():
        states = TrainingStates(features[aspect["features"]], rows, spec["tables"], spec["pooling"])
        head = {key: aspect[key] for key in ("head", "range", "positive_from")}
        fitted, choices[name], said = _aspect(name, head, states, rows, cut, spec)
        aspects[name] = folders.Told(head, aspect["features"], fitted.places, fitted.model)
        told += said
        log.info("%s: %s on %s", name, fitted.name, fitted.places)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / folders.CARD).unlink(missing_ok=True)
    with tables.atomic(folder / SELECTION) as temporary:
        temporary.write_text(json.dumps(choices, indent=2, ensure_ascii=False) + "\n", "utf-8")
    tables.write(pd.concat(told), folder / PREDICTIONS, tables.PREDICTIONS, spec, revisions)
    folders.save(folder, aspects, spec, revisions)


def _aspect(
    name: str, head: Mapping[str, Any], states: TrainingStates, rows: pd.DataFrame, cut: int, spec: Mapping[str, Any]
) -> tuple[Fitted, dict[str, Any], list[pd.DataFrame]]:
    """The classifier of an aspect, what was chosen for it, and what it and the baselines without a model tell.

    Args:
        rows: training rows and, from `cut` on, test rows.
    """
    found = known(name, head, rows, cut)
    learn, test, classes, groups = found.learn, found.test, found.classes, found.groups
    fitted, out_of_fold = fit(states, Aspect(name, head, learn, classes, groups), spec)
    beside = np.concatenate([states.at(place)[test] for place in fitted.places], axis=1)
    in_folds, on_test = told_without_model(rows, classes, groups, learn, test, spec["folds"], spec["seed"])
    in_folds["probe"] = out_of_fold
    on_test["probe"] = fitted.model.predict(beside) if len(test) else np.zeros(0, int)
    told = [told_table(who, CROSS_VALIDATION, name, rows, learn, found, said) for who, said in in_folds.items()]
    told += [told_table(who, TEST, name, rows, test, found, said) for who, said in on_test.items()]
    choices = {
        "head": head,
        "classes": {"train": _counts(classes[learn]), "test": _counts(classes[test])},
        "classifier": fitted.name,
        "settings": fitted.settings,
        "places": [list(place) for place in fitted.places],
        "choice_f1": fitted.inner_f1,
        "best_places": [[layer, pooling, round(score, 4)] for (layer, pooling), score in fitted.ranking[:10]],
    }
    return fitted, choices, told


def _counts(classes: np.ndarray) -> dict[str, int]:
    return {str(one): int((classes == one).sum()) for one in np.unique(classes)}
