"""Imported files of answers and of pairs of answers as data frames: column mapping, filters and cell parsing.

An import's spec is `config.Import` as plain values without its path: `{"format": …, "columns": {…}, "where": {…}}`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge import tables
from bert_judge.importers import options
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.containers import FORMATS
from bert_judge.tables.readers.rows import LocatedRecord, Record, open_rows

if TYPE_CHECKING:
    import pandas as pd

    from bert_judge.config import Import

Where = Mapping[str, Any]
EVERY_MODEL = "*"
# Column → parser of its cells; that of references takes `is_csv` too.
Parsers = Mapping[str, Callable[..., Any]]


def _parse_name(cell: Any) -> str | None:
    return values.parse_text(cell).strip() or None


PARSERS: Parsers = {
    "question": lambda cell: values.parse_required_text(values.parse_message(cell, values.USER)),
    "references": values.parse_required_texts,
    "candidate": lambda cell: values.parse_message(cell, values.ASSISTANT),
    "model": lambda cell: values.parse_required_text(cell).strip(),
    "label": values.parse_label,
    # Read from the column of the label.
    "attempted": values.parse_attempt,
    "rationale": _parse_name,
    "choices": lambda cell: list(parsed.texts) if (parsed := options.parse_option_cell(cell)) else None,
    "id": lambda cell: values.parse_required_text(cell).strip(),
    # The same, where it need not be unique or filled.
    "source_id": lambda cell: values.parse_text(cell).strip(),
    "aspect": lambda cell: values.parse_required_text(cell).strip(),
}
TEXT_COLUMNS = set(PARSERS) - {"label"}


def distinct_models(entry: Import, path: Path) -> list[str]:
    """Return the models in a file, filtered, in its order. Raises InputError: an invalid file or name, or no row is left."""
    return list(dict.fromkeys(_read_columns(entry.model_dump(mode="json"), path, required=["model"])["model"]))


def read_rows(
    spec: Mapping[str, Any],
    path: str | Path,
    where: Where | None = None,
    required: Collection[str] = ("question", "references", "candidate", "model", "label"),
    *,
    optional: Collection[str] = (),
    model: str | None = None,
    parsers: Parsers | None = None,
) -> pd.DataFrame:
    """Read an imported file under this program's column names.

    Args:
        where: a second filter, in addition to the import's own.
        model: read only the rows of the model with this name in the file; `*` stands for every model.

    Returns:
        One row per row that passes the filters, in the file's order, with the requested columns: `question`, `candidate` (null is
        ""), `model` and `id` are texts, `references` is a list of at least one text, `choices` a list or None, `label` a float in
        [0, 1] or NaN for no verdict.

    Raises:
        InputError: the file, a column or a cell is invalid, an id is a duplicate, or no row passes the filters. A model without
            rows is no error.
    """
    import pandas as pd

    model = None if model == EVERY_MODEL else model
    columns = _read_columns(spec, Path(path), where or {}, required, optional=optional, model=model, parsers=parsers)
    dtypes = {name: object if parsers or name in TEXT_COLUMNS else float for name in columns}
    return pd.DataFrame({name: pd.Series(cells, dtype=dtypes[name]) for name, cells in columns.items()})


def read_task_rows(
    spec: Mapping[str, Any],
    source: str | Path,
    required: Collection[str] = (),
    optional: Collection[str] = (),
    *,
    model: str | None = None,
) -> pd.DataFrame:
    """Read the rows of a task in a file (`part` and `import` of the spec), with those of `add_sample_ids`; see `read_rows`."""
    frame = read_rows(
        spec["import"], source, spec["part"]["where"], ["question", "references", *required], optional=optional, model=model
    )
    low, high = spec["part"]["question_split"]
    if frame.empty:
        return add_sample_ids(frame, spec["task"])
    points = tables.item_points(frame["question"].tolist(), frame["references"].tolist())
    # 1 belongs to the last part.
    inside = [low <= point and (point < high or high >= 1) for point in points]
    return add_sample_ids(frame[inside].reset_index(drop=True), spec["task"])


def add_sample_ids(frame: pd.DataFrame, task: str) -> pd.DataFrame:
    """Add `sample_id`, and `attempt`: the running number of a row within its sample, meaningful if all rows are of one model."""
    pairs = zip(frame["question"], frame["references"], strict=True)
    frame = frame.assign(sample_id=[tables.sample_id(task, question, references) for question, references in pairs])
    return frame.assign(attempt=frame.groupby("sample_id").cumcount())


@dataclass
class _Filter:
    """A condition of `where`, with the values of its column for the error message."""

    column: str
    expected: Any
    passed: int = 0
    distinct_values: dict[str, None] = field(default_factory=dict)

    def accepts(self, record: Record) -> bool:
        cell = record.get(self.column)
        accepted = values.matches_filter(cell, self.expected)
        self.passed += accepted
        if not self.passed and len(self.distinct_values) < 100:
            self.distinct_values[repr(cell)] = None
        return accepted

    def check(self, path: Path) -> None:
        if not self.passed:
            raise InputError(
                f"{path}: no row is left where {self.column!r} is {self.expected!r}; "
                f"the column holds {', '.join(self.distinct_values)[:200]}; fix the key `where`"
            )


def _read_columns(
    spec: Mapping[str, Any],
    path: Path,
    where: Where | None = None,
    required: Collection[str] = (),
    *,
    optional: Collection[str] = (),
    model: str | None = None,
    parsers: Parsers | None = None,
) -> dict[str, list[Any]]:
    filters = [_Filter(column, expected) for conditions in (spec["where"], where or {}) for column, expected in conditions.items()]
    has_ids = spec["columns"]["id"] is not None
    needed = [*required, *(["id"] if has_ids else []), *(["model"] if model is not None else [])]
    mapped = {name: spec["columns"][name] for name in [*needed, *optional] if spec["columns"][name] is not None}
    # Options change the question and its references, so they are read with these.
    choices = spec["columns"].get("choices") if {"question", "references"} <= mapped.keys() else None
    columns = {*mapped.values(), *(condition.column for condition in filters), *([choices] if choices else [])}
    present, records, is_csv = _open(spec, path, columns)
    _check_columns(path, present, mapped, needed, filters=filters)
    cells: dict[str, list[Any]] = {
        name: [] for name in [*required, *optional] if name in mapped and _own_column(mapped[name], present) in present
    }
    locations: dict[str, str] = {}

    def parse(name: str, location: str, record: Record) -> Any:
        # Columns without a parser are named by the caller and hold numbers.
        parser = (parsers or PARSERS).get(name, values.parse_number)
        if name == "references":
            parser = partial(parser, is_csv=is_csv)
        return values.parse_cell(
            f"{path}: {location}: column {mapped[name]!r} ({name})", parser, values.get_cell(record, mapped[name])
        )

    for location, record in records:
        if has_ids and (first := locations.setdefault(identity := parse("id", location, record), location)) != location:
            raise InputError(f"{path}: the id {identity!r} occurs at {first} and again at {location}; make the ids unique")
        if not all(condition.accepts(record) for condition in filters):
            continue
        if model is None or parse("model", location, record) == model:
            for name, column in cells.items():
                column.append(parse(name, location, record))
            if choices and (parsed := options.parse_option_cell(record.get(choices))):
                answer = values.get_cell(record, mapped["references"])
                question, answer = options.apply_options(cells["question"][-1], answer, parsed)
                cells["question"][-1], cells["references"][-1] = question, values.parse_required_texts(answer, is_csv)
    for condition in filters:
        condition.check(path)
    return cells


def check_columns(spec: Mapping[str, Any], path: Path, required: Collection[str]) -> None:
    """Raise an InputError if a file lacks a column that is required or filtered by; only its first rows are read."""
    mapped = {name: spec["columns"][name] for name in required if spec["columns"][name] is not None}
    filters = [_Filter(column, expected) for column, expected in spec["where"].items()]
    present, _, _ = _open(spec, path, {*mapped.values(), *spec["where"]})
    _check_columns(path, present, mapped, required, filters=filters)


def _open(spec: Mapping[str, Any], path: Path, columns: set[str]) -> tuple[list[str], Iterable[LocatedRecord], bool]:
    """Return the column names of a file or of a framework's answers, the records, and whether the file is CSV."""
    # Imported lazily: most files are plain.
    from bert_judge.config import Columns
    from bert_judge.importers import frameworks

    format = spec["format"]
    framework = None if format in {*FORMATS, "auto"} else format
    if format == "auto" and spec["columns"] == Columns().model_dump(mode="json") and path.is_file():
        # Users who map columns want the file's own columns.
        framework = frameworks.open_answers(path).framework
    if framework:
        return frameworks.ANSWER_COLUMNS, frameworks.read_answer_records(path, framework), False
    source = open_rows(path, None if format == "auto" else format, needed=[name for name in columns if "." not in name])
    own_columns = {_own_column(name, source.columns) for name in columns}
    records = source.records([name for name in source.columns if name in own_columns])
    return source.columns, records, source.holds_texts


