"""Load and save judges: weights and tokenizer in transformers' format, and `judge.json`.

The weights can be saved as 8-bit integers, in a quarter of the size: each row of a matrix as integers and one scale, vectors in
float32. Weights that `round_weights` has rounded are stored without loss.

A folder without `judge.json` whose vocabulary has the three tags is a published checkpoint: format `tags`, truncated on the left,
uncalibrated. A folder with neither is a backbone and gets a new head.
"""

import logging
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, PreTrainedModel, PreTrainedTokenizerBase

from bert_judge import __version__, tables
from bert_judge.assets import pretrained
from bert_judge.config import Input
from bert_judge.encoder.encoding import TAGS, RowEncoder
from bert_judge.encoder.judge_folder import JUDGE_FILE, TREES_FILE, check_folder
from bert_judge.runtime.errors import InputError
from bert_judge.text import TEXT_VERSION

log = logging.getLogger(__name__)
WEIGHTS_FILE = "weights.int8.safetensors"
MAX_INTEGER = 127
Floats = NDArray[np.float64]
STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
SCALE = ".scale"


@dataclass(frozen=True)
class StackerWeights:
    """Weights of the encoder's logit, the trees' logit and a constant."""

    __pydantic_config__ = STRICT
    encoder: float
    features: float
    bias: float

    def combine(self, encoder_logits: np.ndarray, tree_logits: np.ndarray) -> np.ndarray:
        """Return the calibrated logits, shape (n,)."""
        return self.encoder * encoder_logits + self.features * tree_logits + self.bias

    def rescale(self, slope: float, offset: float) -> "StackerWeights":
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


@dataclass
class JudgeMetadata:
    """The content of `judge.json`.

    Attributes:
        temperature: divides the encoder's logit; 1.0 is uncalibrated.
        stacker: weights of encoder and trees; None for a judge without trees.
        logit_bounds: range of the encoder's logit, for early exit; None if unknown.
        rules: rule module (`text.rules`) → the verdicts that it gives before trees and encoder are asked.
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
    """A loaded judge or backbone."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    encoder: RowEncoder
    metadata: JudgeMetadata
    trained: bool

    def save(self, folder: Path, int8: bool = False) -> None:
        """Write weights (`int8`: as 8-bit integers, which only this program reads), tokenizer and, last, `judge.json`.

        Raises:
            InputError: a weight is not a number.
        """
        pretrained.check_finite(self.model, folder)
        folder.mkdir(parents=True, exist_ok=True)
        if int8:
            _save_int8(self.model, folder)
        else:
            self.model.save_pretrained(folder)
        for weights in folder.glob("*.safetensors"):
            tables.set_default_mode(weights)
        self.tokenizer.save_pretrained(folder)
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
    tokenizer = pretrained.load_tokenizer(folder)
    if tokenizer.pad_token_id is None:
        raise InputError(f"{folder}: its tokenizer has no padding token; name one as pad_token in tokenizer_config.json")
    metadata = _read_metadata(folder, tokenizer)
    trained = metadata is not None
    if trained and not any(path.name != TREES_FILE for path in folder.glob("*.safetensors")):
        raise InputError(f"{folder}: a judge needs weights in safetensors; other files of weights could run code")
    metadata = metadata or JudgeMetadata(input=settings or Input(), text_version=TEXT_VERSION)
    if metadata.text_version != TEXT_VERSION:
        log.warning(
            "%s: trained with version %d of the rules about texts, but this program has version %d; retrain it, or run "
            "bert-judge train FILE --recalibrate --from %s",
            *(folder, metadata.text_version, TEXT_VERSION, folder),
        )
    torch.manual_seed(seed)
    if (folder / WEIGHTS_FILE).is_file():
        model = _load_int8(folder)
    else:
        model = pretrained.load_classifier(folder, logits=2, new_head=not trained)
    encoder = RowEncoder(tokenizer, metadata.input, max_input_length(model))
    _resize_embeddings(model, tokenizer)
    _check_tokens(model, tokenizer, folder)
    return Checkpoint(model.float().eval(), tokenizer, encoder, metadata, trained)


