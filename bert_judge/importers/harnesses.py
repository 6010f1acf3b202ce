"""The answers of evaluation harnesses: lm-evaluation-harness, lighteval and HELM."""

import logging
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge.importers.answer_forms import after_hashes, last_box
from bert_judge.importers.answers import Answer, make_answers, parse_question
from bert_judge.importers.options import Options, add_options, apply_options, letter_options, option_label, parse_option_cell
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import log_once
from bert_judge.tables.readers import json_documents, values
from bert_judge.tables.readers.name_words import split_words, vocabulary
from bert_judge.tables.readers.rows import LocatedRecord, Record
from bert_judge.tables.readers.values import SkippedRecord, get_path
from bert_judge.text.options import parse_options

log = logging.getLogger(__name__)
SAMPLE_KEYS = ("doc", "filtered_resps", "resps", "target")
QUESTION_KEYS = ("question", "problem", "query", "input", "prompt")
OPTION_KEYS = ("choices", "options", "endings")
_SAMPLES_NAME = re.compile(r"samples_(.+?)_(\d{4}-\d\d-\d\dT[\d.:-]+)")
# Metrics of a likelihood of whole texts.
_PERPLEXITIES = {"word_perplexity", "byte_perplexity", "bits_per_byte"}
_MODEL = re.compile(r"(?:^|,)(?:pretrained|model)=([^,]+)")


