"""Accuracies as a table for a paper or a page: a row per model, a column per task."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bert_judge.report.exporters.results import Result

FORMS = ("csv", "markdown", "latex")


def text(results: Sequence[Result], form: str) -> str:
    """The table in one of `FORMS`; best model on top, by the mean over its tasks.

    CSV holds plain numbers, a row per model and task; the others percent with the 95% interval.
    """
    if form == "csv":
        return pd.DataFrame([vars(result) for result in results]).to_csv(index=False, lineterminator="\n")
    tasks = list(dict.fromkeys(result.task for result in results))
    means = pd.DataFrame([vars(result) for result in results]).groupby("model")["accuracy"].mean()
    by_key = {(result.model, result.task): result for result in results}
    models = [str(model) for model in means.sort_values(ascending=False, kind="stable").index]
    rows = [[model, *(_cell(by_key.get((model, task)), form) for task in tasks)] for model in models]
    return _markdown(tasks, rows) if form == "markdown" else _latex(tasks, rows)


def _cell(result: Result | None, form: str) -> str:
    if result is None or result.accuracy != result.accuracy:
        return "–" if form == "markdown" else "--"
    share, low, high = (100 * value for value in (result.accuracy, result.low, result.high))
    return f"{share:.1f} [{low:.1f}, {high:.1f}]"


def _markdown(tasks: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [["model", *tasks], ["---", *["---:"] * len(tasks)], *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def _latex(tasks: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    body = [" & ".join(map(_escaped, line)) + r" \\" for line in (["model", *tasks], *rows)]
    return "\n".join(
        [
            r"\begin{tabular}{l" + "r" * len(tasks) + "}",
            r"\toprule",
            body[0],
            r"\midrule",
            *body[1:],
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _escaped(cell: str) -> str:
    for sign in "\\&%$#_{}~^":
        cell = cell.replace(sign, {"\\": r"\textbackslash ", "~": r"\~{}", "^": r"\^{}"}.get(sign, f"\\{sign}"))
    return cell
