"""The shape of the configuration: the one place that knows it.

From these models come the commented `config.yaml` (`bert-judge config default`), the JSON schema for editors and the reference
table in `docs/`; a test fails when one of them drifts. What a configuration *asks for* (which tables, which jobs) is in `plan.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Union

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from bert_judge import config_faults
from bert_judge.errors import ConfigError

# A name becomes a folder and a column, so it is a plain word on every file system.
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=100)]
# A model's key may hold `*`: it then stands for every model of its files whose name matches.
ModelKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9*][A-Za-z0-9._+*-]*$", max_length=100)]
Share = Annotated[float, Field(ge=0, le=1)]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


# A list that may be written as its single member.
Texts = Annotated[list[str], Field(min_length=1)]
Names = Annotated[Texts, BeforeValidator(_as_list, json_schema_input_type=str | Texts)]
Value = str | int | float | bool | None

Family = Literal["multiple_choice", "reading", "math", "short_answer"]
Style = Literal["terse", "wordy", "ignores_format", "hedging", "self_correcting", "broken_off", "refusing", "option_dumping"]
Extraction = Literal["final_answer", "boxed", "choice", "last_number", "whole"]
ExtractionList = Annotated[list[Extraction], Field(min_length=1)]
Extractions = Annotated[ExtractionList, BeforeValidator(_as_list, json_schema_input_type=Extraction | ExtractionList)]


class Block(BaseModel):
    """A part of the configuration: unknown keys are errors."""

    model_config = ConfigDict(
        extra="forbid", validate_by_name=True, validate_by_alias=True, use_attribute_docstrings=True, allow_inf_nan=False
    )
    # Keys that say how the work is done and not what comes out: no part of a spec.
    run_time: ClassVar[frozenset[str]] = frozenset()


# --- files that exist already ---------------------------------------------------------------------------------------


class Columns(Block):
    """Which column of a file holds what. A column that the file lacks and nobody needs may be left out."""

    question: str = "question"
    """the question"""
    references: str = "references"
    """right answers: a list, or one text"""
    candidate: str = "candidate"
    """the model's answer"""
    model: str = "model"
    """the model's name"""
    label: str = "label"
    """a verdict: 1/0, true/false, correct/incorrect, a share in [0, 1], or empty for "no verdict" """
    choices: str | None = None
    """answer options: a list"""
    id: str | None = None
    """an identifier of the row, unique in the file"""


class Import(Block):
    """A file of answers, with or without verdicts, that exists already."""

    path: str
    """parquet, CSV or JSONL file; relative to `data`"""
    format: Literal["auto", "parquet", "csv", "jsonl"] = "auto"
    """`auto` goes by the file's ending"""
    columns: Columns = Columns()
    """the file's column names"""
    where: dict[str, Value | list[Value]] = {}
    """keep rows whose column has this value, or one of these values"""


# --- models ---------------------------------------------------------------------------------------------------------


class SimulatedModel(Block):
    """Answers made up from the references by a rule: simulated data, whose truth is known."""

    generator: Literal["simulated"]
    knowledge: Share
    """probability of knowing the answer to a question of middling difficulty"""
    style: Style | dict[Style, Annotated[float, Field(gt=0)]] = "terse"
    """how it writes: one style, or styles with their weights"""
    seed: int = 0
    """another seed, other answers"""


class ImportedModel(Block):
    """Answers read from a file."""

    generator: Literal["imported"]
    source: Names = Field(alias="from")
    """name of an import, or several"""
    named: str | None = None
    """the model's name in the file, when it differs from the key"""


class Generated(Block):
    """Settings of every model that is asked here."""

    generator: str
    model: str
    """hub id or local folder"""
    max_new_tokens: int = Field(2048, gt=0)
    """longest completion, in tokens"""
    temperature: float = Field(0.0, ge=0)
    """0 is greedy"""
    top_p: float = Field(1.0, gt=0, le=1)
    """nucleus sampling, when the temperature is above 0"""
    seed: int = 0
    """seed of sampling"""
    attempts: int = Field(1, gt=0)
    """answers per question"""
    system: str | None = None
    """system prompt"""
    thinking: bool | None = None
    """switch of the chat template; left out: the template's default"""
    reasoning_end: str = "</think>"
    """what closes a reasoning block"""


