"""The web page of a server, in its process and on its port; it sends no external requests."""

from __future__ import annotations

import os
from pathlib import Path

# Gradio reads this at import; without it, it sends usage statistics.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr
from fastapi import FastAPI

from bert_judge.serve.page.answers_tab import answers_tab
from bert_judge.serve.page.audit_tab import AuditLabels, audit_tab
from bert_judge.serve.page.judge_tab import compare_tab, judge_tab
from bert_judge.serve.page.requests import JudgeClient

# System fonts; Gradio's default theme loads fonts from Google.
FONTS = ("system-ui", "sans-serif")
# Concurrent page events; the judges have their own queues.
MAX_CONCURRENT_EVENTS = 16


def mount(app: FastAPI, client: JudgeClient, results: Path, labels: Path) -> FastAPI:
    """Add the page to an application.

    Args:
        results: folder of the run whose answers are shown.
        labels: file of the audit labels.
    """
    blocks = page(client, results, AuditLabels(results / "audit" / "sheet.csv", labels))
    return gr.mount_gradio_app(
        app,
        blocks,
        path="/",
        footer_links=[],
        run_history=False,
        ssr_mode=False,
        enable_monitoring=False,
        pwa=False,
        mcp_server=False,
        css_paths=Path(__file__).with_name("page.css"),
        theme=gr.themes.Default(font=FONTS, font_mono=FONTS),
    )


def page(client: JudgeClient, results: Path, sheet: AuditLabels) -> gr.Blocks:
    """Return the page."""
    with gr.Blocks(title="bert-judge", analytics_enabled=False) as blocks:
        gr.Markdown("# bert-judge")
        with gr.Tab("Judge"):
            judge_tab(client)
        with gr.Tab("Compare"):
            compare_tab(client)
        with gr.Tab("Answers"):
            answers_tab(results, blocks)
        with gr.Tab("Audit"):
            audit_tab(sheet, blocks)
    return blocks.queue(default_concurrency_limit=MAX_CONCURRENT_EVENTS)
