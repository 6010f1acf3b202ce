"""Build two tabs: one answer under every judge, and a comparison of two answers."""

from __future__ import annotations

import gradio as gr
from markupsafe import Markup

from bert_judge.judges.pairwise.protocol import Preference
from bert_judge.judges.protocol import Label
from bert_judge.serve.bodies import PairBody, RowBody
from bert_judge.serve.limits import RequestRejected
from bert_judge.serve.page.requests import (
    PRIVATE,
    JudgeClient,
    explain,
    format_score,
    format_verdict,
    lines,
    show_errors,
    table,
)

EXAMPLE = ("What is the capital of France?", "Paris", "It is Paris, I believe.", "Lyon is the capital of France.")
VERDICT_COLUMNS = ["judge", "verdict", "score", "why"]
COMPARISON_COLUMNS = ["judge", "better", "score A", "score B", "why"]
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
            output = gr.HTML(apply_default_css=False, elem_id="verdicts")

    async def judge(question_text: str, reference_text: str, candidate: str, judges: list[str]) -> str:
        with show_errors():
            row = RowBody(question=question_text, references=_require_references(reference_text), candidate=candidate)
            labels = await client.labels(_require_judges(judges), [row])
            closest = await _closest_references(client, row, labels)
        rows = [
            [name, format_verdict(label.verdict), format_score(label.score), explain(label, closest.get(name))]
            for name, [label] in labels.items()
        ]
        return table(VERDICT_COLUMNS, rows)

    button.click(judge, [question, references, answer, selected], output, **PRIVATE)


async def _closest_references(client: JudgeClient, row: RowBody, labels: dict[str, list[Label]]) -> dict[str, str]:
    """Return judge → the reference that scores highest alone, if the references differ; language models are not called again."""
    references = [row.references] if isinstance(row.references, str) else row.references
    judges = [name for name, [label] in labels.items() if label.score and not label.completion_tokens]
    if len(references) < 2 or not judges:
        return {}
    rows = [row.model_copy(update={"references": reference}) for reference in references]
    scores = {name: [label.score or 0.0 for label in single] for name, single in (await client.labels(judges, rows)).items()}
    return {name: references[values.index(max(values))] for name, values in scores.items() if min(values) < max(values)}


def compare_tab(client: JudgeClient) -> None:
    """Compare two answers to one question."""
    names = list(client.pool.pointwise)
    question, references = _question()
    with gr.Row():
        first = gr.Textbox(EXAMPLE[2], label="Answer A", lines=4, max_lines=16, elem_id="answer-a")
        second = gr.Textbox(EXAMPLE[3], label="Answer B", lines=4, max_lines=16, elem_id="answer-b")
    button = gr.Button("Compare", variant="primary", elem_id="compare")
    output = gr.HTML(apply_default_css=False, elem_id="sides")

    async def compare(question_text: str, reference_text: str, a: str, b: str) -> str:
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
        return table(COMPARISON_COLUMNS, pairwise_rows + [_pointwise_row(name, *pair) for name, pair in labels.items()])

    button.click(compare, [question, references, first, second], output, **PRIVATE)


def _question() -> tuple[gr.Textbox, gr.Textbox]:
    question = gr.Textbox(EXAMPLE[0], label="Question", lines=2, max_lines=12)
    return question, gr.Textbox(EXAMPLE[1], label="References, one per line", lines=2, max_lines=8)


def _require_judges(judges: list[str]) -> list[str]:
    if not judges:
        raise RequestRejected(422, "no judge selected; select at least one")
    return judges


def _require_references(text: str) -> list[str]:
    if not (references := lines(text)):
        raise RequestRejected(422, "no reference given; enter one per line")
    return references


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
        better = "cannot tell"
    else:
        is_tie = abs(a.score - b.score) < TIE_MARGIN
        better = "tie" if is_tie else "A" if a.score > b.score else "B"
    sides = [
        Markup("{}: {} {}").format(side, format_verdict(label.verdict), explain(label)) for side, label in (("A", a), ("B", b))
    ]
    return [name, better, format_score(a.score), format_score(b.score), Markup("<br>").join(sides)]