class LocalModel(Generated):
    """Settings of every model whose weights are on this machine."""

    revision: str | None = None
    """commit of the hub repository; pinned by `prepare` when left out"""
    trust_remote_code: bool = False
    """run code from the model's repository; needs a `revision`"""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """number format of the weights"""

    @model_validator(mode="after")
    def _remote_code_is_pinned(self) -> LocalModel:
        if self.trust_remote_code and self.revision is None:
            raise ValueError("trust_remote_code needs a revision: name the commit whose code you trust")
        return self


class HFModel(LocalModel):
    """Answers generated here with transformers."""

    generator: Literal["hf"]


class VLLMModel(LocalModel):
    """Answers generated here with vLLM, which has an environment of its own."""

    run_time: ClassVar[frozenset[str]] = frozenset({"tensor_parallel_size", "gpu_memory_utilization", "enforce_eager"})

    generator: Literal["vllm"]
    quantization: str | None = None
    """method of a quantised model, when its own configuration does not tell"""
    max_model_len: Annotated[int, Field(gt=0)] | None = None
    """longest prompt and completion together, in tokens; left out: the model's window"""
    tensor_parallel_size: int = Field(1, gt=0)
    """GPUs over which the model is spread"""
    gpu_memory_utilization: float = Field(0.9, gt=0, le=1)
    """share of a GPU's memory that the engine takes"""
    enforce_eager: bool = False
    """no CUDA graphs: starts sooner, generates more slowly"""


class OpenAIModel(Generated):
    """Answers of a server that speaks OpenAI's protocol: a vendor, or a vLLM server of your own."""

    run_time: ClassVar[frozenset[str]] = frozenset(
        {"base_url", "api_key_env", "concurrency", "requests_per_minute", "timeout", "retries", "budget_tokens"}
    )

    generator: Literal["openai"]
    model: str
    """the model's name on the server"""
    base_url: str = "https://api.openai.com/v1"
    """where the server is; the same model at another address is the same model"""
    api_key_env: str = "OPENAI_API_KEY"
    """name of the environment variable that holds the key; a server without keys needs none"""
    temperature: float | None = Field(0.0, ge=0)  # type: ignore[assignment]
    """0 is greedy; `null` sends none, for models that refuse it"""
    thinking: bool | None = None
    """switch of the chat template, for vLLM and other servers that take `chat_template_kwargs`; left out: the server's default"""
    limit_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """what the server calls `max_new_tokens`; OpenAI's newer models want `max_completion_tokens`"""
    constrain: Literal["structured_outputs", "guided_choice", "json_schema", "none"] = "none"
    """how an answer out of a list is enforced: vLLM's `structured_outputs`, the older `guided_choice`, OpenAI's `json_schema`"""
    logprobs: bool = False
    """ask for log-probabilities of such answers: a judge's score is then a probability"""
    extra: dict[str, Any] = {}
    """more keys of the request's body, as the server's documentation names them"""
    concurrency: int = Field(16, gt=0)
    """most requests at once"""
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None
    """most requests in a minute"""
    timeout: float = Field(600.0, gt=0)
    """seconds to wait for an answer"""
    retries: int = Field(6, ge=0)
    """how often a request that failed for a passing reason is repeated"""
    budget_tokens: Annotated[int, Field(gt=0)] | None = None
    """most tokens that one job may use, prompts and completions; what it leaves unasked has the status `error`"""

    @model_validator(mode="after")
    def _sound_request(self) -> OpenAIModel:
        if not re.fullmatch(r"https?://[^\s@]+", self.base_url):
            raise ValueError("base_url needs http:// or https:// and an address without user and password")
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", self.api_key_env):
            raise ValueError("api_key_env needs the name of an environment variable in capitals, never the key itself")
        if taken := sorted(set(self.extra) & {"model", "messages", "n", "stream", "max_tokens", "max_completion_tokens"}):
            raise ValueError(f"extra: {taken[0]} is set by the program; remove it there")
        return self


