"""Print the standings of a run, the agreement of its judges, and the results of its audit."""

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from bert_judge import tables
from bert_judge.cli.terminal import console, format_interval, format_number, format_percent, log
from bert_judge.cli.uncertainty import CLOSE, describe_ranges, format_range, needs_ranges
from bert_judge.report.format import leading_judge, models_by_judge, pivot_models
from bert_judge.runtime.errors import InputError, suggest
from bert_judge.text.answer_kinds import answer_kind

Row = Mapping[Any, Any]
# Up to this many tasks, a table is printed for each.
MAX_TASK_TABLES = 3


def print_standings(path: str | Path, task: str | None = None, judges: Sequence[str] = (), screen: Console | None = None) -> None:
    """Print the standings, and the agreement and comparisons of the same run.

    Args:
        path: `standings.parquet` of a run.
        screen: console to print to. Default: the terminal.

    Raises:
        InputError: no such file, not a standings table, or no such task or judge.
    """
    path, screen = Path(path), screen or console()
    if not path.is_file():
        raise InputError(
            f"{path}: no such file; run a configuration first (bert-judge run), or name the standings.parquet of a run"
        )
    standings = _select_judges(tables.read(path, tables.STANDINGS), path, judges)
    spec = json.loads(tables.provenance(path).get("spec", "{}"))
    gold, trained = spec.get("gold"), spec.get("trained", ())
    if standings.empty:
        screen.print(f"{path}: no answers were scored")
    names = list(dict.fromkeys(standings["judge"]))
    order = f"; models in the order of {leading_judge(names, gold, trained)}" if len(names) > 1 and gold not in names else ""
    for name, group in _select_tables(standings, path, task):
        title = f"{name}: accuracy in %, with its 95% interval{order}"
        _print(screen, title, _by_model_and_judge(group, gold, trained, _accuracy_cell))
        if (group["attempted"] < 1).any():
            title = f"{name}: attempted answers, accuracy among them, and F-score, in %{order}"
            _print(screen, title, _by_model_and_judge(group, gold, trained, _attempts_cell))
    if (standings["invalid"] > 0).any():
        screen.print("invalid verdicts count as incorrect; bert-judge standings --format csv adds the accuracy without them")
    for line in _describe_ranges(standings):
        screen.print(line)
    if (path.parent / "audit" / "corrected_accuracy.parquet").is_file():
        print_audit(path.parent / "audit", screen)
    if gold is not None and (table_path := path.with_name("agreement.parquet")).is_file():
        _show_agreement(screen, tables.read(table_path, tables.AGREEMENT), gold)
    if (table_path := path.with_name("comparisons.parquet")).is_file():
        _show_comparisons(screen, tables.read(table_path, tables.COMPARISONS))


def _describe_ranges(standings: pd.DataFrame) -> list[str]:
    """Return a line per judge that is uncertain of too many verdicts, and what to do about it."""
    is_open = standings["range_low"].notna()
    if not is_open.any():
        return []
    judges = standings[is_open].groupby("judge", sort=False)["certain"].min()
    return [
        *(f"{judge}: up to {1 - share:.0%} of the verdicts on a model are uncertain" for judge, share in judges.items()),
        'the ends of a range, "LOW to HIGH", count uncertain verdicts as incorrect and as correct; '
        f"models whose ranges {CLOSE} are not called different. To narrow a range: an audit with labels of people, a judge that is "
        "recalibrated with 20 labels, or a cascade with a language model",
    ]


def _select_judges(standings: pd.DataFrame, path: Path, judges: Sequence[str]) -> pd.DataFrame:
    judge_names = list(dict.fromkeys(standings["judge"]))
    for judge in judges:
        if judge not in judge_names:
            raise InputError(f"{path}: no judge {judge!r} in it; {suggest(judge, judge_names)}")
    return standings[standings["judge"].isin(judges)] if judges else standings


def _select_tables(standings: pd.DataFrame, path: Path, task: str | None) -> list[tuple[str, pd.DataFrame]]:
    """Return title and rows of the tables to print."""
    pooled = standings[standings["level"] == "all"]
    tasks = {str(name): group for name, group in standings[standings["level"] == "task"].groupby("task", sort=False)}
    if task is not None:
        if task not in tasks:
            raise InputError(f"{path}: no task {task!r} in it; {suggest(task, tasks)}")
        return [(f"Task {task}", tasks[task])]
    per_task = [(f"Task {name}", group) for name, group in tasks.items()]
    if len(tasks) <= 1:
        # With one task, "all tasks" is the same table.
        return per_task
    return [("All tasks", pooled), *(per_task if len(tasks) <= MAX_TASK_TABLES else [])]


