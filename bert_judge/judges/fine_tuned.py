"""Language models that are fine-tuned as judges: prompts, the folder of a judge, and calibration, for one answer and for pairs.

A fine-tuned judge needs no instructions, so its prompts are short: the texts and a heading for the verdict. The verdict is the
first token of the reply and its probability is the score; grades and a reason may follow. The folder holds a PEFT adapter, or
complete weights, with the tokenizer, whose chat template is the bare prompt, so that every program sends the model the same tokens.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from transformers import AutoTokenizer

from bert_judge import tables
from bert_judge.assets.prepare import Manifest, folder_revision, load_manifest, resolve_model
from bert_judge.assets.repository_files import hash_files
from bert_judge.candidates.generators.protocol import Completion, Generator
from bert_judge.candidates.generators.tokenization import PromptEncoder
from bert_judge.config.models import HFModel, JudgeTuning
from bert_judge.encoder.encoding import fair_lengths
from bert_judge.encoder.judge_folder import JUDGE_FILE, METRICS
from bert_judge.judges.model_card import describe_tuning, markdown_table, metrics_table, write_model_card
from bert_judge.judges.prompted import NO_VERDICT, Case, PromptedJudge, Reading, RenderedCandidate, Reply, ReplyFormat
from bert_judge.judges.registry import TrainingContext
from bert_judge.runtime.errors import InputError

Judge = TypeVar("Judge", bound="FineTuned[Any]")
VERDICT_HEADING = "Verdict:\n"
# Room for the verdict, tokens of a text that a cut leaves at least, and longest explanation.
VERDICT_TOKENS, MIN_TOKENS, MAX_REASON_TOKENS = 4, 16, 256
CUT = " […] "
# Bounds and prior of the calibration, for few rows; of the slope in logarithm.
MAX_OFFSET, PRIOR_WIDTH = 6.0, 2.0


@dataclass
class Calibration:
    """Calibrated probabilities: the softmax of slope × log-probability, plus an offset for the last verdict.

    The last verdict is "no", or a tie; so the two answers of a pair stay symmetric. The slope is 1 / temperature.
    """

    slope: float = 1.0
    offset: float = 0.0

    def __call__(self, log_probabilities: ArrayLike) -> np.ndarray:
        """Calibrate log-probabilities, shape (n, verdicts)."""
        logits = self.slope * np.asarray(log_probabilities, float)
        logits[:, -1] += self.offset
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    @classmethod
    def fit(cls, log_probabilities: ArrayLike, targets: ArrayLike) -> Calibration:
        """Fit by maximum likelihood to target probabilities, shape (n, verdicts)."""
        values, truth = np.asarray(log_probabilities, float), np.asarray(targets, float)

        def loss(parameters: np.ndarray) -> float:
            likelihoods = np.maximum(cls(float(np.exp(parameters[0])), float(parameters[1]))(values), 1e-12)
            return float(((parameters / PRIOR_WIDTH) ** 2).sum() / 2 - (truth * np.log(likelihoods)).sum())

        bounds = [(-2.5, 2.5), (-MAX_OFFSET, MAX_OFFSET)]
        slope, offset = minimize(loss, np.zeros(2), method="L-BFGS-B", bounds=bounds).x
        return cls(float(np.exp(slope)), float(offset))


@dataclass
class JudgeCard:
    """The `judge.json` of a fine-tuned judge.

    Attributes:
        base, base_revision, base_weights: the base model, and a hash of its weights.
        max_length: of a prompt in tokens.
        explains: grades or reasons were trained too.
    """

    kind: str
    base: str
    base_revision: str
    base_weights: str
    max_length: int
    explains: bool = False
    calibration: Calibration = field(default_factory=Calibration)
    simulated: bool = False
    spec: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        tables.write_json(folder / JUDGE_FILE, asdict(self))


def read_card(folder: Path) -> JudgeCard:
    """Read the card of a judge. Raises InputError: it is not one of a fine-tuned language model."""
    path = folder / JUDGE_FILE
    try:
        raw = json.loads(path.read_text("utf-8"))
        return JudgeCard(**{**raw, "calibration": Calibration(**raw["calibration"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path}: not the card of a fine-tuned language model: {error}; train the judge again") from error


def hash_weights(manifest: Manifest) -> str:
    """Hash the weights of a model, 16 hex digits, whatever its other files are: these depend on the version of transformers."""
    digests = sorted(file.sha256 for file in manifest.files if file.name.endswith((".safetensors", ".bin")))
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:16]


def find_base(card: JudgeCard, folder: Path) -> Manifest:
    """Find the base model of an adapter by its name. Raises InputError: it is missing, or its weights are others."""
    path, commit, names = resolve_model(card.base, None if card.base_revision.startswith("local:") else card.base_revision, False)
    # A commit of the hub names its files.
    manifest = Manifest(card.base, card.base_revision, path, () if commit else hash_files(path, names))
    if commit is None and hash_weights(manifest) != card.base_weights:
        raise InputError(f"{folder}: was trained on other weights than those of {card.base} in {path}; name the same base model")
    return manifest


def load_generator(card: JudgeCard, folder: Path, name: str, base: Manifest | None = None) -> Generator:
    """Load the model of a judge with transformers: complete weights, or an adapter on its base model."""
    from bert_judge.candidates.generators.hf import HFGenerator

    settings = HFModel(generator="hf", model=card.base, max_new_tokens=MAX_REASON_TOKENS).model_dump()
    revision = folder_revision(folder)
    if (folder / "config.json").is_file():
        return HFGenerator(name, settings, Manifest(card.base, revision, folder, ()))
    path = (base or find_base(card, folder)).path
    return HFGenerator(name, settings, Manifest(card.base, revision, path, ()), adapter=folder)


class PromptWriter:
    """Writes prompts of at most `max_length` tokens: answers lose their middle; other texts only if they alone are too long."""

    def __init__(self, tokenizer: Any, max_length: int) -> None:
        self.tokenizer, self.max_length = tokenizer, max_length

    def write(self, question: str, references: Sequence[str], answers: Mapping[str, RenderedCandidate]) -> tuple[str, bool]:
        """Return a prompt, and whether a text was cut.

        Args:
            answers: heading → answer.
        """
        reference = references[0] if len(references) == 1 else "\n".join(f"{n}. {text}" for n, text in enumerate(references, 1))
        texts = [question, *([reference] if references else []), *(answer.text for answer in answers.values())]
        headings = ["Question:\n", *(["\n\nReference:\n"] if references else [])]
        headings += [f"\n\n{heading}:\n<{answer.code[:4]}>\n" for heading, answer in answers.items()]
        endings = [f"\n</{answer.code[:4]}>" for answer in answers.values()]
        ends = ["", *([""] if references else []), *endings]
        frame = "".join(heading + end for heading, end in zip(headings, ends, strict=True)) + f"\n\n{VERDICT_HEADING}"
        # Tokens may merge differently where texts meet.
        budget = self.max_length - self._count(frame) - 2 * len(texts) - VERDICT_TOKENS
        lengths = [self._count(text) for text in texts]
        limits = self._limits(lengths, len(answers), budget)
        cut = [
            self._cut(text, limit) if length > limit else text for text, length, limit in zip(texts, lengths, limits, strict=True)
        ]
        sections = "".join(heading + text + end for heading, text, end in zip(headings, cut, ends, strict=True))
        return f"{sections}\n\n{VERDICT_HEADING}", cut != texts

    def _limits(self, lengths: Sequence[int], answers: int, budget: int) -> list[int]:
        if sum(lengths) <= budget:
            return list(lengths)
        for_answers = budget - sum(lengths[:-answers])
        if for_answers >= MIN_TOKENS * answers:
            return [*lengths[:-answers], *fair_lengths(lengths[-answers:], for_answers)]
        return fair_lengths(lengths, budget)

    def _count(self, text: str) -> int:
        return len(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def _cut(self, text: str, limit: int) -> str:
        """Replace the middle of a text by a mark, so that about `limit` tokens are left."""
        offsets = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"]
        limit = max(2, limit - self._count(CUT))
        head = limit // 2
        return text[: offsets[head - 1][1]] + CUT + text[offsets[head - limit][0] :]


class FineTuned(PromptedJudge[Case]):
    """Mixin of the judges on a fine-tuned model: asks for the verdict's probabilities and, if it learned them, grades and reason.

    Uses the settings reasoning, seed, and the maximum length of answers in characters.
    """

    choices: tuple[str, ...]

    def __init__(self, name: str, settings: Mapping[str, Any], generator: Generator, card: JudgeCard, tokenizer: Any) -> None:
        super().__init__(name, settings, generator)
        self.card, self.prompts = card, PromptWriter(tokenizer, card.max_length)

    @classmethod
    def load(
        cls,
        folder: Path,
        name: str,
        settings: Mapping[str, Any],
        card: JudgeCard | None = None,
        base: Manifest | None = None,
        generator: Generator | None = None,
    ) -> Self:
        """Load a judge from its folder.

        Args:
            card, base: those of a judge that is not complete yet.
            generator: a program that serves the judge's model, in place of transformers.

        Raises:
            InputError: a file is missing or broken, or the base model is another one.
        """
        card = card or read_card(folder)
        generator = generator or load_generator(card, folder, name, base)
        return cls(name, settings, generator, card, AutoTokenizer.from_pretrained(folder, local_files_only=True))

    @abstractmethod
    def _to_reading(self, probabilities: Sequence[float]) -> Reading:
        """Convert calibrated probabilities of the choices."""

    def log_probabilities(self, cases: Sequence[Case]) -> np.ndarray:
        """Return the model's log-probability of each verdict, shape (cases, verdicts)."""
        reply_format = self._reply_formats()[0]
        completions = self.generator.generate([self._request(case, reply_format) for case in cases])
        if failed := [completion.reason for completion in completions if completion.choice_probabilities is None]:
            raise InputError(f"{self.name}: {failed[0]}")
        return np.array([_logarithms(completion, self.choices) for completion in completions])

    def _reply_formats(self) -> tuple[ReplyFormat, ReplyFormat]:
        reply_format = ReplyFormat("", self.choices)
        return reply_format, reply_format

    def _parse_completion(self, case: Case, completion: Completion, choices: tuple[str, ...] | None) -> Reading:
        if completion.choice_probabilities is None:
            word = completion.text.strip().partition("\n")[0]
            if word not in self.choices:
                return Reading(NO_VERDICT, retry=True)
            return self._to_reading([float(word == choice) for choice in self.choices])
        return self._to_reading(self.card.calibration([_logarithms(completion, self.choices)])[0].tolist())

    def _ask(self, cases: Sequence[Case]) -> list[Reply]:
        replies = super()._ask(cases)
        if not (self.card.explains and self.settings["reasoning"]):
            return replies
        decided = [index for index, reply in enumerate(replies) if reply.reading.score is not None]
        requests = [self._request(cases[index], ReplyFormat(f"{self._word(replies[index].reading)}\n")) for index in decided]
        for index, completion in zip(decided, self.generator.generate(requests), strict=True):
            grades, reason = parse_explanation(completion.text)
            reading = replace(replies[index].reading, grades=grades, reason=reason or replies[index].reading.reason)
            replies[index] = Reply(reading, (*replies[index].completions, completion))
        return replies

    @abstractmethod
    def _word(self, reading: Reading) -> str:
        """Return the verdict of a reading in the words of the model."""


