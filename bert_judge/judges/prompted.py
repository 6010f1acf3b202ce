"""Judges that prompt a language model: prompts with fenced answers, replies, and a second request if a reply has no verdict.

An answer is enclosed in a fence whose signature depends on the row's content, so its author could not have known it. A reply is
read without what it repeats of the answers, without quoted lines, and without reasoning.
"""

import hashlib
import logging
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

from bert_judge.candidates.generators.protocol import Completion, Generator, Request, estimate_tokens
from bert_judge.judges.protocol import Row, sum_known
from bert_judge.tables import canonical
from bert_judge.text.visible_text import strip_invisible, strip_reasoning

log = logging.getLogger(__name__)

MODEL_FAILED = "the judge's model failed"
PROBABILITY = "probability of the verdict"
RETRY_SEPARATOR = "\n[asked again]\n"
# For estimates.
CONSTRAINED_REPLY_TOKENS, FREE_REPLY_TOKENS = 8, 120
# How a verdict was found.
VERDICT_LINE, VERDICT_JSON, BARE_VERDICT = "verdict line", "verdict in JSON", "bare verdict"
# Why there is no verdict.
EMPTY_REPLY = "the judge's reply is empty"
NO_VERDICT = "no verdict in the judge's reply"
TRUNCATED = "the judge's reply was truncated"
REASONING_TRUNCATED = "the judge's reasoning was truncated"

# Control tokens of chat templates and reasoning models: `<|im_end|>`, `</s>`, `</think>`, `[INST]`, `<<SYS>>`.
_CONTROL = re.compile(r"<(?=[|｜]|/?[A-Za-z_][\w-]{0,40}>)|\[(?=/?[A-Z_]{3,20}\])")

_FORMATTING = re.compile(
    r"(?im)\\?[*_`~]|^[ \t]{0,3}#{1,6}(?=[ \t])|</?(?:b|i|u|em|strong|span|code|pre|p|div|br|h[1-6])(?:\s[^<>\n]{0,80})?/?>"
)
_QUOTED_LINES = re.compile(r"(?m)^[ \t]{0,3}>.*$")

Case = TypeVar("Case")


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


class ParsedVerdict(NamedTuple):
    """A verdict, correct or incorrect (of two answers: A, B or tie), or None; and how it was found, or why there is none."""

    verdict: str | None
    reason: str


def parse_reply(
    reply: str,
    find: Callable[[str], ParsedVerdict | None],
    codes: Sequence[str] = (),
    repeated: str = "",
    finished: bool = True,
) -> ParsedVerdict:
    """Find the verdict in a judge's reply.

    Args:
        find: finds it in the judge's own text without formatting.
        codes: signatures of the fences around the answers; repeated fenced text is removed.
        repeated: an answer, normalized, that is removed where it is repeated without its fence.
        finished: False if the reply stopped at a limit, so that its last verdict is missing.
    """
    text = strip_quotes(normalize(reply), codes, repeated)
    if text is None:
        return ParsedVerdict(None, REASONING_TRUNCATED)
    if not finished:
        return ParsedVerdict(None, TRUNCATED)
    if not text.strip():
        return ParsedVerdict(None, EMPTY_REPLY)
    return find(text) or ParsedVerdict(None, NO_VERDICT)


def normalize(text: str) -> str:
    """Remove formatting from the visible text, so that equal words are equal strings."""
    return _FORMATTING.sub("", normalize_characters(text))


def normalize_characters(text: str) -> str:
    """Fold compatibility characters and line breaks and remove invisible characters; formatting stays."""
    return "\n".join(strip_invisible(unicodedata.normalize("NFKC", text)).splitlines())


def strip_quotes(text: str, codes: Sequence[str], repeated: str = "") -> str | None:
    """Return the judge's own text, without fenced answers, a repeated text, quoted lines and reasoning; None if the reasoning is
    unfinished."""
    for code in codes:
        text = _strip_fenced(text, code)
    if repeated:
        text = text.replace(repeated, "\n")
    answer = strip_reasoning(text)
    return None if answer is None else _QUOTED_LINES.sub("", answer)


def _strip_fenced(text: str, code: str) -> str:
    """Return the text outside a fence. An unclosed fence extends to the end; text before an unopened one is fenced."""
    outside: list[str] = []
    inside, position = False, 0
    for tag in re.finditer(rf"(?i)<\s{{0,3}}(/?)\s{{0,3}}candidate-{re.escape(code)}\s{{0,3}}>", text):
        closes = bool(tag[1])
        if closes and not inside:
            outside.clear()
        elif not inside:
            outside.append(text[position : tag.start()])
        inside, position = not closes, tag.end()
    # A line break in its place, so that the following text does not continue the sentence before.
    return "\n".join(outside if inside else [*outside, text[position:]])


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
            # A reasoning model that was truncated has written nothing but its reasoning.
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
    def _prompt(self, case: Case, instructions: str) -> str:
        """Return the prompt about a case, which ends with instructions."""

    @abstractmethod
    def _request(self, case: Case, reply_format: ReplyFormat) -> Request: ...

    @abstractmethod
    def _parse_completion(self, case: Case, completion: Completion, choices: tuple[str, ...] | None) -> Reading:
        """Interpret a completion that has text."""

    @property
    def reply_tokens(self) -> int:
        """Estimated tokens of a reply."""
        return CONSTRAINED_REPLY_TOKENS if self._reply_formats()[0].choices else FREE_REPLY_TOKENS

    def _plan(self, cases: Sequence[Case]) -> tuple[list[float], list[bool]]:
        """Return the estimated prompt tokens of each case, and whether it would be requested, because no reply is stored."""
        requests = [self._request(case, self._reply_formats()[0]) for case in cases]
        tokens = [estimate_tokens(request.prompt) for request in requests]
        find_missing = getattr(self.generator, "find_missing", lambda requests: [True] * len(requests))
        return tokens, find_missing(requests)

    def _ask(self, cases: Sequence[Case]) -> list[Reply]:
        """Return one reply per case; cases without a verdict are asked again, all together.

        Replies to cases that have no verdict then either are not kept, so that the next call asks about them again.
        """
        first_format, retry_format = self._reply_formats()
        replies = self._ask_once(cases, first_format)
        unread = [index for index, reply in enumerate(replies) if reply.reading.retry]
        if unread:
            log.info("%s: %d of %d replies have no verdict and are requested again", self.name, len(unread), len(cases))
        for index, second in zip(unread, self._ask_once([cases[index] for index in unread], retry_format), strict=True):
            reason = f"{replies[index].reading.reason}; asked again: {second.reading.reason}"
            completions = replies[index].completions + second.completions
            replies[index] = Reply(replace(second.reading, reason=reason), completions)
        failed = [cases[index] for index in unread if replies[index].reading.retry]
        # Stored replies without a verdict are asked for again in the next call.
        if failed and (forget := getattr(self.generator, "forget", None)):
            forget([self._request(case, form) for case in failed for form in (first_format, retry_format)])
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
