"""Format numbers, texts of models, and tables; load templates, and hash their scripts for the content security policy."""

import base64
import hashlib
import math
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from bert_judge.runtime.logs import escape_controls
from bert_judge.runtime.package_data import read_yaml

_FOLDER = Path(__file__).parent


def environment() -> Environment:
    """Return a template environment that escapes every value and fails on undefined ones."""
    return Environment(
        loader=PackageLoader("bert_judge", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def resource(name: str) -> str:
    """Return the text of a file of this package, such as a style sheet."""
    return (_FOLDER / name).read_text("utf-8")


def script_hash(script: str) -> str:
    """Return the source expression that allows a script in the content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


# --- numbers and texts ---

MISSING = "–"
TABLE_FORMATS = ("markdown", "csv", "latex")
# Titles and colours of the report.
TITLES: dict[str, Any] = read_yaml(_FOLDER / "titles.yaml")
LEVEL_TITLES: dict[str, str] = TITLES["levels"]
# Long texts keep their beginning and end: the verdict often depends on the last sentence.
HEAD, TAIL = 3000, 1500
FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")
# Control characters that HTML forbids or hides → their Unicode symbols.
CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {127: 0x2421}


def is_known(value: Any) -> bool:
    """Return whether the value is neither None nor NaN."""
    return not pd.isna(value)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as {column: value}."""
    return [{str(column): value for column, value in row.items()} for row in table.to_dict("records")]


def group_title(level: str, group: str) -> str:
    """Return the heading of a group of answers, such as `All tasks` or `Task: gsm8k`."""
    return LEVEL_TITLES[level] if level == "all" else f"{LEVEL_TITLES[level]}: {group}"


def percent(value: Any) -> str:
    """Format a share in [0, 1] as `81.2%`."""
    return f"{100 * value:.1f}%" if is_known(value) else MISSING


def percent_number(value: Any) -> str:
    """Format a share in [0, 1] as `81.2`."""
    return f"{100 * value:.1f}" if is_known(value) else MISSING


def interval(low: Any, high: Any) -> str:
    """Format two shares as `79.0–83.4`."""
    return f"{100 * low:.1f}–{100 * high:.1f}" if is_known(low) and is_known(high) else MISSING


def points(value: Any) -> str:
    """Format a difference of shares in percentage points, as `+3.1`."""
    return f"{100 * value:+z.1f}".replace("-", "−") if is_known(value) else MISSING


def points_interval(low: Any, high: Any) -> str:
    """Format the interval of a difference as `+1.0 to +5.2`."""
    return f"{points(low)} to {points(high)}" if is_known(low) and is_known(high) else MISSING


def rank_shift_interval(low: Any, high: Any) -> str:
    """Format the interval of a rank shift as `−2 to +1`."""
    if not (is_known(low) and is_known(high)):
        return ""
    return f"{int(low):+d} to {int(high):+d}".replace("-", "−").replace("+0", "0")


def decimal(value: Any) -> str:
    """Format a coefficient as `0.873`."""
    return f"{value:.3f}".replace("-", "−") if is_known(value) else MISSING


def p_value(value: Any) -> str:
    if not is_known(value):
        return MISSING
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def count(value: int, noun: str) -> str:
    """Format a count as `1 answer` or `2,000 answers`."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def breakable(name: str) -> Markup:
    """Escape a name, and let a browser break it after an underscore, a slash or a hyphen."""
    return Markup(re.sub("([_/-])", r"\1<wbr>", str(escape(name))))


def css_position(value: float) -> str:
    """Return a share as a CSS length along an axis from 0 to 100%."""
    return "0%" if math.isnan(value) else f"{100 * min(max(value, 0.0), 1.0):.2f}%"


def display_text(text: str, head: int = HEAD, tail: int = TAIL) -> str:
    """Cut the middle of a text longer than `head + tail` characters and replace control characters by visible symbols."""
    if len(text) > head + tail:
        text = f"{text[:head]}\n[… {len(text) - head - tail:,} characters omitted …]\n{text[-tail:]}"
    return text.translate(CONTROLS)


def max_text_length(lengths: Sequence[int], budget: int) -> int:
    """Return the length to which texts must be cut so that their total stays within the budget of characters."""
    remaining, count = budget, len(lengths)
    for length in sorted(lengths):
        if length * count > remaining:
            return min(HEAD + TAIL, remaining // count)
        remaining, count = remaining - length, count - 1
    return HEAD + TAIL


def escape_formula(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would take for a formula; numbers stay as they are."""
    return f"'{text}" if text.startswith(FORMULA_PREFIXES) and not re.fullmatch(r"[-+][\d.,]+", text) else text


def format_table(table: pd.DataFrame, form: str) -> str:
    """Return a table in one of `TABLE_FORMATS`, ending with a line break; all columns but the first are right-aligned."""
    if form == "csv":
        escaped = table.map(lambda cell: escape_formula(escape_controls(cell)) if isinstance(cell, str) else cell)
        return escaped.to_csv(index=False, lineterminator="\n")
    alignment = ["left", *["right"] * (len(table.columns) - 1)]
    if form == "markdown":
        escaped = table.astype(str).replace(r"\|", r"\\|", regex=True).rename(columns=lambda name: str(name).replace("|", r"\|"))
        return escaped.to_markdown(index=False, disable_numparse=True, colalign=alignment if len(table) else None) + "\n"
    latex = table.to_latex(index=False, escape=True, column_format="".join(side[0] for side in alignment))
    return latex.replace(MISSING, "--")


def pivot_models(
    rows: pd.DataFrame, *, models: Sequence[str], column: str, names: Sequence[str], cell: Callable[[Any], str]
) -> pd.DataFrame:
    """Arrange rows as a table with one row per model and one text column per name in `column`; missing cells show a dash."""
    cells = {(row.model, getattr(row, column)): cell(row) for row in rows.itertuples()}
    return pd.DataFrame({"model": list(models)} | {name: [cells.get((model, name), MISSING) for model in models] for name in names})


def estimate_cell(value: Any, low: Any, high: Any) -> str:
    """Format an estimate with its interval in percent, as `75.0 [59.8, 85.8]`."""
    return f"{percent_number(value)} [{percent_number(low)}, {percent_number(high)}]" if is_known(value) else MISSING


def leading_judge(judges: Sequence[str], gold: str | None, trained: Collection[str]) -> str | None:
    """Return the judge whose accuracies order the models: gold, else the first trained one, else the first; None of none."""
    return gold if gold in judges else next((judge for judge in judges if judge in trained), next(iter(judges), None))


def models_by_judge(
    rows: pd.DataFrame, gold: str | None, cell: Callable[[Any], str], trained: Collection[str] = ()
) -> pd.DataFrame:
    """Arrange rows as one row per model, in their order under the leading judge, and one column per judge, gold first."""
    judges = sorted(dict.fromkeys(rows["judge"]), key=lambda judge: judge != gold)
    lead = leading_judge(judges, gold, trained)
    ordered = rows.sort_values("judge", key=lambda names: names != lead, kind="stable")
    return pivot_models(rows, models=list(dict.fromkeys(ordered["model"])), column="judge", names=judges, cell=cell)