# Those that can be asked anything, also for a verdict.
LanguageModel = Union[HFModel, VLLMModel, OpenAIModel]  # noqa: UP007
Model = Annotated[Union[SimulatedModel, ImportedModel, LanguageModel], Field(discriminator="generator")]  # noqa: UP007


# --- tasks ----------------------------------------------------------------------------------------------------------


class ImportedTask(Block):
    """The questions of an imported file, or a part of them."""

    source: str = Field(alias="from")
    """name of an import"""
    where: dict[str, Value | list[Value]] = {}
    """keep rows whose column has this value, or one of these values"""
    questions: tuple[Share, Share] = (0.0, 1.0)
    """part of the questions: each question falls on a fixed point between 0 and 1 that depends on its text only"""
    family: Family = "short_answer"
    """what kind of task it is; agreement is reported per family"""


class SourceColumns(Block):
    """Which column of a data set holds what. A dot leads into a nested one: `answers.text`."""

    question: Names = ["question"]
    """the question; several columns are joined. A list of questions is a dialogue: each is asked with what was said before"""
    answer: Names = ["answer"]
    """right answers; of several columns, any is right"""
    choices: Names | None = None
    """multiple choice: a list of options, or several columns with one option each, the right one among them"""
    labels: str | None = None
    """multiple choice: what `answer` calls the options, when that is not A, B, C, …"""
    context: Names | None = None
    """reading: the text; of several columns, the members belong together, as titles and paragraphs do"""


# What an answer looks like in a data set, by the families that may say so.
ANSWER_FORMS = {
    "plain": ("multiple_choice", "reading", "math", "short_answer"),
    "index": ("multiple_choice",),
    "flags": ("multiple_choice",),
    "after_hashes": ("math",),
    "boxed": ("math",),
    "with_unit": ("math",),
    "drop": ("reading",),
}


class TaskSource(Block):
    """A task made from the rows of a data set: one of the hub, or a file."""

    repository: str | None = None
    """hub id of a data set; a folder of that name under LOCAL_DATASETS_DIR goes first"""
    path: str | None = None
    """or a parquet, JSONL or CSV file; relative to `data`"""
    config: Names | None = None
    """configurations (subsets) of the data set, one after the other"""
    split: str = "test"
    """split of the data set"""
    revision: str | None = None
    """commit of the hub repository; pinned by `prepare` when left out"""
    family: Family
    """what kind of task it is: it decides the prompt and what an answer looks like"""
    columns: SourceColumns = SourceColumns()
    """the data set's column names"""
    answer_form: Literal["plain", "index", "flags", "after_hashes", "boxed", "with_unit", "drop"] = "plain"
    """how the answer is written: `plain` text (of an option: its letter, label or text), an option's `index` from 0, `flags` with 1
    for the right option, `after_hashes` (behind ####), `boxed` (the last box of a solution), `with_unit` ("9 (apples)"), `drop`
    (the structure of DROP: number, date, spans)"""
    shuffle: bool = False
    """multiple choice: put the options in an order that is drawn for each question, always the same"""
    where: dict[str, Value | list[Value]] = {}
    """keep rows whose column has this value, or one of these values"""

    @model_validator(mode="after")
    def _one_place(self) -> TaskSource:
        if (self.repository is None) == (self.path is None):
            raise ValueError("give either the repository of a data set or the path of a file")
        if self.path and (useless := self.model_fields_set & {"config", "split", "revision"}):
            raise ValueError(f"a file has no {' and '.join(sorted(useless))}; remove what is set here, or name a repository")
        return self

    @model_validator(mode="after")
    def _fits_family(self) -> TaskSource:
        choice = self.family == "multiple_choice"
        if self.family not in ANSWER_FORMS[self.answer_form]:
            raise ValueError(
                f"the answer_form {self.answer_form} belongs to {ANSWER_FORMS[self.answer_form][0]}, not {self.family}"
            )
        if choice and not self.columns.choices:
            raise ValueError("a multiple-choice task needs columns.choices; name the column of the options")
        if choice and len(self.columns.answer) > 1:
            raise ValueError("a multiple-choice task has one column for the answer; name one under columns.answer")
        if not choice and (self.columns.choices or self.columns.labels or self.shuffle):
            raise ValueError(f"columns.choices, columns.labels and shuffle belong to multiple_choice, not {self.family}")
        if self.family == "reading" and not self.columns.context:
            raise ValueError("a reading task needs columns.context; name the column of the text")
        return self


