"""Golden results: hashes of what rules about texts, kinds of judges and stages return for fixed rows, beside their versions.

    python tests/golden_results.py            # say which results changed without a new version
    python tests/golden_results.py --write    # store the hashes of what has a new version
    python tests/golden_results.py --general  # note in the judge in the package that it was measured with today's TEXT_VERSION

`golden/rows.jsonl` has the rows: question, references, answer. `golden/digests.yaml` has the hashes. A hash may change only with a
version, because versions make tables on disk stale. After a rebase with a conflict in digests.yaml, take either side and write it
again; if that is refused, both sides changed results under the same number: raise the version once more.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml

from bert_judge import plan, tables, text
from bert_judge.assets.prepare import GENERAL_FOLDER
from bert_judge.assets.pretrained import load_tokenizer
from bert_judge.encoder.encoding import RowTokenizer
from bert_judge.encoder.judge_folder import JUDGE_FILE, write_checksums
from bert_judge.judges import registry
from bert_judge.judges.protocol import Label, Row, decided, invalid
from bert_judge.labels.judge_loading import RULES

FOLDER = Path(__file__).with_name("golden")
DIGESTS = FOLDER / "digests.yaml"
COMMAND = "python tests/golden_results.py --write"
# Rows for results that take longer than a millisecond each.
SLOW_ROWS = 16
ROWS = [
    Row(f"{number:016x}", 0, "m", question, tuple(references), candidate)
    for number, line in enumerate((FOLDER / "rows.jsonl").read_text("utf-8").splitlines())
    for question, references, candidate in [json.loads(line)]
]
# What language models reply to a judge.
REPLIES = [
    "Verdict: correct",
    "The answers differ.\n**Verdict:** incorrect.",
    "incorrect",
    "I cannot decide.",
    "Verdict: correct, but only partly",
    '{"verdict": "not correct"}',
    "<think>Verdict: correct</think>Verdict: incorrect",
    "Verdict: A",
    "Both are fine. Verdict: tie",
    "B",
    '{"tone": 3, "depth": 1}',
    '```json\n{"tone": 9, "depth": 1}\n```',
    "",
]

Results = Mapping[str, Any]


class Subject(NamedTuple):
    """Something with a version: where it is raised, its versions, and its results by part."""

    raise_in: str
    versions: Callable[[], Results]
    results: Callable[[], Results]


def digest(results: Any) -> str:
    """Return a hash of results; numbers count with four digits, so that it is the same on all machines."""
    return hashlib.sha256(json.dumps(_plain(results), ensure_ascii=True).encode()).hexdigest()[:12]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, float):
        return f"{value + 0.0:.4g}"
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Iterable):
        return [_plain(member) for member in (sorted(value) if isinstance(value, set | frozenset) else value)]
    return _plain(vars(value) if hasattr(value, "__dict__") else value.item())


# --- texts ---


def text_results() -> Results:
    from bert_judge.text import choices, extraction, latex, latex_forms, normalization, options, visible_text, word_metrics
    from bert_judge.text.features import extract_features
    from bert_judge.text.languages import unfamiliar_text
    from bert_judge.text.rules import decide

    def of_texts(*functions: Callable[[str], Any]) -> list[Any]:
        return [[function(value) for function in functions] for value in texts]

    def of_pairs(*functions: Callable[[Any, Any], Any], prepare: Callable[[str], Any] = str) -> list[Any]:
        pairs = [(prepare(reference), prepare(row.candidate)) for row in ROWS for reference in row.references]
        return [[function(*pair) for function in functions] for pair in pairs]

    texts = list(dict.fromkeys(value for row in ROWS for value in (row.question, *row.references, row.candidate)))
    letters = []
    for row in ROWS:
        found, expected = options.parse_options(row.question), options.expected_choice(row.question, row.references)
        named = choices.extract_choice(row.candidate, found or options.UNLISTED)
        letters.append([found, expected, named, options.match_option(row.candidate, found)])
    metrics = (getattr(word_metrics, name) for name in ("exact_match", "contains", "token_f1", "rouge_l_recall", "rouge_l_f"))
    return {
        "visible text": of_texts(visible_text.strip_reasoning, visible_text.normalize_text, visible_text.is_blank),
        "normalization": of_texts(normalization.normalize_words),
        "extraction": of_texts(
            *(extraction.extract_final_answer, extraction.extract_last_number, extraction.extract_numbers),
            *(extraction.extract_reference, extraction.unwrap),
        ),
        "same text": of_pairs(extraction.is_same_text, extraction.names_another_unit),
        "options": letters,
        "formulas": of_texts(latex.boxed, latex_forms.math_verify_forms, latex_forms.read_literal, latex_forms.rewrite_notation),
        "word metrics": of_pairs(
            *metrics, word_metrics.has_distinctions, prepare=lambda value: normalization.normalize_words(value) or ["?"]
        ),
        "features": [extract_features(row.question, row.references, row.candidate) for row in ROWS],
        "rules": [decide(row.question, row.references, row.candidate) for row in ROWS],
        "languages": [unfamiliar_text(value, ["en"]) for value in texts],
    }


# --- kinds of judges ---


def lexical_results() -> Results:
    from bert_judge.judges.lexical.judge import LexicalJudge

    results = {}
    for name, rule in RULES.items():
        with LexicalJudge(rule) as judge:
            results[name] = judge.judge(ROWS[::SLOW_ROWS] if name == "math_verify" else ROWS)
    return results


def bert_results() -> Results:
    """Results of the judge in the package, with logits that depend on the texts only: an encoder's depend on the machine."""
    from bert_judge.encoder.inference import EncoderOutput
    from bert_judge.judges.bert.judge import BERTJudge

    judge = BERTJudge(backend="torch", precision="float32")

    def score(rows: Sequence[Any], exact: bool = False) -> EncoderOutput:
        numbers = [int(digest(row), 16) % 2001 / 400 - 2.5 for row in rows]
        return EncoderOutput(np.array(numbers), np.zeros(len(rows), bool), np.full(len(rows), 9))

    # The rows stay texts.
    judge.checkpoint.encoder.encode_answers = lambda *columns: list(zip(*columns, strict=True))  # type: ignore[method-assign]
    judge.engine.score = score  # type: ignore[assignment, method-assign]
    labels = judge.judge(ROWS[::2])
    judge.early_exit = False
    texts = [[row.question for row in ROWS], [row.candidate for row in ROWS], [row.references[0] for row in ROWS]]
    return {"labels": labels, "all read": judge.judge(ROWS[1::SLOW_ROWS]), "inputs": judge.checkpoint.encoder.encode(*texts)}