class LMEvalReader:
    """Reader of lm-evaluation-harness, `--log_samples`: a line per document and filter, in `samples_{task}_{time}.jsonl`.

    The raw responses are imported, not the filtered ones: finding the answer is the judge's task. A document that occurs once per
    filter is imported once. The target is a text, whatever it was, so what it means is derived from the document, not from the
    name of the task; log lines say what was decided.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._reported = path, set[str]()
        stem = path.name.partition(".json")[0]
        name = _SAMPLES_NAME.match(stem)
        self.task, time = (name[1], name[2]) if name else (stem, "")
        results = _find_results(path.parent, time)
        self.model = (_model_name(results) if results else "") or _folder_model(path)
        # What an integer target means in a task of generated answers.
        self.choices = get_path(results and json_documents.read_member(results, "configs"), self.task, "doc_to_choice")
        self._filter: Any = None

    def __call__(self, record: Record) -> list[Answer]:
        if missing := [key for key in SAMPLE_KEYS if key not in record]:
            raise values.UnreadableCell(f"no {missing[0]!r}, which every logged sample has")
        if self._filter is None:
            self._filter = record.get("filter", "none")
        if record.get("filter", "none") != self._filter:
            raise SkippedRecord("another filter of the same document")
        # Some versions write a flat list.
        responses = get_path(record["resps"], 0)
        responses = [responses] if isinstance(responses, str) else responses
        if isinstance(get_path(responses, 0), list | tuple | int | float):
            return [self._read_choice(record)]
        if _PERPLEXITIES & record.keys():
            raise SkippedRecord("a task scored by perplexity, without an answer")
        if not isinstance(responses, list):
            raise values.UnreadableCell(f"its resps are {str(record['resps'])[:60]}")
        question, references = self._parse_document(record)
        identity = str(record.get("doc_id", ""))
        return make_answers(references, responses, question=question, model=self.model, task=self.task, id=identity)

    def _read_choice(self, record: Record) -> Answer:
        """Return the letter of the option with the highest likelihood as the answer, with the harness's own `acc` as the label.

        A target is the index of an option, its text, or a list of indices of which each is correct. Raises SkippedRecord: there are
        no options, or `acc` shows that the target means something else, as in TruthfulQA's `mc2` and Winogrande.
        """
        requests = record["resps"]
        # The second half are the options without their question.
        count = len(requests) // (2 if "acc_mutual_info" in record else 1)
        texts = [str(_argument(record, number, 1) or "").strip() for number in range(count)]
        likelihoods = [values.to_float(str(get_path(request, 0, 0))) for request in requests[:count]]
        if len(set(texts)) < 2 or any(math.isnan(likelihood) for likelihood in likelihoods):
            raise SkippedRecord("a task scored by likelihood, without options to choose from")
        chosen = likelihoods.index(max(likelihoods))
        label, target = record.get("acc"), values.parse_literal(record["target"])
        readings = [[n for n, text in enumerate(texts) if text == str(target).strip()]]
        indices = [int(n) for n in (target if isinstance(target, list) else [target]) if str(n).strip().isdecimal()]
        readings.insert(0, [n for n in indices if n < count])
        correct = next((golds for golds in readings if golds and label in (None, chosen in golds)), None)
        if correct is None:
            raise SkippedRecord("a task scored by likelihood, whose target is not the option that acc counts as correct")
        fields = _document_fields(record)
        options = next((parsed for key in OPTION_KEYS if (parsed := parse_option_cell(fields.get(key)))), None)
        texts = list(options.texts) if options and len(options.texts) == count else texts
        question, references = letter_options(_question(record, fields), texts, correct, together=False)
        identity = str(record.get("doc_id", ""))
        return Answer(question, tuple(references), option_label(chosen), self.model, self.task, label, identity)

    def _parse_document(self, record: Record) -> tuple[str, Any]:
        """Return question and references."""
        fields = _document_fields(record)
        question = _question(record, fields)
        target = self._parse_target(record["target"], fields)
        number = int(target) if isinstance(target, str) and target.strip().isdecimal() else None
        if isinstance(self.choices, list) and number is not None and number < len(self.choices):
            return question, [self.choices[number]]
        options = next((parsed for key in OPTION_KEYS if (parsed := parse_option_cell(fields.get(key)))), None)
        if options is None and (options := _lettered_fields(fields, target, _prompt(record))):
            return apply_options(question, target, options)
        if options is None:
            return question, _references(target, fields)
        if number is None or str(number) in options.labels:
            return apply_options(question, target, options)
        position = self._place_of_number(number, options.texts, fields)
        if position is None:
            return add_options(question, options.texts), [str(target)]
        return letter_options(question, options.texts, [position], together=True)

    def _parse_target(self, target: Any, fields: Mapping[str, Any]) -> Any:
        """Return a target as it was before the harness wrote it as a text: a list or object, a truth value, or a text.

        What looks like a list is a text if the document has this text, such as the output of code.
        """
        if target in ("True", "False"):
            return target == "True"
        parsed = values.parse_alternatives(target)
        if parsed is target:
            return target
        if _holds_text(fields, target):
            self._report(f"targets that look like lists or objects are texts in the documents, e.g. {target!r:.60}")
            return target
        return parsed if not isinstance(parsed, Mapping) or values.parse_texts(target, is_csv=True) != [target.strip()] else target

    def _place_of_number(self, number: int, texts: Sequence[str], fields: Mapping[str, Any]) -> int | None:
        """Return the place of the option that a number means: an index, or the text of one; None if it is neither.

        The document's index of the correct option decides where both are possible.
        """
        golds = [value for key, value in fields.items() if type(value) is int and _names_gold(key)]
        text = str(number)
        is_confirmed = any(0 <= gold < len(texts) and texts[gold] == text for gold in golds)
        if text in texts and (is_confirmed or (number not in golds and self.choices is None)):
            self._report(f"targets that are numbers are texts of options, e.g. {text!r}")
            return texts.index(text)
        if number < len(texts):
            self._report(f"targets that are numbers are indices of options from 0, e.g. {text!r} of {texts[number]!r:.60}")
            return number
        return None

    def _report(self, decision: str) -> None:
        """Log the first example of a decision."""
        kind, _, _ = decision.partition(", e.g.")
        if kind not in self._reported:
            self._reported.add(kind)
            log_once(log, f"{self.path}: {decision}")


def _lettered_fields(fields: Mapping[str, Any], target: Any, prompt: Any) -> Options | None:
    """Return the options in fields of letters, as of CMMLU, if the target is one of the letters or the prompt shows them.

    Otherwise they are the numbers of a question, such as the sides of a triangle.
    """
    by_letter = {key.upper(): fields[key] for key in "abcdefghij" if key in fields}
    options = parse_option_cell(by_letter) if len(by_letter) > 2 else None
    letter = re.fullmatch(r"\W*([A-Ja-j])\W*", str(target))
    is_letter = letter is not None and letter[1].upper() in by_letter
    return options if options and (is_letter or [*parse_options(parse_question(prompt)).values()] == [*options.texts]) else None


def _holds_text(value: Any, text: str) -> bool:
    """Return whether a document has a text somewhere."""
    if isinstance(value, Mapping | list):
        return any(_holds_text(member, text) for member in (value.values() if isinstance(value, Mapping) else value))
    return isinstance(value, str) and value.strip() == text.strip()


def _names_gold(key: str) -> bool:
    """Return whether a field may hold the index of the correct option: `gold`, `answer_idx`, `label`; not `year`, `num_answers`."""
    names, words = vocabulary(), set(split_words(key))
    is_gold = bool(words & (names["words"]["gold"] | names["words"]["correct"] | names["words"]["answer"]))
    return (is_gold and not words & {"num", "number", "count", "length", "type"}) or key in names["fallback"]["references"]


def _references(target: Any, fields: Mapping[str, Any]) -> Any:
    """Return the correct answers that a document states, or else those in the target."""
    if isinstance(target, str) and not target.strip():
        # TruthfulQA's answers are in the document only.
        return [fields.get("best_answer"), *(fields.get("correct_answers") or fields.get("answers") or [])]
    if texts := get_path(fields.get("answers"), "text"):
        return texts
    if isinstance(fields.get("answer"), Mapping):
        return fields["answer"]
    if isinstance(answers := fields.get("answers"), list) and all(isinstance(spans, list) for spans in answers) and answers:
        # DROP: each annotator's answer is a list of spans.
        return answers
    if not isinstance(target, str):
        return target
    # A target may be the whole solution, of which the document states the end (MGSM, MATH).
    stated = fields.get("answer_number")
    stated = fields.get("answer") if stated is None and "\\boxed" in target else stated
    return final_answers(str(stated) if isinstance(stated, str | int | float) and str(stated).strip() else target)


def final_answers(solution: str) -> list[str]:
    """Return the answer at the end of a solution, after `####` or in the last box; a text without these is the answer itself."""
    for mark, find in (("####", after_hashes), ("\\boxed", last_box)):
        if mark in solution:
            try:
                return list(find(solution))
            except SkippedRecord:
                continue
    return [solution]


def _document_fields(record: Record) -> dict[str, Any]:
    document = record["doc"]
    return {str(key).lower(): value for key, value in document.items()} if isinstance(document, Mapping) else {}


def _question(record: Record, fields: Mapping[str, Any]) -> str:
    """Return the question of a document, or else the prompt, which may contain examples."""
    return parse_question(next((fields[key] for key in QUESTION_KEYS if fields.get(key)), None) or _prompt(record))


def _argument(record: Record, request: int, position: int) -> Any:
    """Return an argument of a request: its prompt, or the text whose likelihood was computed."""
    arguments = record.get("arguments")
    return get_path(arguments, f"gen_args_{request}", f"arg_{position}") or get_path(arguments, request, position)


def _prompt(record: Record) -> Any:
    prompt = _argument(record, 0, 0) or record.get("input")
    return get_path(prompt, 0) if isinstance(prompt, list) and len(prompt) == 1 else prompt


def _find_results(folder: Path, time: str) -> Path | None:
    """Return the results of the run with this time, or of the only model in the folder."""
    if (same_run := folder / f"results_{time}.json").is_file():
        return same_run
    candidates = sorted(folder.glob("results*.json"))
    return candidates[0] if len({_model_name(path) for path in candidates}) == 1 else None


def _folder_model(path: Path) -> str:
    """Return the model that the harness names the folder of a run after, "org__name"; empty for another folder.

    Results lie there too; without them, only a name with an organization is sure to be a model's.
    """
    folder = path.resolve().parent
    return folder.name.replace("__", "/") if "__" in folder.name or any(folder.glob("results_*.json")) else ""


def _model_name(results: Path) -> str:
    try:
        if isinstance(name := json_documents.read_member(results, "model_name"), str) and name:
            return name
        arguments = json_documents.read_member(results, "config.model_args")
    except InputError:
        return ""
    if isinstance(arguments, Mapping):
        return str(arguments.get("pretrained") or arguments.get("model") or "")
    match = _MODEL.search(str(arguments))
    return match[1] if match else ""


_DETAILS_NAME = re.compile(r"details_(.+?)_\d{4}-\d\d-\d\dT[\d.:-]+$")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d.:-]+")


class LightevalReader:
    """Reader of lighteval's details since version 0.10: a parquet file per task.

    Its path is `details/{model}/{time}/details_{task}_{time}.parquet`; the columns are `doc`, `model_response` and `metric`, which
    are called `__doc__` and so on in its documentation.
    """

    def __init__(self, path: Path) -> None:
        name = _DETAILS_NAME.match(path.stem)
        self.task = (name[1] if name else path.stem).replace("|", ":")
        self.model = _details_model(path)

    def __call__(self, record: Record) -> list[Answer]:
        row = {name.strip("_"): value for name, value in record.items()}
        document, candidates = row["doc"], get_path(row["model_response"], "text")
        if not candidates:
            raise SkippedRecord("a task scored by likelihood, without generated text")
        options, correct = list(get_path(document, "choices") or []), _as_indices(get_path(document, "gold_index"))
        if not all(0 <= index < len(options) for index in correct):
            raise values.UnreadableCell(f"the correct option is {correct} of {len(options)}")
        question = values.parse_text(get_path(document, "query"))
        references = [options[index] for index in correct]
        if len(options) > len(references) and all(re.fullmatch(r"\s*[A-Z]\s*", option) for option in options):
            # Only letters: the options themselves are lines of the question.
            references = [reference.strip() for reference in references]
        elif len(options) > len(references):
            question, references = letter_options(question, options, correct, together=False)
        identity = values.parse_text(get_path(document, "id"))
        return make_answers(references, list(candidates), question=question, model=self.model, task=self.task, id=identity)


def _as_indices(value: Any) -> list[int]:
    return [index for index in (value if isinstance(value, list) else [value]) if isinstance(index, int)]


def _details_model(path: Path) -> str:
    """Return the part of the path between `details` and the time; empty for a file that was moved."""
    folders = path.resolve().parent.parts
    if "details" in folders and _TIME.fullmatch(folders[-1]):
        start = len(folders) - folders[::-1].index("details")
        return "/".join(folders[start:-1])
    return ""


_HELM_MODEL = re.compile(r"[:,]model=[^,]*")


class HelmReader:
    """Reader of the states of HELM's `scenario_state.json`: one per instance, training trial and, in some methods, option."""

    def __init__(self, path: Path) -> None:
        # The folder has the name of the run, scenario with arguments and model: "mmlu:subject=anatomy,model=openai_gpt2".
        self.task, is_run = _HELM_MODEL.subn("", path.resolve().parent.name)
        self.task = self.task if is_run else ""

    def __call__(self, record: Record) -> list[Answer]:
        if record.get("reference_index") is not None:
            raise SkippedRecord("an option scored by likelihood, without generated text")
        result = record.get("result")
        if not get_path(result, "success"):
            raise values.UnreadableCell(f"the request failed: {get_path(result, 'error') or 'no result'}")
        references = [
            get_path(reference, "output", "text")
            for reference in get_path(record, "instance", "references") or []
            if "correct" in (get_path(reference, "tags") or [])
        ]
        question = values.parse_text(get_path(record, "instance", "input", "text"))
        if options := record.get("output_mapping"):
            question = add_options(question, list(options.values()))
            references = [form for letter, text in options.items() if text in references for form in (letter, text)]
        return make_answers(
            references,
            [get_path(completion, "text") for completion in get_path(result, "completions") or []],
            question=question,
            model=values.parse_text(get_path(record, "request", "model") or get_path(record, "request", "model_deployment")),
            task=self.task,
            id=values.parse_text(get_path(record, "instance", "id")),
        )


def read_states(path: Path) -> Iterator[LocatedRecord]:
    """Yield location and content of each state. Raises InputError: the document is broken."""
    for location, state in json_documents.iterate_list(path, "request_states"):
        if not isinstance(state, dict):
            raise InputError(f"{path}: {location} is not an object; check the format of the file")
        yield location, state
