"""A prompted or tuned language model as a pairwise judge: each order of a pair is a prompt of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bert_judge.assets.prepare import Manifest
from bert_judge.candidates.generators.protocol import Completion, Request
from bert_judge.config import HFModel
from bert_judge.judges.bert.judge_folder import JUDGE_FILE, resolve_checkpoint
from bert_judge.judges.llm.judge import PROBABILITY, PromptedJudge, Reading
from bert_judge.judges.llm.verdicts import normalize
from bert_judge.judges.pairwise import prompting
from bert_judge.judges.pairwise.protocol import OrderVerdict, Pair, PairJudge, Preference, combine_orders
from bert_judge.judges.registry import read_card
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.resume import content_key
from bert_judge.tasks import Sample

PLANTED_VERDICT = "an answer contains the same verdict line"
VERDICT_SCORES = {"A": 1.0, "tie": 0.5, "B": 0.0}


class PairLLMJudge(PromptedJudge[prompting.RenderedPair]):
    """Implements `judges.pairwise.PairJudge` on any generator.

    If the reply is constrained and the backend returns log-probabilities, the score is P(A) + P(tie)/2 and the verdict the most
    likely of the three; else it is 1, 0.5 or 0. A reply without a verdict is requested once more, as one constrained word; after
    that the order is invalid, and so is the pair.

    With `scores`, the model first writes a score for each answer. Without reasoning that is its whole reply, one of
    `prompting.SCORES`, whose probabilities give those of A, tie and B. A model that was `tuned` to write scores gets the prompt of
    its training, and is asked for scores once more if it fails.

    Uses the settings reasoning, scores, seed, max_answer_chars and, if present, tuned.
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

    def _reply_formats(self) -> tuple[prompting.ReplyFormat, prompting.ReplyFormat]:
        settings = self.settings
        return prompting.reply_formats(
            reasoning=settings["reasoning"], scores=settings["scores"], tuned=settings.get("tuned", False)
        )

    def _request(self, case: prompting.RenderedPair, reply_format: prompting.ReplyFormat) -> Request:
        pair, text = case.pair, prompting.build_prompt(case, reply_format.instructions)
        return Request(content_key(pair), 0, text, Sample(pair.question, pair.references), reply_format.choices)

    def _parse_completion(self, case: prompting.RenderedPair, completion: Completion, choices: tuple[str, ...] | None) -> Reading:
        if choices and completion.choice_probabilities:
            return _read_probabilities(completion.choice_probabilities)
        if self.settings["scores"] and choices != prompting.CHOICES:
            return _read_scores(prompting.parse_scores(completion.text, case.codes))
        is_choice = choices is not None and completion.text.strip() in choices
        # A backend that enforces the choice may stop at its limit right after the word.
        parsed = prompting.parse(completion.text, case.codes, is_choice or completion.status != "truncated")
        if parsed.verdict is None:
            return Reading(parsed.reason, retry=True)
        if choices is None and parsed.verdict in prompting.verdict_lines(normalize(f"{case.first.text}\n{case.second.text}")):
            # The judge may have repeated a line of an answer without its fence; a single word is unambiguous.
            return Reading(PLANTED_VERDICT, retry=True)
        return Reading(parsed.reason, VERDICT_SCORES[parsed.verdict], parsed.verdict)


def _read_probabilities(probabilities: Mapping[str, float]) -> Reading:
    """Interpret the probabilities of verdicts, or of pairs of scores, each of which implies a verdict."""
    totals = dict.fromkeys(prompting.CHOICES, 0.0)
    for choice, probability in probabilities.items():
        totals[choice if choice in totals else _better(*map(float, choice.split()))] += probability
    verdict = max(prompting.CHOICES, key=lambda choice: totals[choice])
    return Reading(PROBABILITY, min(1.0, totals["A"] + totals["tie"] / 2), verdict)


def _read_scores(scores: tuple[float, float] | None) -> Reading:
    """Interpret two scores from 1 to 10; their difference is the judge's confidence."""
    if scores is None:
        return Reading(prompting.NO_SCORES, retry=True)
    return Reading(prompting.FIRST_LINE, 0.5 + (scores[0] - scores[1]) / 18, _better(*scores))


def _better(a: float, b: float) -> str:
    return "A" if a > b else "B" if b > a else "tie"


def load_pair_judge(checkpoint: str | Path, name: str) -> PairJudge:
    """Load a trained pairwise judge, an encoder or a language model; `checkpoint` is as for `judge_folder.resolve_checkpoint`."""
    folder, revision = resolve_checkpoint(checkpoint)
    metadata = read_card(folder)
    pairwise = metadata.get("pairwise")
    if isinstance(pairwise, Mapping) and pairwise.get("writes") == "scores":
        return from_metadata(metadata, folder, name, revision)
    # A language model needs no encoder.
    from bert_judge.judges.pairwise.encoder import PairEncoderJudge

    return PairEncoderJudge(folder, name=name, revision=revision)


def from_metadata(metadata: Mapping[str, Any], folder: Path, name: str, revision: str) -> PairLLMJudge:
    """Load a tuned language model that stops after the scores from its judge.json and the folder of its weights.

    Raises:
        InputError: the metadata is incomplete, or the model cannot be loaded.
    """
    # A judge behind a server needs no torch.
    from bert_judge.candidates.generators.hf import HFGenerator

    try:
        settings = {key: metadata["settings"][key] for key in ("seed", "max_answer_chars")}
        model = HFModel.model_validate(metadata["settings"]["model"]).model_dump(mode="json")
    except (KeyError, TypeError, ValidationError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{folder / JUDGE_FILE}: invalid: {reason}; train the judge again") from error
    settings |= {"reasoning": False, "scores": True, "tuned": True}
    return PairLLMJudge(name, settings, HFGenerator(name, model, Manifest(name, revision, folder, ())))