def _logarithms(completion: Completion, choices: Sequence[str]) -> list[float]:
    assert completion.choice_probabilities is not None
    return [math.log(max(completion.choice_probabilities[choice], 1e-30)) for choice in choices]


def explanation(grades: Sequence[float | None], reason: str | float | None) -> str:
    """Return what follows the verdict in a training text: a line of grades and the reason, without those that are null or NaN."""
    present = [f"{grade:g}" for grade in grades if not pd.isna(grade)]
    line = f"Grade: {' '.join(present)}" if present else ""
    return "\n".join(filter(None, (line, reason.strip() if isinstance(reason, str) else "")))


def parse_explanation(text: str) -> tuple[dict[str, float] | None, str]:
    """Return the grades and the reason of a text from `explanation`."""
    match = re.match(r"\s*Grade: ([\d. ]+)(?:\n|$)", text)
    if match is None:
        return None, text.strip()
    grades = [float(grade) for grade in match[1].split() if grade.count(".") < 2 and grade != "."]
    names = ["grade"] if len(grades) == 1 else [f"grade_{letter}" for letter in "ab"]
    return dict(zip(names, grades, strict=False)) or None, text[match.end() :].strip()


def use_bare_prompts(tokenizer: Any) -> None:
    """Replace the chat template: it writes the text of a message and, where the tokenizer does, the beginning of the text."""
    begins = tokenizer("a")["input_ids"][:1] == [tokenizer.bos_token_id]
    tokenizer.chat_template = (
        "{{ bos_token }}" if begins else ""
    ) + "{% for message in messages %}{{ message.content }}{% endfor %}"


