"""Build two tabs: one answer under every judge, and a comparison of two answers."""

from __future__ import annotations

import gradio as gr

from bert_judge.judges.pairwise.protocol import Preference
from bert_judge.judges.protocol import Label
from bert_judge.serve.bodies import PairBody, RowBody
from bert_judge.serve.limits import RequestRejected
from bert_judge.serve.page.requests import PRIVATE, TEXTS_ONLY, JudgeClient, format_score, lines, show_errors

EXAMPLE = ("What is the capital of France?", "Paris", "It is Paris, I believe.", "Lyon is the capital of France.")
VERDICT_COLUMNS = ["judge", "verdict", "score", "reason"]
COMPARISON_COLUMNS = ["judge", "better", "score A", "score B", "reason"]
# Score differences below this are shown as a tie.
TIE_MARGIN = 0.005


def judge_tab(client: JudgeClient) -> None:
    """Judge one answer with the selected judges."""
    names = list(client.pool.pointwise)
    with gr.Row():
        with gr.Column():
            question, references = _question()
            answer = gr.Textbox(EXAMPLE[2], label="Answer", lines=4, max_lines=16, elem_id="answer")
            selected = gr.CheckboxGroup(names, value=names, label="Judges", elem_id="judges")
            button = gr.Button("Judge", variant="primary", elem_id="judge")
        with gr.Column():
            output = _table(VERDICT_COLUMNS, "Verdicts", "verdicts")

    async def judge(question_text: str, reference_text: str, candidate: str, judges: list[str]) -> list[list[str]]:
        with show_errors():
            row = RowBody(question=question_text, references=_require_references(reference_text), candidate=candidate)
            labels = await client.labels(_require_judges(judges), [row])
        return [[name, label.verdict, format_score(label.score), _reason(label)] for name, [label] in labels.items()]

    button.click(judge, [question, references, answer, selected], output, **PRIVATE)


def compare_tab(client: JudgeClient) -> None:
    """Compare two answers to one question."""
    names = list(client.pool.pointwise)
    question, references = _question()
    with gr.Row():
        first = gr.Textbox(EXAMPLE[2], label="Answer A", lines=4, max_lines=16, elem_id="answer-a")
        second = gr.Textbox(EXAMPLE[3], label="Answer B", lines=4, max_lines=16, elem_id="answer-b")
    button = gr.Button("Compare", variant="primary", elem_id="compare")
    output = _table(COMPARISON_COLUMNS, "Comparison", "sides")

    async def compare(question_text: str, reference_text: str, a: str, b: str) -> list[list[str]]:
        with show_errors():
            preferences = await client.preferences(
                PairBody(question=question_text, references=lines(reference_text), answer_a=a, answer_b=b)
            )
            # Pointwise judges need a reference, pairwise judges do not.
            rows = [
                RowBody(question=question_text, references=_require_references(reference_text), candidate=answer)
                for answer in (a, b)
                if lines(reference_text) or not preferences
            ]
            labels = await client.labels(names, rows) if rows else {}
        pairwise_rows = [_pairwise_row(name, preference) for name, preference in preferences.items()]
        return pairwise_rows + [_pointwise_row(name, *pair) for name, pair in labels.items()]

    button.click(compare, [question, references, first, second], output, **PRIVATE)


def _question() -> tuple[gr.Textbox, gr.Textbox]:
    question = gr.Textbox(EXAMPLE[0], label="Question", lines=2, max_lines=12)
    return question, gr.Textbox(EXAMPLE[1], label="References, one per line", lines=2, max_lines=8)


def _table(headers: list[str], label: str, identity: str) -> gr.Dataframe:
    return gr.Dataframe(headers=headers, **TEXTS_ONLY, label=label, elem_id=identity)


def _require_judges(judges: list[str]) -> list[str]:
    if not judges:
        raise RequestRejected(422, "no judge selected; select at least one")
    return judges


def _require_references(text: str) -> list[str]:
    if not (references := lines(text)):
        raise RequestRejected(422, "no reference given; enter one per line")
    return references


def _reason(label: Label) -> str:
    return ", ".join(filter(None, [label.reason, "input truncated" if label.truncated else None]))


def _pairwise_row(name: str, preference: Preference) -> list[str]:
    """Return a table row for a pairwise judge; both scores follow from its single score."""
    better = {"inconsistent": "cannot tell", "invalid": "cannot tell"}.get(preference.verdict, preference.verdict)
    orders = f"A first: {preference.forward.verdict}; B first: {preference.backward.verdict}"
    complement = None if preference.score is None else 1 - preference.score
    return [
        name,
        better,
        format_score(preference.score),
        format_score(complement),
        preference.reason if preference.score is None and preference.reason else orders,
    ]


def _pointwise_row(name: str, a: Label, b: Label) -> list[str]:
    """Return a table row for a pointwise judge, which compares the scores of both answers."""
    if a.score is None or b.score is None:
        better, reason = "cannot tell", _reason(a if a.score is None else b)
    else:
        is_tie = abs(a.score - b.score) < TIE_MARGIN
        better, reason = "tie" if is_tie else "A" if a.score > b.score else "B", f"{a.verdict} / {b.verdict}"
    return [name, better, format_score(a.score), format_score(b.score), reason]
