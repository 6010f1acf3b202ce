"""Write the measured numbers of the judge in the package into its card, README.md and docs/results.md.

    python benchmarks/general_tables.py [NAME …]

Reads what `train_general.py`, `rule_modules.py`, `policy.py` and `unseen_files.py` left in `results/.work/general`, and replaces
each table, or those with these names, behind a mark `<!-- general: NAME -->`, and the offset of the policy `lenient`. The other
text is written by hand.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bert_judge.assets.prepare import GENERAL_FOLDER
from bert_judge.encoder.judge_folder import JUDGE_FILE, METRICS

WORK = Path("results/.work/general")
MEASURED, LEFT_OUT, MODULES, POLICY, UNSEEN_FILES = (
    WORK / f"{name}.json" for name in ("measured", "left_out", "rule_modules", "policy", "unseen")
)
CARD = GENERAL_FOLDER / "README.md"
PAGES = (CARD, Path("docs/results.md"), Path("README.md"))
RULES = {
    "contains_lenient": "`contains`",
    "rouge_l_recall_lenient": "`rouge_l_recall` ≥ 0.5",
    "token_f1_lenient": "`token_f1` ≥ 0.3",
}
NAMES = {
    "nq_open_test": "NQ-open",
    "truthfulqa_test": "TruthfulQA",
    "scientsbank_test": "SciEntsBank",
    "scientsbank_domains_test": "SciEntsBank, unseen domains",
    "scientsbank_questions_test": "SciEntsBank, unseen questions",
    "shroom_definition_test": "SHROOM definitions",
    "shroom_paraphrase_test": "SHROOM paraphrases",
    "shroom_translation_test": "SHROOM translations",
    "asqa_test": "ASQA long answers",
    "summedits_test": "SummEdits summaries",
    "begin_test": "BEGIN replies",
    "factcheckgpt_test": "FactcheckGPT claims",
    "protoqa_test": "ProtoQA survey answers",
    "chatprotect_test": "ChatProtect sentences",
    "gsm8k_gpt3_test": "GSM8K, GPT-3",
    "gsm8k_44_test": "GSM8K, 44 models",
    "math_level5_test": "MATH level 5",
    "mmlu_pro_test": "MMLU-Pro",
    "mmlu_letters_test": "MMLU letters",
    "cot_arithmetic_test": "chains of thought: arithmetic",
    "cot_choice_test": "chains of thought: AQuA",
    "cot_clutrr_test": "chains of thought: CLUTRR",
    "cot_strategyqa_test": "chains of thought: StrategyQA",
    "tatqa_test": "TAT-QA",
    "hotpotqa_test": "HotpotQA",
    "longmemeval_test": "LongMemEval",
    "mathvista_test": "MathVista",
    "halluqa_test": "HalluQA (Chinese)",
    "simpleqa_czech_test": "SimpleQA (Czech)",
    "gaokao_test": "GAOKAO (Chinese)",
    "chemlit_test": "ChemLit",
    "bixbench_test": "BixBench",
    "genegpt_test": "GeneGPT",
    "hotpot_memory_test": "HotpotQA, memory systems",
    "beam_frames_test": "BEAM, FRAMES",
}
# Accuracy of version 1 in %, on the same answers.
VERSION_1 = {
    **{"nq_open_test": 92.6, "truthfulqa_test": 77.8, "scientsbank_questions_test": 71.4, "scientsbank_domains_test": 73.2},
    **{"shroom_definition_test": 68.3, "shroom_translation_test": 72.5, "shroom_paraphrase_test": 72.1, "asqa_test": 76.5},
    **{"tatqa_test": 93.7, "hotpotqa_test": 98.8, "gsm8k_gpt3_test": 99.2, "gsm8k_44_test": 99.9, "math_level5_test": 99.9},
    **{"mmlu_pro_test": 99.3, "mmlu_letters_test": 99.4, "cot_arithmetic_test": 99.8, "cot_choice_test": 100.0},
    **{"cot_clutrr_test": 93.2, "cot_strategyqa_test": 99.8},
}
# Rows of the README: files left out, then tasks on new questions.
UNSEEN = {
    "protoqa": "ProtoQA, survey answers",
    "factcheckgpt": "FactcheckGPT, claims",
    "begin": "BEGIN, replies",
    "summedits": "SummEdits, summaries with one edited word",
}
KNOWN = {
    "nq_open_test": "NQ-open, short answers of five systems",
    "truthfulqa_test": "TruthfulQA, sentences",
    "scientsbank_domains_test": "SciEntsBank, explanations, unseen domains",
    "shroom_translation_test": "SHROOM, translations by models",
    "asqa_test": "ASQA, long answers",
}
# Files that it was not trained on, in English and in other languages.
UNSEEN_ENGLISH = {
    "demetr": "DEMETR, translations with planted errors",
    "mlqe_en": "MLQE, machine translations",
    "nmt_hallucinations": "WMT18, machine translations",
    "realsumm": "REALSumm, facts in summaries",
    "fib": "FIB, summaries against articles",
    "bump": "BUMP, summaries with a planted error",
    "foolmetwice": "FoolMeTwice, claims",
    "infotabs": "InfoTabS, claims about infoboxes",
    "q2": "Q², replies",
    "dialogue_gpt2": "Wizard of Wikipedia, replies of 12 systems",
}
UNSEEN_LANGUAGES = {
    "pawsx": "PAWS-X (German, Spanish, Korean, Chinese)",
    "mlqe_zh": "MLQE (Chinese)",
    "inferes_es": "InferES (Spanish)",
    "indonli_id": "IndoNLI (Indonesian)",
    "farstail_fa": "FarsTail (Persian)",
    "jnli_ja": "JNLI (Japanese)",
    "jsts_ja": "JSTS (Japanese)",
    "klue_nli_ko": "KLUE-NLI (Korean)",
    "klue_sts_ko": "KLUE-STS (Korean)",
    "turku_fi": "Turku paraphrases (Finnish)",
    "elyza_ja": "ELYZA tasks (Japanese)",
}
Line = dict[str, Any]


def main() -> int:
    tables = {
        "measured, people": lambda: files(MEASURED, human=True),
        "measured, others": lambda: files(MEASURED, human=False),
        "left out, people": lambda: files(LEFT_OUT, human=True),
        "left out, others": lambda: files(LEFT_OUT, human=False),
        "means": means,
        "rule modules": rule_modules,
        "policy": policy,
        "kinds": kinds,
        "in short": in_short,
        "unseen files": unseen_files,
        "unseen kinds": unseen_kinds,
        "certain": certain,
        "unseen in short": unseen_in_short,
    }
    if names := sys.argv[1:]:
        tables = {name: tables[name] for name in names}
    for page in PAGES:
        text = page.read_text("utf-8")
        for name, make in tables.items():
            text = replace_table(text, name, make)
        page.write_text(text, "utf-8")
    if names and "policy" not in names:
        return 0
    offset = json.loads((GENERAL_FOLDER / JUDGE_FILE).read_text("utf-8"))["partial_offset"]
    CARD.write_text(re.sub(r"adds [\d.]+ to the logit", f"adds {offset:.3f} to the logit", CARD.read_text("utf-8")), "utf-8")
    return 0


def replace_table(text: str, name: str, make: Callable[[], list[str]]) -> str:
    mark = f"<!-- general: {name} -->\n\n"
    if mark not in text:
        return text
    before, after = text.split(mark)
    table = "\n".join(make())
    # A function, because a table has backslashes.
    return before + mark + re.sub(r"\A(?:\|.*\n)+", lambda _: f"{table}\n", after)


def files(path: Path, human: bool) -> list[str]:
    """Return a table of the files that people labelled, or of the others, with the mean."""
    chosen = [line for line in read(path) if line["human"] is human]
    is_measured = path == MEASURED
    head = ["file", "answers", "correct", "**general**" if is_measured else "trained without it"]
    rows = [file_row(line, is_measured) for line in chosen]
    return markdown([*head, *(["version 1, accuracy"] if is_measured else []), *RULES.values()], rows)


def means() -> list[str]:
    """Return a table of the means over files, in the same form."""
    people = {True: "people", False: "language models or rules"}
    rows = [
        [f"{name}, labels by {people[line['human']]}", f"{line['answers']:,}", *(numbers(line[key]) for key in ("judge", *RULES))]
        for path, name in ((MEASURED, "new questions"), (LEFT_OUT, "files left out"))
        for line in read(path)
        if line["task"] == "mean"
    ]
    return markdown(["mean of", "answers", "`general`", *RULES.values()], rows)


def file_row(line: Line, is_measured: bool) -> list[str]:
    name = "mean" if line["task"] == "mean" else NAMES.get(line["task"]) or NAMES[f"{line['task']}_test"]
    version_1 = [f"{VERSION_1[line['task']]:.1f}" if line["task"] in VERSION_1 else "–"] if is_measured else []
    rules = [numbers(line[rule]) for rule in RULES]
    return [name, f"{line['answers']:,}", line["correct"], f"**{numbers(line['judge'])}**", *version_1, *rules]


def numbers(cell: Sequence[float]) -> str:
    """Return accuracy in %, macro-F1, AUROC, perhaps the calibration error, and the balanced accuracy in %."""
    return "; ".join([f"{cell[0]:.1f}", *(f"{value:.3f}" for value in cell[1:-1]), f"{cell[-1]:.1f}"])


def rule_modules() -> list[str]:
    head = ["module", "verdict", "decisions", "contradict the label", "decides"]
    rows = [
        [row["module"], row["verdict"], f"{row['decisions']:,}", str(row["errors"]), "yes" if row["decides"] else "no"]
        for row in read(MODULES)
    ]
    return markdown(head, rows)


def policy() -> list[str]:
    """Return a table of the answers of each kind that are accepted under each policy."""
    rows = [{**row, "file": NAMES[f"{row['file']}_test"], "answers": f"{row['answers']:,}"} for row in read(POLICY)]
    return markdown(rows[0], [row.values() for row in rows])


def kinds() -> list[str]:
    """Return a table of the kinds of answers in files left out."""
    by_kind = json.loads((GENERAL_FOLDER / METRICS).read_text("utf-8"))["unseen_kinds"]
    rows = [[kind, f"{row['n']:,.0f}", f"{100 * row['accuracy']:.1f}", f"{row['auroc']:.3f}"] for kind, row in by_kind.items()]
    return markdown(["kind", "answers", "accuracy", "AUROC"], rows)


def in_short() -> list[str]:
    left_out, measured = ({line["task"]: line for line in read(path)} for path in (LEFT_OUT, MEASURED))
    lines = [(f"not trained on: {name}", left_out[task]) for task, name in UNSEEN.items()]
    rows = [short_row(name, line) for name, line in [*lines, *((name, measured[task]) for task, name in KNOWN.items())]]
    return markdown(["AUROC; accuracy in %", "`general`", "three fixed rules, the best for each number"], rows)


# Position of a measure in a cell, and its format.
AUROC_FIRST = ((2, ".3f"), (0, ".1f"))
MACRO_F1 = ((1, ".3f"), *AUROC_FIRST)


def short_row(name: str, line: Line, measures: Sequence[tuple[int, str]] = AUROC_FIRST) -> list[str]:
    """Return measures of the judge, and the best of the rules; the higher one of each is bold."""
    cells: tuple[list[str], list[str]] = ([], [])
    for measure, form in measures:
        values = (line["judge"][measure], max(line[rule][measure] for rule in RULES))
        for cell, value in zip(cells, values, strict=True):
            text = f"{value:{form}}".removeprefix("0")
            cell.append(f"**{text}**" if value == max(values) else text)
    return [f"{name} ({line['answers']:,})", *("; ".join(cell).replace("**; **", "; ") for cell in cells)]


def unseen_files() -> list[str]:
    """Return a table of the files that no dataset has, with the means over those in English and over the others."""
    lines = {line["source"]: line for line in read(UNSEEN_FILES)}
    rows = []
    for names, title in ((UNSEEN_ENGLISH, "mean of the ten"), (UNSEEN_LANGUAGES, "mean of the eleven")):
        rows += [unseen_row(name, lines[source]) for source, name in names.items()]
        rows.append(unseen_row(title, mean_of(lines, names)))
    return markdown(["file", "answers", "correct", "called correct", "**general**", *RULES.values()], rows)


def mean_of(lines: Mapping[str, Line], names: Iterable[str]) -> Line:
    chosen = [lines[name] for name in names]
    means = {key: np.nanmean([line[key] for line in chosen], axis=0).tolist() for key in ("judge", *RULES)}
    return {"answers": sum(line["answers"] for line in chosen), "correct": "", "called": "", **means}


def unseen_row(name: str, line: Line) -> list[str]:
    cells = [f"**{numbers(line['judge'])}**", *(numbers(line[rule]) for rule in RULES)]
    return [name, f"{line['answers']:,}", line["correct"], line["called"], *cells]


def unseen_kinds() -> list[str]:
    """Return a table of the same answers by kind."""
    kinds = json.loads(UNSEEN_FILES.read_text("utf-8"))["kinds"]
    rows = [unseen_row(line["kind"], line) for line in kinds]
    return markdown(["kind", "answers", "correct", "called correct", "**general**", *RULES.values()], rows)


def certain() -> list[str]:
    """Return a table of the scores whose verdicts are certain, and of the check on files that did not select them."""
    lines = json.loads(UNSEEN_FILES.read_text("utf-8"))["certain"]
    head = ["kind", "answers", "files", "decided by modules", "certain: incorrect up to", "correct from", "certain, %"]
    rows = [
        [
            *(line["kind"], f"{line['answers']:,}", str(line["files"]), f"{line['by modules']:,}"),
            *("–" if line[name] is None else f"{line[name]:.3f}" for name in ("incorrect up to", "correct from")),
            *(line["certain"], line["wrong if certain"], line["wrong if uncertain"]),
        ]
        for line in lines
    ]
    return markdown([*head, "of these wrong, %", "uncertain ones wrong, %"], rows)


def unseen_in_short() -> list[str]:
    lines = {line["source"]: line for line in read(UNSEEN_FILES)}
    rows = [short_row(name, lines[source], MACRO_F1) for source, name in UNSEEN_ENGLISH.items()]
    rows.append(short_row("mean of the ten", mean_of(lines, UNSEEN_ENGLISH), MACRO_F1))
    rows.append(short_row("mean of eleven files in eight other languages", mean_of(lines, UNSEEN_LANGUAGES), MACRO_F1))
    return markdown(["macro-F1; AUROC; accuracy in %", "`general`", "three fixed rules, the best for each number"], rows)


def read(path: Path) -> list[Line]:
    if not path.is_file():
        raise SystemExit(f"{path} is missing: run train_general.py, rule_modules.py and policy.py in benchmarks")
    return list(json.loads(path.read_text("utf-8"))["lines"])


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    head = list(head)
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


if __name__ == "__main__":
    raise SystemExit(main())