def max_input_length(model: PreTrainedModel) -> int:
    """Return the maximum input of a model in tokens."""
    positions = int(getattr(model.config, "max_position_embeddings", None) or 512)
    # RoBERTa's positions start after the padding token's id: 514 positions hold 512 tokens.
    embeddings = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    padding = [table.padding_idx for table in embeddings if isinstance(table, torch.nn.Embedding)]
    return positions - max((index + 1 for index in padding if index is not None), default=0)


def _read_metadata(folder: Path, tokenizer: PreTrainedTokenizerBase) -> JudgeMetadata | None:
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
    if set(TAGS.values()) <= set(tokenizer.get_vocab()):
        log.info("%s: a published checkpoint: format 'tags', truncated on the left", folder)
        return JudgeMetadata(input=Input(format="tags", truncation="left", max_length=8192), text_version=TEXT_VERSION)
    return None


def _resize_embeddings(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Add embeddings for added tokens, initialised with that of the separator (measured: docs/log.md)."""
    num_embeddings = cast(torch.nn.Embedding, model.get_input_embeddings()).num_embeddings
    if len(tokenizer) <= num_embeddings:
        return
    weight = model.resize_token_embeddings(len(tokenizer), mean_resizing=False).weight
    separator = tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id
    with torch.no_grad():
        weight[num_embeddings:] = weight[separator]


def _check_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Refuse a tokenizer with ids that have no embedding, for which some backends read other memory."""
    ids = [*tokenizer.get_vocab().values(), *tokenizer("a", "b")["input_ids"], cast(int, tokenizer.pad_token_id)]
    count = cast(torch.nn.Embedding, model.get_input_embeddings()).num_embeddings
    if max(ids) >= count or min(ids) < 0:
        raise InputError(f"{folder}: its tokenizer has the id {max(ids)}, and the model {count:,} embeddings; download it again")


@torch.no_grad()
def round_weights(model: PreTrainedModel) -> None:
    """Round every matrix of a model, in place, to values that its file of integers can hold."""
    for parameter in model.parameters():
        if parameter.ndim > 1:
            integers, scale = _quantize(parameter)
            parameter.copy_(integers.float() * scale)


def _save_int8(model: PreTrainedModel, folder: Path) -> None:
    tensors = {}
    for name, value in model.state_dict().items():
        if value.ndim > 1 and value.is_floating_point():
            tensors[name], tensors[name + SCALE] = _quantize(value.cpu())
        else:
            tensors[name] = value.cpu().contiguous()
    save_file(tensors, folder / WEIGHTS_FILE)
    model.config.save_pretrained(folder)


def _load_int8(folder: Path) -> PreTrainedModel:
    """Load a model in float32. Raises InputError: the file is damaged, or does not match config.json."""
    try:
        tensors = load_file(folder / WEIGHTS_FILE)
        config = pretrained.load_config(folder)
        pretrained.check_size(AutoModelForSequenceClassification, config, folder)
        for name in (name for name in tensors if name.endswith(SCALE)):
            if tensors[name].shape != (len(tensors[name.removesuffix(SCALE)]), 1):
                raise ValueError(f"{name} has the shape {tuple(tensors[name].shape)}")
        model = AutoModelForSequenceClassification.from_config(config)
        state = {
            name: value.float() * tensors[name + SCALE] if name + SCALE in tensors else value
            for name, value in tensors.items()
            if not name.endswith(SCALE)
        }
        model.load_state_dict(state)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise InputError(f"{folder}: not a readable judge: {' '.join(str(error).split())[:300]}") from error
    pretrained.check_finite(model, folder)
    return model


def _quantize(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return integers and the scale of each row, of shape (rows, 1)."""
    scale = (matrix.abs().amax(dim=1, keepdim=True) / MAX_INTEGER).clamp(min=torch.finfo(torch.float32).tiny)
    return (matrix / scale).round().to(torch.int8), scale