class ScriptedModel:
    """A language model that replies with `REPLIES` in turn and keeps the prompts."""

    revisions: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def generate(self, requests: Sequence[Any]) -> list[Any]:
        from bert_judge.candidates.generators.protocol import Completion

        start = len(self.prompts)
        self.prompts += [request.prompt for request in requests]
        replies = itertools.islice(itertools.cycle(REPLIES), start % len(REPLIES), None)
        return [Completion(reply, "ok") for reply, _ in zip(replies, requests, strict=False)]


def _fine_tuned_prompts() -> list[Any]:
    from bert_judge.judges.fine_tuned import PromptWriter
    from bert_judge.judges.prompted import render_candidate

    writer = PromptWriter(load_tokenizer(GENERAL_FOLDER), 80)
    answers = [{"Candidate": render_candidate(row, 0, 200)} for row in ROWS[::SLOW_ROWS]]
    return [writer.write(row.question, row.references, answer) for row, answer in zip(ROWS[::SLOW_ROWS], answers, strict=True)]


def llm_results() -> Results:
    from bert_judge.judges.llm.decisions import DecisionJudge
    from bert_judge.judges.llm.judge import LLMJudge
    from bert_judge.judges.llm.rubric import RubricJudge

    aspects = {name: {"range": [1, 5], "description": "How it is."} for name in ("tone", "depth")}
    common = {"threshold": 0.5, "seed": 0, "max_candidate_chars": 200}
    judges = {
        "reasoned": (LLMJudge, {"reasoning": True}),
        "in one word": (LLMJudge, {"reasoning": False}),
        "rubric": (RubricJudge, {"reasoning": True, "aspects": aspects, "show_references": False}),
        "decisions": (DecisionJudge, {"api": "decisions"}),
        "system one": (DecisionJudge, {"api": "system_one"}),
    }
    results: dict[str, Any] = {"fine-tuned": _fine_tuned_prompts()}
    for name, (judge, settings) in judges.items():
        model = ScriptedModel()
        labels = judge("j", common | settings, model).judge(ROWS[::SLOW_ROWS])  # type: ignore[arg-type]
        results[name] = [labels, model.prompts]
    return results


