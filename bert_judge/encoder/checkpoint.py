"""Load and save judges: weights and tokenizer in transformers' format, and `judge.json`.

The weights can be saved as 8-bit integers, in a quarter of the size: each row of a matrix as integers and one scale, vectors in
float32. Weights that `round_weights` has rounded are stored without loss.

A folder without `judge.json` whose vocabulary has the three tags is a published checkpoint: format `tags`, truncated on the left,
uncalibrated. A folder with neither is a backbone and gets a new head.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from bert_judge import __version__, tables
from bert_judge.config import Input
from bert_judge.encoder.encoding import TAGS, TOKENIZER_FILE, RowEncoder, RowTokenizer, copy_files
from bert_judge.encoder.judge_folder import JUDGE_FILE, TREES_FILE, check_folder
from bert_judge.encoder.weights import INPUTS_FILE, WEIGHTS_FILE, EncoderWeights, read_weights
from bert_judge.runtime.errors import InputError
from bert_judge.statistics.logistic import expit, logit
from bert_judge.text import TEXT_VERSION

if TYPE_CHECKING:
    from transformers import PreTrainedModel

log = logging.getLogger(__name__)
Floats = NDArray[np.float64]
STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True)
class StackerWeights:
    """Weights of the encoder's logit, the trees' logit and a constant."""

    __pydantic_config__ = STRICT
    encoder: float
    features: float
    bias: float

    def combine(self, encoder_logits: np.ndarray | float, tree_logits: np.ndarray) -> np.ndarray:
        """Return the calibrated logits, shape (n,)."""
        return self.encoder * encoder_logits + self.features * tree_logits + self.bias

    def rescale(self, slope: float, offset: float) -> StackerWeights:
        """Return the weights whose logits are `slope` times these logits plus `offset`."""
        return StackerWeights(slope * self.encoder, slope * self.features, slope * self.bias + offset)


@dataclass(frozen=True)
class LogitBounds:
    """Range of the encoder's logit by bin of the trees' logit: mean of the trees' in ascending order; low, mean and high of the
    encoder's."""

    trees: list[float]
    low: list[float]
    mean: list[float]
    high: list[float]

    def __post_init__(self) -> None:
        values = np.array(list(asdict(self).values()), float)
        if values.ndim != 2 or not self.trees or not np.isfinite(values).all() or (np.diff(values[0]) < 0).any():
            raise ValueError("logit_bounds: needs trees, ascending, low, mean and high with equally many numbers each")

    def interpolate(self, tree_logits: Floats) -> tuple[Floats, Floats, Floats]:
        """Return low, mean and high for rows with these tree logits, each of shape (n,)."""
        low, mean, high = (np.interp(tree_logits, self.trees, values) for values in (self.low, self.mean, self.high))
        return low, mean, high


@dataclass(frozen=True)
class CertainScores:
    """Scores of a kind of answers whose verdicts are certain: incorrect up to `low`, correct from `high` on; None: never."""

    __pydantic_config__ = STRICT
    low: Annotated[float, Field(ge=0, le=1)] | None = None
    high: Annotated[float, Field(ge=0, le=1)] | None = None

    def rescale(self, slope: float, offset: float) -> CertainScores:
        """Return the same scores after their logits were multiplied by `slope` and raised by `offset`."""
        low, high = (None if value is None else float(expit(slope * logit(value) + offset)) for value in (self.low, self.high))
        return CertainScores(low, high)


@dataclass(frozen=True)
class JudgeMetadata:
    """The content of `judge.json`; `Checkpoint.update` replaces it.

    Attributes:
        temperature: divides the encoder's logit; 1.0 is uncalibrated.
        stacker: weights of encoder and trees; None for a judge without trees.
        logit_bounds: range of the encoder's logit, for early exit; None if unknown.
        rules: rule module (`text.rules`) → the verdicts that it gives before trees and encoder are asked.
        rule_logit: added to the logit where another module accepts the answer, and subtracted where it rejects it.
        partial_offset: added to the calibrated logit, gives that of an at least partly correct answer; None if unknown.
        certain_scores: kind of answers (`text.answer_kinds`) → scores whose verdicts are certain (`judges.bert.certainty`); empty
            if not measured.
        pairwise: the weight of a tie, `log_nu`, of a pairwise judge; empty for other judges.
        version: of a published judge, such as v1; empty for others.
        languages: ISO 639-1 codes of the languages it was trained on; empty if unknown.
        simulated: it was trained on simulated answers.
        text_version: `text.TEXT_VERSION` of the rules that its texts were prepared with in training; 0 if unknown.
    """

    __pydantic_config__ = STRICT
    input: Input = field(default_factory=Input)
    temperature: Annotated[float, Field(gt=0)] = 1.0
    stacker: StackerWeights | None = None
    logit_bounds: LogitBounds | None = None
    rules: dict[str, list[Literal["correct", "incorrect"]]] = field(default_factory=dict)
    rule_logit: Annotated[float, Field(ge=0)] = 0.0
    partial_offset: Annotated[float, Field(ge=0)] | None = None
    certain_scores: dict[str, CertainScores] = field(default_factory=dict)
    backbone: str = ""
    backbone_revision: str = ""
    spec: dict[str, Any] = field(default_factory=dict)
    program: str = f"bert-judge {__version__}"
    pairwise: dict[str, Any] = field(default_factory=dict)
    version: str = ""
    languages: list[str] = field(default_factory=list)
    simulated: bool = False
    text_version: int = 0

    def write(self, folder: Path) -> None:
        """Write `judge.json`; last, because it marks a complete judge."""
        tables.write_json(folder / JUDGE_FILE, {**asdict(self), "input": self.input.model_dump()})


