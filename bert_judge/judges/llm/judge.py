"""Judges that prompt a language model, parse its reply, and repeat the request once if the reply cannot be parsed."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

from bert_judge.candidates.generators.protocol import Completion, Generator, Request
from bert_judge.judges.llm import prompting, verdicts
from bert_judge.judges.llm.verdicts import REASONING_TRUNCATED
from bert_judge.judges.protocol import Label, Row, decided, empty_answer, invalid, sum_known
from bert_judge.tasks import Sample

log = logging.getLogger(__name__)

SELF_VERDICT = "the candidate gives itself the same verdict"
MODEL_FAILED = "the judge's model failed"
PROBABILITY = "probability of the verdict"
RETRY_SEPARATOR = "\n[asked again]\n"

Case = TypeVar("Case")


class ReplyFormat(NamedTuple):
    """The last part of a prompt, and the only replies that are allowed; None for free text."""

    instructions: str
    choices: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Reading:
    """The interpretation of a completion.

    Attributes:
        reason: how the verdict was found, or why there is none.
        verdict: if the reply states it, rather than a probability or grades.
        retry: asking again may give a verdict.
    """

    reason: str
    score: float | None = None
    verdict: str | None = None
    grades: Mapping[str, float] | None = None
    retry: bool = False


@dataclass(frozen=True)
class Reply:
    """Everything that the model replied about a case: the last reading, and one or two completions."""

    reading: Reading
    completions: tuple[Completion, ...]

    @property
    def details(self) -> dict[str, Any]:
        """Return the fields that labels and opinions share."""
        return {
            "reason": self.reading.reason,
            # Of a truncated reasoning model, the reasoning is all there is.
            "raw": RETRY_SEPARATOR.join(completion.text or completion.reasoning or "" for completion in self.completions),
            "prompt_tokens": sum_known(completion.prompt_tokens for completion in self.completions),
            "completion_tokens": sum_known(completion.completion_tokens for completion in self.completions),
        }


class PromptedJudge(ABC, Generic[Case]):
    """Base of the LLM judges; `settings` are the values of the judge's configuration block."""

    def __init__(self, name: str, settings: Mapping[str, Any], generator: Generator) -> None:
        self.name, self.settings, self.generator = name, settings, generator
        # The generator's own mapping: a server reveals its model's version only later.
        self.revisions = generator.revisions

    @abstractmethod
    def _reply_formats(self) -> tuple[ReplyFormat, ReplyFormat]:
        """Return the formats of the first prompt and of the retry."""

    @abstractmethod
    def _request(self, case: Case, reply_format: ReplyFormat) -> Request: ...

    @abstractmethod
    def _parse_completion(self, case: Case, completion: Completion, choices: tuple[str, ...] | None) -> Reading:
        """Interpret a completion that has text."""

    def _ask(self, cases: Sequence[Case]) -> list[Reply]:
        """Return one reply per case; cases without a verdict are asked again, all together."""
        first_format, retry_format = self._reply_formats()
        replies = self._ask_once(cases, first_format)
        unread = [index for index, reply in enumerate(replies) if reply.reading.retry]
        if unread:
            log.info("%s: %d of %d replies have no verdict and are requested again", self.name, len(unread), len(cases))
        for index, second in zip(unread, self._ask_once([cases[index] for index in unread], retry_format), strict=True):
            reason = f"{replies[index].reading.reason}; asked again: {second.reading.reason}"
            completions = replies[index].completions + second.completions
            replies[index] = Reply(replace(second.reading, reason=reason), completions)
        return replies

    def _ask_once(self, cases: Sequence[Case], reply_format: ReplyFormat) -> list[Reply]:
        requests = [self._request(case, reply_format) for case in cases]
        completions = self.generator.generate(requests) if requests else []
        return [
            Reply(self._read_or_fail(case, completion, reply_format.choices), (completion,))
            for case, completion in zip(cases, completions, strict=True)
        ]

    def _read_or_fail(self, case: Case, completion: Completion, choices: tuple[str, ...] | None) -> Reading:
        if completion.status == "error":
            return Reading(f"{MODEL_FAILED}: {completion.reason}" if completion.reason else MODEL_FAILED)
        if completion.status == "truncated" and completion.reasoning and not completion.text:
            return Reading(REASONING_TRUNCATED, retry=True)
        return self._parse_completion(case, completion, choices)