class Tasks(Block):
    """Which questions are asked."""

    train: list[Name] = []
    """tasks whose answers may train a judge"""
    test: list[Name] = Field(min_length=1)
    """tasks on which the models are scored"""
    imported: dict[Name, ImportedTask] = {}
    """tasks that are made from imported files"""
    sources: dict[Name, TaskSource] = {}
    """tasks that are made from data sets, beside the published ones that are known by name"""
    limit: dict[Name, Annotated[int, Field(gt=0)]] = {}
    """ask at most this many questions of a task; always the same ones, and a higher limit keeps them"""


# --- judges ---------------------------------------------------------------------------------------------------------


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


class Mix(Block):
    """How many rows of a dataset come from where."""

    per_task: dict[Name, Annotated[int, Field(gt=0)]] = {}
    """at most this many rows of a task"""
    per_model: dict[Name, Annotated[int, Field(gt=0)]] = {}
    """at most this many rows of a model"""
    total: Annotated[int, Field(gt=0)] | None = None
    """at most this many rows in all"""


class Input(Block):
    """How question, candidate and reference become the encoder's tokens."""

    format: Literal["pair", "tags"] = "pair"
    """`pair`: the backbone's own sentence pair; `tags`: the three added tokens of the published checkpoints"""
    question: bool = True
    """show the question to the judge"""
    max_length: int = Field(512, ge=16)
    """longest input in tokens; the backbone's window when that is shorter"""
    truncation: Literal["middle", "left"] = "middle"
    """`middle` keeps the reference and the end of the candidate; `left` cuts the prompt's start, as published"""


class Training(Block):
    """How the encoder is fitted."""

    epochs: float = Field(2.0, gt=0)
    """passes over the training rows"""
    learning_rate: float = Field(8e-5, gt=0)
    """peak of the learning rate; linear decay to 0"""
    head_factor: float = Field(5.0, gt=0)
    """the new head learns this many times as fast as the encoder"""
    warmup: Share = 0.06
    """share of the steps in which the learning rate rises"""
    batch_size: int = Field(16, gt=0)
    """rows per step"""
    weight_decay: float = Field(0.01, ge=0)
    """AdamW's weight decay"""
    dropout: Share = 0.0
    """dropout in the encoder's layers and before the head"""
    label_smoothing: Share = 0.0
    """how far labels are moved towards 0.5"""
    freeze_embeddings: bool = True
    """leave the word embeddings as they are; never with the format `tags`, whose tokens are new"""
    seed: int = 0
    """seed of the new layers and of the row order"""


class BertJudge(Block):
    """A trained encoder."""

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

    @model_validator(mode="after")
    def _one_origin(self) -> BertJudge:
        if (self.dataset is None) == (self.checkpoint is None):
            raise ValueError("give either a dataset to train on or a checkpoint")
        if self.checkpoint and (useless := self.model_fields_set & {"backbone", "input", "training"}):
            raise ValueError(f"a checkpoint brings its own {' and '.join(sorted(useless))}; remove what is set here")
        return self


