"""Verdicts that exist already: those of a file, joined to the answers of a run, and the known truth of simulated answers."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge.candidates.generators.protocol import Request
from bert_judge.candidates.generators.simulated import simulate
from bert_judge.candidates.stage import read_samples
from bert_judge.importers import files
from bert_judge.judges.protocol import Label, Row, decided, invalid
from bert_judge.perturbations.simulated_answers import find_similar_answers
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.keyed_random import fraction
from bert_judge.tasks.registry import prompt
from bert_judge.text.visible_text import strip_reasoning

log = logging.getLogger(__name__)

NO_VERDICT = "the file has no verdict for this answer"
# Prefix of aspect columns in the frames of `importers.files`; other columns have no blank in their names.
PREFIX = "aspect "


class ImportedJudge:
    """Implements `judges.protocol.Judge` by looking up verdicts.

    In the file of the answers, a verdict belongs to the answer in its row. In a separate file, a verdict belongs to all answers
    with the same question, references, model and text; several verdicts on one answer are averaged. If the separate file has no
    texts, the model's first row for a question belongs to its first answer, and so on.
    """

    def __init__(self, spec: Mapping[str, Any], source: str | Path) -> None:
        """Read the file of `Plan.labels_spec`: `source` is the import of the answers, `verdicts` and `aspects`, if present, the
        judge's."""
        self.revisions: dict[str, str] = {}
        self._source = source
        self._in_rows = "verdicts" not in spec
        answers = spec["source"]
        named = answers["settings"].get("model_name", spec["model"])
        reader = AspectColumnsReader(spec["aspects"]) if "aspects" in spec else None
        verdicts = reader.required if reader else ["label"]
        optional = ["candidate", "rationale"] if reader else ["candidate", "rationale", "attempted"]
        map_columns = reader.map_columns if reader else _map_attempts
        if self._in_rows:
            mapped = {**answers, "import": map_columns(answers["import"])}
            frame = files.read_task_rows(mapped, source, verdicts, optional, model=named)
        else:
            required = ["question", "references", *verdicts]
            rows = files.read_rows(map_columns(spec["verdicts"]), source, None, required, optional=optional, model=named)
            frame = files.add_sample_ids(rows, spec["task"])
        if "candidate" in frame:
            # Judges get answers without their reasoning and control tokens.
            frame["candidate"] = [strip_reasoning(text) for text in frame["candidate"]]
        self._by_text = "candidate" in frame and not self._in_rows
        identity = ["sample_id", "candidate" if self._by_text else "attempt"]
        if reader and reader.is_long and not self._by_text:
            raise InputError(
                f"{source}: has one row per answer and aspect, which cannot be assigned to answers; "
                "name the file twice under imports, once with `where` for the answers and once with `aspects` for the judge"
            )
        self._aspects = reader.values(frame, identity, source) if reader else {}
        if reader:
            self._scores: dict[Any, float] = {key: reader.score(values) for key, values in self._aspects.items()}
        else:
            self._scores = frame.groupby(identity)["label"].mean().to_dict()
        self._attempts: dict[Any, bool] = {}
        if not reader and not frame["attempted"].dropna().all():
            # The file tells refusals from incorrect answers.
            self._attempts = frame.groupby(identity)["attempted"].any().to_dict()
        self._rationales: dict[Any, str] = {}
        if "rationale" in frame:
            self._rationales = frame.dropna(subset=["rationale"]).groupby(identity)["rationale"].first().to_dict()
        self._texts: dict[Any, str] = {}
        if "candidate" in frame and self._in_rows:
            self._texts = frame.set_index(identity)["candidate"].to_dict()

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """See `judges.protocol.Judge`. An answer without a verdict in the file is invalid."""
        return [self._label(row) for row in rows]

    def _label(self, row: Row) -> Label:
        key = (row.sample_id, row.candidate if self._by_text else row.attempt)
        if self._texts.get(key, row.candidate) != row.candidate:
            raise InputError(
                f"{self._source}: answer {row.attempt + 1} of {row.model} to {row.question!r:.80} "
                f"is no longer {row.candidate!r:.80}; rebuild the table of answers"
            )
        score = self._scores.get(key)
        if score is None or pd.isna(score):
            return invalid(NO_VERDICT)
        reason, aspects, is_attempted = (known.get(key) for known in (self._rationales, self._aspects, self._attempts))
        return decided(score, reason=reason, aspects=aspects, is_attempted=is_attempted)