class FineTuning(Generic[Judge]):
    """The training of a language model as a judge of one class, for answers and for pairs.

    Args:
        judge: the class of the judge.
        settings: of the judge while it is calibrated and measured.
        simulated: it learns from simulated answers.
    """

    def __init__(
        self,
        context: TrainingContext,
        judge: type[Judge],
        settings: Mapping[str, Any],
        tuning: JudgeTuning,
        simulated: bool = False,
    ) -> None:
        self.context, self.judge, self.settings, self.tuning = context, judge, settings, tuning
        self.base, spec = load_manifest(context.inputs["backbone"]), dict(context.spec)
        names = (spec["kind"], self.base.repository, self.base.revision, hash_weights(self.base))
        self.card = JudgeCard(*names, tuning.max_length, simulated=simulated, spec=spec)

    def run(
        self, write_examples: Callable[[PromptWriter], Sequence[tuple[str, str, str]]], fingerprint: str
    ) -> tuple[Judge, dict[str, float]]:
        """Train the model, write it into the folder without its card, and return the judge and metrics of the training.

        Args:
            write_examples: returns (prompt, verdict, explanation) of each training row.
            fingerprint: of these rows; the checkpoints of others are not resumed.

        Raises:
            InputError: the base model cannot be loaded, or the training diverges.
        """
        from bert_judge.candidates.generators.hf import load_model, merge_adapter
        from bert_judge.candidates.tuning import Example, tune

        folder, card, tuning = self.context.folder, self.card, self.tuning
        settings = HFModel(generator="hf", model=card.base).model_dump()
        loaded = load_model(folder.name, settings, self.base.path)
        card.max_length = min(tuning.max_length, loaded.max_length or tuning.max_length)
        tokenizer = loaded.tokenizer
        use_bare_prompts(tokenizer)
        encoder = PromptEncoder(folder.name, tokenizer, settings)
        end = [min(loaded.eos_ids)] if loaded.eos_ids else []
        # A reason keeps its beginning.
        room = MAX_REASON_TOKENS - 1
        examples = []
        for prompt, verdict, text in write_examples(PromptWriter(tokenizer, card.max_length)):
            explained = [*encoder.tokenize(f"\n{text}")[:room], *end] if text else []
            card.explains = card.explains or bool(text)
            examples.append(Example(encoder.encode(prompt)[0], [*encoder.tokenize(verdict), *explained]))
        dtype = loaded.model.dtype
        model, statistics = tune(loaded, examples, tuning, self.context.checkpoints(self.base.revision, fingerprint))
        for path in (*folder.glob("*.safetensors"), *folder.glob("*config.json"), folder / JUDGE_FILE):
            path.unlink(missing_ok=True)
        if tuning.method == "lora" and not tuning.merge:
            config = model.peft_config["default"]
            # The name that finds the base model on every machine.
            config.base_model_name_or_path = card.base
            config.revision = None if card.base_revision.startswith("local:") else card.base_revision
            # It is trained in float32; the model that it is merged into is not.
            model.to(dtype).save_pretrained(folder, save_embedding_layers=False)
        else:
            merge_adapter(model, dtype).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return self.judge.load(folder, card.spec["judge"], self.settings, card, self.base), statistics

    def write(self, judge: Judge, result: Mapping[str, float], statistics: Mapping[str, float], data: str) -> None:
        """Write metrics, model card and, last, judge.json of a calibrated judge; `data` names what it was trained on."""
        folder, card = self.context.folder, judge.card
        tables.write_json(folder / METRICS, {"validation": result, "training": statistics})
        write_card(folder, card.spec["judge"], card, result, data, statistics)
        card.write(folder)


def write_card(
    folder: Path, name: str, card: JudgeCard, result: Mapping[str, float], data: str, statistics: Mapping[str, float]
) -> None:
    """Write the model card of a fine-tuned judge of answers or of pairs."""
    facts = {
        "base model": f"`{card.base}`, revision `{card.base_revision}`",
        "data": data,
        **describe_tuning(card.spec["training"], statistics),
        "calibration": f"slope {card.calibration.slope:.3f}, offset {card.calibration.offset:.3f}, fitted on held-out questions",
    }
    subject, command = "compares answers with references", "score"
    if card.kind == "pairwise":
        subject, command = "decides which of two answers is better", "compare"
    write_model_card(
        folder,
        title=name,
        introduction=f"A language model, fine-tuned as a judge that {subject}. `bert-judge {command} FILE --judge FOLDER` uses it.",
        sections={
            "Training": markdown_table(("training", ""), facts.items()),
            "Evaluation": f"On {result['n']:g} held-out rows, on which it was calibrated too:\n\n{metrics_table(result)}",
        },
        base_model=card.base,
        pipeline_tag="text-generation",
        tags=("evaluation", "llm-as-a-judge"),
        spec=card.spec,
    )
