"""Two tabs: one answer under every judge, and two answers side by side."""

from __future__ import annotations

import gradio as gr

from bert_judge.judges.pairwise.protocol import Preference
from bert_judge.judges.protocol import Label
from bert_judge.serve.bodies import PairBody, RowBody
from bert_judge.serve.limits import Refused
from bert_judge.serve.page.requests import PRIVATE, TEXTS_ONLY, Asking, faults_told, lines, number

EXAMPLE = ("What is the capital of France?", "Paris", "It is Paris, I believe.", "Lyon is the capital of France.")
VERDICTS = ["judge", "verdict", "score", "why"]
SIDES = ["judge", "better", "A", "B", "why"]
# Scores nearer than this are a tie to the reader.
TIE = 0.005


def judge_tab(asking: Asking) -> None:
    """One answer under the judges that are ticked."""
    names = list(asking.roster.pointwise)
    with gr.Row():
        with gr.Column():
            question, references = _question()
            answer = gr.Textbox(EXAMPLE[2], label="Answer", lines=4, max_lines=16, elem_id="answer")
            chosen = gr.CheckboxGroup(names, value=names, label="Judges", elem_id="judges")
            button = gr.Button("Judge", variant="primary", elem_id="judge")
        with gr.Column():
            found = _table(VERDICTS, "Verdicts", "verdicts")

    async def judged(asked: str, right: str, said: str, judges: list[str]) -> list[list[str]]:
        with faults_told():
            labels = await asking.labels(_some(judges), [RowBody(question=asked, references=_right(right), candidate=said)])
        return [[name, label.verdict, number(label.score), _why(label)] for name, [label] in labels.items()]

    button.click(judged, [question, references, answer, chosen], found, **PRIVATE)


def compare_tab(asking: Asking) -> None:
    """Two answers to one question."""
    names = list(asking.roster.pointwise)
    question, references = _question()
    with gr.Row():
        first = gr.Textbox(EXAMPLE[2], label="Answer A", lines=4, max_lines=16, elem_id="answer-a")
        second = gr.Textbox(EXAMPLE[3], label="Answer B", lines=4, max_lines=16, elem_id="answer-b")
    button = gr.Button("Compare", variant="primary", elem_id="compare")
    found = _table(SIDES, "Which is better", "sides")

    async def compared(asked: str, right: str, a: str, b: str) -> list[list[str]]:
        with faults_told():
            preferences = await asking.preferences(PairBody(question=asked, references=lines(right), answer_a=a, answer_b=b))
            # A judge of single answers needs a right one; a judge of pairs does not.
            rows = [
                RowBody(question=asked, references=_right(right), candidate=answer)
                for answer in (a, b)
                if lines(right) or not preferences
            ]
            labels = await asking.labels(names, rows) if rows else {}
        return [_preferred(*said) for said in preferences.items()] + [_side(name, *pair) for name, pair in labels.items()]

    button.click(compared, [question, references, first, second], found, **PRIVATE)


def _question() -> tuple[gr.Textbox, gr.Textbox]:
    question = gr.Textbox(EXAMPLE[0], label="Question", lines=2, max_lines=12)
    return question, gr.Textbox(EXAMPLE[1], label="Right answers, one a line", lines=2, max_lines=8)


def _table(headers: list[str], label: str, identity: str) -> gr.Dataframe:
    return gr.Dataframe(headers=headers, **TEXTS_ONLY, label=label, elem_id=identity)


def _some(judges: list[str]) -> list[str]:
    if not judges:
        raise Refused(422, "no judge is ticked; tick one")
    return judges


def _right(text: str) -> list[str]:
    if not (right := lines(text)):
        raise Refused(422, "no right answer is given; write one a line")
    return right


def _why(label: Label) -> str:
    return ", ".join(filter(None, [label.reason, "cut to what the judge can read" if label.truncated else None]))


def _preferred(name: str, said: Preference) -> list[str]:
    """What a judge of pairs says; both scores are of the one number that it gives."""
    better = {"inconsistent": "cannot tell", "invalid": "cannot tell"}.get(said.verdict, said.verdict)
    orders = f"A first: {said.forward.verdict}; B first: {said.backward.verdict}"
    other = None if said.score is None else 1 - said.score
    return [name, better, number(said.score), number(other), said.reason if said.score is None and said.reason else orders]


def _side(name: str, a: Label, b: Label) -> list[str]:
    """How a judge of single answers tells two apart: by their scores."""
    if a.score is None or b.score is None:
        better, why = "cannot tell", _why(a if a.score is None else b)
    else:
        nearly = abs(a.score - b.score) < TIE
        better, why = "tie" if nearly else "A" if a.score > b.score else "B", f"{a.verdict} / {b.verdict}"
    return [name, better, number(a.score), number(b.score), why]