def _map_attempts(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an import's spec that reads its verdicts twice: as labels, and as attempts."""
    return {**spec, "columns": {**spec["columns"], "attempted": spec["columns"]["label"]}}


class AspectColumnsReader:
    """Reader of the aspects of an imported file, from `config.AspectColumns`; `is_long`: a row contains one aspect."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._columns = {f"{PREFIX}{name}": column for name, column in spec["columns"].items()}
        self.is_long = spec["name"] is not None
        if self.is_long:
            self._columns = {"aspect": spec["name"], "value": spec["value"]}
        self._low, self._high = spec["range"]
        self.required = list(self._columns)

    def map_columns(self, import_spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return the spec of the file's import with the aspect columns added."""
        return {**import_spec, "columns": {**import_spec["columns"], **self._columns}}

    def values(self, frame: pd.DataFrame, identity: Sequence[str], source: str | Path) -> dict[Any, dict[str, float]]:
        """Return identity of an answer → aspect → mean value, without empty cells. Raises InputError: a value is out of range."""
        identity = list(identity)
        if not self.is_long:
            frame = frame.melt(identity, self.required, "aspect", "value")
            frame = frame.assign(aspect=frame["aspect"].str.removeprefix(PREFIX))
        frame = frame.dropna(subset=["value"])
        if not (in_range := frame["value"].between(self._low, self._high)).all():
            aspect, value = frame.loc[~in_range, ["aspect", "value"]].iloc[0]
            raise InputError(
                f"{source}: {aspect} is {value:g}, outside {self._low:g} to {self._high:g}; fix imports.<name>.aspects.range"
            )
        means = frame.groupby([*identity, "aspect"], as_index=False)["value"].mean()
        aspects: dict[Any, dict[str, float]] = {}
        for *key, aspect, value in means.itertuples(index=False, name=None):
            aspects.setdefault(tuple(key), {})[aspect] = float(value)
        return aspects

    def score(self, aspects: Mapping[str, float]) -> float:
        """Return the mean of the aspects, each scaled to [0, 1]."""
        return sum((value - self._low) / (self._high - self._low) for value in aspects.values()) / len(aspects)


class SimulatedTruth:
    """Implements `judges.protocol.Judge` for a simulated model: every answer is generated again, and with it its truth, which is
    flipped for the share `label_noise` of the rows.

    Raises:
        InputError: the task table cannot be read, or an answer differs from the one that the model generates.
    """

    def __init__(self, spec: Mapping[str, Any], task_table: str | Path) -> None:
        self.revisions: dict[str, str] = {}
        self._spec = spec
        self._task_table = task_table
        self._samples = read_samples(task_table)
        self._similar = find_similar_answers(self._samples)

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """See `judges.protocol.Judge`."""
        return [self._label(row) for row in rows]

    def _label(self, row: Row) -> Label:
        source, settings = self._spec["source"], self._spec["settings"]
        if row.sample_id not in self._samples:
            raise InputError(
                f"{self._task_table}: has no question {row.sample_id}; delete the candidates of {row.model} and run again"
            )
        sample = self._samples[row.sample_id]
        text, similar = prompt(sample, source["family"], source["prompt_style"]), self._similar.get(row.sample_id, ())
        request = Request(row.sample_id, row.attempt, text, sample, similar=similar)
        completion, truth = simulate(source["model"], source["settings"], request)
        if completion.text != row.candidate:
            raise InputError(
                f"candidates of {row.model}: the answer to {row.sample_id} is {row.candidate!r:.60}, but the model generates "
                f"{completion.text!r:.60}; delete this candidates table and run again"
            )
        flipped = fraction("flip", settings["seed"], row.model, row.sample_id, row.attempt) < settings["label_noise"]
        return decided(float(truth != flipped), reason="simulated truth, flipped" if flipped else "simulated truth")
