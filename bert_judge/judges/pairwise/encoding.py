"""How two answers to one question become sequences of tokens.

Two forms. `together`: both answers in one sequence, `[CLS] first [SEP] second [SEP] question [SEP] references [SEP]`; `alone`: one
of them, `[CLS] question [SEP] answer [SEP] references [SEP]`. What is too long is cut so that both answers lose alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from bert_judge.judges.bert.encoding import EncodedRow, RowEncoder, keep_tail, truncate_middle


class PairRowEncoder(RowEncoder):
    """Encodes pairs for one tokenizer."""

    def together(
        self, questions: Sequence[str], references: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]
    ) -> list[EncodedRow]:
        """One encoded row per (question, references, first answer, second answer)."""
        parts = [self._tokens(texts) for texts in (questions, references, firsts, seconds)]
        return [self._both(*row) for row in zip(*parts, strict=True)]

    def alone(self, questions: Sequence[str], references: Sequence[str], answers: Sequence[str]) -> list[EncodedRow]:
        """One encoded row per (question, references, answer)."""
        parts = [self._tokens(texts) for texts in (questions, references, answers)]
        return [self._one(*row) for row in zip(*parts, strict=True)]

    def _both(self, question: list[int], references: list[int], first: list[int], second: list[int]) -> EncodedRow:
        room = self._room(separators=2)
        lengths = [len(part) for part in (question, references, first, second)]
        of = shares(lengths, room)
        tail = [
            *truncate_middle(second, of[3]),
            self._separator,
            *keep_tail(question, of[0]),
            self._separator,
            *references[: of[1]],
        ]
        return self._assembled(truncate_middle(first, of[2]), tail, of != lengths)

    def _one(self, question: list[int], references: list[int], answer: list[int]) -> EncodedRow:
        lengths = [len(part) for part in (question, references, answer)]
        of = shares(lengths, self._room(separators=1))
        tail = [*truncate_middle(answer, of[2]), self._separator, *references[: of[1]]]
        return self._assembled(keep_tail(question, of[0]), tail, of != lengths)

    def _room(self, separators: int) -> int:
        return self.max_length - sum(map(len, self._pair_template)) - separators

    def _assembled(self, first: Sequence[int], second: Sequence[int], cut: bool) -> EncodedRow:
        start, middle, end = self._pair_template
        one, other = (*start, *first, *middle), (*second, *end)
        return EncodedRow(one + other, (0,) * len(one) + (1,) * len(other), cut)


def shares(lengths: Sequence[int], room: int) -> list[int]:
    """How many tokens each part may keep: all of a short one, and the long ones as many as each other (max-min fairness).

    Args:
        lengths: of the parts.
        room: tokens for all of them together.
    """
    if sum(lengths) <= room:
        return list(lengths)
    # The largest share that all long parts can have: what the short ones leave, in equal parts.
    left, open_parts = room, len(lengths)
    share = 0
    for length in sorted(lengths):
        share = left // open_parts
        if length > share:
            break
        left, open_parts = left - length, open_parts - 1
    return [min(length, share) for length in lengths]