class RowCase(NamedTuple):
    """An answer to judge, and its candidate as shown to the judge."""

    row: Row
    candidate: prompting.RenderedCandidate


class LLMJudge(PromptedJudge[RowCase]):
    """Implements `judges.protocol.Judge` on any generator: one candidate at a time, compared with the references.

    The score is the probability of "correct" if the reply is constrained and the backend returns log-probabilities, else 1 or 0.
    A reply without a verdict is requested once more, as one constrained word; after that the row is invalid.

    Uses the settings reasoning, threshold, seed and max_candidate_chars.
    """

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """See `judges.protocol.Judge`. An empty candidate is incorrect without calling the model."""
        labels = [self._label_without_model(row) for row in rows]
        cases = [self.make_case(row) for row, label in zip(rows, labels, strict=True) if label is None]
        model_labels = iter(self._label(case, reply) for case, reply in zip(cases, self._ask(cases), strict=True))
        return [label or next(model_labels) for label in labels]

    def make_case(self, row: Row) -> RowCase:
        """Prepare an answer for the prompt."""
        return RowCase(row, prompting.render_candidate(row, self.settings["seed"], self.settings["max_candidate_chars"]))

    def _label_without_model(self, row: Row) -> Label | None:
        if not row.references:
            return invalid("the question has no reference")
        return None if row.candidate.strip() else empty_answer()

    def _label(self, case: RowCase, reply: Reply) -> Label:
        reading = reply.reading
        details = {**reply.details, "truncated": case.candidate.truncated, "aspects": reading.grades}
        if reading.score is None or reading.verdict is not None:
            return Label(reading.verdict or "invalid", reading.score, **details)
        return decided(reading.score, self.settings["threshold"], **details)

    def _reply_formats(self) -> tuple[ReplyFormat, ReplyFormat]:
        free, constrained = ReplyFormat(prompting.REASONED), ReplyFormat(prompting.VERDICT_ONLY, prompting.CHOICES)
        return free if self.settings["reasoning"] else constrained, ReplyFormat(prompting.RETRY, prompting.CHOICES)

    def _request(self, case: RowCase, reply_format: ReplyFormat) -> Request:
        row = case.row
        text = prompting.build_prompt(row, case.candidate, reply_format.instructions)
        return Request(row.sample_id, row.attempt, text, Sample(row.question, row.references), reply_format.choices)

    def _parse_completion(self, case: RowCase, completion: Completion, choices: tuple[str, ...] | None) -> Reading:
        is_choice = choices is not None and completion.text.strip().lower() in choices
        # A backend that enforces the choice may stop at its limit right after the word.
        finished = is_choice or completion.status != "truncated"
        parsed = verdicts.parse(completion.text, (case.candidate.code,), case.candidate.text, finished)
        if parsed.verdict is None:
            return Reading(parsed.reason, retry=True)
        probabilities = completion.choice_probabilities if choices else None
        # The probabilities of a word inside a sentence ("not correct") mean something else.
        if probabilities and (is_choice or max(probabilities, key=probabilities.__getitem__) == parsed.verdict):
            return Reading(PROBABILITY, probabilities[verdicts.POSITIVE])
        if choices is None and parsed.verdict in verdicts.self_verdicts(case.candidate.text):
            # The judge may have repeated a line of the candidate without its fence; a single word is unambiguous.
            return Reading(SELF_VERDICT, retry=True)
        return Reading(parsed.reason, float(parsed.verdict == verdicts.POSITIVE), parsed.verdict)