def _own_column(name: str, present: Collection[str]) -> str:
    """Return the column of the file that holds a mapped one: `a` for the member `b` of its objects, `a.b`."""
    return name if name in present else name.partition(".")[0]


def _check_columns(
    path: Path, present: Collection[str], mapped: Mapping[str, str], needed: Collection[str], *, filters: Collection[_Filter]
) -> None:
    names = ", ".join(map(repr, present))
    for name in needed:
        if name not in mapped:
            raise InputError(f"{path}: set the column of the {name} in imports.<name>.columns.{name}; available: {names}")
        if _own_column(mapped[name], present) not in present:
            raise InputError(
                f"{path}: no column {mapped[name]!r} for the {name}; available: {names}; "
                f"set the right one in imports.<name>.columns.{name}"
            )
    for condition in filters:
        if condition.column not in present:
            raise InputError(f"{path}: no column {condition.column!r} to filter by; available: {names}; fix the key `where`")


def read_pairs(spec: Mapping[str, Any], path: str | Path) -> pd.DataFrame:
    """Return the pairs of an imported set (`Plan.pairs_spec`) in the schema `tables.PAIRS`, in the file's order.

    A pair that occurs in several rows, for example one per annotator, becomes one row with all votes.

    Raises:
        InputError: as `read_rows`; a blank question, or an invalid label.
    """
    import pandas as pd

    import_spec = spec["import"]
    rows = read_rows(
        {**import_spec, "columns": {**import_spec["columns"], "id": None}},
        path,
        spec["where"],
        ("question", "answer_a", "answer_b"),
        optional=("references", "model_a", "model_b", "label", "votes", "task", "grade_a", "grade_b", "rationale"),
        parsers=_PAIR_PARSERS,
    )
    low, high = spec["question_split"]
    # As for tasks: 1 belongs to the last part.
    points = rows["question"].map(tables.question_point)
    rows = rows[(points >= low) & ((points < high) | (high == 1.0))]
    pairs: dict[str, dict[str, Any]] = {}
    votes: dict[str, list[list[str]]] = {}
    for row in rows.to_dict("records"):
        pair = _to_pair({str(name): value for name, value in row.items()}, spec["set"])
        votes.setdefault(pair["pair_id"], []).append(row.get("votes") or ([pair["label"]] if pair["label"] else []))
        pairs.setdefault(pair["pair_id"], pair | {"votes": row.get("votes") or None})
    for pair_id, pair in pairs.items():
        has_several_rows = len(votes[pair_id]) > 1
        if has_several_rows:
            pair["votes"] = [vote for row_votes in votes[pair_id] for vote in row_votes] or None
        if pair["votes"] and (pair["label"] is None or has_several_rows):
            pair["label"] = majority(pair["votes"])
    return pd.DataFrame(list(pairs.values()), columns=tables.PAIRS.names)


