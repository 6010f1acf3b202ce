"""The stage of a baseline that loads a probe's backbone: a dataset in, what it tells of the test part out."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.assets.prepare import load_manifest
from bert_judge.judges.probe.config import LEARNING, BaselineTraining
from bert_judge.judges.probe.training.labels import TEST, both_parts, known, told_table
from bert_judge.runtime import resume

log = logging.getLogger(__name__)


def tell_test_part(
    spec: Mapping[str, Any],
    train: str | Path,
    validation: str | Path,
    backbone: str | Path,
    output: str | Path,
    note: str | Path,
    work_folder: str | Path,
    run_time: Mapping[str, Any] | None = None,
) -> None:
    """Write what a baseline tells of a probe's test part.

    Args:
        spec: `Plan.baseline_spec`.
        train, validation: dataset tables; of the second nothing is learnt.
        backbone: its manifest.
        output: gets a table `tables.PREDICTIONS`; an empty one where the baseline is absent.
        note: gets how the baseline came about, or `absent`, as JSON.
        work_folder: keeps the progress until both are written.
        run_time: settings of `BaselineTraining` that change no result.

    Raises:
        InputError: the labels or the backbone are of no use.
    """
    rows, cut = both_parts(train, validation)
    aspects = {name: known(name, entry, rows, cut) for name, entry in spec["aspects"].items()}
    manifest, baseline = load_manifest(backbone), spec["baseline"]
    # Other rows or another spec must not go on from this run's progress.
    work = Path(work_folder) / resume.content_key(tables.canonical(spec), manifest.revision, tables.fingerprint(rows))
    if baseline in LEARNING:
        from bert_judge.judges.probe.training import tuned

        settings = BaselineTraining.model_validate({**spec["training"], **(run_time or {})})
        told, said = tuned.tell(manifest.path, spec, rows, aspects, settings, work)
    else:
        from bert_judge.judges.probe.training import prompted

        reason = prompted.absent(manifest.path)
        told, said = ({}, {"absent": reason}) if reason else prompted.tell(manifest, spec, rows, aspects, work)
    frames = [told_table(baseline, TEST, name, rows, aspects[name].test, aspects[name], classes) for name, classes in told.items()]
    found = pd.concat(frames) if frames else tables.empty(tables.PREDICTIONS)
    tables.write(found, output, tables.PREDICTIONS, spec, {manifest.repository: manifest.revision})
    with tables.atomic(note) as temporary:
        temporary.write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n", "utf-8")
    resume.clear(work_folder)
    log.info("%s: %s", baseline, said)
