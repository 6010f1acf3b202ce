"""The figure in the model card."""

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from bert_judge.judges.bert.model_card import draw_curves


def pixels(path: Path, scores: object, labels: object, threshold: float = 0.5) -> np.ndarray:
    draw_curves(scores, labels, threshold, path)
    return np.asarray(matplotlib.image.imread(path))


@pytest.mark.parametrize(
    ("scores", "labels"),
    [([0.1, 0.9, 0.6], [0.0, 1.0, 0.3]), ([0.0, 1.0], [1.0, 1.0]), ([0.5], [0.0]), (np.linspace(0, 1, 1000), np.arange(1000) % 2)],
)
def test_any_scores_can_be_drawn(tmp_path: Path, scores: object, labels: object) -> None:
    image = pixels(tmp_path / "curves.png", scores, labels)
    assert image.shape[:2] == (432, 1080) and image[..., :3].std() > 0.05


def test_the_figure_depends_on_scores_and_threshold(tmp_path: Path) -> None:
    labels = [0.0, 1.0, 1.0, 0.0]
    one = pixels(tmp_path / "1.png", [0.1, 0.9, 0.8, 0.2], labels)
    assert not np.array_equal(one, pixels(tmp_path / "2.png", [0.4, 0.6, 0.5, 0.5], labels))
    assert not np.array_equal(one, pixels(tmp_path / "3.png", [0.1, 0.9, 0.8, 0.2], labels, threshold=0.3))
    assert np.array_equal(one, pixels(tmp_path / "4.png", [0.1, 0.9, 0.8, 0.2], labels))
