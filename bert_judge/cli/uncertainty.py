"""Words about uncertain verdicts: the range of an accuracy, the kinds of answers, models whose order is open, and what to do."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from bert_judge.cli.terminal import format_percent
from bert_judge.judges.registry import read_card
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.labels.score_file import Tally
from bert_judge.statistics.accuracy_range import MAX_UNCERTAIN, AccuracyRange
from bert_judge.text.answer_kinds import KINDS


def format_range(of_accuracy: AccuracyRange) -> str:
    """Return the range in percent; a dash where there is none."""
    if math.isnan(of_accuracy.low):
        return "–"
    return f"{format_percent(of_accuracy.low)} to {format_percent(of_accuracy.high)}"


def describe_uncertainty(tally: Tally, file: Path | None, judges: Sequence[NamedJudge] = ()) -> Iterator[str]:
    """Yield the warnings about judges that are uncertain of more than `MAX_UNCERTAIN` of a model's verdicts, and open advice.

    `file`: of the answers, for the advice; None if other commands do not read it.
    """
    is_open = False
    for judge in tally.judges:
        models = {model: answers for name, model, answers in tally.by_model() if name == judge}
        ranges = {model: answers.range for model, answers in models.items()}
        if not any(of_model.uncertain > MAX_UNCERTAIN for of_model in ranges.values()):
            continue
        is_open = True
        sizes = [len(answers.verdicts) for answers in models.values()]
        share = sum(tally.uncertain[judge].values()) / sum(sizes)
        yield (
            f"warning: {judge}: {share:.0%} of the verdicts are uncertain{_most(tally.uncertain[judge])}; the ends of a "
            "range count them as incorrect and as correct, and certain ones as they are"
        )
        accuracies = {model: float((answers.verdicts == 1).mean()) for model, answers in models.items()}
        yield from _describe_order(judge, accuracies, ranges)
    if is_open and file is not None:
        name = shlex.quote(str(file))
        folders = [member.folder for judge in judges for member in getattr(judge, "members", [judge]) if member.folder]
        is_recalibrated = any(read_card(folder).get("spec", {}).get("recalibrate") for folder in folders)
        train = "" if is_recalibrated else f", bert-judge train {name} --recalibrate -o my-judge (20 labels and more)"
        is_served = any(judge.is_served for judge in judges)
        ask = "" if is_served else ", or --judge general+LLM (a language model judges the uncertain answers)"
        yield f"to narrow a range: bert-judge audit {name} (label a sample){train}{ask}"


def _most(kinds: Counter[str]) -> str:
    """Name the kind of most of the uncertain verdicts, or the two most frequent ones."""
    total, common = kinds.total(), kinds.most_common(2)
    if not common:
        return ""
    if common[0][1] * 2 > total:
        return f", most of them on {KINDS[common[0][0]]}"
    return f", most of them on {KINDS[common[0][0]]} and on {KINDS[common[-1][0]]}" if len(common) == 2 else ""


def _describe_order(judge: str, accuracies: Mapping[str, float], ranges: Mapping[str, AccuracyRange]) -> Iterator[str]:
    """Yield a warning if the ranges of two models overlap of which one has a higher accuracy."""
    bounds = {
        model: (accuracies[model],) * 2 if math.isnan(of_model.low) else (of_model.low, of_model.high)
        for model, of_model in ranges.items()
    }
    best_first = sorted(accuracies, key=lambda model: -accuracies[model])
    pairs = list(combinations(best_first, 2))
    overlapping = [(better, worse) for better, worse in pairs if bounds[better][0] <= bounds[worse][1]]
    if overlapping:
        better, worse = overlapping[0]
        count = f"{len(overlapping):,} of {len(pairs):,} pairs of models" if len(pairs) > 1 else "the two models"
        yield f"warning: {judge}: the ranges of {count} overlap, so {worse} may be better than {better}"
