"""A judge on disk: the weights and tokenizer as transformers writes them, and `judge.json`, which says how to use them.

A folder without `judge.json` but with the three tags in its vocabulary is a published checkpoint: its format is `tags`, cut on
the left, not calibrated. A folder with neither is a backbone: it gets a new head.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import torch
from pydantic import ValidationError
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bert_judge import __version__, tables
from bert_judge.assets import pretrained
from bert_judge.config import Input
from bert_judge.judges.bert.encoding import TAGS, RowEncoder
from bert_judge.judges.bert.judge_folder import JUDGE_FILE
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)


@dataclass
class JudgeMetadata:
    """What `judge.json` holds.

    Attributes:
        input: how rows become tokens.
        temperature: divides the encoder's logit; 1.0 is uncalibrated.
        stacker: what the encoder's logit, the lexical features' logit and a constant are worth (`encoder`, `features`, `bias`);
            empty for an encoder that decides alone.
        logit_bounds: how low and how high the encoder's logit gets along the features' (`judges/early_exit.py`); empty: not known.
        backbone, backbone_revision: what the training started from.
        spec: the judge's resolved configuration.
        program: name and version of the program that wrote the file.
        pairwise: how a judge of two answers reads them (`compare`), and the weight of a tie (`log_nu`); empty for other judges.
    """

    input: Input = field(default_factory=Input)
    temperature: float = 1.0
    stacker: dict[str, float] = field(default_factory=dict)
    logit_bounds: dict[str, list[float]] = field(default_factory=dict)
    backbone: str = ""
    backbone_revision: str = ""
    spec: dict[str, Any] = field(default_factory=dict)
    program: str = f"bert-judge {__version__}"
    pairwise: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Written last: a folder with a card is a whole judge."""
        with tables.atomic(folder / JUDGE_FILE) as temporary:
            content = {**asdict(self), "input": self.input.model_dump()}
            temporary.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


@dataclass
class Checkpoint:
    """A loaded judge or backbone."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    encoder: RowEncoder
    metadata: JudgeMetadata
    trained: bool

    def save(self, folder: Path) -> None:
        """Write weights, tokenizer and card; the card last."""
        folder.mkdir(parents=True, exist_ok=True)
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        self.metadata.write(folder)


def load(folder: str | Path, settings: Input | None = None, seed: int = 0) -> Checkpoint:
    """Load a judge, a published checkpoint or a backbone from a local folder.

    Args:
        folder: holds config, weights and tokenizer.
        settings: input format for a backbone; a trained judge has its own.
        seed: of the new head and the new tokens of a backbone.

    Raises:
        InputError: the folder is no checkpoint, lacks a part of one, or its judge.json is broken.
    """
    folder = Path(folder)
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: no judge and no backbone: config.json is missing")
    tokenizer = pretrained.tokenizer(folder)
    if tokenizer.pad_token_id is None:
        raise InputError(f"{folder}: its tokenizer has no padding token; name one as pad_token in tokenizer_config.json")
    card = _read_card(folder, tokenizer)
    trained = card is not None
    card = card or JudgeMetadata(input=settings or Input())
    torch.manual_seed(seed)
    model = pretrained.classifier(folder, logits=2, new_head=not trained)
    encoder = RowEncoder(tokenizer, card.input, max_input_length(model))
    _grow(model, tokenizer)
    return Checkpoint(model.float().eval(), tokenizer, encoder, card, trained)


def max_input_length(model: PreTrainedModel) -> int:
    """The longest input of a model in tokens."""
    positions = int(getattr(model.config, "max_position_embeddings", None) or 512)
    # RoBERTa and its kin number positions from behind the padding token's id on: 514 of them hold 512 tokens.
    learnt = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    padding = [module.padding_idx for module in learnt if isinstance(module, torch.nn.Embedding)]
    return positions - max((index + 1 for index in padding if index is not None), default=0)


def _read_card(folder: Path, tokenizer: PreTrainedTokenizerBase) -> JudgeMetadata | None:
    path = folder / JUDGE_FILE
    if path.is_file():
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content.get("pairwise", {}).get("writes"):
                raise InputError(f"{path}: a language model that compares two answers, and no encoder; name another checkpoint")
            return JudgeMetadata(**{**content, "input": Input.model_validate(content["input"])})
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError, ValidationError) as error:
            raise InputError(f"{path}: broken: {' '.join(str(error).split())[:200]}; train the judge anew") from error
    if set(TAGS.values()) <= set(tokenizer.get_vocab()):
        log.info("%s: a published checkpoint: format 'tags', cut on the left", folder)
        return JudgeMetadata(input=Input(format="tags", truncation="left", max_length=8192))
    return None


def _grow(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Make room for added tokens; each starts as the separator, whose meaning comes nearest (measured: docs/log.md)."""
    old = cast(torch.nn.Embedding, model.get_input_embeddings()).num_embeddings
    if len(tokenizer) <= old:
        return
    weight = model.resize_token_embeddings(len(tokenizer), mean_resizing=False).weight
    separator = tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id
    with torch.no_grad():
        weight[old:] = weight[separator]
