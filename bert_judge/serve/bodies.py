"""Define the request and response bodies of the HTTP API. To refuse a body is to raise `RequestRejected`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, FailFast, Field, Tag

from bert_judge.judges.protocol import Label, OrderVerdict, Pair, Row, invalid
from bert_judge.judges.registry import ScoreDescription
from bert_judge.labels.judging import READ_PLAIN, parse_record
from bert_judge.serve.limits import Limits, RequestRejected
from bert_judge.text.visible_text import strip_reasoning

References = str | list[str]
# No object of a request has more keys.
MAX_KEYS = 16


class Body(BaseModel):
    """Strict body: no type coercion, no unknown keys."""

    model_config = ConfigDict(extra="forbid", strict=True)


class RowBody(Body):
    """An answer to judge."""

    texts: ClassVar = ("question", "candidate")
    question: str = Field("", description="The question; optional for some judges.")
    references: References = Field(description="A reference answer, or a list of which any is correct.")
    candidate: str = Field(description="The answer to judge.")

    def list_references(self) -> list[str]:
        return [self.references] if isinstance(self.references, str) else self.references

    @property
    def characters(self) -> int:
        """The number of characters that a judge reads: question and answer once per reference."""
        references = self.list_references()
        return (len(self.question) + len(self.candidate)) * max(1, len(references)) + sum(map(len, references))

    def to_item(self, needs_references: bool) -> Row | Label:
        """Return the input of a judge, as for a row of a file; an invalid label if there is nothing to judge."""
        record = {"question": self.question, "references": self.references, "candidate": self.candidate}
        row = parse_record(READ_PLAIN[needs_references], record).input
        return invalid("no answer") if row is None else row


class Single(RowBody):
    """One answer to judge."""

    judge: str | None = Field(None, description="Name of a judge; default: the first pointwise judge.")


class Batch(Body):
    """Several answers to judge."""

    judge: str | None = Field(None, description="Name of a judge; default: the first pointwise judge.")
    rows: Annotated[list[RowBody], FailFast()]


class PairBody(Body):
    """Two answers to compare."""

    texts: ClassVar = ("question", "answer_a", "answer_b")
    question: str
    references: References = Field(default=[], description="Reference answers, if any.")
    answer_a: str
    answer_b: str

    def list_references(self) -> list[str]:
        return [self.references] if isinstance(self.references, str) else self.references

    @property
    def characters(self) -> int:
        """The number of characters that a judge reads."""
        return len(self.question) + len(self.answer_a) + len(self.answer_b) + sum(map(len, self.list_references()))

    def to_item(self) -> Pair:
        """Return the input of a pairwise judge, with finished reasoning removed from the answers."""
        answer_a, answer_b = (strip_reasoning(text) or "" for text in (self.answer_a, self.answer_b))
        references = tuple(reference for reference in self.list_references() if reference.strip())
        return Pair(self.question, answer_a, answer_b, references)


class SinglePair(PairBody):
    """Two answers to one question."""

    judge: str | None = Field(None, description="Name of a pairwise judge; default: the first one.")


class PairBatch(Body):
    """Several pairs of answers to compare."""

    judge: str | None = Field(None, description="Name of a pairwise judge; default: the first one.")
    pairs: Annotated[list[PairBody], FailFast()]


# Distinguishing key → form of the request.
_FORM_KEYS = {"rows": "rows", "pairs": "pairs", "answer_a": "pair", "answer_b": "pair"}


def _form(body: Any) -> str:
    """Return which of the four forms a body has, so that errors refer to that form."""
    keys = body if isinstance(body, Mapping) else ()
    return next((form for key, form in _FORM_KEYS.items() if key in keys), "row")


_Rows = Annotated[Single, Tag("row")] | Annotated[Batch, Tag("rows")]
_Pairs = Annotated[SinglePair, Tag("pair")] | Annotated[PairBatch, Tag("pairs")]
JudgeRequest = Annotated[_Rows | _Pairs, Discriminator(_form)]


class LabelBody(BaseModel):
    """A verdict, built from a `Label`."""

    model_config = ConfigDict(from_attributes=True)
    verdict: Literal["correct", "incorrect", "invalid"]
    outcome: Literal["correct", "incorrect", "not_attempted", "invalid"] = Field(
        description="The verdict, or not_attempted: the answer declines, is empty or was cut before it answers."
    )
    score: float | None = Field(description="Probability of being correct, 0 to 1; null if invalid.")
    certain: bool | None = Field(
        description="Whether such verdicts were measured to be wrong in at most 10%; null: the judge makes no claim."
    )
    reason: str | None = Field(description="Why the verdict is invalid, or how it was reached.")
    raw: str | None = Field(description="The judge's own output or uncalibrated score.")
    aspects: dict[str, float] | None = Field(description="Grades on each aspect, from a judge that gives some.")
    truncated: bool = Field(description="The input was truncated.")
    prompt_tokens: int | None
    completion_tokens: int | None


class Judged(LabelBody):
    """The response to a single answer."""

    judge: str


class JudgedBatch(BaseModel):
    """Verdicts in the order of the rows."""

    judge: str
    labels: list[LabelBody]


def _letter(order: str | OrderVerdict) -> str:
    return order if isinstance(order, str) else order.verdict


class PreferenceBody(BaseModel):
    """A preference between two answers, built from a `Preference`."""

    model_config = ConfigDict(from_attributes=True)
    verdict: Literal["A", "B", "tie", "inconsistent", "invalid"] = Field(
        description="inconsistent: the verdict depends on the order."
    )
    score: float | None = Field(description="Probability that A is better, a tie counting half; null if invalid.")
    consistent: bool | None = Field(description="Both orders give the same verdict; null if one is invalid.")
    forward: Annotated[str, BeforeValidator(_letter)] = Field(description="The verdict with A shown first.")
    backward: Annotated[str, BeforeValidator(_letter)] = Field(description="The verdict with B shown first, with the same labels.")
    reason: str | None
    raw: str | None
    truncated: bool
    prompt_tokens: int | None
    completion_tokens: int | None


class JudgedPair(PreferenceBody):
    """The response to a single pair."""

    judge: str


class JudgedPairs(BaseModel):
    """Preferences in the order of the pairs."""

    judge: str
    preferences: list[PreferenceBody]


class JudgeList(BaseModel):
    """The judges of the server."""

    pointwise: list[str]
    pairwise: list[str]
    scores: dict[str, ScoreDescription] = Field(description="Threshold and meaning of the scores of pointwise judges.")


class ErrorBody(BaseModel):
    """Error response."""

    error: str = Field(description="One line: what is wrong and how to fix it.")


class DecisionError(BaseModel):
    """What clients of decision models read of an error."""

    message: str
    type: Literal["invalid_request_error"] = "invalid_request_error"
    param: None = None
    code: None = None


class DecisionErrorBody(BaseModel):
    """Error response to a client of decision models; a text where the request was refused before its path was looked at."""

    error: DecisionError | str


def check_json(body: bytes, limits: Limits) -> None:
    """Refuse a body with more values than any valid request, before they become objects that take 100 times its size."""
    limit = limits.rows * (limits.references + MAX_KEYS)
    text = body.replace(rb"\\", b"").replace(rb"\"", b"")
    # Every other piece is outside quotation marks; a value has four of them at most, those of its key included.
    is_too_large = text.count(b'"') > 4 * limit
    structure = b"" if is_too_large else b"".join(text.split(b'"')[::2])
    if is_too_large or sum(map(structure.count, (b",", b"[", b"{"))) > limit:
        raise RequestRejected(413, f"the body has more than {limit:,} values; send several requests")


def check_counts(body: Any, limits: Limits) -> None:
    """Refuse too many rows, pairs or keys before each of them is validated."""
    if not isinstance(body, Mapping):
        return
    for name in ("rows", "pairs"):
        items = body.get(name)
        items = items if isinstance(items, list) else []
        if len(items) > limits.rows:
            raise RequestRejected(413, f"{name}: {len(items):,}, limit {limits.rows:,} per request; send several requests")
        for index, item in enumerate(items):
            if isinstance(item, Mapping):
                _check_parts(f"{name}.{index}", item, limits)
    _check_parts("the body", body, limits)


def _check_parts(name: str, item: Mapping[str, Any], limits: Limits) -> None:
    if len(item) > MAX_KEYS:
        raise RequestRejected(422, f"{name}: has {len(item):,} keys; remove unknown ones")
    references = item.get("references")
    check_references(name, len(references) if isinstance(references, list) else 1, limits)


def check_references(name: str, count: int, limits: Limits) -> None:
    if count > limits.references:
        raise RequestRejected(413, f"{name}: has {count:,} references, limit {limits.references:,}; remove some")


def check_items(name: str, items: Sequence[RowBody | PairBody], limits: Limits) -> None:
    """Refuse too long texts and too many references. `name`: what the items are called in messages, `rows` or `pairs`."""
    for index, item in enumerate(items):
        references = item.list_references()
        check_references(f"{name}.{index}", len(references), limits)
        for field, text in [*((key, getattr(item, key)) for key in item.texts), *(("references", text) for text in references)]:
            if len(text) > limits.text_characters:
                raise RequestRejected(
                    413,
                    f"{name}.{index}.{field}: {len(text):,} characters, limit {limits.text_characters:,}; shorten the text",
                )
        if item.characters > limits.row_characters:
            raise RequestRejected(
                413,
                f"{name}.{index}: {item.characters:,} characters, limit {limits.row_characters:,}, and question and answer count "
                "once per reference; shorten them, or send fewer references",
            )