def majority(votes: Sequence[str]) -> str:
    """Return the most frequent vote; `tie` if several are equally frequent."""
    counts = Counter(votes)
    best = max(counts.values())
    winners = [vote for vote in tables.PREFERRED if counts[vote] == best]
    return winners[0] if len(winners) == 1 else "tie"


_PAIR_PARSERS: Parsers = {
    "question": PARSERS["question"],
    "answer_a": values.parse_text,
    "answer_b": values.parse_text,
    "references": lambda cell, is_csv: values.parse_texts(cell, is_csv) or None,
    "model_a": _parse_name,
    "model_b": _parse_name,
    "label": values.parse_preference,
    "votes": values.parse_preferences,
    "task": _parse_name,
    "grade_a": values.parse_number,
    "grade_b": values.parse_number,
    "rationale": _parse_name,
}


def _to_pair(row: Mapping[str, Any], set_name: str) -> dict[str, Any]:
    task = row.get("task") or set_name
    sample = tables.sample_id(task, row["question"], row.get("references") or [])
    columns = ("question", "references", "answer_a", "answer_b", "model_a", "model_b", "label", "grade_a", "grade_b", "rationale")
    return {name: row.get(name) for name in columns} | {
        "pair_id": tables.pair_id(sample, row.get("model_a"), row.get("model_b"), row["answer_a"], row["answer_b"]),
        "sample_id": sample,
        "task": task,
        **{f"status_{side}": "imported" if row[f"answer_{side}"].strip() else "empty" for side in "ab"},
    }