def _by_model_and_judge(
    group: pd.DataFrame, gold: str | None, trained: Collection[str], cell: Callable[[Any], str]
) -> pd.DataFrame:
    """Return a table with one row per model, best first, its number of answers, and one column per judge, gold first."""
    judges = list(dict.fromkeys(group["judge"]))
    best_first = group.sort_values(["accuracy", "model"], ascending=[False, True])
    by_judge = best_first.sort_values("judge", key=lambda names: names.map(judges.index), kind="stable")
    table = models_by_judge(by_judge, gold, cell, trained)
    table.insert(1, "answers", table["model"].map(group.groupby("model")["n"].last()).astype(str))
    return table.rename(columns={gold: f"{gold} (gold)"})


def _attempts_cell(row: Any) -> str:
    return ", ".join(format_percent(getattr(row, column)) for column in ("attempted", "accuracy_attempted", "f_score"))


def _accuracy_cell(row: Any) -> str:
    text = f"{format_percent(row.accuracy)} {format_interval(row.low, row.high)}"
    text = f"{text}, {format_percent(row.invalid)} invalid" if row.invalid else text
    return text if math.isnan(row.range_low) else f"{text}, {format_percent(row.range_low)} to {format_percent(row.range_high)}"


def _percent_cell(row: Row, column: str) -> str:
    return f"{format_percent(row[column])} {_interval(row)}"


def print_audit(folder: Path, screen: Console | None = None, labels: str = "human labels") -> bool:
    """Print the corrected accuracies and differences of the audited judge, the next labels, and the certificates of all judges.

    Args:
        labels: what the accuracies were corrected with.

    Returns:
        Whether all differences between models are settled.
    """
    from bert_judge.evaluation.audit.corrected import is_settled, next_steps

    screen = screen or console()
    _show_corrected(screen, folder / "corrected_accuracy.parquet", labels)
    path = folder / "corrected_pairs.parquet"
    judge = json.loads(tables.provenance(path).get("spec", "{}")).get("judge")
    pairs = tables.read(path, tables.CORRECTED_PAIRS)
    pairs = pairs[pairs["judge"] == judge]
    rows = [
        [
            f"{row['model']} – {row['other']}",
            f"{100 * row['difference']:+.1f} {_interval(row, '+.1f')}",
            _p_value(row["p_holm"]),
            format_interval(row["sequence_low"], row["sequence_high"], "+.1f"),
            format_percent(row["min_detectable_effect"]),
        ]
        for row in pairs[pairs["method"] == "ppi"].dropna(subset=["difference"]).to_dict("records")
    ]
    if rows:
        header = ["models", "difference", "p (Holm)", "at any time", "min. detectable"]
        _print(screen, f"Difference in points, corrected with {labels} (PPI++)", pd.DataFrame(rows, columns=header))
    for sentence in next_steps(pairs):
        screen.print(sentence)
    results = {True: "passed", False: "failed"}
    certificates = tables.read(folder / "certificate.parquet", tables.CERTIFICATE).to_dict("records")
    lines = [
        [
            row["judge"],
            "not tested: " + row["reason"] if pd.isna(row["passed"]) else results[bool(row["passed"])],
            *(
                f"{format_percent(row[name])} (at least {format_percent(row[f'{name}_low'])})"
                for name in ("sensitivity", "specificity")
            ),
            format_number(row["kappa"], 2)
            + (f" ({format_number(row['human_kappa'], 2)} among people)" if row["annotators"] > 1 else ""),
        ]
        for row in certificates
    ]
    header = ["judge", "result", "sensitivity", "specificity", "kappa"]
    _print(screen, "Certificates, in %", pd.DataFrame(lines, columns=header))
    return is_settled(pairs)


def print_uncorrected(scores: Sequence[Path], judge: str) -> None:
    """Print the accuracy of each model by a judge, best first, before any label corrects it; warn of an open order.

    Args:
        scores: score tables.
    """
    from bert_judge.evaluation.model_comparison import is_uncertain
    from bert_judge.evaluation.score_tables import MODEL, load_verdicts
    from bert_judge.evaluation.standings import estimate_accuracy, estimate_range

    answers = load_verdicts(scores, [judge])
    estimates = [(str(name), rows, estimate_accuracy(rows, judge)) for name, rows in answers.groupby(MODEL, observed=True)]
    estimates.sort(key=lambda row: -row[2]["accuracy"])
    ranges = {name: estimate_range(rows, judge) for name, rows, _ in estimates}
    lines = [[name, f"{row['n']:,}", _percent_cell(row, "accuracy")] for name, _, row in estimates]
    table = pd.DataFrame(lines, columns=["model", "answers", judge])
    if needs_ranges(ranges):
        table["range"] = list(map(format_range, ranges.values()))
    _print(console(), "Accuracy in %, not corrected yet", table)
    for line in describe_ranges(judge, ranges, is_uncertain(answers, judge).mean(), _count_uncertain(scores, judge)):
        log(line)


def _count_uncertain(scores: Sequence[Path], judge: str) -> Counter[str]:
    """Return the number of uncertain verdicts by kind of answer."""
    return Counter(
        answer_kind(row["question"], row["references"], row["candidate"])
        for path in scores
        for batch in tables.read_batches(path, tables.scores_schema([judge]), tables.GROUP_ROWS)
        for row in batch[batch[f"{judge}_certain"].eq(False).fillna(False)].to_dict("records")
    )


