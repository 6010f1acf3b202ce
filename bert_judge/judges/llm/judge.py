"""Judges of single answers that prompt a language model with the question, its references and a candidate.

The parts that rows share come first (instructions, then question and references, which are equal for all evaluated models), the
candidate and the reply format last, so that a backend with prefix caching processes the first parts once.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge.candidates.generators.protocol import Completion, Request
from bert_judge.judges.llm import verdicts
from bert_judge.judges.llm.verdicts import NEGATIVE, POSITIVE
from bert_judge.judges.prompted import (
    PROBABILITY,
    PromptedJudge,
    Reading,
    RenderedCandidate,
    Reply,
    ReplyFormat,
    candidate_section,
    references_section,
    render_candidate,
    section,
)
from bert_judge.judges.protocol import Label, Row, decided, empty_answer, invalid
from bert_judge.runtime.package_data import read_yaml
from bert_judge.tasks import Sample

SELF_VERDICT = "the candidate gives itself the same verdict"
CHOICES = (POSITIVE, NEGATIVE)
# A verdict with a lower probability is uncertain; of others, the error was not measured.
MIN_PROBABILITY = 0.75

PROMPTS: Mapping[str, Any] = read_yaml(Path(__file__).with_name("prompts.yaml"))
INSTRUCTIONS = f"{PROMPTS['verdict']['instructions']}\n{PROMPTS['rules']}"
REASONED, VERDICT_ONLY, RETRY = (PROMPTS["verdict"][name] for name in ("reasoned", "verdict_only", "retry"))


class RowCase(NamedTuple):
    """An answer to judge, and its candidate as shown to the judge."""

    row: Row
    candidate: RenderedCandidate


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

    def plan_requests(self, rows: Sequence[Row]) -> tuple[list[float], list[bool]]:
        """Return per row the estimated prompt tokens, and whether it would be requested, because no reply is stored."""
        return self._plan([self.make_case(row) for row in rows])

    def make_case(self, row: Row) -> RowCase:
        """Prepare an answer for the prompt."""
        return RowCase(row, render_candidate(row, self.settings["seed"], self.settings["max_candidate_chars"]))

    def _label_without_model(self, row: Row) -> Label | None:
        if not row.references:
            return invalid("the question has no reference")
        return None if row.candidate.strip() else empty_answer()

    def _label(self, case: RowCase, reply: Reply) -> Label:
        reading = reply.reading
        details = {**reply.details, "truncated": case.candidate.truncated, "aspects": reading.grades}
        if reading.score is None or reading.verdict is not None:
            return Label(reading.verdict or "invalid", reading.score, **details)
        is_torn = max(reading.score, 1 - reading.score) < MIN_PROBABILITY
        return decided(reading.score, self.settings["threshold"], certain=False if is_torn else None, **details)

    def _reply_formats(self) -> tuple[ReplyFormat, ReplyFormat]:
        free, constrained = ReplyFormat(REASONED), ReplyFormat(VERDICT_ONLY, CHOICES)
        return free if self.settings["reasoning"] else constrained, ReplyFormat(RETRY, CHOICES)

    def _prompt(self, case: RowCase, instructions: str) -> str:
        return build_prompt(case.row, case.candidate, instructions)

    def _request(self, case: RowCase, reply_format: ReplyFormat) -> Request:
        row, text = case.row, self._prompt(case, reply_format.instructions)
        return Request(row.sample_id, row.attempt, text, Sample(row.question, row.references), reply_format.choices)

    def _parse_completion(self, case: RowCase, completion: Completion, choices: tuple[str, ...] | None) -> Reading:
        is_choice = choices is not None and completion.text.strip().lower() in choices
        # A backend that enforces the choice may stop at its limit right after the word.
        finished = is_choice or completion.status != "truncated"
        parsed = verdicts.parse(completion.text, (case.candidate.code,), case.candidate.text, finished)
        if parsed.verdict is None:
            # A server may say why it stopped: a content filter, for example.
            return Reading(f"{parsed.reason}: {completion.reason}" if completion.reason else parsed.reason, retry=True)
        probabilities = completion.choice_probabilities if choices else None
        # The probabilities of a word inside a sentence ("not correct") mean something else.
        if probabilities and (is_choice or max(probabilities, key=probabilities.__getitem__) == parsed.verdict):
            return Reading(PROBABILITY, probabilities[verdicts.POSITIVE])
        if choices is None and parsed.verdict in verdicts.self_verdicts(case.candidate.text):
            # The judge may have repeated a line of the candidate without its fence; a single word is unambiguous.
            return Reading(SELF_VERDICT, retry=True)
        return Reading(parsed.reason, float(parsed.verdict == verdicts.POSITIVE), parsed.verdict)


def build_prompt(row: Row, candidate: RenderedCandidate, reply_format: str) -> str:
    return "\n\n".join(
        [
            INSTRUCTIONS,
            section("Question", row.question),
            references_section(row.references),
            candidate_section(candidate),
            section("Your verdict", reply_format),
        ]
    )
