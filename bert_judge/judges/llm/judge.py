"""A prompted language model as a judge: one candidate at a time, compared with the references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bert_judge.candidates.generators.protocol import Completion, Request
from bert_judge.judges.llm import prompting, verdicts
from bert_judge.judges.llm.prompted import PROBABILITY, PromptedJudge, Reading, Reply, ReplyFormat
from bert_judge.judges.protocol import Label, Row, decided, invalid
from bert_judge.tasks import Sample

SELF_VERDICT = "the candidate gives itself the same verdict"


class _Case(NamedTuple):
    row: Row
    candidate: prompting.RenderedCandidate


class LLMJudge(PromptedJudge[_Case]):
    """Implements `judges.protocol.Judge` on any generator.

    The score is the probability of "correct" if the reply is constrained and the backend returns log-probabilities, else 1 or 0.
    A reply without a verdict is requested once more, as one constrained word; after that the row is invalid.

    Uses the settings reasoning, threshold, seed and max_candidate_chars.
    """

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """See `judges.protocol.Judge`. An empty candidate is incorrect without calling the model."""
        labels: dict[int, Label] = {}
        cases: dict[int, _Case] = {}
        for index, row in enumerate(rows):
            if not row.references:
                labels[index] = invalid("the question has no reference")
            elif not row.candidate.strip():
                labels[index] = decided(0.0, reason="empty answer")
            else:
                candidate = prompting.render_candidate(row, self.settings["seed"], self.settings["max_candidate_chars"])
                cases[index] = _Case(row, candidate)
        replies = self._ask(list(cases.values()))
        labels |= {index: self._label(cases[index], reply) for index, reply in zip(cases, replies, strict=True)}
        return [labels[index] for index in range(len(rows))]

    def _reply_formats(self) -> tuple[ReplyFormat, ReplyFormat]:
        free, constrained = ReplyFormat(prompting.REASONED), ReplyFormat(prompting.VERDICT_ONLY, prompting.CHOICES)
        return free if self.settings["reasoning"] else constrained, ReplyFormat(prompting.RETRY, prompting.CHOICES)

    def _request(self, case: _Case, reply_format: ReplyFormat) -> Request:
        row = case.row
        text = prompting.build_prompt(row, case.candidate, reply_format.instructions)
        return Request(row.sample_id, row.attempt, text, Sample(row.question, row.references), reply_format.choices)

    def _parse_completion(self, case: _Case, completion: Completion, choices: tuple[str, ...] | None) -> Reading:
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

    def _label(self, case: _Case, reply: Reply) -> Label:
        reading, details = reply.reading, {**reply.details, "truncated": case.candidate.truncated}
        if reading.score is None:
            return Label("invalid", None, **details)
        if reading.verdict is not None:
            return Label(reading.verdict, reading.score, **details)
        return decided(reading.score, self.settings["threshold"], **details)
