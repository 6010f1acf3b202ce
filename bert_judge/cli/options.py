"""Options that several commands share, and what they name: a configuration, judges, columns of a file."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml

from bert_judge.assets.prepare import GENERAL, GENERAL_FOLDER
from bert_judge.cli.terminal import log
from bert_judge.config import files as config_files
from bert_judge.importers import column_names
from bert_judge.judges import registry
from bert_judge.labels import judge_loading
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import disable_progress_bars
from bert_judge.tables.readers.values import get_cell

if TYPE_CHECKING:
    from bert_judge.importers.frameworks import AnswerFile

DEFAULT_CONFIG = Path("config.yaml")

Judges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-j",
        help="general (the judge in this package), folder of a judge, name of a trained judge in results/judges, judge of a "
        "configuration (FILE.yaml:NAME), checkpoint on the hub (owner/name), or rule: exact_match, contains, token_f1, "
        "rouge_l_recall, rouge_l_f, math_verify; language model on a server (http://HOST/v1#MODEL, openai:MODEL); or a cascade: "
        "general+FOLDER, general+SERVER. Repeatable. Default: general.",
    ),
]
Threshold = Annotated[
    float | None, typer.Option(min=0, max=1, help="Lowest score that counts as correct. Default: the judge's own.")
]


class PolicyName(StrEnum):
    """What a partly correct answer counts as."""

    STRICT = "strict"
    LENIENT = "lenient"


Policy = Annotated[
    PolicyName | None,
    typer.Option(help="A partly correct answer is incorrect (strict) or correct (lenient). Default: the judge's own, strict."),
]
_ANSWERS = typer.Argument(
    metavar="FILE", help="Answers and references: CSV, JSON lines or parquet, or the output of another framework."
)
Answers = Annotated[Path, _ANSWERS]
ScoredAnswers = Annotated[Path | None, _ANSWERS]
Question = Annotated[
    str | None, typer.Option("--question", metavar="COLUMN", help="Name of the question column, if it is not auto-detected.")
]
References = Annotated[
    str | None,
    typer.Option(
        "--references", metavar="COLUMN", help="Name of the column with the references; for score, also a second file of them."
    ),
]
Candidate = Annotated[str | None, typer.Option("--candidate", metavar="COLUMN", help="Name of the column with the model's answer.")]
ModelColumn = Annotated[
    str | None, typer.Option("--model-column", metavar="COLUMN", help="Name of the column with the model's name.")
]
Label = Annotated[
    str | None, typer.Option("--label", metavar="COLUMN", help="Name of the label column, if it is not auto-detected.")
]
Conversation = Annotated[
    bool, typer.Option("--conversation", help="Give the judge whole conversations: the turns before a question belong to it.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing output file.")]
Server = Annotated[
    str | None,
    typer.Option(help="URL of an OpenAI-compatible server, such as http://localhost:8000/v1; the key is read from OPENAI_API_KEY."),
]
ShowConfig = Annotated[bool, typer.Option("--show-config", help="Print the equivalent configuration and exit.")]
ConfigFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--config", "-c", metavar="CONFIG", help="Configuration; several are merged, later ones win. Default: config.yaml."
    ),
]
DataFolder = Annotated[Path | None, typer.Option("--data", help="Folder of the imported files; the same as --set data=FOLDER.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the configuration, in YAML. Repeatable.")
]


def without_none(**values: Any) -> dict[str, Any]:
    """Return the options that are set."""
    return {name: value for name, value in values.items() if value is not None}


def read_config(
    files: Sequence[Path] | None, settings: Sequence[str] | None = None, data: Path | None = None
) -> tuple[list[Path], dict[str, Any]]:
    """Return the files of a configuration, by default config.yaml, and their merged content.

    Args:
        files: paths, or names of configurations that come with the package; see `config.files.find`.
        settings: KEY=VALUE, which override keys of the files.
        data: overrides the folder of imported files.

    Raises:
        InputError: a file is missing or not a mapping, or has a key twice, or a setting is not KEY=VALUE.
    """
    paths = [config_files.find(path) for path in files or [DEFAULT_CONFIG]]
    return paths, config_files.deep_merge(config_files.load(paths), parse_settings(settings, data))


def parse_settings(settings: Sequence[str] | None, data: Path | None) -> dict[str, Any]:
    """Return the keys that options of the command line set."""
    keys: dict[str, Any] = {}
    for setting in settings or []:
        key, separator, value = setting.partition("=")
        if not separator:
            raise InputError(f"--set {setting}: expected KEY=VALUE")
        try:
            keys[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise InputError(f"--set {setting}: the value is not YAML") from error
    return keys | ({} if data is None else {"data": str(data)})


def find_judges(
    names: Sequence[str], threshold: float | None = None, policy: PolicyName | None = None
) -> list[judge_loading.JudgeReference]:
    """Find judges by name; without names, the general judge, whose version and policy are logged."""
    if not names:
        version = registry.read_card(GENERAL_FOLDER).get("version", "")
        policy = policy or PolicyName.STRICT
        log(f"judge: {GENERAL} {version}, policy {policy} (comes with bert-judge; --judge and --policy take others)")
        names = [GENERAL]
    disable_progress_bars()
    return judge_loading.find_judges(names, threshold, policy)


def load_judges(
    names: Sequence[str], threshold: float | None = None, policy: PolicyName | None = None
) -> list[judge_loading.NamedJudge]:
    """Load judges by name; see `find_judges`."""
    return [reference.load() for reference in find_judges(names, threshold, policy)]


def model_block(model: str, server: str | None, backend: str) -> dict[str, Any]:
    """Return the configuration section of a language model."""
    return {"generator": backend, "model": model} if server is None else {"generator": "openai", "model": model, "base_url": server}


def find_columns(
    answers: "AnswerFile", columns: Mapping[str, str], required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, str]:
    """Return part → column for the required parts of a file, and for the optional ones that it has."""
    # Imported lazily, as below: it loads the readers of all formats.
    from bert_judge.importers.frameworks import ANSWER_COLUMNS, FRAMEWORKS

    file, source = answers.path, answers.source
    if answers.framework is not None or source is None:
        log(f"{file}: {FRAMEWORKS[str(answers.framework)].description}")
        return {role: role for role in (*required, *optional) if role in ANSWER_COLUMNS}
    with_label = "label" in required
    detected = column_names.detect_columns(file, source.columns, columns, required, with_label=with_label, sample=source.sample)
    if "input" in detected:
        named = f"{detected['question']!r} or {detected['input']!r}"
        raise InputError(f"{file}: the question may be in the column {named}; set --question COLUMN, or join them in one")
    if "aliases" in detected:
        log(f"warning: {file}: the column {detected['aliases']!r} is not read; give all references in one column")
    return {role: detected[role] for role in (*required, *optional) if role in detected}


def drop_ambiguous_models(answers: "AnswerFile", columns: dict[str, str]) -> None:
    """Remove the column of the model if a row has none, or two models would get the same folder; say so in the log."""
    if (column := columns.get("model")) is None:
        return
    # Imported lazily: it loads the configuration's classes.
    from bert_judge.importers.frameworks import read_answer_records
    from bert_judge.plan.configuration import plain_name

    if answers.framework is None and answers.source is not None:
        records = answers.source.records([name for name in answers.source.columns if name in (column, column.partition(".")[0])])
    else:
        records = read_answer_records(answers.path, str(answers.framework))
    names = {str(get_cell(record, column) or "").strip() for _, record in records}
    if "" in names or len({plain_name(name) for name in names}) < len(names):
        log(f"{answers.path}: some rows have no {column!r}, or too similar ones; all answers count as those of one model")
        del columns["model"]
