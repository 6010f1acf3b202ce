"""`judges`: ways to decide."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Union

from pydantic import BeforeValidator, Field, model_validator

from bert_judge.config.aspects import Aspects
from bert_judge.config.base import Block, Names, Share, as_list
from bert_judge.config.encoder import Input, Training
from bert_judge.config.models import LanguageModel
from bert_judge.config.pairwise import PairwiseJudge
from bert_judge.config.probes import ProbeJudge

Extraction = Literal["final_answer", "boxed", "choice", "last_number", "whole"]
ExtractionList = Annotated[list[Extraction], Field(min_length=1)]
Extractions = Annotated[ExtractionList, BeforeValidator(as_list, json_schema_input_type=Extraction | ExtractionList)]


class LexicalJudge(Block):
    """A rule on the words of the answer."""

    kind: Literal["lexical"]
    metric: Literal["exact_match", "contains", "token_f1", "rouge_l_recall", "rouge_l_f", "math_verify"]
    """the rule"""
    extract: Extractions = ["whole"]
    """where the answer stands in the text; with a list, the first that is found. None found: invalid"""
    normalize: bool = True
    """ignore case, punctuation, articles and white space (SQuAD's normalisation)"""
    stem: bool = True
    """ROUGE-L and token F1 compare the stems of English words"""
    threshold: Share = 0.5
    """lowest ROUGE-L or token F1 that counts as correct"""
    seconds: float = Field(10.0, gt=0)
    """longest processor time for one answer in Math-Verify; over it: invalid"""


class ImportedJudge(Block):
    """Verdicts read from a file, a person's for example."""

    kind: Literal["imported"]
    source: Names = Field(alias="from")
    """name of an import, or several"""


class SimulatedJudge(Block):
    """The known truth about simulated models, with a share of flipped verdicts."""

    kind: Literal["simulated"]
    flip: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """share of verdicts that are turned round"""
    seed: int = 0
    """another seed, other flips"""


class BertJudge(Block):
    """A trained encoder."""

    run_time: ClassVar[frozenset[str]] = frozenset({"parts"})

    kind: Literal["bert"]
    dataset: str | None = None
    """train on this dataset …"""
    checkpoint: str | None = None
    """… or take a trained judge: hub id or local folder"""
    revision: str | None = None
    """commit of the hub repository of backbone or checkpoint"""
    backbone: str = "minilm"
    """`minilm` (offline), a hub id or a local folder of an encoder"""
    input: Input = Input()
    """how the encoder sees a row"""
    training: Training = Training()
    """how the encoder is fitted"""
    features: bool = True
    """let trees on lexical features speak beside the encoder, weighed on the validation rows"""
    threshold: Share = 0.5
    """lowest score that counts as correct"""
    calibrated: bool = True
    """scores of the whole judge, calibrated; false: the encoder's raw sigmoid"""
    references: Literal["all", "closest"] = "all"
    """which of several references the encoder reads: each, and the best one wins, or only the one that shares most words with the
    answer, which is faster"""
    early_exit: bool = True
    """the encoder reads only answers whose verdict it could turn beside the features, which is faster; false: it reads all,
    and every row has a raw score"""
    backend: Literal["auto", "torch", "onnx", "openvino"] = "auto"
    """program that runs the encoder; `auto`: the fastest one that is installed"""
    precision: Literal["auto", "float32", "bfloat16", "int8"] = "auto"
    """number format of the encoder; `auto`: the fastest one of this machine"""
    parts: int = Field(1, ge=1)
    """judge a table in this many jobs side by side, each with rows of its own, and join them; for tables of a million answers"""

    @model_validator(mode="after")
    def _one_origin(self) -> BertJudge:
        if (self.dataset is None) == (self.checkpoint is None):
            raise ValueError("give either a dataset to train on or a checkpoint")
        if self.checkpoint and (useless := self.model_fields_set & {"backbone", "input", "training"}):
            raise ValueError(f"a checkpoint brings its own {' and '.join(sorted(useless))}; remove what is set here")
        return self


class LLMJudge(Block):
    """A prompted language model that compares the answer with the references, or grades it on several aspects without them."""

    kind: Literal["llm"]
    model: Annotated[LanguageModel, Field(discriminator="generator")]
    """the model: a block as under `models`"""
    reasoning: bool = True
    """write down the comparison before the verdict; false: the verdict alone, which is cheaper and can be a probability"""
    aspects: Aspects | None = None
    """grade these instead of comparing with references, all in one call: `roscoe` for its five, a list of names, or each with its
    meaning and range; the score is the mean of the grades, each scaled to its range"""
    threshold: Share = 0.5
    """lowest probability of "correct", where the back end gives probabilities, or lowest mean grade, that counts as correct"""
    seed: int = 0
    """another seed, another fence around the answers"""
    max_candidate_chars: int = Field(20_000, ge=200)
    """longest answer that is shown whole, in characters; of a longer one the middle is left out"""

    @model_validator(mode="after")
    def _asks_once(self) -> LLMJudge:
        if self.model.attempts != 1:
            raise ValueError("a judge gives one verdict per answer; remove model.attempts")
        return self


class CascadeJudge(Block):
    """Several judges in a row: each decides where it is sure and leaves the rest to the next. Say how right it must be, or how much
    the last one may see."""

    kind: Literal["cascade"]
    judges: Annotated[list[str], Field(min_length=2)]
    """names of judges, the cheapest first; the last one decides all that is left"""
    dataset: str
    """its validation rows tell where each judge is sure; their labels are the truth there"""
    accuracy: Annotated[float, Field(gt=0, le=1)] | None = None
    """least share of the validation rows with the right verdict, as cheaply as possible …"""
    budget: Share | None = None
    """… or largest share of them that the last judge sees, as right as possible"""

    @model_validator(mode="after")
    def _one_aim(self) -> CascadeJudge:
        if (self.accuracy is None) == (self.budget is None):
            raise ValueError("give either accuracy or budget")
        return self


class AdaptedJudge(Block):
    """Another judge whose scores are fitted to each model and task: how many answers are right there is told from the scores
    themselves, and moves them. For tasks that the judge never saw."""

    kind: Literal["adapted"]
    judge: str
    """name of the judge, of kind bert, llm or probe"""
    dataset: str | None = None
    """its validation rows tell which share of right answers the judge's scores take for granted …"""
    prior: Annotated[float, Field(gt=0, lt=1)] | None = None
    """… or say it here"""
    caution: float = Field(20.0, gt=0)
    """so many answers with that share are counted beside those of the table: a table of few answers moves little"""
    threshold: Share = 0.5
    """lowest score that counts as correct"""

    @model_validator(mode="after")
    def _one_prior(self) -> AdaptedJudge:
        if (self.dataset is None) == (self.prior is None):
            raise ValueError("give either dataset or prior")
        return self


_Kinds = Union[  # noqa: UP007
    LexicalJudge, ImportedJudge, SimulatedJudge, BertJudge, LLMJudge, ProbeJudge, CascadeJudge, AdaptedJudge, PairwiseJudge
]
Judge = Annotated[_Kinds, Field(discriminator="kind")]
