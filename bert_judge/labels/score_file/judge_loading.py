"""What a user calls a judge: a folder, one of this run or of a configuration, a rule, a checkpoint on the hub; nothing at all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge import tables
from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Judge
from bert_judge.runtime.errors import InputError

if TYPE_CHECKING:
    from bert_judge.judges.bert.judge import BERTJudge

JUDGES = Path("results/judges")
# The rules by name, each in its lenient form: it looks where answers mostly stand, and then everywhere.
RULES: Mapping[str, Mapping[str, Any]] = {
    "exact_match": {"metric": "exact_match", "extract": ["choice", "boxed", "final_answer", "full_text"]},
    "contains": {"metric": "contains", "extract": ["choice", "final_answer", "full_text"]},
    "token_f1": {"metric": "token_f1", "extract": ["choice", "boxed", "final_answer", "full_text"], "threshold": 0.3},
    "rouge_l_recall": {"metric": "rouge_l_recall", "extract": ["choice", "boxed", "final_answer", "full_text"], "threshold": 0.5},
    "rouge_l_f": {"metric": "rouge_l_f", "extract": ["choice", "boxed", "final_answer", "full_text"], "threshold": 0.5},
    "math_verify": {"metric": "math_verify", "extract": ["choice", "boxed", "final_answer", "last_number", "full_text"]},
}
# Of the rules, the best over ten files of real answers (benchmarks/default_rule.py).
DEFAULT_RULE = "contains"


@dataclass(frozen=True)
class Chosen:
    """A judge with its name, and with what its verdicts depend on: equal origins, equal verdicts."""

    name: str
    origin: str
    judge: Judge


def choose(names: Sequence[str], threshold: float | None = None, judges: Path = JUDGES) -> list[Chosen]:
    """Load the judges with these names.

    Args:
        names: see `default_name` for none.
        threshold: lowest score that counts as correct; each judge's own when left out.
        judges: folder of the trained judges of a run.

    Raises:
        InputError: there is no such judge, it cannot be loaded, or two have one name.
    """
    chosen = [_load(name, threshold, judges) for name in names]
    for judge in chosen:
        if sum(other.name == judge.name for other in chosen) > 1:
            raise InputError(f"--judge: two judges are called {judge.name!r}; score the file with one after the other")
    return chosen


def default_name(judges: Path = JUDGES) -> tuple[str, str]:
    """The judge to take when the user names none, and why."""
    there = [name for name in trained(judges) if not is_of_pairs(judges / name)]
    if len(there) == 1:
        return there[0], f"the only trained judge in {judges}"
    why = f"{len(there)} trained judges in {judges}, and none is named" if there else f"no trained judge in {judges}"
    return DEFAULT_RULE, f"{why}: the best rule over ten files of real answers; --judge takes another"


def trained(judges: Path) -> list[str]:
    """Names of the trained judges of a run."""
    return sorted(card.parent.name for card in judges.glob("*/judge.json"))


def is_of_pairs(folder: Path) -> bool:
    """Whether a folder is that of a judge of pairs. What is wrong with it otherwise is told when it is loaded."""
    try:
        card = json.loads((folder / "judge.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(card, dict) and bool(card.get("pairwise"))


def _load(name: str, threshold: float | None, judges: Path) -> Chosen:
    if name in RULES:
        settings = {**RULES[name], **({} if threshold is None else {"threshold": threshold})}
        return Chosen(name, tables.canonical(settings), LexicalJudge(settings))
    if name.lower().rpartition(":")[0].endswith((".yaml", ".yml")):
        # Only here, because it brings the configuration's classes.
        from bert_judge.labels.score_file import from_config

        file, _, own = name.rpartition(":")
        return Chosen(own, *from_config.from_file(Path(file), own, threshold, judges.parent))
    # A path is none of the run's names, not even a whole one, which the folder of judges would not change.
    if Path(name).name == name and (judges / name / "judge.json").is_file():
        return _encoder(name, judges / name, threshold, judges.parent / ".work" / "encoders" / name)
    if Path(name).expanduser().is_dir():
        folder = Path(name).expanduser()
        return _encoder(folder.resolve().name, folder, threshold)
    if name.count("/") != 1 or name.startswith((".", "/", "~")):
        there = ", ".join([*RULES, *trained(judges)])
        raise InputError(
            f"--judge {name}: no such folder, rule, judge of a configuration (FILE.yaml:NAME) or hub checkpoint (owner/name); "
            f"there are: {there}"
        )
    # Only here, because local judges need nothing of the hub's client.
    from bert_judge.assets import hub

    folder, _ = hub.snapshot(name, None, remote_code=False)
    return _encoder(name.split("/")[1], folder, threshold)


def _encoder(name: str, folder: Path, threshold: float | None, work_folder: Path | None = None) -> Chosen:
    from bert_judge.judges.bert.judge import BERTJudge
    from bert_judge.judges.bert.judge_folder import fingerprint

    settings: dict[str, Any] = {} if threshold is None else {"threshold": threshold}
    judge: BERTJudge = BERTJudge(folder, name=name, work_folder=work_folder, **settings)
    judge.check_trained()
    origin = tables.canonical({"weights": fingerprint(folder), "threshold": judge.threshold})
    return Chosen(name, origin, judge)
