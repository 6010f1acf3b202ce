"""The page with its tabs, mounted into the server: the same process, the same port, no request to anywhere else."""

from __future__ import annotations

import os
from pathlib import Path

# Gradio reads it when it is imported, and reports to its makers without it.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr
from fastapi import FastAPI

from bert_judge.serve.page.audit_tab import audit_tab
from bert_judge.serve.page.judge_tab import compare_tab, judge_tab
from bert_judge.serve.page.requests import Asking
from bert_judge.serve.page.results_tab import rows_tab
from bert_judge.serve.page.sheet import Sheet

# Fonts of this machine; Gradio's own theme asks Google for some.
FONTS = ("system-ui", "sans-serif")
# Events that are handled at one time; the judges have queues of their own.
AT_ONCE = 16


def mount(app: FastAPI, asking: Asking, results: Path, labels: Path) -> FastAPI:
    """Add the page to an application.

    Args:
        results: of the run whose answers are shown.
        labels: the file of the audit's marks.
    """
    blocks = page(asking, results, Sheet(results / "audit" / "sheet.csv", labels))
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
        theme=gr.themes.Default(font=FONTS, font_mono=FONTS),
    )


def page(asking: Asking, results: Path, sheet: Sheet) -> gr.Blocks:
    """The page alone."""
    with gr.Blocks(title="bert-judge", analytics_enabled=False) as blocks:
        gr.Markdown("# bert-judge")
        with gr.Tab("Judge"):
            judge_tab(asking)
        with gr.Tab("Compare"):
            compare_tab(asking)
        with gr.Tab("Answers"):
            rows_tab(results, blocks)
        with gr.Tab("Audit"):
            audit_tab(sheet, blocks)
    return blocks.queue(default_concurrency_limit=AT_ONCE)