def _show_corrected(screen: Console, path: Path, labels: str) -> None:
    """Print the corrected accuracies of the audited judge, best model first, then all models together."""
    judge = json.loads(tables.provenance(path).get("spec", "{}")).get("judge")
    table = tables.read(path, tables.CORRECTED_ACCURACY)
    cells = {(row["level"], row["model"], row["method"]): row for row in table[table["judge"] == judge].to_dict("records")}
    models = [(level, model) for level, model, method in cells if method == "ppi"]
    models.sort(key=lambda key: (key[0] == "all", -cells[*key, "ppi"]["accuracy"]))
    methods = {"judge": f"{judge}, uncorrected", "ppi": "PPI++", "human_labels": "labels only"}
    rows = [
        [
            "all models" if level == "all" else model,
            str(cells[level, model, "ppi"]["labels"]),
            *(_percent_cell(cells[level, model, method], "accuracy") for method in methods),
        ]
        for level, model in models
    ]
    if rows:
        header = ["model", "labels", *methods.values()]
        _print(screen, f"Accuracy in %, corrected with {labels}", pd.DataFrame(rows, columns=header))


def _show_agreement(screen: Console, agreement: pd.DataFrame, gold: str) -> None:
    pooled = agreement[agreement["level"] == "all"].sort_values("agreement", ascending=False, na_position="last")
    if pooled.empty:
        return
    columns: dict[str, Callable[[Row], str]] = {
        "judge": lambda row: row["judge"],
        "agreement": lambda row: _percent_cell(row, "agreement"),
        "macro-F1": lambda row: format_percent(row["macro_f1"]),
        "kappa": lambda row: format_number(row["kappa"], 2),
        "invalid": lambda row: format_percent(row["invalid"]),
        "error of accuracy": lambda row: format_percent(row["accuracy_error"]),
        "rank correlation": lambda row: format_number(row["rank_correlation"], 2),
        "most misplaced model": _most_shifted,
    }
    rows = [[text(row) for text in columns.values()] for row in pooled.to_dict("records")]
    title = f"Agreement with {gold} in %, on {pooled['n'].max()} answers to {pooled['questions'].max()} questions"
    _print(screen, title, pd.DataFrame(rows, columns=list(columns)))
    screen.print("error of accuracy: mean over the models in points; invalid verdicts count as wrong and never agree")
    by_model = agreement[agreement["level"] == "model"]
    if by_model["group"].nunique() > 1:
        judges = pooled["judge"].tolist()
        models = list(by_model["group"].unique())
        table = pivot_models(
            by_model.rename(columns={"group": "model"}),
            models=models,
            column="judge",
            names=judges,
            cell=lambda row: f"{format_percent(row.agreement)} {format_interval(row.low, row.high)}",
        )
        table.insert(1, "answers", table["model"].map(by_model.groupby("group")["n"].first()).astype(str))
        _print(screen, f"Agreement with {gold} in %, by model", table)


def _most_shifted(row: Row) -> str:
    if row["most_shifted_model"] is None or math.isnan(row["rank_shift"]) or not row["rank_shift"]:
        return "–"
    shift = int(row["rank_shift"])
    return f"{row['most_shifted_model']}, {abs(shift)} {'too high' if shift > 0 else 'too low'}"


def _show_comparisons(screen: Console, comparisons: pd.DataFrame) -> None:
    pooled = comparisons[comparisons["level"] == "all"].dropna(subset=["difference"])
    if pooled.empty:
        return
    rows = [
        [f"{row['judge']} – {row['other']}", f"{100 * row['difference']:+.1f} {_interval(row, '+.1f')}", _p_value(row["p_value"])]
        for row in pooled.to_dict("records")
    ]
    table = pd.DataFrame(rows, columns=["judges", "difference", "p (McNemar)"])
    _print(screen, "Difference of agreement in points, on the same answers", table)


def _p_value(value: float) -> str:
    return "–" if math.isnan(value) else "<0.0001" if value < 1e-4 else f"{value:.4f}"


def _interval(row: Row, form: str = ".1f") -> str:
    return format_interval(row["low"], row["high"], form)


def _print(screen: Console, title: str, texts: pd.DataFrame) -> None:
    """Print a table of texts; columns that do not fit the terminal follow below, with the first column repeated."""
    screen.print(f"\n{title}")
    header, rows = list(texts), texts.values.tolist()
    widths = [max(len(line[start]) for line in [header, *rows]) + 2 for start in range(len(header))]
    start = 1
    while start < len(header):
        end = start + 1
        while end < len(header) and widths[0] + sum(widths[start : end + 1]) <= screen.width:
            end += 1
        columns_shown = [0, *range(start, end)]
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
        for column in columns_shown:
            table.add_column(header[column], justify="left", overflow="fold", no_wrap=widths[0] + widths[column] <= screen.width)
        for row in rows:
            table.add_row(*(row[column] for column in columns_shown))
        screen.print(table)
        if (start := end) < len(header):
            screen.print()
