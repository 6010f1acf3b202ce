"""Test the probes section of the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bert_judge.judges.probe.train import class_metrics, metric_differences
from bert_judge.report.build import page_environment
from bert_judge.report.optional_sections import PREDICTORS, probe_views
from bert_judge.runtime.errors import InputError


def aspect_metrics(tested: bool = True) -> dict[str, Any]:
    truth, groups = np.array([0, 1, 1, 0]), np.array(["a", "a", "b", "b"])
    predictions = {name: np.array([0, 1, 1, last]) for name, last in (("probe", 0), ("majority", 1), ("length", 1))}
    predictions["length"] = 1 - truth
    metrics = {name: class_metrics(truth, classes, groups) for name, classes in predictions.items()}
    differences = {
        name: metric_differences(truth, predictions["probe"], classes, groups)
        for name, classes in predictions.items()
        if name != "probe"
    }
    head = {"head": "binary", "range": [0, 1], "positive_from": None}
    common = {"head": head, "layers": [[3, "mean"]], "classifier": "linear_svm", "cross_validation": metrics}
    return {**common, "test": metrics if tested else {}, "differences": differences if tested else {}}


def write_metrics(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), "utf-8")
    return path


@pytest.mark.parametrize(("tested", "split"), [(True, "test split"), (False, "cross-validation grouped by question")])
def test_aspects_list_the_probe_and_its_baselines(tmp_path: Path, tested: bool, split: str) -> None:
    path = write_metrics(tmp_path / "metrics.json", {"aspects": {"<b>tone</b>": aspect_metrics(tested)}})
    [probe] = probe_views({"p": path})
    [aspect] = probe["aspects"]
    assert (aspect["evaluated_on"], aspect["head"], aspect["features"]) == (split, "binary, 0 to 1", "layer 3 mean")
    assert [row["predictor"] for row in aspect["rows"]] == [PREDICTORS[name] for name in ("probe", "majority", "length")]
    page = page_environment().get_template("parts/probes.html.jinja").render(probes=[probe])
    assert "&lt;b&gt;tone&lt;/b&gt;" in page and "<b>tone" not in page
    assert "100.0 <small>" in page and ("+100.0 <small>+100.0 to +100.0" in page) == tested


@pytest.mark.parametrize("content", [{}, {"aspects": {"tone": {}}}, []])
def test_invalid_metrics_are_rejected(tmp_path: Path, content: object) -> None:
    with pytest.raises(InputError, match=r"metrics\.json: no metrics of a probe; train p again"):
        probe_views({"p": write_metrics(tmp_path / "metrics.json", content)})
    with pytest.raises(InputError, match="no metrics of a probe"):
        probe_views({"p": tmp_path / "none.json"})