def pairwise_results() -> Results:
    from bert_judge.config import Input
    from bert_judge.judges.pairwise.encoder import DavidsonTieModel, PairRowEncoder
    from bert_judge.judges.pairwise.llm import PairLLMJudge
    from bert_judge.judges.pairwise.rules import RULES, PairRuleJudge
    from bert_judge.judges.protocol import Pair
    from bert_judge.text.visible_text import normalize_text

    pairs = [Pair(a.question, a.candidate, b.candidate, a.references) for a, b in itertools.pairwise(ROWS[::SLOW_ROWS])]
    model, settings = ScriptedModel(), {"reasoning": True, "seed": 0, "max_answer_chars": 200}
    prompted = PairLLMJudge("j", settings, model).compare(pairs)  # type: ignore[arg-type]
    encoder = PairRowEncoder(RowTokenizer.read(GENERAL_FOLDER), Input(max_length=64), 512)
    columns = zip(
        *((p.question, "\n".join(p.references), normalize_text(p.answer_a), normalize_text(p.answer_b)) for p in pairs), strict=True
    )
    ties = DavidsonTieModel(1.5, -1.0)
    differences = np.linspace(-4, 4, 33)
    return {
        **{rule: PairRuleJudge(rule, 0).compare(pairs) for rule in RULES},
        "prompted": [prompted, model.prompts],
        "encoder": [encoder.encode_pair(*map(list, columns)), ties.verdicts(differences), ties.probabilities(differences)],
    }


def probe_results() -> Results:
    """Results of heads that read made-up hidden states; those of a model depend on the machine."""
    from sklearn.linear_model import LogisticRegression

    from bert_judge.judges.probe.judge import AspectHead, HiddenStates, Probe, save_folder

    class MadeUpStates:
        def fetch(self, features: str, layers: Any, rows: Sequence[Row]) -> HiddenStates:
            states = np.array([[int(digest(row.candidate), 16) % 401 / 100 - 2] for row in rows], np.float32)
            return HiddenStates(dict.fromkeys(layers, states), np.zeros(len(rows), bool), np.full(len(rows), 9))

    def head(spec: Results, classes: int) -> AspectHead:
        values = np.repeat(np.arange(classes), 5)
        fitted = LogisticRegression().fit(values[:, None] - 1.0, values)
        return AspectHead(spec, "f", [(1, "mean")], fitted)

    heads = {
        "correctness": head({"head": "binary", "range": [0, 1], "positive_from": None}, 2),
        "tone": head({"head": "ordinal", "range": [0, 3], "positive_from": None}, 4),
    }
    with tempfile.TemporaryDirectory() as folder:
        save_folder(Path(folder), heads, {"features": {}}, {})
        return {"labels": Probe(folder, 0.6, MadeUpStates()).judge(ROWS[::2])}  # type: ignore[arg-type]


def _candidates(rows: Sequence[Row], folder: Path) -> Path:
    frame = pd.DataFrame([vars(row) for row in rows]).assign(status="ok")
    frame["references"] = frame["references"].map(list)
    empty = ("reasoning", "reason", "prompt_tokens", "completion_tokens")
    path = folder / "answers.parquet"
    tables.write(frame.assign(**dict.fromkeys(empty)), path, tables.CANDIDATES, {})
    return path


class MadeUpJudge:
    """Gives a score that depends on the answer and on the judge's name, and an invalid verdict now and then."""

    revisions: Mapping[str, str] = {}

    def __init__(self, name: str) -> None:
        self.name = name

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        numbers = [int(digest([self.name, row.candidate]), 16) % 101 for row in rows]
        labels = zip(numbers, rows, strict=True)
        return [decided(n / 100, reason=row.candidate) if n % 7 else invalid("undecided") for n, row in labels]


def _label(judge: MadeUpJudge, answers: Path, folder: Path) -> Path:
    from bert_judge.labels.stage import label_table

    path = folder / f"{judge.name}.parquet"
    label_table({"judge": judge.name, "model": "m", "task": "t"}, answers, path, judge)
    return path


def _rows_of(path: Path) -> list[list[Any]]:
    return list(json.loads(pd.read_parquet(path).to_json(orient="values")))


