"""What clients send and get, as the OpenAPI description has it too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from bert_judge.candidates.importers.answers import make_column_reader
from bert_judge.judges.lexical.extraction import strip_reasoning
from bert_judge.judges.pairwise.protocol import Pair, Preference
from bert_judge.judges.protocol import Label, Row, invalid
from bert_judge.labels.score_file.score_file import to_row
from bert_judge.serve.limits import Limits, check_count, check_texts

References = str | list[str]
_READ = make_column_reader({name: name for name in ("question", "references", "candidate")})


class Body(BaseModel):
    """Texts are texts: a number in their place, or a key that nobody reads, is a mistake worth telling."""

    model_config = ConfigDict(extra="forbid", strict=True)


class RowBody(Body):
    """An answer to judge."""

    question: str = Field("", description="The question; some judges do without.")
    references: References = Field(description="A right answer, or several any of which is right.")
    candidate: str = Field(description="The answer.")


class Single(RowBody):
    """One answer to judge."""

    judge: str | None = Field(None, description="Name of a judge; the first pointwise one when left out.")


class Batch(Body):
    """Several answers to judge."""

    judge: str | None = Field(None, description="Name of a judge; the first pointwise one when left out.")
    rows: list[RowBody]


class PairBody(Body):
    """Two answers to compare."""

    question: str
    references: References = Field(default=[], description="Right answers, where there are any.")
    answer_a: str
    answer_b: str


class SinglePair(PairBody):
    """Two answers to one question."""

    judge: str | None = Field(None, description="Name of a pairwise judge; the first one when left out.")


class PairBatch(Body):
    """Several pairs of answers to compare."""

    judge: str | None = Field(None, description="Name of a pairwise judge; the first one when left out.")
    pairs: list[PairBody]


# A key that only one form has, and that form.
_TELLING = {"rows": "rows", "pairs": "pairs", "answer_a": "pair", "answer_b": "pair"}


def _form(body: Any) -> str:
    """Which of the four forms a body means, by its keys, so that its faults are told in terms of that one."""
    keys = body if isinstance(body, Mapping) else ()
    return next((form for key, form in _TELLING.items() if key in keys), "row")


_Rows = Annotated[Single, Tag("row")] | Annotated[Batch, Tag("rows")]
_Pairs = Annotated[SinglePair, Tag("pair")] | Annotated[PairBatch, Tag("pairs")]
Asked = Annotated[_Rows | _Pairs, Discriminator(_form)]


class LabelBody(BaseModel):
    """A verdict."""

    verdict: Literal["correct", "incorrect", "invalid"]
    score: float | None = Field(description="How right, 0 to 1; null when invalid.")
    reason: str | None = Field(description="Why a verdict is invalid, or what decided it.")
    raw: str | None = Field(description="The judge's own words or uncalibrated score.")
    truncated: bool = Field(description="The judge did not see the whole row.")
    prompt_tokens: int | None
    completion_tokens: int | None


class Judged(LabelBody):
    """The verdict on one answer."""

    judge: str


class JudgedBatch(BaseModel):
    """Verdicts in the order of the rows."""

    judge: str
    labels: list[LabelBody]


class PreferenceBody(BaseModel):
    """Which of two answers is better."""

    verdict: Literal["A", "B", "tie", "inconsistent", "invalid"] = Field(description="inconsistent: the order decided.")
    score: float | None = Field(description="How likely A is the better one, a tie counting half; null when invalid.")
    consistent: bool | None = Field(description="Both orders say the same; null when one of them says nothing.")
    forward: str = Field(description="The verdict with A shown first.")
    backward: str = Field(description="The verdict with B shown first, in the same letters.")
    reason: str | None
    raw: str | None
    truncated: bool
    prompt_tokens: int | None
    completion_tokens: int | None


class JudgedPair(PreferenceBody):
    """The preference between two answers."""

    judge: str


class JudgedPairs(BaseModel):
    """Preferences in the order of the pairs."""

    judge: str
    preferences: list[PreferenceBody]


class Fault(BaseModel):
    """Why a request is not answered."""

    error: str = Field(description="One line that says what is wrong and what to do.")


def row_of(row: RowBody) -> Row | Label:
    """What a judge sees of a row, the same as of a file's row; a label where there is nothing to judge."""
    record = {"question": row.question, "references": row.references, "candidate": row.candidate}
    found = to_row(_READ, record)
    return invalid("no answer") if found is None else found


def pair_of(pair: PairBody) -> Pair:
    """What a judge sees of a pair; reasoning before the answers is left out where it ends."""
    references = [pair.references] if isinstance(pair.references, str) else pair.references
    answer_a, answer_b = (strip_reasoning(text) or "" for text in (pair.answer_a, pair.answer_b))
    return Pair(pair.question, answer_a, answer_b, tuple(reference for reference in references if reference.strip()))


def described(preference: Preference) -> dict[str, Any]:
    """The fields of a `PreferenceBody`."""
    orders = {"forward": preference.forward.verdict, "backward": preference.backward.verdict}
    return {name: getattr(preference, name) for name in PreferenceBody.model_fields if name not in orders} | orders


def check_rows(rows: list[RowBody], limits: Limits) -> None:
    """Raises `Refused` for too many rows, too long texts, too many references."""
    check_count(len(rows), limits, "rows")
    for at, row in enumerate(rows):
        check_texts(_texts(f"rows.{at}", row, ("question", "candidate")), _count(row.references), limits)


def check_pairs(pairs: list[PairBody], limits: Limits) -> None:
    """The same for pairs."""
    check_count(len(pairs), limits, "pairs")
    for at, pair in enumerate(pairs):
        check_texts(_texts(f"pairs.{at}", pair, ("question", "answer_a", "answer_b")), _count(pair.references), limits)


def _texts(where: str, row: RowBody | PairBody, names: tuple[str, ...]) -> list[tuple[str, str]]:
    references = [row.references] if isinstance(row.references, str) else row.references
    return [(f"{where}.{name}", getattr(row, name)) for name in names] + [(f"{where}.references", text) for text in references]


def _count(references: References) -> int:
    return 1 if isinstance(references, str) else len(references)
