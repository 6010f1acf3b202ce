"""Define the request and response bodies of the HTTP API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from bert_judge.candidates.importers.answers import make_column_reader
from bert_judge.judges.pairwise.protocol import Pair, Preference
from bert_judge.judges.protocol import Label, Row, invalid
from bert_judge.judges.visible_text import strip_reasoning
from bert_judge.labels.score_file.score_file import to_row
from bert_judge.serve.limits import Limits, check_count, check_texts

References = str | list[str]
_READ_COLUMNS = make_column_reader({name: name for name in ("question", "references", "candidate")})


class Body(BaseModel):
    """Strict body: no type coercion, no unknown keys."""

    model_config = ConfigDict(extra="forbid", strict=True)


class RowBody(Body):
    """An answer to judge."""

    question: str = Field("", description="The question; optional for some judges.")
    references: References = Field(description="A reference answer, or a list of which any is correct.")
    candidate: str = Field(description="The answer to judge.")


class Single(RowBody):
    """One answer to judge."""

    judge: str | None = Field(None, description="Name of a judge; default: the first pointwise judge.")


class Batch(Body):
    """Several answers to judge."""

    judge: str | None = Field(None, description="Name of a judge; default: the first pointwise judge.")
    rows: list[RowBody]


class PairBody(Body):
    """Two answers to compare."""

    question: str
    references: References = Field(default=[], description="Reference answers, if any.")
    answer_a: str
    answer_b: str


class SinglePair(PairBody):
    """Two answers to one question."""

    judge: str | None = Field(None, description="Name of a pairwise judge; default: the first one.")


class PairBatch(Body):
    """Several pairs of answers to compare."""

    judge: str | None = Field(None, description="Name of a pairwise judge; default: the first one.")
    pairs: list[PairBody]


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
    """A verdict."""

    verdict: Literal["correct", "incorrect", "invalid"]
    score: float | None = Field(description="Probability of being correct, 0 to 1; null if invalid.")
    reason: str | None = Field(description="Why the verdict is invalid, or how it was reached.")
    raw: str | None = Field(description="The judge's own output or uncalibrated score.")
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


class PreferenceBody(BaseModel):
    """A preference between two answers."""

    verdict: Literal["A", "B", "tie", "inconsistent", "invalid"] = Field(
        description="inconsistent: the verdict depends on the order."
    )
    score: float | None = Field(description="Probability that A is better, a tie counting half; null if invalid.")
    consistent: bool | None = Field(description="Both orders give the same verdict; null if one is invalid.")
    forward: str = Field(description="The verdict with A shown first.")
    backward: str = Field(description="The verdict with B shown first, with the same labels.")
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


class ErrorBody(BaseModel):
    """Error response."""

    error: str = Field(description="One line: what is wrong and how to fix it.")


def row_of(body: RowBody) -> Row | Label:
    """Convert a body to the input of a judge, as for a row of a file; return an invalid label if there is nothing to judge."""
    record = {"question": body.question, "references": body.references, "candidate": body.candidate}
    row = to_row(_READ_COLUMNS, record)
    return invalid("no answer") if row is None else row


def pair_of(pair: PairBody) -> Pair:
    """Convert a body to the input of a pairwise judge, with finished reasoning removed from the answers."""
    references = [pair.references] if isinstance(pair.references, str) else pair.references
    answer_a, answer_b = (strip_reasoning(text) or "" for text in (pair.answer_a, pair.answer_b))
    return Pair(pair.question, answer_a, answer_b, tuple(reference for reference in references if reference.strip()))


def preference_fields(preference: Preference) -> dict[str, Any]:
    """Return the fields of a `PreferenceBody`."""
    orders = {"forward": preference.forward.verdict, "backward": preference.backward.verdict}
    return {name: getattr(preference, name) for name in PreferenceBody.model_fields if name not in orders} | orders


def check_rows(rows: list[RowBody], limits: Limits) -> None:
    """Raise `RequestRejected` for too many rows, too long texts or too many references."""
    check_count(len(rows), limits, "rows")
    for index, row in enumerate(rows):
        check_texts(_texts(f"rows.{index}", row, ("question", "candidate")), _count(row.references), limits)


def check_pairs(pairs: list[PairBody], limits: Limits) -> None:
    """Raise `RequestRejected` for too many pairs, too long texts or too many references."""
    check_count(len(pairs), limits, "pairs")
    for index, pair in enumerate(pairs):
        check_texts(_texts(f"pairs.{index}", pair, ("question", "answer_a", "answer_b")), _count(pair.references), limits)


def _texts(location: str, row: RowBody | PairBody, names: tuple[str, ...]) -> list[tuple[str, str]]:
    references = [row.references] if isinstance(row.references, str) else row.references
    return [(f"{location}.{name}", getattr(row, name)) for name in names] + [
        (f"{location}.references", text) for text in references
    ]


def _count(references: References) -> int:
    return 1 if isinstance(references, str) else len(references)
