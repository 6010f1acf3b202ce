"""Passes of the normalisation, each alone on its example."""

import pytest

from bert_judge.text.normalization import CASED_PASSES, SEPARATING_PASSES, SYMBOL_PASSES, NormalizationPass

PROTECTED = {0xE000 + position: mark for position, mark in enumerate(".-/+#*!'()[]{}^")}
PASSES = (*CASED_PASSES, *SEPARATING_PASSES, *SYMBOL_PASSES)


@pytest.mark.parametrize("step", PASSES, ids=lambda step: step.name)
def test_a_pass_changes_its_example(step: NormalizationPass) -> None:
    assert step.condition is None or step.condition(step.example)
    changed = step.apply(step.example)
    assert changed != step.example
    assert changed.translate(PROTECTED) == step.result


def test_passes_have_different_names() -> None:
    assert len({step.name for step in PASSES}) == len(PASSES)
