"""A language model as a judge of two answers, prompted as it is or tuned before: each order is a question of its own."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge.candidates.generators.protocol import Completion, Generator, Request
from bert_judge.judges.llm.judge import AGAIN, MODEL_FAILED, PROBABILITY
from bert_judge.judges.llm.run_generator import run_generator
from bert_judge.judges.llm.verdicts import plain
from bert_judge.judges.pairwise import prompting, verdicts
from bert_judge.judges.pairwise.protocol import Opinion, Pair, Preference, both_orders, mirrored, swapped
from bert_judge.runtime.resume import content_key
from bert_judge.tasks import Sample

log = logging.getLogger(__name__)

CLAIMED = "an answer holds the same verdict line"
SCORES = {"A": 1.0, "tie": 0.5, "B": 0.0}


class _Reading(NamedTuple):
    """What a completion says: a verdict and its score, or none; what decided, or why there is none; asking again is of no use."""

    verdict: str | None
    score: float | None
    reason: str
    final: bool


class PairLLMJudge:
    """Implements `judges.pairwise.PairJudge` on any generator.

    Where the model's answer is constrained and the back end gives log-probabilities, the score is P(A) + P(tie)/2 and the verdict
    the likeliest of the three; else it is 1, 0.5 or 0. A text without a verdict is asked for once more, in one constrained word;
    then that order is invalid, and so is the pair.

    With `scores`, it writes a score for each answer before anything else. Without reasoning that is all it writes, one of
    `prompting.SCORES`, whose probabilities give those of A, tie and B. A model that was `tuned` to write them is asked in the words
    of its training, and where it fails to, for scores once more.

    Args:
        name: of the judge in the configuration, for messages.
        settings: the values of `PairwiseJudgeConfig`; uses reasoning, scores, seed, max_answer_chars and, if it is there, tuned.
        generator: holds the model.
    """

    def __init__(self, name: str, settings: Mapping[str, Any], generator: Generator) -> None:
        self.name, self.settings, self.generator = name, settings, generator
        # The generator's own mapping: it may grow when the model is loaded.
        self.revisions = generator.revisions

    @classmethod
    def from_run(
        cls, spec: Mapping[str, Any], manifest: str | Path | None, folder: str | Path, entry: Mapping[str, Any] | None = None
    ) -> PairLLMJudge:
        """The judge of a workflow run; see `run_generator`."""
        return cls(spec["judge"], spec["settings"], run_generator(spec, manifest, folder, entry))

    def compare(self, pairs: Sequence[Pair]) -> list[Preference]:
        """See `judges.pairwise.PairJudge`. Two answers with the same text tie without a look by the model."""
        opinions = self._opinions([order for pair in pairs for order in (pair, swapped(pair))])
        return [both_orders(*two) for two in zip(opinions[::2], map(mirrored, opinions[1::2]), strict=True)]

    def _opinions(self, orders: Sequence[Pair]) -> list[Opinion]:
        """One opinion per order, A being what is shown first."""
        same = Opinion("tie", SCORES["tie"], "the same answer twice")
        cases = [
            prompting.shown(pair, self.settings["seed"], self.settings["max_answer_chars"])
            for pair in orders
            if pair.answer_a.strip() != pair.answer_b.strip()
        ]
        found = iter(self._asked(cases))
        return [same if pair.answer_a.strip() == pair.answer_b.strip() else next(found) for pair in orders]

    def _asked(self, cases: Sequence[prompting.Shown]) -> list[Opinion]:
        """One opinion per case; those without a verdict are asked for again, all together."""
        tuned = self.settings.get("tuned", False)
        form, choices = prompting.first_asked(self.settings["reasoning"], self.settings["scores"], tuned)
        form_again, choices_again = prompting.asked_again(tuned)
        first = self._ask(cases, form, choices)
        readings = [self._read(*two, choices) for two in zip(cases, first, strict=True)]
        unread = [n for n, reading in enumerate(readings) if reading.verdict is None and not reading.final]
        if unread:
            log.info("%s: %d of %d texts have no verdict; they are asked for again", self.name, len(unread), len(cases))
        again = self._ask([cases[n] for n in unread], form_again, choices_again)
        second = dict(zip(unread, again, strict=True))
        opinions = []
        for number, (case, reading) in enumerate(zip(cases, readings, strict=True)):
            said = [first[number]]
            if number in second:
                said.append(second[number])
                later = self._read(case, second[number], choices_again)
                reading = later._replace(reason=f"{reading.reason}; asked again: {later.reason}")
            opinions.append(_opinion(case, reading, said))
        return opinions

    def _ask(self, cases: Sequence[prompting.Shown], form: str, choices: tuple[str, ...] | None) -> list[Completion]:
        requests = [
            Request(
                content_key(case.pair), 0, prompting.prompt(case, form), Sample(case.pair.question, case.pair.references), choices
            )
            for case in cases
        ]
        return self.generator.generate(requests) if requests else []

    def _read(self, case: prompting.Shown, said: Completion, choices: tuple[str, ...] | None) -> _Reading:
        if said.status == "error":
            return _Reading(None, None, f"{MODEL_FAILED}: {said.reason}" if said.reason else MODEL_FAILED, True)
        if choices and said.choice_probabilities:
            return _likeliest(said.choice_probabilities)
        if self.settings["scores"] and choices != prompting.CHOICES:
            return _scored(verdicts.scores(said.text))
        bare = choices is not None and said.text.strip() in choices
        # A back end that enforces the choice may stop at its limit right behind the word.
        found = verdicts.parse(said.text, tuple(case.fences), bare or said.status != "truncated")
        if found.verdict is None:
            return _Reading(None, None, found.reason, False)
        if choices is None and found.verdict in verdicts.lines(plain(f"{case.first.text}\n{case.second.text}")):
            # It may be a line of an answer that the model repeats without its fence; one word cannot be mistaken.
            return _Reading(None, None, CLAIMED, False)
        return _Reading(found.verdict, SCORES[found.verdict], found.reason, True)


def _likeliest(likely: Mapping[str, float]) -> _Reading:
    """What the probabilities of verdicts, or of pairs of scores, say: each pair of scores stands for its verdict."""
    sums = dict.fromkeys(prompting.CHOICES, 0.0)
    for choice, probability in likely.items():
        sums[choice if choice in sums else _better(*map(float, choice.split()))] += probability
    verdict = max(prompting.CHOICES, key=lambda choice: sums[choice])
    return _Reading(verdict, min(1.0, sums["A"] + sums["tie"] / 2), PROBABILITY, True)


def _scored(scores: tuple[float, float] | None) -> _Reading:
    """What two scores from 1 to 10 say: how far they lie apart is how sure the judge is."""
    if scores is None:
        return _Reading(None, None, verdicts.NO_SCORES, False)
    return _Reading(_better(*scores), 0.5 + (scores[0] - scores[1]) / 18, verdicts.FIRST_LINE, True)


def _better(a: float, b: float) -> str:
    return "A" if a > b else "B" if b > a else "tie"


def _opinion(case: prompting.Shown, reading: _Reading, said: Sequence[Completion]) -> Opinion:
    return Opinion(
        reading.verdict or "invalid",
        reading.score,
        reading.reason,
        # Of a text that never came, the thinking is what there is to look at.
        f"\n{AGAIN}\n".join(completion.text or completion.reasoning or "" for completion in said),
        case.truncated,
        _total([completion.prompt_tokens for completion in said]),
        _total([completion.completion_tokens for completion in said]),
    )


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
