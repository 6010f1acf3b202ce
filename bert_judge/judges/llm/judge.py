"""A prompted language model as a judge: one candidate at a time, against the references."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bert_judge.candidates.generators.protocol import Completion, Generator, Request
from bert_judge.judges.llm import prompting, verdicts
from bert_judge.judges.llm.run_generator import run_generator
from bert_judge.judges.protocol import Label, Row, decided, invalid
from bert_judge.tasks import Sample

log = logging.getLogger(__name__)

MODEL_FAILED = "the judge's model failed"
CLAIMED = "the candidate gives itself the same verdict"
PROBABILITY = "probability of the verdict"
AGAIN = "[asked again]"


@dataclass(frozen=True)
class _Case:
    """A row that is shown to the model: its place among the rows, and its candidate as shown."""

    place: int
    row: Row
    candidate: prompting.Shown


@dataclass(frozen=True)
class _Reading:
    """What a completion says.

    Attributes:
        score: how right, 0 to 1; None without a verdict.
        verdict: in words, when there is no probability to hold against the threshold.
        reason: what decided, or why there is no verdict.
        final: asking again is of no use.
    """

    score: float | None
    verdict: str | None
    reason: str
    final: bool


class LLMJudge:
    """Implements `judges.protocol.Judge` on any generator.

    The score is the probability of "correct" where the model's answer is constrained and the back end gives log-probabilities, else
    1 or 0. A text without a verdict is asked for once more, in one constrained word; then the row is invalid.

    Args:
        name: of the judge in the configuration, for messages.
        settings: the values of `LLMJudgeConfig`; uses reasoning, threshold, seed and max_candidate_chars.
        generator: holds the model.
    """

    def __init__(self, name: str, settings: Mapping[str, Any], generator: Generator) -> None:
        self.name, self.settings, self.generator = name, settings, generator
        # The generator's own mapping: it may grow when the model is loaded.
        self.revisions = generator.revisions

    @classmethod
    def from_run(
        cls, spec: Mapping[str, Any], manifest: str | Path | None, folder: str | Path, entry: Mapping[str, Any] | None = None
    ) -> LLMJudge:
        """The judge of a workflow run; see `run_generator`."""
        return cls(spec["judge"], spec["settings"], run_generator(spec, manifest, folder, entry))

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """See `judges.protocol.Judge`. An empty candidate is incorrect without a look by the model."""
        labels: dict[int, Label] = {}
        cases: list[_Case] = []
        for place, row in enumerate(rows):
            if not row.references:
                labels[place] = invalid("the question has no reference")
            elif not row.candidate.strip():
                labels[place] = decided(0.0, reason="empty answer")
            else:
                shown = prompting.shown(row, self.settings["seed"], self.settings["max_candidate_chars"])
                cases.append(_Case(place, row, shown))
        labels |= {case.place: label for case, label in zip(cases, self._labels(cases), strict=True)}
        return [labels[place] for place in range(len(rows))]

    def _labels(self, cases: Sequence[_Case]) -> list[Label]:
        """One label per case; those without a verdict are asked for again, all together."""
        reasoned = self.settings["reasoning"]
        first = self._ask(cases, prompting.REASONED if reasoned else prompting.VERDICT_ONLY, constrained=not reasoned)
        readings = [self._read(*pair, constrained=not reasoned) for pair in zip(cases, first, strict=True)]
        unread = [n for n, reading in enumerate(readings) if reading.score is None and not reading.final]
        if unread:
            log.info("%s: %d of %d texts have no verdict; their rows are asked for again", self.name, len(unread), len(cases))
        second = dict(zip(unread, self._ask([cases[n] for n in unread], prompting.AGAIN, constrained=True), strict=True))
        labels = []
        for number, (case, reading) in enumerate(zip(cases, readings, strict=True)):
            said = [first[number]]
            if number in second:
                said.append(second[number])
                reading = _after(reading, self._read(case, second[number], constrained=True))
            labels.append(self._label(case, reading, said))
        return labels

    def _ask(self, cases: Sequence[_Case], form: str, constrained: bool) -> list[Completion]:
        choices = prompting.CHOICES if constrained else None
        requests = [
            Request(
                case.row.sample_id,
                case.row.attempt,
                prompting.prompt(case.row, case.candidate, form),
                Sample(case.row.question, case.row.references),
                choices,
            )
            for case in cases
        ]
        return self.generator.generate(requests) if requests else []

    def _read(self, case: _Case, said: Completion, constrained: bool) -> _Reading:
        if said.status == "error":
            return _Reading(None, None, f"{MODEL_FAILED}: {said.reason}" if said.reason else MODEL_FAILED, True)
        bare = constrained and said.text.strip().lower() in prompting.CHOICES
        # A back end that enforces the choice may stop at its limit right behind the word.
        found = verdicts.parse(said.text, case.candidate.code, case.candidate.text, bare or said.status != "truncated")
        if found.verdict is None:
            thought = said.status == "truncated" and not said.text and said.reasoning
            return _Reading(None, None, verdicts.REASONING_CUT_OFF if thought else found.reason, False)
        likely = said.choice_probabilities if constrained else None
        # Of the word in a sentence ("not correct") the probabilities mean something else.
        if likely and (bare or max(likely, key=likely.__getitem__) == found.verdict):
            return _Reading(likely[verdicts.POSITIVE], None, PROBABILITY, True)
        if not constrained and found.verdict in verdicts.claims(case.candidate.text):
            # It may be a line of the candidate that the judge repeats without its fence; one word cannot be mistaken.
            return _Reading(None, None, CLAIMED, False)
        return _Reading(float(found.verdict == verdicts.POSITIVE), found.verdict, found.reason, True)

    def _label(self, case: _Case, reading: _Reading, said: Sequence[Completion]) -> Label:
        details: dict[str, Any] = {
            "reason": reading.reason,
            # Of a text that never came, the thinking is what there is to look at.
            "raw": f"\n{AGAIN}\n".join(completion.text or completion.reasoning or "" for completion in said),
            "truncated": case.candidate.truncated,
            "prompt_tokens": total([completion.prompt_tokens for completion in said]),
            "completion_tokens": total([completion.completion_tokens for completion in said]),
        }
        if reading.score is None:
            return Label("invalid", None, **details)
        if reading.verdict is not None:
            return Label(reading.verdict, reading.score, **details)
        return decided(reading.score, self.settings["threshold"], **details)


def _after(first: _Reading, second: _Reading) -> _Reading:
    """The second reading, with the story of both."""
    return _Reading(second.score, second.verdict, f"{first.reason}; asked again: {second.reason}", True)


def total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
