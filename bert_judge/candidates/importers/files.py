"""Reading a file of answers that somebody else wrote: parquet, CSV or JSONL, with a column map and a filter.

An import's spec is `config.Import` as plain values without its path: `{"format": …, "columns": {…}, "where": {…}}`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import formats, values

if TYPE_CHECKING:
    # Imported models are listed whenever a workflow is read, which must not wait for pandas.
    import pandas as pd

    from bert_judge.config import Import

Where = Mapping[str, Any]
EVERY_MODEL = "*"
# Column → what its cell means, given whether it comes from a CSV file.
Converters = Mapping[str, Callable[[Any, bool], Any]]


def distinct_models(entry: Import, path: Path) -> list[str]:
    """Names of the models whose answers the file holds, after the import's filter, in the file's order.

    Raises:
        InputError: the file or a name cannot be read, or no row passes the filter.
    """
    spec = entry.model_dump(mode="json")
    columns = _filtered(_open(spec, path, ["model"], list(spec["where"])), spec["where"])
    return list(dict.fromkeys(_converted(columns, spec, "model")))


def read(
    spec: Mapping[str, Any],
    path: str | Path,
    where: Where | None = None,
    needs: Collection[str] = ("question", "references", "candidate", "model", "label"),
    may: Collection[str] = (),
    model: str | None = None,
    converters: Converters | None = None,
) -> pd.DataFrame:
    """Read an imported file under the names that this program uses.

    Args:
        spec: the import's spec.
        where: a second filter, on top of the import's own.
        needs: the columns that the caller cannot do without, by this program's names.
        may: columns that are read when the file has them.
        model: only the rows of the model with this name in the file; `*` stands for every model.
        converters: how the cells of the columns are read, for files whose rows are something else than an answer.

    Returns:
        One row per row that passes, in the file's order, with the columns asked for: `question`, `candidate` (null is ""), `model`
        and `id` are texts, `references` is a list of at least one text, `choices` a list or None, `label` a float in [0, 1] or
        not a number where there is no verdict.

    Raises:
        InputError: the file, a column or a cell cannot be read, an id is there twice, or no row passes the filters. A model
            without rows is no error.
    """
    import pandas as pd

    where = where or {}
    ids = ["id"] if spec["columns"]["id"] is not None else []
    model = None if model == EVERY_MODEL else model
    required = [*needs, *ids, *(["model"] if model is not None else [])]
    columns = _open(spec, Path(path), required, [*spec["where"], *where], may)
    if ids:
        _check_ids(columns, spec)
    columns = _filtered(_filtered(columns, spec["where"]), where)
    if model is not None:
        columns = columns.keep([name == model for name in _converted(columns, spec, "model")])
    found = [name for name in dict.fromkeys([*needs, *may]) if spec["columns"][name] in columns.values]
    return pd.DataFrame(
        {
            name: pd.Series(
                _converted(columns, spec, name, converters),
                dtype=object if converters or name in TEXT_COLUMNS else float,
            )
            for name in found
        }
    )


# How the cells of each column are read, given whether they come from a CSV file.
CONVERTERS: Converters = {
    "question": lambda cell, _: values.parse_required_text(cell),
    "references": values.parse_required_texts,
    "candidate": lambda cell, _: values.parse_text(cell),
    "model": lambda cell, _: values.parse_required_text(cell).strip(),
    "label": lambda cell, _: values.parse_label(cell),
    "choices": lambda cell, is_csv: values.parse_texts(cell, is_csv) or None,
    "id": lambda cell, _: values.parse_required_text(cell).strip(),
    "aspect": lambda cell, _: values.parse_required_text(cell).strip(),
}
TEXT_COLUMNS = set(CONVERTERS) - {"label"}


def _number(cell: Any, _: bool) -> float | None:
    return values.parse_number(cell)


def _open(
    spec: Mapping[str, Any], path: Path, needs: Collection[str], filters: Collection[str], may: Collection[str] = ()
) -> formats.Columns:
    """The mapped columns and those to filter by, with the file's own column names; those needed must be there."""
    mapped = {name: spec["columns"][name] for name in [*needs, *may] if spec["columns"][name] is not None}
    columns = _read(path, spec, {*mapped.values(), *filters})
    there = ", ".join(map(repr, columns.present))
    for name in needs:
        if name not in mapped:
            raise InputError(f"{path}: which column holds the {name}? Name it in imports.<name>.columns.{name}; there are {there}")
        if mapped[name] not in columns.values:
            raise InputError(
                f"{path}: no column {mapped[name]!r} for the {name}; there are {there}; "
                f"name the right one in imports.<name>.columns.{name}"
            )
    for name in filters:
        if name not in columns.values:
            raise InputError(f"{path}: no column {name!r} to filter by; there are {there}; mend the key `where`")
    return columns


def _read(path: Path, spec: Mapping[str, Any], names: set[str]) -> formats.Columns:
    """The columns of a plain file, or of one that a framework wrote: told by the format, or known by what is in it."""
    # Only here: most files are plain, and most jobs read none.
    from bert_judge.candidates.importers import frameworks
    from bert_judge.config import Columns

    format = spec["format"]
    plain = format in {*formats.ENDINGS.values(), "auto"}
    framework = None if plain else format
    if format == "auto" and spec["columns"] == Columns().model_dump(mode="json") and path.is_file():
        # Whoever maps the columns has looked at the file and means what is there.
        framework = frameworks.detect(path)
    return frameworks.columns(path, framework, sorted(names)) if framework else formats.read(path, format, names)


def _filtered(columns: formats.Columns, where: Where) -> formats.Columns:
    for name, wanted in where.items():
        accepted = wanted if isinstance(wanted, list) else [wanted]
        kept = columns.keep([any(values.matches_filter(cell, value) for value in accepted) for cell in columns.values[name]])
        if not kept.places:
            seen = ", ".join(dict.fromkeys(map(repr, columns.values[name][:1000])))
            raise InputError(
                f"{columns.path}: no row is left where {name!r} is {wanted!r}; the column holds {seen[:200]}; mend the key `where`"
            )
        columns = kept
    return columns


def _converted(columns: formats.Columns, spec: Mapping[str, Any], name: str, converters: Converters | None = None) -> list[Any]:
    """What the cells of a column mean."""
    column = spec["columns"][name]
    # A column that is none of these was named by the caller and holds numbers.
    convert, is_csv = (converters or CONVERTERS).get(name, _number), columns.format == "csv"
    meant = []
    for place, cell in zip(columns.places, columns.values[column], strict=True):
        try:
            meant.append(convert(cell, is_csv))
        except values.UnreadableCell as error:
            raise InputError(f"{columns.path}: {place}: column {column!r} ({name}) {error}") from error
    return meant


def _check_ids(columns: formats.Columns, spec: Mapping[str, Any]) -> None:
    first: dict[str, str] = {}
    for place, identity in zip(columns.places, _converted(columns, spec, "id"), strict=True):
        if (other := first.setdefault(identity, place)) != place:
            raise InputError(f"{columns.path}: the id {identity!r} stands at {other} and again at {place}; make the ids unique")
