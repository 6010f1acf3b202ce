"""The columns of other programs' files are detected by their words; what is ambiguous is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bert_judge.importers.answers import make_column_reader
from bert_judge.importers.column_names import detect_columns
from bert_judge.importers.label_columns import verdict_columns
from bert_judge.runtime.errors import InputError

MESSAGES = [{"role": "user", "content": "Q?"}, {"role": "assistant", "content": "Paris"}]
# A row of each program's file; each states the question "Q?", the reference "Paris" and the answer "It is Paris" or "Paris".
ROWS: dict[str, dict[str, Any]] = {
    "LLaMA-Factory": {"prompt": "Q?", "predict": "Paris", "label": "Paris"},
    "ms-swift": {"response": "Paris", "labels": "Paris", "logprobs": None, "messages": MESSAGES},
    "DeepEval": {"input": "Q?", "actual_output": "Paris", "expected_output": "Paris", "context": None, "success": True},
    "DeepEval as JSON": {"name": "t", "input": "Q?", "actualOutput": "Paris", "expectedOutput": "Paris"},
    "MLflow": {"inputs": "Q?", "predictions": "Paris", "targets": "Paris"},
    "MLflow evaluation": {"inputs/question": "Q?", "outputs": "Paris", "expectations/expected_response": "Paris"},
    "LangSmith": {"inputs.question": "Q?", "outputs.answer": "Paris", "reference_outputs.answer": "Paris", "execution_time": 1.5},
    "LangSmith nested": {"inputs": {"question": "Q?"}, "outputs": {"answer": "Paris"}, "reference_outputs": {"answer": "Paris"}},
    "Langfuse": {"id": "1", "input": "Q?", "output": "Paris", "expectedOutput": "Paris", "metadata": None},
    "Langfuse nested": {"input": {"question": "Q?"}, "output": {"answer": "Paris"}, "expectedOutput": {"answer": "Paris"}},
    "verl validation": {"input": "Q?", "output": "Paris", "gts": "Paris", "score": 1.0, "step": 3},
    "verl": {
        "data_source": "d",
        "prompt": MESSAGES[:1],
        "reward_model": {"style": "rule", "ground_truth": "Paris"},
        "extra_info": {"index": 3},
        "responses": ["Paris"],
    },
    "TRL": {"prompt": MESSAGES[:1], "completion": MESSAGES[1:], "solution": "Paris"},
    "FlashRAG": {"id": "1", "question": "Q?", "golden_answers": ["Paris"], "pred": "Paris"},
    "FlashRAG saved": {"question": "Q?", "golden_answers": ["Paris"], "output": {"pred": "Paris", "metric_score": {"em": 1}}},
    "OpenAI evals": {"input": MESSAGES[:1], "ideal": ["Paris"], "sampled": "Paris"},
    "PopQA": {"subj": "s", "obj": "o", "question": "Q?", "possible_answers": ["Paris"], "response": "Paris"},
    "Azure": {"inputs.query": "Q?", "inputs.ground_truth": "Paris", "outputs.response": "Paris", "outputs.similarity.score": 5},
    "Ragas": {"user_input": "Q?", "retrieved_contexts": ["c"], "response": "Paris", "reference": "Paris"},
    "ToRA": {
        "idx": 1,
        "question": "Q?",
        "gt_cot": "c",
        "gt": "Paris",
        "solution": "s",
        "answer": "x",
        "code": ["c"],
        "pred": ["Paris"],
    },
    "TruthfulQA": {"question": "Q?", "correct_answers": ["Paris"], "incorrect_answers": ["Rome"], "generated_text": "Paris"},
    "a spreadsheet": {"Question": "Q?", "Answer": "Paris", "Generated Answer": "Paris"},
    "camel case": {"userQuestion": "Q?", "goldAnswers": ["Paris"], "llmResponse": "Paris"},
    "Chinese": {"问题": "Q?", "参考答案": "Paris", "模型回答": "Paris"},
    "messages only": {"messages": MESSAGES, "reference": "Paris"},
    "a conversation": {"conversations": [{"from": "human", "value": "Q?"}, {"from": "gpt", "value": "Paris"}], "target": "Paris"},
    "verl rollouts": {"input": "Q?", "output": "Paris", "gts": "Paris", "score": 1.0, "acc": True, "pred": "Rome", "step": 1},
    "NeMo Skills": {"problem": "Q?", "generation": "Paris", "expected_answer": "Paris", "predicted_answer": "Rome"},
    "OpenAI evals API": {"item.question": "Q?", "item.reference": "Paris", "sample.output_text": "Paris"},
    "Opik": {
        "dataset_item_data.input": "Q?",
        "dataset_item_data.expected_output": "Paris",
        "evaluation_task_output.output": "Paris",
    },
    "Phoenix": {"attributes.input.value": "Q?", "attributes.output.value": "Paris", "reference": "Paris"},
    "MLflow GenAI": {"inputs": {"question": "Q?"}, "outputs": "Paris", "expectations": {"expected_response": "Paris"}},
    "Gemini": {"question": "Q?", "gold": "Paris", "response": {"candidates": [{"content": {"parts": [{"text": "Paris"}]}}]}},
    "machine translation": {"input": "Q?", "ref": "Paris", "hyp": "Paris"},
    "scikit-learn": {"question": "Q?", "y_true": "Paris", "y_pred": "Paris"},
    "DROP": {"question": "Q?", "answers_spans": {"spans": ["Paris"], "types": ["span"]}, "response": "Paris"},
    "Chinese predictions": {"题目": "Q?", "答案": "Paris", "预测": "Paris"},
    "PopQA as published": {"question": "Q?", "possible_answers": '["Paris", "Paris"]', "pred": "Paris"},
    "MMLU-Pro": {"question": "Q?", "answer": "Paris", "model_outputs": "Paris", "pred": "Rome"},
    "TRL conversation": {"messages": MESSAGES, "answer": "Paris"},
    "promptfoo": {
        "prompt": {"raw": "Q?"},
        "vars": {"question": "Q?", "answer": "Paris"},
        "response": {"output": "Paris", "cached": False},
    },
    "OpenAI evals log": {"event_id": 1, "data": {"prompt": "Q?", "expected": "Paris", "sampled": "Paris", "correct": True}},
    "a log of requests": {
        "request": {"messages": MESSAGES[:1]},
        "response": {"choices": [{"message": MESSAGES[1]}]},
        "metadata": {"expected": "Paris"},
    },
    "an annotator's label": {"question": "Q?", "answer": "Paris", "model_answer": "Paris", "gold_label": "correct"},
    "Weave": {"inputs": {"example": {"question": "Q?", "expected": "Paris"}}, "output": "Paris"},
    "LangChain": {"query": "Q?", "answer": "Paris", "result": "Paris"},
    "words with text": {"input_text": "Q?", "answer_text": "Paris", "generated_text": "Paris"},
    "results": {"question": "Q?", "expected_result": "Paris", "actual_result": "Paris"},
    "labels": {"question": "Q?", "gold_label": "Paris", "predicted_label": "Paris"},
    "true answers": {"question": "Q?", "true_answer": "Paris", "gpt_response": "Paris"},
    "gold standard": {"question": "Q?", "Gold Standard": "Paris", "System Output": "Paris"},
    "a person's answer": {"question": "Q?", "human_answer": "Paris", "rag_answer": "Paris"},
    "possessive": {"Question": "Q?", "Correct Answer:": "Paris", "Model's Answer": "Paris"},
    "a model's version": {"Prompt": "Q?", "Gold Answer": "Paris", "GPT-4 Answer": "Paris", "Correct (Y/N)": "Y"},
    "Russian": {"Вопрос": "Q?", "Эталон": "Paris", "Ответ": "Paris"},
    "German": {"Frage": "Q?", "Referenz": "Paris", "Antwort": "Paris"},
    "Japanese": {"問題": "Q?", "正解": "Paris", "回答": "Paris"},
    "Label Studio": {"data": {"question": "Q?", "response": "Paris", "reference": "Paris"}, "predictions": [], "annotations": []},
    "Argilla": {
        "fields": {"question": "Q?", "response": "Paris", "reference": "Paris"},
        "responses": {"verdict": [{"value": "correct", "user_id": "u"}]},
    },
    "a batch of Gemini": {
        "request": {"contents": [{"role": "user", "parts": [{"text": "Q?"}]}]},
        "response": {"candidates": [{"content": {"parts": [{"text": "Paris"}]}}]},
        "expected": "Paris",
    },
    "texts": {"question_text": "Q?", "reference_text": "Paris", "hypothesis_text": "Paris"},
    "an empty instruction": {"instruction": "", "full_prompt": "Q?", "gold": "Paris", "response": "Paris"},
    "actual and predicted": {"question": "Q?", "actual": "Paris", "predicted_answer": "Paris"},
}


@pytest.mark.parametrize("program", ROWS)
def test_files_of_other_programs(program: str) -> None:
    row = ROWS[program]
    columns = detect_columns(Path("x"), list(row), {}, sample=[row])
    [answer] = make_column_reader(columns, sample=[row])(row)
    question = "Q?" if columns.get("question") else ""
    assert (answer.question, answer.references, answer.candidate) == (question, ("Paris",), "Paris")
    assert question or program == "TRL"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"question": "q", "response": "r", "label": 1}, "cannot tell which column holds the references"),
        ({"question": "q", "response": "r", "labels": "correct"}, "cannot tell which column holds the references"),
        ({"question": "q", "gold": "g", "gpt4_answer": "a", "llama_answer": "b"}, "the candidate may be in the column"),
        ({"question": "q", "gold": "g", "generated_answer": "a", "model_reply": "b"}, "the candidate may be in the column"),
        ({"question": "q", "correct": True, "response": "a"}, "cannot tell which column holds the references"),
        ({"question": "q", "answer": "a", "result": "pass"}, "cannot tell which column holds the references"),
        ({"question": "q", "answer": "a", "label": "science"}, "cannot tell which column holds the candidate"),
        ({"question": "q", "response": "r", "human_label": "correct"}, "cannot tell which column holds the references"),
        ({"question": "q", "target_length": 5, "response": "a"}, "cannot tell which column holds the references"),
        ({"question": "q", "gold": "g", "output_tokens": 5}, "cannot tell which column holds the candidate"),
        ({"question": "q", "mc1_targets": {"choices": ["a", "b"], "labels": [1, 0]}, "response": "a"}, "holds the references"),
        ({"question": "q", "answer_index": 1, "response": "a"}, "cannot tell which column holds the references"),
    ],
)
def test_what_is_ambiguous_is_refused_with_the_option(row: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        detect_columns(Path("x"), list(row), {}, sample=[row])
    assert says in str(caught.value) and "; set --" in str(caught.value)


def test_a_column_with_a_named_role_has_no_other() -> None:
    row = {"instruction": "q", "output": "a", "generated_output": "b"}
    assert detect_columns(Path("x"), list(row), {"references": "output"})["candidate"] == "generated_output"


def test_keys_with_dots_are_not_searched() -> None:
    row = {"question": "q", "response": "a", "meta": {"gold.answer": "a"}}
    with pytest.raises(InputError, match="cannot tell which column holds the references"):
        detect_columns(Path("x"), list(row), {}, sample=[row])


def test_a_user_may_name_a_key_of_an_object() -> None:
    row = {"doc": {"q": "Q?", "gold": "Paris"}, "response": "Paris"}
    columns = detect_columns(Path("x"), list(row), {"question": "doc.q", "references": "doc.gold"})
    [answer] = make_column_reader(columns)(row)
    assert (answer.question, answer.references) == ("Q?", ("Paris",))


def test_labels_without_a_use_are_named() -> None:
    row = {"gold": "a", "output": "b", "Is correct?": "right", "correct": "Paris", "score": 1, "label": "Paris", "grade": "CORRECT"}
    assert verdict_columns(list(row), detect_columns(Path("x"), list(row), {}), [row]) == ["Is correct?", "grade"]


@pytest.mark.parametrize("part", ["question", "model", "task", "label"])
def test_an_unreadable_optional_part_costs_no_row(part: str) -> None:
    row = {"references": "a", "candidate": "a", part: {"unknown": [1, 2]}}
    [answer] = make_column_reader({name: name for name in row})(row)
    assert (answer.references, getattr(answer, part)) == (("a",), None if part == "label" else "")


@pytest.mark.parametrize(
    ("row", "references"),
    [
        ({"question": "Q?", "answer": "USA", "answer_aliases": ["US", "USA"], "response": "a"}, ("USA", "US")),
        ({"question": "Q?", "gold": "USA", "aliases": "['US' 'America']", "response": "a"}, ("USA", "US", "America")),
        ({"question": "Q?", "answer.value": "USA", "answer.aliases": ["US"], "response": "a"}, ("USA", "US")),
        ({"question": "Q?", "answer": "USA", "answer_aliases": {"odd": 1}, "response": "a"}, ("USA",)),
        ({"Question": "Q?", "Best Answer": "a", "Correct Answers": "a; b", "Incorrect Answers": "c; d", "Answer": "a"}, ("a", "b")),
        ({"Question": "Q?", "Correct Answers": "a; b", "response": "a"}, ("a; b",)),
    ],
)
def test_further_references(row: dict[str, Any], references: tuple[str, ...]) -> None:
    [answer] = make_column_reader(detect_columns(Path("x"), list(row), {}, sample=[row]), True, [row])(row)
    assert (answer.references, answer.candidate) == (references, "a")


@pytest.mark.parametrize(("text", "question"), [("2 + 2", "Compute.\n2 + 2"), ("", "Compute."), (None, "Compute.")])
def test_the_input_of_an_instruction_belongs_to_the_question(text: str | None, question: str) -> None:
    row = {"instruction": "Compute.", "input": text, "gold": "4", "output": "4"}
    [answer] = make_column_reader(detect_columns(Path("x"), list(row), {}))(row)
    assert answer.question == question


@pytest.mark.parametrize(("cells", "warned"), [(["['a', 'b']", '["c"]'], True), (["['a', 'b']", "c"], False), ([["a"]], False)])
def test_lists_written_as_texts_are_read_with_a_warning(cells: list[Any], warned: bool, caplog: pytest.LogCaptureFixture) -> None:
    sample = [{"gold": cell, "output": "a"} for cell in cells]
    make_column_reader({"references": "gold", "candidate": "output"}, sample=sample)
    assert ("all references are lists written as texts, e.g. ['a', 'b']" in caplog.text) == warned


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (('"Caf\\u00e9?"', '"Paris"', '"Paris"'), ("Café?", ("Paris",), "Paris")),
        (('{"question": "Q?"}', '{"answer": "Paris"}', '{"answer": "It is Paris"}'), ("Q?", ("Paris",), "It is Paris")),
        (("Q?", "['Paris' 'Lyon']", "['Paris']"), ("Q?", ("Paris", "Lyon"), "Paris")),
        (("Q?", "['a', 'b']", "['a', 'b']"), ("Q?", ("a", "b"), "['a', 'b']")),
        (("Q?", '{"answer": "Paris"}', '{"city": "Paris"}'), ("Q?", ("Paris",), '{"city": "Paris"}')),
        (("Q?", "Paris", '{"answer": "Paris"}'), ("Q?", ("Paris",), '{"answer": "Paris"}')),
        (("Q?", "42", "42"), ("Q?", ("42",), "42")),
    ],
)
def test_cells_of_a_csv_file_that_are_written_as_json(row: tuple[str, ...], expected: tuple[Any, ...]) -> None:
    record = dict(zip(("input", "expected", "output"), row, strict=True))
    [answer] = make_column_reader(detect_columns(Path("x"), list(record), {}, sample=[record]), True, [record])(record)
    assert (answer.question, answer.references, answer.candidate) == expected


# --- options in a column of their own ---

LINES = "Q?\n(A) Rome\n(B) Paris\n(C) Oslo"
TEXTS = ["Rome", "Paris", "Oslo"]


@pytest.mark.parametrize(
    ("choices", "answer"),
    [
        (TEXTS, 1),
        (TEXTS, "B"),
        (TEXTS, "(B)"),
        (TEXTS, "B. Paris"),
        (TEXTS, "b"),
        (TEXTS, "Paris"),
        (TEXTS, 1.0),
        (TEXTS, ["B"]),
        ({"text": TEXTS, "label": ["A", "B", "C"]}, "B"),
        ({"text": TEXTS, "label": ["1", "2", "3"]}, "2"),
        ({"text": TEXTS, "label": ["1", "2", "3"]}, 2),
        ({"A": "Rome", "B": "Paris", "C": "Oslo", "D": None}, "B"),
        ([{"label": "A", "text": "Rome"}, {"label": "B", "text": "Paris"}, {"label": "C", "text": "Oslo"}], "B"),
        (["A) Rome", "B) Paris", "C) Oslo"], "B"),
        (str(TEXTS), "B"),
        ("['Rome' 'Paris' 'Oslo']", "B"),
        ("A. Rome\nB. Paris\nC. Oslo", "B"),
        ("a ) Rome , b ) Paris , c ) Oslo", "b"),
        ("(A) Rome (B) Paris (C) Oslo", "B"),
    ],
)
def test_options_become_lines_and_the_answer_letter_and_text(choices: Any, answer: Any) -> None:
    row = {"question": "Q?", "choices": choices, "answer": answer, "response": "x"}
    columns = detect_columns(Path("x"), list(row), {}, sample=[row])
    [found] = make_column_reader(columns)(row)
    assert (found.question, found.references) == (LINES, ("B", "Paris"))


@pytest.mark.parametrize(
    ("answers", "is_csv", "first"),
    [
        ([0, 1, 2], False, ("A", "Rome")),
        (["0", "1", "2"], True, ("A", "Rome")),
        # Nobody counts from 0 to three.
        (["1", "2", "3"], True, ("A", "Rome")),
        (["1", "A", "2"], True, ("B", "Paris")),
    ],
)
def test_indices_are_counted_as_the_file_counts_them(answers: list[Any], is_csv: bool, first: tuple[str, str]) -> None:
    rows = [{"question": "Q?", "choices": str(TEXTS), "answer": answer, "response": "x"} for answer in answers]
    reader = make_column_reader(detect_columns(Path("x"), list(rows[0]), {}, sample=rows), is_csv, rows)
    assert reader(rows[0])[0].references == first


@pytest.mark.parametrize(
    "columns", [["A", "B", "C"], ["option_a", "option_b", "option_c"], ["opa", "opb", "opc"], ["answerA", "answerB", "answerC"]]
)
def test_options_in_columns_of_their_own(columns: list[str]) -> None:
    row = {"question": "Q?", **dict(zip(columns, TEXTS, strict=True)), "answer": "B", "prediction": "B"}
    [answer] = make_column_reader(detect_columns(Path("x"), list(row), {}))(row)
    assert (answer.question, answer.references) == (LINES, ("B", "Paris"))


def test_options_in_the_question() -> None:
    choices = [{"label": "A", "text": "Rome"}, {"label": "B", "text": "Paris"}, {"label": "C", "text": "Oslo"}]
    row = {"question": {"stem": "Q?", "choices": choices}, "answerKey": "B", "output": "x"}
    [answer] = make_column_reader(detect_columns(Path("x"), list(row), {}, sample=[row]))(row)
    assert (answer.question, answer.references) == (LINES, ("B", "Paris"))


def test_options_of_hellaswag_are_chosen_by_a_label() -> None:
    row = {"question": "Q?", "endings": TEXTS, "label": "1", "generated_text": "x"}
    [answer] = make_column_reader(detect_columns(Path("x"), list(row), {}, sample=[row]), sample=[row])(row)
    assert answer.references == ("B", "Paris")


def test_options_that_the_question_has_are_not_repeated() -> None:
    row = {"question": "Q?\nA. Rome\nB. Paris", "choices": ["Rome", "Paris"], "answer": "B", "response": "x"}
    [answer] = make_column_reader(detect_columns(Path("x"), list(row), {}))(row)
    assert (answer.question, answer.references) == (row["question"], ("B", "Paris"))


def test_numbers_that_are_options_are_no_indices() -> None:
    row = {"question": "1 + 1?", "choices": ["1", "2", "3"], "answer": "2", "response": "x"}
    [answer] = make_column_reader(detect_columns(Path("x"), list(row), {}), sample=[row])(row)
    assert answer.references == ("B", "2")
