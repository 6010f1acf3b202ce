"""Format numbers and findings as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bert_judge.runtime.bootstrap import CONFIDENCE, Interval

MISSING = "–"
LEVEL_TITLES = {"all": "All tasks", "family": "Family", "task": "Task"}


@dataclass(frozen=True)
class TopTwoComparison:
    """Paired accuracy difference between the two best models, with the p-value of McNemar's exact test."""

    difference: Interval
    p_value: float

    @property
    def significant(self) -> bool:
        """With few questions the bootstrap interval is too narrow, so the exact test must agree."""
        return self.difference.low > 0 and self.p_value < 1 - CONFIDENCE


def is_known(value: Any) -> bool:
    """Return whether the value is neither None nor NaN."""
    return not pd.isna(value)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as {column: value}."""
    return [{str(column): value for column, value in row.items()} for row in table.to_dict("records")]


def group_title(level: str, group: str) -> str:
    """Return the heading of a group of answers, such as `All tasks` or `Task: gsm8k`."""
    return LEVEL_TITLES[level] if level == "all" else f"{LEVEL_TITLES[level]}: {group}"


def percent(value: Any) -> str:
    """Format a share in [0, 1] as `81.2%`."""
    return f"{100 * value:.1f}%" if is_known(value) else MISSING


def percent_number(value: Any) -> str:
    """Format a share in [0, 1] as `81.2`."""
    return f"{100 * value:.1f}" if is_known(value) else MISSING


def interval(low: Any, high: Any) -> str:
    """Format two shares as `79.0–83.4`."""
    return f"{100 * low:.1f}–{100 * high:.1f}" if is_known(low) and is_known(high) else MISSING


def points(value: Any) -> str:
    """Format a difference of shares in percentage points, as `+3.1`."""
    return f"{100 * value:+z.1f}".replace("-", "−") if is_known(value) else MISSING


def points_interval(low: Any, high: Any) -> str:
    """Format the interval of a difference as `+1.0 to +5.2`."""
    return f"{points(low)} to {points(high)}" if is_known(low) and is_known(high) else MISSING


def rank_shift_interval(low: Any, high: Any) -> str:
    """Format the interval of a rank shift as `−2 to +1`."""
    if not (is_known(low) and is_known(high)):
        return ""
    return f"{int(low):+d} to {int(high):+d}".replace("-", "−").replace("+0", "0")


def decimal(value: Any) -> str:
    """Format a coefficient as `0.873`."""
    return f"{value:.3f}".replace("-", "−") if is_known(value) else MISSING


def p_value(value: Any) -> str:
    if not is_known(value):
        return MISSING
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def count(value: int, noun: str) -> str:
    """Format a count as `1 answer` or `2,000 answers`."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def css_position(value: float) -> str:
    """Return a share as a CSS length along an axis from 0 to 100%."""
    return "0%" if math.isnan(value) else f"{100 * min(max(value, 0.0), 1.0):.2f}%"


def comparison_phrase(row: Mapping[str, Any]) -> str:
    """Describe `difference` with its interval: `significantly better than`, `significantly worse than` or neither."""
    if row["difference_low"] <= 0 <= row["difference_high"]:
        return "not significantly different from"
    return f"significantly {'better' if row['difference'] > 0 else 'worse'} than"


def difference_with_interval(row: Mapping[str, Any]) -> str:
    """Format `difference` as `+3.1 points, 95% interval +1.0 to +5.2`."""
    return f"{points(row['difference'])} points, 95% interval {points_interval(row['difference_low'], row['difference_high'])}"


def headline_sentences(ranking: pd.DataFrame, judge: str, top_two: TopTwoComparison | None) -> list[str]:
    """Describe which model leads and whether the lead is significant.

    Args:
        ranking: standings over all answers under `judge`, best first.
        judge: judge that gave the verdicts.
        top_two: comparison of the first two models; None if they share no question.
    """
    if not (ranking["invalid"] < 1).any():
        return ["No answer has a verdict yet, so there is nothing to rank."]
    first = ranking.iloc[0]
    sentences = [
        f"{first['model']} has the highest accuracy: {percent(first['accuracy'])} (95% interval "
        f"{interval(first['low'], first['high'])}), judged by {judge} on {count(int(first['n']), 'answer')}."
    ]
    if len(ranking) == 1:
        return [*sentences, "It is the only model, so there is no ranking."]
    second = ranking.iloc[1]["model"]
    if top_two is None:
        return [*sentences, f"{second} is second; the two share no question, so the lead was not tested."]
    lead = top_two.difference
    return [
        *sentences,
        f"The lead is {'' if top_two.significant else 'not '}significant: {points(lead.value)} points over {second} on shared "
        f"questions (95% interval {points_interval(lead.low, lead.high)}, {p_value(top_two.p_value)}).",
    ]


def judge_error_sentences(errors: Sequence[Mapping[str, Any]], judge: str, gold: str | None) -> list[str]:
    """Describe the error of the headline's judge, and that of the worst judge.

    Args:
        errors: rows of the agreement table over all answers, smallest error first.
        judge: the headline's judge.
        gold: name of the gold judge; None if there is none.
    """
    if gold is None:
        return ["No gold judge is configured, so these verdicts are not validated."]
    judge_row = next((row for row in errors if row["judge"] == judge and is_known(row["accuracy_error"])), None)
    if judge_row is None:
        return []
    sentence = f"Compared with {gold}: {error_sentence(judge_row)}"
    worst = errors[-1]
    return [sentence if worst["judge"] == judge else f"{sentence} The least accurate judge: {error_sentence(worst)}"]


def error_sentence(row: Mapping[str, Any]) -> str:
    """Describe how much a judge distorts accuracies and ranks, from a row of the agreement table."""
    if not is_known(row["accuracy_error"]):
        return f"{row['judge']}: no answer has a gold verdict."
    error = f"{row['judge']} has a mean accuracy error of {100 * row['accuracy_error']:.1f} points per model"
    if not is_known(row["most_shifted_model"]):
        return f"{error}."
    shift = int(row["rank_shift"])
    if shift == 0:
        return f"{error} and leaves every rank unchanged."
    return f"{error} and ranks {row['most_shifted_model']} {count(abs(shift), 'place')} too {'high' if shift > 0 else 'low'}."