@dataclass
class Checkpoint:
    """A loaded judge or backbone.

    Attributes:
        folder: where it was loaded from.
        weights: of a judge that runs without torch.
        window: maximum input of the encoder in tokens.
        seed: of the head that a backbone gets.
    """

    folder: Path
    tokenizer: RowTokenizer
    weights: EncoderWeights | None
    metadata: JudgeMetadata
    trained: bool
    seed: int = 0

    @cached_property
    def model(self) -> PreTrainedModel:
        """The encoder as a model of torch, in float32 and eval mode, which training changes."""
        from bert_judge.encoder.torch_model import load_model

        return load_model(self.folder, self.tokenizer, self.trained, self.seed)

    @cached_property
    def encoder(self) -> RowEncoder:
        return RowEncoder(self.tokenizer, self.metadata.input, self.window)

    @cached_property
    def window(self) -> int:
        if self.weights is not None:
            return self.weights.window
        from bert_judge.encoder.torch_model import max_input_length

        return max_input_length(self.model)

    def update(self, **changes: Any) -> None:
        """Replace the metadata by one with these values of attributes of `JudgeMetadata`."""
        self.metadata = replace(self.metadata, **changes)

    @property
    def num_parameters(self) -> int:
        return self.model.num_parameters() if self.weights is None else self.weights.num_parameters

    def save(self, folder: Path, int8: bool = False) -> None:
        """Write weights (`int8`: as 8-bit integers, which only this program reads), tokenizer and, last, `judge.json`.

        Raises:
            InputError: a weight is not a number.
        """
        if "model" not in vars(self) and int8 == (self.folder / WEIGHTS_FILE).is_file():
            weights = [path.name for path in self.folder.glob("*.safetensors*") if path.name != TREES_FILE]
            copy_files(self.folder, folder, ["config.json", *weights])
        else:
            from bert_judge.encoder.torch_model import save_model

            # That of an earlier save is of other weights.
            (folder / INPUTS_FILE).unlink(missing_ok=True)
            save_model(self.model, folder, int8)
        self.tokenizer.save(folder)
        self.metadata.write(folder)


def load(folder: str | Path, settings: Input | None = None, seed: int = 0) -> Checkpoint:
    """Load a judge, a published checkpoint or a backbone from a local folder.

    Args:
        settings: input format for a backbone; a trained judge has its own.

    Raises:
        InputError: the folder is not a complete checkpoint, or its judge.json is broken.
    """
    folder = Path(folder)
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: no judge and no backbone: config.json is missing")
    check_folder(folder)
    is_judge = (folder / JUDGE_FILE).is_file()
    tokenizer = RowTokenizer.read(folder) if is_judge and (folder / TOKENIZER_FILE).is_file() else _load_tokenizer(folder)
    if tokenizer.pad_token_id is None:
        raise InputError(f"{folder}: its tokenizer has no padding token; name one as pad_token in tokenizer_config.json")
    metadata = _read_metadata(folder, tokenizer)
    trained = metadata is not None
    if trained and not any(path.name not in (TREES_FILE, INPUTS_FILE) for path in folder.glob("*.safetensors")):
        raise InputError(f"{folder}: a judge needs weights in safetensors; other files of weights could run code")
    metadata = metadata or JudgeMetadata(input=settings or Input(), text_version=TEXT_VERSION)
    if metadata.text_version != TEXT_VERSION:
        log.warning(
            "%s: trained with version %d of the rules about texts, but this program has version %d; retrain it, or run "
            "bert-judge train FILE --recalibrate --from %s",
            *(folder, metadata.text_version, TEXT_VERSION, folder),
        )
    if metadata.input.format == "tags":
        tokenizer.add_special_tokens(list(TAGS.values()))
    checkpoint = Checkpoint(folder, tokenizer, read_weights(folder) if is_judge else None, metadata, trained, seed)
    if checkpoint.weights is None:
        # Torch says now what is wrong with the files.
        _ = checkpoint.model
    else:
        tokenizer.check_ids(folder, len(checkpoint.weights.words.values))
    return checkpoint


def _load_tokenizer(folder: Path) -> RowTokenizer:
    from bert_judge.assets import pretrained

    return RowTokenizer.wrap(pretrained.load_tokenizer(folder))


def _read_metadata(folder: Path, tokenizer: RowTokenizer) -> JudgeMetadata | None:
    path = folder / JUDGE_FILE
    if path.is_file():
        try:
            return TypeAdapter(JudgeMetadata).validate_json(path.read_text(encoding="utf-8"))
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"])) or "the file"
            raise InputError(f"{path}: broken: {key}: {first['msg'][:200]}; retrain the judge") from error
        except ValueError as error:
            raise InputError(f"{path}: broken: {' '.join(str(error).split())[:200]}; retrain the judge") from error
    if set(TAGS.values()) <= set(tokenizer.backend.get_vocab()):
        log.info("%s: a published checkpoint: format 'tags', truncated on the left", folder)
        return JudgeMetadata(input=Input(format="tags", truncation="left", max_length=8192), text_version=TEXT_VERSION)
    return None
