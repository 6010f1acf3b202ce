"""How judges of either kind are loaded, each in the thread that will judge with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bert_judge.judges.pairwise.protocol import Pair, PairJudge
from bert_judge.judges.protocol import Judge, Row
from bert_judge.labels.score_file import judge_loading


@dataclass(frozen=True)
class Loads:
    """Name → what loads a judge of single answers, or of pairs."""

    pointwise: dict[str, Callable[[], Judge]] = field(default_factory=dict)
    pairwise: dict[str, Callable[[], PairJudge]] = field(default_factory=dict)


def by_name(name: str, judges: Path) -> Judge:
    """What `bert-judge score --judge` takes."""
    return _ready(judge_loading.choose([name], judges=judges)[0].judge)


def encoder(checkpoint: Path, settings: Mapping[str, Any], name: str, work: Path) -> Judge:
    from bert_judge.judges.bert.judge import BERTJudge

    return _ready(BERTJudge.from_run(checkpoint, settings, name, work))


def rule(settings: Mapping[str, Any]) -> Judge:
    from bert_judge.judges.lexical.judge import LexicalJudge

    return _ready(LexicalJudge(settings))


def prompted(spec: Mapping[str, Any], entry: Mapping[str, Any], manifest: Path | None) -> Judge:
    """Without the store that a run has: what clients send is nowhere kept."""
    from bert_judge.candidates.generators.factory import make_generator
    from bert_judge.candidates.stage import with_runtime_settings
    from bert_judge.judges.llm.judge import LLMJudge

    asked = with_runtime_settings(spec["settings"]["model"], entry["model"])
    return LLMJudge(spec["judge"], spec["settings"], make_generator(spec["judge"], asked, manifest))


def pair_folder(folder: Path) -> PairJudge:
    return pair_trained(folder / "judge.json", folder.resolve().name)


def pair_trained(checkpoint: Path, name: str) -> PairJudge:
    """An encoder, or a language model that was tuned."""
    from bert_judge.judges.pairwise.loading import load_pair_judge

    judge = load_pair_judge(checkpoint, name)
    judge.compare([Pair("Why?", "Because.", "No.")])
    return judge


def pair_prompted(spec: Mapping[str, Any], entry: Mapping[str, Any], manifest: Path | None) -> PairJudge:
    """Without a store, as `prompted`."""
    from bert_judge.candidates.generators.factory import make_generator
    from bert_judge.candidates.stage import with_runtime_settings
    from bert_judge.judges.pairwise.llm import PairLLMJudge

    asked = with_runtime_settings(spec["settings"]["model"], entry["model"])
    return PairLLMJudge(spec["judge"], spec["settings"], make_generator(spec["judge"], asked, manifest))


def _ready(judge: Judge) -> Judge:
    """The judge, after an answer on which it converts what it must: the first client would wait for it."""
    judge.judge([Row("", 0, "", "", ("Paris",), "It is Paris.")])
    return judge