class Price(Block):
    """What a model's tokens cost, in a currency of your choice."""

    prompt: float = Field(ge=0)
    """price of a million tokens read"""
    completion: float = Field(ge=0)
    """price of a million tokens written"""


class LLMJudge(Block):
    """A prompted language model that compares the answer with the references."""

    run_time: ClassVar[frozenset[str]] = frozenset({"price"})

    kind: Literal["llm"]
    model: Annotated[LanguageModel, Field(discriminator="generator")]
    """the model: a block as under `models`"""
    reasoning: bool = True
    """write down the comparison before the verdict; false: the verdict alone, which is cheaper and can be a probability"""
    threshold: Share = 0.5
    """lowest probability of "correct" that counts as correct, where the back end gives probabilities"""
    seed: int = 0
    """another seed, another fence around the answers"""
    max_candidate_chars: int = Field(20_000, ge=200)
    """longest answer that is shown whole, in characters; of a longer one the middle is left out"""
    price: Price | None = None
    """what the model's tokens cost, for `bert-judge cost`"""

    @model_validator(mode="after")
    def _asks_once(self) -> LLMJudge:
        if self.model.attempts != 1:
            raise ValueError("a judge gives one verdict per answer; remove model.attempts")
        return self


Judge = Annotated[
    Union[LexicalJudge, ImportedJudge, SimulatedJudge, BertJudge, LLMJudge],  # noqa: UP007
    Field(discriminator="kind"),
]


# --- datasets -------------------------------------------------------------------------------------------------------


class Dataset(Block):
    """Labelled answers that train a judge."""

    teacher: str
    """the judge whose labels are learnt"""
    tasks: list[str] = Field(min_length=1)
    """tasks, out of `tasks.train`"""
    models: list[str] | Literal["all"] = "all"
    """models; with `all`, a new model retrains the judge"""
    mix: Mix = Mix()
    """limits per task and model"""
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """share of the questions kept for calibration and metrics"""
    balance: bool = False
    """weight the rows so that right and wrong answers count alike"""
    allow_test_questions: bool = False
    """accept questions that a test task has too"""
    seed: int = 0
    """seed of the draw"""


# --- the whole ------------------------------------------------------------------------------------------------------


class Config(Block):
    """A run: which models answer which tasks, who teaches, who judges."""

    data: str | None = None
    """folder of the imported files; the environment variable BERT_JUDGE_DATA when left out"""
    imports: dict[Name, Import] = {}
    """files of answers that exist already"""
    models: dict[ModelKey, Model] = Field(min_length=1)
    """name → how its answers come about"""
    tasks: Tasks
    """which questions are asked"""
    task_files: list[str] = []
    """Python files with tasks of your own"""
    prompt_style: Literal["free", "soft", "strict"] = "free"
    """`free`: the question only; `soft`: conclude with "Final answer: …"; `strict`: nothing but "Final answer: …" """
    datasets: dict[Name, Dataset] = {}
    """name → labelled answers that train a judge"""
    judges: dict[Name, Judge] = Field(min_length=1)
    """name → a way to decide"""
    score_with: list[str] = Field(min_length=1)
    """judges whose columns the score tables carry"""
    gold: str | None = None
    """the judge that counts as the truth: agreement is measured against it"""


def parse(raw: Mapping[str, Any]) -> Config:
    """Validate a configuration.

    Raises:
        ConfigError: with one line per fault of shape or of name, all of them at once.
    """
    faults: list[str] = []
    config = None
    try:
        # Only the keys of the documentation count, not the Python names of the fields behind them.
        config = Config.model_validate(raw, by_alias=True, by_name=False)
    except ValidationError as error:
        faults = config_faults.of_shape(raw, error.errors(), json_schema())
    faults += config_faults.of_names(raw)
    if faults or config is None:
        raise ConfigError(faults)
    return config


def json_schema() -> dict[str, Any]:
    """The JSON schema that editors use to complete and check a configuration."""
    return TypeAdapter(Config).json_schema(by_alias=True)
