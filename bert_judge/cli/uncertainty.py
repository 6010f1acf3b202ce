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
from bert_judge.statistics.accuracy_range import MIN_GAP, AccuracyRange, open_pairs
from bert_judge.text.answer_kinds import KINDS

# Pairs of models, and groups of answers, that a warning names.
MAX_NAMES = 10
CLOSE = f"overlap or are within {100 * MIN_GAP:g} points"


def format_range(of_accuracy: AccuracyRange) -> str:
    """Return the range in percent; a dash where no verdict is uncertain, or the judge makes no claim."""
    if math.isnan(of_accuracy.low) or of_accuracy.low == of_accuracy.high:
        return "–"
    return f"{format_percent(of_accuracy.low)} to {format_percent(of_accuracy.high)}"


def needs_ranges(ranges: Mapping[str, AccuracyRange]) -> bool:
    """Return whether the accuracies of models mislead without their ranges: one is wide, or an order is open."""
    return any(of_model.low < of_model.high for of_model in ranges.values()) and _misleads(ranges)


def _misleads(ranges: Mapping[str, AccuracyRange]) -> bool:
    return any(of_model.is_wide for of_model in ranges.values()) or bool(open_pairs(ranges))


def describe_uncertainty(
    tally: Tally, file: Path | None, judges: Sequence[NamedJudge] = (), by: str | None = None
) -> Iterator[str]:
    """Yield the warnings about judges whose uncertain verdicts leave accuracies or an order open, and advice.

    Args:
        file: of the answers, for the advice; None if other commands do not read it.
        by: name of the groups of rows, if the tally has any.
    """
    is_open = False
    for judge in tally.judges:
        models = {model: answers for name, model, answers in tally.by_model() if name == judge}
        share = tally.uncertain[judge].total() / max(1, sum(len(answers.verdicts) for answers in models.values()))
        ranges = {model: answers.range for model, answers in models.items()}
        for line in describe_ranges(judge, ranges, share, tally.uncertain[judge]):
            is_open = True
            yield line
        if by is not None:
            yield from _describe_groups(judge, tally, by)
    if is_open and file is not None:
        name = shlex.quote(str(file))
        folders = [member.folder for judge in judges for member in getattr(judge, "members", [judge]) if member.folder]
        is_recalibrated = any(read_card(folder).get("spec", {}).get("recalibrate") for folder in folders)
        train = "" if is_recalibrated else f", bert-judge train {name} --recalibrate -o my-judge (20 labels and more)"
        is_served = any(judge.is_served for judge in judges)
        ask = "" if is_served else ", or --judge general+LLM (a language model judges the uncertain answers)"
        yield f"to narrow a range: bert-judge audit {name} (label a sample){train}{ask}"


def _describe_groups(judge: str, tally: Tally, by: str) -> Iterator[str]:
    """Yield a warning that names the groups in which the order of at least two models is open."""
    groups: dict[str, dict[str, AccuracyRange]] = {}
    for name, model, group, answers in tally.by_group():
        if name == judge:
            groups.setdefault(group, {})[model] = answers.range
    unordered = [group for group, ranges in groups.items() if open_pairs(ranges)]
    if unordered:
        yield (
            f"warning: {judge}: in {len(unordered):,} of {len(groups):,} groups by {by}, the order of models is open: "
            f"{_list_names(sorted(unordered))}"
        )


def describe_ranges(judge: str, ranges: Mapping[str, AccuracyRange], share: float, kinds: Counter[str]) -> Iterator[str]:
    """Yield the warnings about the uncertain verdicts of a judge, and about the models whose order they leave open.

    Args:
        share: of all its verdicts that are uncertain.
        kinds: number of uncertain verdicts by kind of answer.
    """
    if not _misleads(ranges):
        return
    if share:
        percent = f"{share:.0%}" if share >= 0.01 else "under 1%"
        yield (
            f"warning: {judge}: {percent} of the verdicts are uncertain{_most(kinds)}; the ends of a range count them as incorrect "
            "and as correct, and certain ones as they are"
        )
    unordered = open_pairs(ranges)
    best_first = sorted(ranges, key=lambda model: -ranges[model].accuracy)
    pairs = list(combinations(best_first, 2))
    ordered = sorted(set(pairs) - set(unordered), key=pairs.index)
    if len(pairs) == 1 and unordered:
        better, worse = unordered[0]
        yield f"warning: {judge}: the ranges of the two models {CLOSE}, so {worse} may be as good as {better} or better"
    elif unordered:
        start = f"warning: {judge}: the ranges of {len(unordered):,} of {len(pairs):,} pairs of models {CLOSE}"
        if not ordered:
            yield f"{start}, so none has a certain order"
        elif len(ordered) < len(unordered):
            yield f"{start}; only these have an order: {_list_pairs(ordered, '>')}"
        else:
            yield f"{start}, so the second may be as good as the first or better: {_list_pairs(unordered, '–')}"


def describe_label_order(judge: str, accuracies: Mapping[str, tuple[float, float]], labels: str) -> Iterator[str]:
    """Yield a warning if labels order models the other way round than a judge.

    Args:
        accuracies: model → accuracy by the labels and by the judge, of the same answers.
        labels: what they are called.
    """
    best_first = sorted(accuracies, key=lambda model: -accuracies[model][0])
    pairs = list(combinations(best_first, 2))
    reversed_pairs = [
        (better, worse)
        for better, worse in pairs
        if accuracies[better][0] > accuracies[worse][0] and accuracies[better][1] < accuracies[worse][1]
    ]
    if reversed_pairs:
        yield (
            f"warning: {judge}: {len(reversed_pairs):,} of {len(pairs):,} pairs of models have the opposite order by {labels}: "
            f"{_list_pairs(reversed_pairs, '>')}"
        )


def _list_pairs(pairs: Sequence[tuple[str, str]], sign: str) -> str:
    return _list_names([f"{first} {sign} {second}" for first, second in pairs])


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def _most(kinds: Counter[str]) -> str:
    """Name the kind of most of the uncertain verdicts, or the two most frequent ones."""
    total, common = kinds.total(), kinds.most_common(2)
    if not common:
        return ""
    if common[0][1] * 2 > total:
        return f", most of them on {KINDS[common[0][0]]}"
    return f", most of them on {KINDS[common[0][0]]} and on {KINDS[common[-1][0]]}" if len(common) == 2 else ""
