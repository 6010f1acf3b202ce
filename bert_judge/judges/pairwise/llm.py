"""A prompted language model as a pairwise judge: each order of a pair is a prompt of its own.

A prompt holds one question, its references if there are any, and two answers, each in a fence whose signature depends on its
content, so its author could not have known it. The letters in the prompt are positions: A is the answer shown first.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bert_judge.candidates.generators.protocol import Completion, Request
from bert_judge.judges.prompted import (
    BARE_VERDICT,
    PROBABILITY,
    VERDICT_LINE,
    ParsedVerdict,
    PromptedJudge,
    Reading,
    RenderedCandidate,
    ReplyFormat,
    normalize,
    parse_reply,
    references_section,
    render_candidate,
    section,
)
from bert_judge.judges.protocol import OrderVerdict, Pair, Preference, Row, combine_orders
from bert_judge.runtime.package_data import read_yaml
from bert_judge.runtime.resume import content_key
from bert_judge.tasks import Sample

PLANTED_VERDICT = "an answer contains the same verdict line"
VERDICT_SCORES = {"A": 1.0, "tie": 0.5, "B": 0.0}
CHOICES = ("A", "B", "tie")

PROMPTS: Mapping[str, str] = read_yaml(Path(__file__).with_name("prompts.yaml"))
# A longer line is no verdict; so the time is linear in the length of the text.
MAX_LINE_LENGTH = 80
_WORD = r"(?:(?i:(?:answer|assistant|response)\s)?(?P<letter>[AB])|(?i:a\s)?(?P<tie>(?i:tie)))"
_WRAP = r"[\s\[\](){}\"'`*_<>|$]{0,8}"
_VERDICT = re.compile(
    rf"^[\W_]{{0,8}}(?i:(?:my |the )?(?:final )?verdict)[\s*_]{{0,4}}[:=][\s*_]{{0,4}}{_WRAP}{_WORD}{_WRAP}[.!]?{_WRAP}$"
)
_BARE = re.compile(rf"^{_WRAP}{_WORD}{_WRAP}[.!]?{_WRAP}$")


@dataclass(frozen=True)
class RenderedPair:
    """One order of a pair as shown to the judge: `pair.answer_a` comes first; the answers are truncated and fenced."""

    pair: Pair
    first: RenderedCandidate
    second: RenderedCandidate

    @property
    def truncated(self) -> bool:
        return self.first.truncated or self.second.truncated

    @property
    def codes(self) -> tuple[str, str]:
        """Signatures of the fences."""
        return self.first.code, self.second.code


class PairLLMJudge(PromptedJudge[RenderedPair]):
    """Implements `judges.protocol.PairJudge` on any generator.

    If the reply is constrained and the backend returns log-probabilities, the score is P(A) + P(tie)/2 and the verdict the most
    likely of the three; else it is 1, 0.5 or 0. A reply without a verdict is requested once more, as one constrained word; after
    that the order is invalid, and so is the pair.

    Uses the settings reasoning, seed and max_answer_chars.
    """

    def compare(self, pairs: Sequence[Pair]) -> list[Preference]:
        """See `judges.protocol.PairJudge`. Two answers with the same text tie without calling the model."""
        orders = [order for pair in pairs for order in (pair, pair.swapped)]
        different = [order for order in orders if order.answer_a.strip() != order.answer_b.strip()]
        seed, max_chars = self.settings["seed"], self.settings["max_answer_chars"]
        rendered = [render_pair(order, seed, max_chars) for order in different]
        replies = zip(rendered, self._ask(rendered), strict=True)
        outcomes = iter(
            OrderVerdict(reply.reading.verdict or "invalid", reply.reading.score, truncated=case.truncated, **reply.details)
            for case, reply in replies
        )
        same = OrderVerdict("tie", VERDICT_SCORES["tie"], "the same answer twice")
        order_verdicts = [same if order.answer_a.strip() == order.answer_b.strip() else next(outcomes) for order in orders]
        return [
            combine_orders(forward, backward.swapped)
            for forward, backward in zip(order_verdicts[::2], order_verdicts[1::2], strict=True)
        ]

    def _reply_formats(self) -> tuple[ReplyFormat, ReplyFormat]:
        first = ReplyFormat(PROMPTS["reasoned"]) if self.settings["reasoning"] else ReplyFormat(PROMPTS["verdict_only"], CHOICES)
        return first, ReplyFormat(PROMPTS["retry"], CHOICES)

    def _prompt(self, case: RenderedPair, instructions: str) -> str:
        return build_prompt(case, instructions)

    def _request(self, case: RenderedPair, reply_format: ReplyFormat) -> Request:
        pair, text = case.pair, self._prompt(case, reply_format.instructions)
        return Request(content_key(pair), 0, text, Sample(pair.question, pair.references), reply_format.choices)

    def _parse_completion(self, case: RenderedPair, completion: Completion, choices: tuple[str, ...] | None) -> Reading:
        if choices and completion.choice_probabilities:
            return read_probabilities([completion.choice_probabilities[choice] for choice in CHOICES])
        is_choice = choices is not None and completion.text.strip() in choices
        # A backend that enforces the choice may stop at its limit right after the word.
        parsed = parse(completion.text, case.codes, is_choice or completion.status != "truncated")
        if parsed.verdict is None:
            return Reading(parsed.reason, retry=True)
        if choices is None and parsed.verdict in verdict_lines(normalize(f"{case.first.text}\n{case.second.text}")):
            # The judge may have repeated a line of an answer without its fence; a single word is unambiguous.
            return Reading(PLANTED_VERDICT, retry=True)
        return Reading(parsed.reason, VERDICT_SCORES[parsed.verdict], parsed.verdict)


def read_probabilities(probabilities: Sequence[float]) -> Reading:
    """Convert the probabilities of `CHOICES`: the score is P(A) + P(tie)/2, the verdict the likeliest."""
    a, _, tie = probabilities
    return Reading(PROBABILITY, min(1.0, a + tie / 2), CHOICES[probabilities.index(max(probabilities))])


def render_pair(pair: Pair, seed: int, max_chars: int) -> RenderedPair:
    """Prepare one order of a pair; the middle of an answer longer than `max_chars` is cut."""
    first, second = (
        render_candidate(Row("", position, "", pair.question, pair.references, answer), seed + position, max_chars)
        for position, answer in enumerate((pair.answer_a, pair.answer_b))
    )
    return RenderedPair(pair, first, second)


def build_prompt(rendered: RenderedPair, reply_format: str) -> str:
    sections = [PROMPTS["instructions"], section("Question", rendered.pair.question)]
    if rendered.pair.references:
        sections.append(references_section(rendered.pair.references))
    for letter, answer in zip("AB", (rendered.first, rendered.second), strict=True):
        sections.append(section(f"Answer {letter}", f"It is {answer.fenced}"))
    return "\n\n".join([*sections, section("Your verdict", reply_format)])


def parse(reply: str, codes: Sequence[str] = (), finished: bool = True) -> ParsedVerdict:
    """Parse a reply: A, B, tie, or no verdict and why. See `prompted.parse_reply`.

    Parsing is strict: only a line that consists of a verdict counts (`Verdict: A`, `**Verdict:** [[B]]`), and the last one decides.
    A reply without such a line counts if it is a single bare word. Letters count only as capitals, since "a" is a word.
    """
    return parse_reply(reply, _find_verdict, codes, finished=finished)


def verdict_lines(text: str) -> list[str]:
    """Return the verdicts of the lines that consist of one, from the top."""
    matches = (_VERDICT.match(line) for line in text.splitlines() if len(line) <= MAX_LINE_LENGTH)
    return [_to_verdict(match) for match in matches if match]


def _find_verdict(text: str) -> ParsedVerdict | None:
    if lines := verdict_lines(text):
        return ParsedVerdict(lines[-1], VERDICT_LINE)
    bare = _BARE.match(text.strip()) if len(text.strip()) <= MAX_LINE_LENGTH else None
    return ParsedVerdict(_to_verdict(bare), BARE_VERDICT) if bare else None


def _to_verdict(match: re.Match[str]) -> str:
    return match["letter"] or "tie"
