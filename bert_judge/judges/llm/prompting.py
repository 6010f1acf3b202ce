"""Prompts of the LLM judge: one question with its references, one candidate, one verdict.

The parts that rows share come first (instructions, then question and references, which are equal for all evaluated models), the
candidate and the reply format last, so that a backend with prefix caching processes the first parts once.

The candidate is enclosed in a fence whose signature depends on the row's content, so its author could not have known it.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bert_judge.judges.llm.verdicts import NEGATIVE, POSITIVE, normalize
from bert_judge.judges.protocol import Row
from bert_judge.runtime.package_data import read_yaml
from bert_judge.tables import canonical

CHOICES = (POSITIVE, NEGATIVE)

PROMPTS: Mapping[str, Any] = read_yaml(Path(__file__).with_name("prompts.yaml"))
INSTRUCTIONS = f"{PROMPTS['verdict']['instructions']}\n{PROMPTS['rules']}"
REASONED, VERDICT_ONLY, RETRY = (PROMPTS["verdict"][name] for name in ("reasoned", "verdict_only", "retry"))

# Control tokens of chat templates and reasoning models: `<|im_end|>`, `</s>`, `</think>`, `[INST]`, `<<SYS>>`.
_CONTROL = re.compile(r"<(?=[|｜]|/?[A-Za-z_][\w-]{0,40}>)|\[(?=/?[A-Z_]{3,20}\])")


@dataclass(frozen=True)
class RenderedCandidate:
    """A candidate as shown to a judge.

    Attributes:
        text: the candidate, truncated in the middle if it is long, with its control tokens broken up.
        code: signature of its fence, 16 hex digits that do not occur in the candidate.
    """

    text: str
    truncated: bool
    code: str

    @property
    def tag(self) -> str:
        return f"candidate-{self.code}"

    @property
    def fenced(self) -> str:
        return f"everything between <{self.tag}> and </{self.tag}>.\n\n<{self.tag}>\n{self.text}\n</{self.tag}>"


def render_candidate(row: Row, seed: int, max_chars: int) -> RenderedCandidate:
    """Prepare a candidate; one longer than `max_chars` keeps its beginning and end, where answers usually stand."""
    text = row.candidate.strip()
    excess = len(text) - max_chars
    if excess > 0:
        head = max_chars // 2
        text = f"{text[:head]}\n[… {excess} characters left out …]\n{text[len(text) - (max_chars - head) :]}"
    # A space inside a control token makes it plain text for the tokenizer and changes nothing for the reader.
    return RenderedCandidate(_CONTROL.sub(lambda mark: f"{mark[0]} ", text), excess > 0, fence_code(row, seed))


def fence_code(row: Row, seed: int) -> str:
    """Compute the signature of a row's fence: equal for equal row and seed, and not in its candidate in any spelling."""
    haystack = f"{row.candidate}\n{normalize(row.candidate)}".casefold()
    turn = 0
    while True:
        content = canonical({"row": [row.question, *row.references, row.candidate], "seed": seed, "turn": turn})
        code = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        if code not in haystack:
            return code
        turn += 1


def section(heading: str, text: str) -> str:
    return f"# {heading}\n\n{text}"


def references_section(references: Sequence[str]) -> str:
    return section("References", "\n".join(f"{number}. {reference}" for number, reference in enumerate(references, 1)))


def candidate_section(candidate: RenderedCandidate) -> str:
    return section("Candidate", f"The candidate is {candidate.fenced}")


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
