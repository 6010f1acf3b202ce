"""A prompted language model as a pairwise judge: each order of a pair is a prompt of its own."""

from __future__ import annotations

from collections.abc import Sequence

from bert_judge.candidates.generators.protocol import Completion, Request
from bert_judge.judges.llm.judge import PROBABILITY, PromptedJudge, Reading, ReplyFormat
from bert_judge.judges.llm.verdicts import normalize
from bert_judge.judges.pairwise import prompting
from bert_judge.judges.pairwise.protocol import OrderVerdict, Pair, Preference, combine_orders
from bert_judge.runtime.resume import content_key
from bert_judge.tasks import Sample

PLANTED_VERDICT = "an answer contains the same verdict line"
VERDICT_SCORES = {"A": 1.0, "tie": 0.5, "B": 0.0}


class PairLLMJudge(PromptedJudge[prompting.RenderedPair]):
    """Implements `judges.pairwise.PairJudge` on any generator.

    If the reply is constrained and the backend returns log-probabilities, the score is P(A) + P(tie)/2 and the verdict the most
    likely of the three; else it is 1, 0.5 or 0. A reply without a verdict is requested once more, as one constrained word; after
    that the order is invalid, and so is the pair.

    Uses the settings reasoning, seed and max_answer_chars.
    """

    def compare(self, pairs: Sequence[Pair]) -> list[Preference]:
        """See `judges.pairwise.PairJudge`. Two answers with the same text tie without calling the model."""
        orders = [order for pair in pairs for order in (pair, pair.swapped)]
        different = [order for order in orders if order.answer_a.strip() != order.answer_b.strip()]
        seed, max_chars = self.settings["seed"], self.settings["max_answer_chars"]
        rendered = [prompting.render_pair(order, seed, max_chars) for order in different]
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
        return prompting.reply_formats(reasoning=self.settings["reasoning"])

    def _request(self, case: prompting.RenderedPair, reply_format: ReplyFormat) -> Request:
        pair, text = case.pair, prompting.build_prompt(case, reply_format.instructions)
        return Request(content_key(pair), 0, text, Sample(pair.question, pair.references), reply_format.choices)

    def _parse_completion(self, case: prompting.RenderedPair, completion: Completion, choices: tuple[str, ...] | None) -> Reading:
        if choices and completion.choice_probabilities:
            probabilities = completion.choice_probabilities
            verdict = max(prompting.CHOICES, key=lambda choice: probabilities[choice])
            return Reading(PROBABILITY, min(1.0, probabilities["A"] + probabilities["tie"] / 2), verdict)
        is_choice = choices is not None and completion.text.strip() in choices
        # A backend that enforces the choice may stop at its limit right after the word.
        parsed = prompting.parse(completion.text, case.codes, is_choice or completion.status != "truncated")
        if parsed.verdict is None:
            return Reading(parsed.reason, retry=True)
        if choices is None and parsed.verdict in prompting.verdict_lines(normalize(f"{case.first.text}\n{case.second.text}")):
            # The judge may have repeated a line of an answer without its fence; a single word is unambiguous.
            return Reading(PLANTED_VERDICT, retry=True)
        return Reading(parsed.reason, VERDICT_SCORES[parsed.verdict], parsed.verdict)
