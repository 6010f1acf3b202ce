"""Numbers and findings as text for readers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bert_judge.runtime.bootstrap import CONFIDENCE, Interval

NOTHING = "–"


@dataclass(frozen=True)
class Duel:
    """Two models on the same questions: the difference of their accuracies, and the p of McNemar's exact test."""

    difference: Interval
    p: float

    @property
    def clear(self) -> bool:
        """The bootstrap's interval is too narrow for few questions, so the exact test must agree."""
        return self.difference.low > 0 and self.p < 1 - CONFIDENCE


def known(value: Any) -> bool:
    """Whether there is a value: neither null nor NaN."""
    return value is not None and not pd.isna(value)


def or_zero(value: Any) -> float:
    """The value, or 0 where there is none."""
    return float(value) if known(value) else 0.0


def percent(value: Any) -> str:
    """A share in [0, 1] as `81.2%`."""
    return f"{100 * value:.1f}%" if known(value) else NOTHING


def bare_percent(value: Any) -> str:
    """A share in [0, 1] as `81.2`."""
    return f"{100 * value:.1f}" if known(value) else NOTHING


def span(low: Any, high: Any) -> str:
    """Two shares as `79.0–83.4`."""
    return f"{100 * low:.1f}–{100 * high:.1f}" if known(low) and known(high) else NOTHING


def points(value: Any) -> str:
    """A difference of shares as `+3.1`, in percentage points."""
    return f"{100 * value:+z.1f}".replace("-", "−") if known(value) else NOTHING


def points_span(low: Any, high: Any) -> str:
    """An interval of a difference as `+1.0 to +5.2`."""
    return f"{points(low)} to {points(high)}" if known(low) and known(high) else NOTHING


def places_span(low: Any, high: Any) -> str:
    """An interval of places moved as `−2 to +1`."""
    return f"{int(low):+d} to {int(high):+d}".replace("-", "−").replace("+0", "0") if known(low) and known(high) else ""


def decimal(value: Any) -> str:
    """A coefficient as `0.873`."""
    return f"{value:.3f}".replace("-", "−") if known(value) else NOTHING


def p_value(value: Any) -> str:
    if not known(value):
        return NOTHING
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def count(value: int, noun: str) -> str:
    """`1 answer`, `2,000 answers`."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def headline(best: pd.DataFrame, judge: str, duel: Duel | None) -> list[str]:
    """Who leads, and how sure that is: one sentence for each.

    Args:
        best: standings of all answers under `judge`, best first, of the models with a valid verdict.
        judge: whose verdicts count.
        duel: the first against the second; None where they share no question.
    """
    if best.empty:
        return ["No answer has a verdict yet, so there is nothing to rank."]
    first = best.iloc[0]
    said = [
        f"{first['model']} answers best: {percent(first['accuracy'])} right (95% interval {span(first['low'], first['high'])}), "
        f"judged by {judge} on {count(int(first['n']), 'answer')}."
    ]
    if len(best) == 1:
        return [*said, "It is the only model, so nothing is ranked."]
    second = best.iloc[1]["model"]
    if duel is None:
        return [*said, f"{second} follows, but the two share no question with a verdict, so the lead is not tested."]
    lead = duel.difference
    sure = "The lead is clear" if duel.clear else "The lead may be chance"
    ahead = f"{points(lead.value)} points against {second} on the questions of both"
    return [*said, f"{sure}: {ahead} (95% interval {points_span(lead.low, lead.high)}, {p_value(duel.p)})."]


def trust(errors: Sequence[Mapping[str, Any]], judge: str, gold: str | None) -> list[str]:
    """How far the headline's judge can be trusted: its error beside that of the worst judge.

    Args:
        errors: rows of the agreement table over all answers, smallest error first.
        judge: the headline's judge.
    """
    if gold is None:
        return ["No judge is configured as gold, so these verdicts are not checked against a truth."]
    own = [row for row in errors if row["judge"] == judge and known(row["accuracy_error"])]
    if not own:
        return []
    worst = errors[-1]
    said = f"Measured against {gold}: {error_sentence(own[0])}"
    return [said if worst["judge"] == judge else f"{said} The worst judge here: {error_sentence(worst)}"]


def error_sentence(row: Mapping[str, Any]) -> str:
    """What a judge does to the models' accuracies and to their order, from a row of the agreement table."""
    if not known(row["accuracy_error"]):
        return f"{row['judge']}: no answer has a gold verdict."
    off = f"{row['judge']} is off by {100 * row['accuracy_error']:.1f} points per model"
    if not known(row["most_shifted_model"]):
        return f"{off}."
    places = int(row["rank_shift"])
    if places == 0:
        return f"{off} and keeps every model in its place."
    where = "high" if places > 0 else "low"
    return f"{off} and puts {row['most_shifted_model']} {count(abs(places), 'place')} too {where}."


def axis(value: float) -> str:
    """A share as a CSS length along an axis from 0 to 100%."""
    return f"{100 * min(max(value, 0.0), 1.0):.2f}%" if not math.isnan(value) else "0%"
