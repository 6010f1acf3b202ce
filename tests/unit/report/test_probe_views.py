"""What the report shows of probes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bert_judge.judges.probe.metrics import difference, measured
from bert_judge.report import format, probe_views, templates
from bert_judge.runtime.errors import InputError


def figures(tested: bool = True) -> dict[str, Any]:
    truth, groups = np.array([0, 1, 1, 0]), np.array(["a", "a", "b", "b"])
    said = {who: np.array([0, 1, 1, at]) for who, at in (("probe", 0), ("majority", 1), ("lora", 1))}
    said["lora"] = 1 - truth
    told = {who: measured(truth, classes, groups) for who, classes in said.items()}
    apart = {who: difference(truth, said["probe"], classes, groups) for who, classes in said.items() if who != "probe"}
    head = {"head": "binary", "range": [0, 1], "positive_from": None}
    made = {"head": head, "places": [[3, "mean"]], "classifier": "forest", "cross_validation": told}
    return {**made, "test": told if tested else {}, "differences": apart if tested else {}}


def written(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), "utf-8")
    return path


@pytest.mark.parametrize(("tested", "part"), [(True, "the test part"), (False, "cross-validation by question")])
def test_each_aspect_has_the_probe_beside_its_baselines(tmp_path: Path, tested: bool, part: str) -> None:
    notes = {"lora": {"rows": 4}, "prompted": {"absent": "it is an encoder"}}
    path = written(tmp_path / "metrics.json", {"aspects": {"<b>tone</b>": figures(tested)}, "baselines": notes})
    [probe] = probe_views.view({"p": path})
    [aspect] = probe.aspects
    assert (aspect.part, aspect.head, aspect.told_from) == (part, "binary, 0 to 1", "3 mean")
    assert [row["who"] for row in aspect.rows] == [probe_views.WHO[who] for who in ("probe", "majority", "lora")]
    assert probe.findings[-1] == "Without the backbone, asked directly: it is an encoder."
    assert (f"is better than: {probe_views.WHO['lora']} in <b>tone</b>" in probe.findings[0]) == tested
    environment = templates.environment()
    environment.globals |= {
        "bare_percent": format.bare_percent,
        "span": format.span,
        "points": format.points,
        "points_span": format.points_span,
    }
    page = environment.get_template("parts/probes.html.jinja").render(probes=[probe])
    assert "&lt;b&gt;tone&lt;/b&gt;" in page and "<b>tone" not in page
    assert "100.0 <small>" in page and ("+100.0 <small>+100.0 to +100.0" in page) == tested


@pytest.mark.parametrize("content", [{}, {"aspects": {"tone": {}}}, []])
def test_a_file_without_figures_is_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(InputError, match=r"metrics\.json: no figures of a probe; train p anew"):
        probe_views.view({"p": written(tmp_path / "metrics.json", content)})
    with pytest.raises(InputError, match="no figures of a probe"):
        probe_views.view({"p": tmp_path / "none.json"})