def cascade_results() -> Results:
    from bert_judge.judges.cascade.escalation import label_cascade, select_undecided

    thresholds = {"a": {"low": 0.1, "high": None}, "b": {"low": None, "high": 0.8}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        answers, fitted = _candidates(ROWS[::SLOW_ROWS], folder), folder / "judge.json"
        fitted.write_text(json.dumps({"thresholds": thresholds, "last": "c"}))
        labels = [(judge, _label(MadeUpJudge(judge), answers, folder)) for judge in "abc"]
        select_undecided(answers, labels[:1], fitted, folder / "undecided.parquet")
        label_cascade({"judge": "both", "model": "m", "task": "t"}, answers, labels, fitted, folder / "both.parquet")
        return {"undecided": _rows_of(folder / "undecided.parquet"), "labels": _rows_of(folder / "both.parquet")}


def per_task_results() -> Results:
    from bert_judge.judges.registry import LoadContext

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        answers, output = _candidates(ROWS[::SLOW_ROWS], folder), folder / "both.parquet"
        inputs = {"candidates": answers, "labels": [_label(MadeUpJudge(judge), answers, folder) for judge in "ab"]}
        spec = {"judge": "both", "model": "m", "task": "t", "judges": ["a", "b"]}
        registry.find("per_task").combine_labels(LoadContext(spec, inputs, {}), output)
        return {"labels": _rows_of(output)}


def imported_results() -> Results:
    """Verdicts of a file on its own answers, of another file on the same answers, and the known truth of simulated answers."""
    from bert_judge.judges.registry import LoadContext
    from bert_judge.text.visible_text import strip_reasoning

    rows = [row for row in ROWS if row.question.strip(" ?") and strip_reasoning(row.candidate) == row.candidate][::SLOW_ROWS]
    with tempfile.TemporaryDirectory() as name:
        files = {part: Path(name, f"{part}.jsonl") for part in ("answers", "others")}
        for part, path in files.items():
            lines = [
                {
                    "question": row.question,
                    "references": row.references,
                    "candidate": row.candidate,
                    "model": "m",
                    "label": n % 2,
                }
                for n, row in enumerate(rows)
            ]
            kept = (line for line in lines if part == "answers" or line["label"])
            path.write_text("".join(json.dumps(line) + "\n" for line in kept), "utf-8")
        raw = {
            "imports": {part: {"path": str(path), "columns": {"label": "label"}} for part, path in files.items()},
            "models": {"m": {"generator": "imported", "from": "answers"}},
            "tasks": {"imported": {"t": {"from": "answers"}}, "test": ["t"]},
            "judges": {part: {"kind": "imported", "from": part} for part in files},
            "scorers": list(files),
        }
        run, results = plan.build_plan(raw), {}
        for judge, path in files.items():
            found = registry.find("imported").load(LoadContext(run.labels_spec(judge, "m", "t"), {"source": str(path)}, {}))
            counts: dict[str, int] = {}
            asked = []
            for row in rows:
                sample_id = tables.sample_id("t", row.question, list(row.references))
                asked.append(Row(sample_id, counts.setdefault(sample_id, 0), "m", row.question, row.references, row.candidate))
                counts[sample_id] += 1
            results[judge] = found.judge(asked)
        return {**results, "simulated truth": _simulated_truth()}


def _simulated_truth() -> list[Label]:
    from bert_judge.candidates.generators.protocol import Request
    from bert_judge.candidates.generators.simulated import simulate
    from bert_judge.candidates.stage import read_samples
    from bert_judge.judges.imported.judge import SimulatedTruth
    from bert_judge.tasks.registry import prompt

    settings = {"generator": "simulated", "p_correct": 0.5, "style": "wordy", "seed": 0}
    source = {"model": "m", "settings": settings, "family": "short_answer", "prompt_style": "free"}
    with tempfile.TemporaryDirectory() as folder:
        path = _task("facts_test", Path(folder))
        judge = SimulatedTruth({"source": source, "settings": {"label_noise": 0.2, "seed": 0}}, path)
        rows = []
        for key, sample in read_samples(path).items():
            completion, _ = simulate("m", settings, Request(key, 0, prompt(sample, "short_answer", "free"), sample))
            rows.append(Row(key, 0, "m", sample.question, sample.references, completion.text))
        return judge.judge(rows)


# --- stages ---


def _task(name: str, folder: Path) -> Path:
    """Write the table of a task of the demo."""
    from bert_judge.tasks import find

    samples = list(find(name).samples())[:40]
    columns = {
        field: [getattr(sample, field) for sample in samples] for field in ("question", "references", "answer_kind", "choices")
    }
    frame = pd.DataFrame(columns).assign(sample_id=[tables.sample_id(name, s.question, s.references) for s in samples])
    path = folder / f"{name}.parquet"
    tables.write(frame[tables.TASK.names], path, tables.TASK, {"task": name})
    return path


def label_stage_results() -> Results:
    with tempfile.TemporaryDirectory() as folder:
        return {"labels": _rows_of(_label(MadeUpJudge("j"), _candidates(ROWS, Path(folder)), Path(folder)))}


def candidate_results() -> Results:
    from typing import get_args

    from bert_judge.candidates.generators.protocol import Request
    from bert_judge.candidates.generators.simulated import simulate
    from bert_judge.candidates.stage import read_samples
    from bert_judge.config import Style
    from bert_judge.tasks import find
    from bert_judge.tasks.registry import prompt

    results: dict[str, list[Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("facts_test", "multiple_choice_test", "word_problems_test"):
            for key, sample in read_samples(_task(name, Path(folder))).items():
                prompts = [prompt(sample, find(name).family, asked) for asked in ("free", "soft", "strict")]
                results.setdefault("prompts", []).append(prompts)
                for style in get_args(Style):
                    settings = {"generator": "simulated", "p_correct": 0.5, "style": style, "seed": 0}
                    answers = [simulate("m", settings, Request(key, 0, text, sample))[0].text for text in prompts]
                    results.setdefault("simulated answers", []).append(answers)
    return results


def task_results() -> Results:
    """Questions of the published tasks, from rows of their data sets."""
    from bert_judge.tables.readers.values import SkippedRecord
    from bert_judge.tasks.families import make_samples
    from bert_judge.tasks.registry import published_sources

    results: dict[str, list[Any]] = {}
    for name, entry in published_sources().items():
        source = entry.model_dump(mode="json", exclude={"path"})
        content = json.loads((FOLDER.parent / "fixtures" / "sources" / f"{name}.json").read_text("utf-8"))
        for row in content["rows"]:
            try:
                results.setdefault(source["family"], []).append(make_samples(source, row))
            except SkippedRecord as error:
                results.setdefault(source["family"], []).append(str(error))
    return results


def attack_results() -> Results:
    from bert_judge.evaluation.attacks import generate_attacks

    rows = {tables.sample_id("t", row.question, list(row.references)): row for row in ROWS[::SLOW_ROWS]}
    questions = pd.DataFrame([{"sample_id": key, "question": row.question} for key, row in rows.items()])
    questions["references"] = [list(row.references) for row in rows.values()]
    answers, families = generate_attacks(questions, len(rows), 0)
    return {"answers": answers["candidate"], "families": families["family"]}


def dataset_results() -> Results:
    from bert_judge.perturbations.augmentation import KINDS, augment

    rows = pd.DataFrame([vars(row) for row in ROWS[::2]]).assign(
        task="t", label=[float(i % 2) for i in range(len(ROWS[::2]))], aspects=None, rationale=None
    )
    rows["references"] = rows["references"].map(list)
    columns = [name for name in tables.DATASET.names if name != "weight"]
    made = augment(rows[columns], [{"kind": kind, "share": 1.0} for kind in KINDS], 0)
    return {kind: part[["references", "candidate", "label"]].to_numpy().tolist() for kind, part in made.groupby("model")}


def feature_results() -> Results:
    from bert_judge.judges.probe import PROMPT
    from bert_judge.judges.probe.hidden_states import PromptEncoder, pool

    prompts = PromptEncoder(load_tokenizer(GENERAL_FOLDER), PROMPT.replace("{aspect}", "tone"), 40)
    rows = ROWS[::SLOW_ROWS]
    import torch

    states = torch.linspace(-1, 1, 2 * 5 * 3).reshape(2, 5, 3)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
    pooled = pool(states, mask, ("mean", "last", "min", "max")).tolist()
    return {"inputs": prompts.encode_prompts([row.question for row in rows], [row.candidate for row in rows]), "pooled": pooled}


# --- versions ---


def _kind(name: str, results: Callable[[], Results], *blocks: Mapping[str, Any]) -> Subject:
    kind = registry.find(name)

    def versions() -> Results:
        merged: dict[str, Any] = {}
        for block in blocks:
            config = kind.config.model_validate({"kind": name, **block})
            prompts = kind.prompts(config)
            merged |= kind.versions(config) | ({"prompts": prompts} if prompts else {}) | kind.content_spec(config)
        return merged

    return Subject(f"stage_version of the kind {name} (bert_judge/judges/{name}/__init__.py)", versions, results)


def _stage(name: str, results: Callable[[], Results], reads_text: bool = False) -> Subject:
    def versions() -> Results:
        return {"stage": plan.STAGE_VERSIONS[name], **({"text": text.TEXT_VERSION} if reads_text else {})}

    return Subject(f"STAGE_VERSIONS[{name!r}] (bert_judge/plan/__init__.py)", versions, results)


_MODEL = {"model": {"generator": "openai", "model": "m"}}
SUBJECTS: Mapping[str, Subject] = {
    "text": Subject("TEXT_VERSION (bert_judge/text/__init__.py)", lambda: {"text": text.TEXT_VERSION}, text_results),
    "lexical": _kind("lexical", lexical_results, {"metric": "contains"}),
    "bert": _kind("bert", bert_results, {"checkpoint": "general"}),
    "llm": _kind("llm", llm_results, _MODEL),
    "pairwise": _kind("pairwise", pairwise_results, {"rule": "longer"}, _MODEL),
    "probe": _kind("probe", probe_results, {"dataset": "d"}),
    "per_task": _kind("per_task", per_task_results, {"judges": ["a", "b"]}),
    "cascade": _kind("cascade", cascade_results, {"judges": ["a", "b", "c"], "dataset": "d", "budget": 0.5}),
    "imported": _kind("imported", imported_results, {"from": "a"}),
    "label stage": Subject(
        "STAGE_VERSION (bert_judge/judges/registry.py)", lambda: {"stage": registry.STAGE_VERSION}, label_stage_results
    ),
    "task": _stage("task", task_results),
    "candidates": _stage("candidates", candidate_results),
    "attacks": _stage("attacks", attack_results, reads_text=True),
    "dataset": _stage("dataset", dataset_results, reads_text=True),
    "features": _stage("features", feature_results),
}


class Entry(NamedTuple):
    """Versions and hashes of a subject, as in digests.yaml."""

    versions: dict[str, Any]
    digests: dict[str, str]


@functools.cache
def current(name: str) -> Entry:
    """Return the versions of a subject and the hashes of its results with today's code."""
    subject = SUBJECTS[name]
    return Entry(dict(subject.versions()), {part: digest(results) for part, results in subject.results().items()})


def stored() -> dict[str, Entry]:
    content = yaml.safe_load(DIGESTS.read_text("utf-8")) if DIGESTS.is_file() else {}
    return {name: Entry(**entry) for name, entry in content.items()}


def problem(name: str, entry: Entry, before: Entry | None) -> str | None:
    """Return what must be done about a subject, given its stored entry; None: nothing."""
    if before == entry:
        return None
    parts = _other_results(entry, before)
    if parts:
        raise_in = SUBJECTS[name].raise_in
        if "text" in entry.versions and name != "text":
            raise_in = f"TEXT_VERSION if a rule about texts changed, else {raise_in}"
        return f"{name}: other results ({', '.join(parts)}) under the same version: raise {raise_in}, then {COMMAND}"
    return f"{name}: new versions or parts: {COMMAND}"


def _other_results(entry: Entry, before: Entry | None) -> list[str]:
    """Return the parts whose results are not those that were stored under the same versions."""
    if before is None or entry.versions != before.versions:
        return []
    return sorted(part for part in entry.digests.keys() & before.digests if entry.digests[part] != before.digests[part])


def confirm_general() -> None:
    """Write today's `TEXT_VERSION` into the judge in the package."""
    path = GENERAL_FOLDER / JUDGE_FILE
    tables.write_json(path, json.loads(path.read_text("utf-8")) | {"text_version": text.TEXT_VERSION})
    write_checksums(GENERAL_FOLDER)


def main(arguments: Sequence[str]) -> int:
    """Check or write the hashes; `arguments` may name subjects."""
    if "--general" in arguments:
        confirm_general()
    names = [name for name in arguments if not name.startswith("--")] or list(SUBJECTS)
    before = stored()
    entries = {name: current(name) for name in names}
    problems = {name: line for name, entry in entries.items() if (line := problem(name, entry, before.get(name)))}
    if "--write" in arguments:
        problems = {name: line for name, line in problems.items() if _other_results(entries[name], before.get(name))}
        merged = {**before, **{name: entry for name, entry in entries.items() if name not in problems}}
        content = {name: merged[name]._asdict() for name in SUBJECTS if name in merged}
        DIGESTS.write_text("# Written by tests/golden_results.py.\n" + yaml.safe_dump(content, sort_keys=False), "utf-8")
    print(*problems.values(), sep="\n", end="\n" if problems else "")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
