"""Every command in README and docs/ is run here if it is cheap, and otherwise parsed by the program that it calls."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
import yaml
from snakemake.cli import get_argument_parser
from starlette.testclient import TestClient
from test_docs import FENCE, PAGES, ROOT, targets
from typer.main import get_command
from typer.testing import CliRunner

from bert_judge.cli import app
from bert_judge.judges import BERTJudge
from bert_judge.plan import build_plan
from bert_judge.serve.app import make_app
from bert_judge.serve.judge_pool import JudgePool, pointwise
from bert_judge.serve.limits import Limits, Metrics

# Configurations that a reader has.
OWN_CONFIGS = {"mine.yaml", "teacher.yaml", "FILE"}
# Programs that are not part of this project; their lines are read by people only.
OTHER_PROGRAMS = {
    *("git", "cd", "export", "source", ".", "cp", "mkdir", "cat", "jq", "curl", "openssl", "tmux", "docker", "python3"),
    *("podman", "apptainer", "sbatch", "scancel", "vllm", "lm_eval", "lighteval", "inspect", "haproxy"),
}
ASSIGNMENT = re.compile(r"[A-Z_]+=\S*")
# Of an unknown option or a wrong value; typer does not export it.
UsageError: Any = typer.BadParameter.__base__
# Scores depend on the processor by up to this much: it selects the number format of the encoder, and rounds in its own way.
SCORE_TOLERANCE = 0.05
OPERATORS = {"&&", "|", ";", ">", "&"}


class Command(NamedTuple):
    """A simple command of a page: its program, its arguments, and the output that the page shows after it."""

    program: str
    arguments: list[str]
    output: str


def blocks(text: str) -> Iterator[str]:
    """Yield the fenced blocks that may hold commands, and the indented ones, without their indentation."""
    for indent, language, block in FENCE.findall(text):
        if language in ("", "sh", "bash", "console"):
            yield re.sub(rf"^{indent}", "", block, flags=re.MULTILINE)
    for block in re.findall(r"(?:^ {4,}.*\n?|^\n(?= {4}))+", FENCE.sub("", text), re.MULTILINE):
        yield re.sub(r"^ {4}", "", block, flags=re.MULTILINE).strip("\n")


def split_line(line: str) -> list[list[str]]:
    """Split a line into the words of its simple commands; comments, assignments and redirections go."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;>")
    lexer.commenters, lexer.whitespace_split = "#", True
    commands: list[list[str]] = [[]]
    operator = ""
    for word in lexer:
        if word in OPERATORS:
            commands.append([])
            operator = word
        elif not (operator == ">" or (not commands[-1] and ASSIGNMENT.fullmatch(word))):
            commands[-1].append(word)
    return [words for words in commands if words]


def program_of(line: str) -> str:
    try:
        words = split_line(line)
    except ValueError:
        return ""
    return Path(words[0][0]).name if words else ""


def commands_of(page: str) -> list[Command]:
    """Return the commands of a page. In a block with commands every line is one, except the output below a line with `$ `."""
    found = []
    for block in blocks(PAGES[page]):
        lines = [line for line in re.sub(r"\\\n *", " ", block).splitlines() if line.strip() and not line.startswith("#")]
        prompts = any(line.startswith("$ ") for line in lines)
        if not lines or program_of(lines[0].removeprefix("$ ")) not in {*CHECKS, *OTHER_PROGRAMS}:
            continue
        for number, line in enumerate(lines):
            if prompts and not line.startswith("$ "):
                continue
            following = lines[number + 1 :]
            end = next((place for place, text in enumerate(following) if text.startswith("$ ")), len(following))
            output = "\n".join(following[:end]) if prompts else ""
            commands = split_line(line.removeprefix("$ "))
            found += [Command(words[0], words[1:], output if len(commands) == 1 else "") for words in commands]
    return found


# --- one check per program: it raises or returns a problem ---


def check_bert_judge(arguments: list[str]) -> str | None:
    program: Any = get_command(app)
    if not arguments or arguments[0].startswith("-"):
        options = {option for parameter in program.params for option in parameter.opts}
        return None if set(arguments) <= {*options, "--help", "-h", "--install-completion"} else "no such option"
    command = program.get_command(None, arguments[0])
    if command is None:
        return "no such command"
    command, rest = command.load(), arguments[1:]
    if hasattr(command, "commands") and rest and rest[0] in command.commands:
        command, rest = command.commands[rest[0]], rest[1:]
    try:
        context = command.make_context(arguments[0], [word.replace("…", "x") for word in rest])
    except UsageError as error:
        return error.format_message()
    if arguments[0] == "run":
        words = [str(context.params["config"]), *(context.params["targets"] or [])]
        configs = [word for place, word in enumerate(words) if place == 0 or word.endswith(".yaml")]
        return check_targets(configs, [word for word in words if word not in configs])
    configs = context.params.get("config") or []
    return check_targets(list(map(str, configs if isinstance(configs, list) else [configs])), [])


def check_snakemake(arguments: list[str]) -> str | None:
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            parsed = get_argument_parser().parse_args(arguments)
    except SystemExit:
        return errors.getvalue().splitlines()[-1]
    says_where = parsed.dryrun or parsed.unlock or parsed.report or parsed.cores or parsed.workflow_profile
    return check_targets(map(str, parsed.configfile or []), parsed.targets) or (None if says_where else "--cores is missing")


def check_targets(configs: Any, names: Any) -> str | None:
    """`--configfile a.yaml target` would take the target for a configuration."""
    absent = [path for path in configs if Path(path).name not in OWN_CONFIGS and not (ROOT / path).is_file()]
    unknown = [name for name in names if name not in targets() and not re.fullmatch(r"results/\w+/.*\.(parquet|json|md)", name)]
    return f"no such configuration or target: {[*absent, *unknown]}" if absent or unknown else None


def check_make(arguments: list[str]) -> str | None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    unknown = [word for word in arguments if "=" not in word and not re.search(rf"^{word}:", makefile, re.MULTILINE)]
    return f"no such target: {unknown}" if unknown else None


def check_python(arguments: list[str]) -> str | None:
    if arguments[0] == "-m":
        return None if importlib.util.find_spec(arguments[1]) else f"no module {arguments[1]}"
    script = ROOT / arguments[0]
    if not script.is_file():
        return f"no file {arguments[0]}"
    options = {word.split("=")[0] for word in arguments[1:] if word.startswith("--")}
    unknown = options - declared_options(script)
    return f"no such option: {sorted(unknown)}" if unknown else None


@cache
def declared_options(script: Path) -> set[str]:
    """Return the options of a script: every text that looks like one, and the fields of data classes, also in modules beside it."""
    tree = ast.parse(script.read_text("utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    fields = {node.target.id for node in ast.walk(tree) if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    beside = {node.names[0].name for node in ast.walk(tree) if isinstance(node, ast.Import)}
    beside |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules = [script.with_name(f"{name}.py") for name in beside if script.with_name(f"{name}.py").is_file()]
    own = {text for text in texts if text.startswith("--")} | {f"--{name.replace('_', '-')}" for name in texts | fields}
    return own.union(*map(declared_options, modules))


def check_pip(arguments: list[str]) -> str | None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [names for word in arguments for names in re.findall(r"(?:bert-judge|\.)\[([\w,]+)\]", word)]
    extras = set(",".join(named).split(",")) - {""}
    unknown = extras - set(project["optional-dependencies"])
    files = [word for word in arguments[1:] if word.endswith(".txt") and not (ROOT / word).is_file()]
    return f"unknown: {[*unknown, *files]}" if arguments[0] != "install" or unknown or files else None


def check_pytest(arguments: list[str]) -> str | None:
    absent = [word for word in arguments if word.startswith("tests") and not (ROOT / word).exists()]
    return f"no such tests: {absent}" if absent else None


CHECKS: dict[str, Callable[[list[str]], str | None]] = {
    "bert-judge": check_bert_judge,
    "snakemake": check_snakemake,
    "make": check_make,
    "python": check_python,
    "python3.11": check_python,
    "pip": check_pip,
    "pytest": check_pytest,
}


@pytest.mark.parametrize("page", PAGES)
def test_every_command_is_understood(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    problems = []
    for program, arguments, _ in commands_of(page):
        name = Path(program).name or program
        if name in CHECKS:
            problems += [(program, arguments, problem) for problem in [CHECKS[name](arguments)] if problem]
        elif name not in OTHER_PROGRAMS:
            problems.append((program, arguments, "neither a program of this project nor a known other one"))
    assert problems == []


def test_commands_are_found() -> None:
    assert {"bert-judge", "make", "pip"} <= {command.program for command in commands_of("README.md")}
    assert sum(len(commands_of(page)) for page in PAGES) > 100


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("snakemake --cores 2 --configfile configs/pairwise.yaml ranks", "no such configuration or target"),
        ("snakemake --cores 2 nothing", "no such configuration or target"),
        ("snakemake scores", "--cores is missing"),
        ("snakemake --core-s 2", "unrecognized arguments"),
        ("bert-judge run configs/paper.yaml nothing", "no such configuration or target"),
        ("bert-judge score a.csv --jugde general", "No such option"),
        ("bert-judge scores a.csv", "no such command"),
        ("make nothing", "no such target"),
        ("python benchmarks/audit_value.py --nothing 1", "no such option"),
        ("pip install 'bert-judge[nothing]'", "unknown"),
    ],
)
def test_a_wrong_command_is_noticed(line: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    [[program, *arguments]] = split_line(line)
    assert problem in str(CHECKS[program](arguments))


# --- commands that are run, with the output that the page shows ---


ANSWERS = """\
question,reference,answer,model,label
What is the capital of France?,Paris,The capital of France is Paris.,a,1
What is the capital of France?,Paris,London.,b,0
Who wrote Faust?,Goethe,"Goethe, of course.",a,1
Who wrote Faust?,Goethe,I do not know.,b,0
"""
KNOWN_WRONG = "question,reference,answer\nWho wrote Faust?,Goethe,Schiller\n"
MINE = re.search(r"```yaml\n(imports: .*?)```", PAGES["README.md"], re.DOTALL)
# Judges that a reader trains, or whose language model he names.
# Judges that are not here; tests of servers run the same commands with a local one (test_second_judge).
OWN_JUDGES = re.compile(r"my-judge|results/judges/|examples/judgelm|http://localhost|openai:")
CHEAP = re.compile(r"(score answers\.csv|check mine\.yaml|predict |--version)")


@pytest.fixture
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages name."""
    (tmp_path / "answers.csv").write_text(ANSWERS)
    (tmp_path / "wrong.csv").write_text(KNOWN_WRONG)
    assert MINE is not None
    (tmp_path / "mine.yaml").write_text(re.sub(r"(?<=path: )[\w./]*answers\.csv", str(tmp_path / "answers.csv"), MINE[1]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cheap_commands() -> list[tuple[str, Command]]:
    """Return the cheap commands of all pages, each once."""
    found: dict[str, tuple[str, Command]] = {}
    for page in PAGES:
        for command in commands_of(page):
            text = shlex.join([command.program, *command.arguments])
            if command.program == "bert-judge" and CHEAP.match(" ".join(command.arguments)) and not OWN_JUDGES.search(text):
                found.setdefault(text, (page, command))
    return list(found.values())


@pytest.mark.parametrize(("page", "command"), cheap_commands(), ids=lambda value: value if isinstance(value, str) else value[1][0])
def test_cheap_commands_run_and_print_what_the_page_shows(user_folder: Path, page: str, command: Command) -> None:
    line = json.dumps({"question": "Who wrote Faust?", "references": ["Goethe"], "candidate": "Goethe."})
    result = CliRunner().invoke(app, command.arguments, input=line)
    assert result.exit_code == 0, (page, result.output)
    if command.output:
        assert_same(command.output, result.stdout)


def assert_same(shown: str, printed: str) -> None:
    """Compare output; numbers may differ by `SCORE_TOLERANCE`."""
    number = re.compile(r"\d+\.\d+")
    assert number.sub("#", shown).strip() == number.sub("#", printed).strip()
    assert list(map(float, number.findall(printed))) == pytest.approx(list(map(float, number.findall(shown))), abs=SCORE_TOLERANCE)


@pytest.mark.parametrize("page", ["README.md", "docs/speed.md"])
def test_pages_say_how_much_scores_depend_on_the_processor(page: str) -> None:
    assert f"depend on the processor by up to {SCORE_TOLERANCE}" in PAGES[page]


def test_the_server_answers_what_its_page_shows() -> None:
    [command] = [command for command in commands_of("docs/serving.md") if command.output]
    body = command.arguments[command.arguments.index("-d") + 1]
    limits, metrics = Limits(), Metrics()
    pool = JudgePool({"general": pointwise("general", BERTJudge, limits, metrics)}, {})
    pool.load()
    with TestClient(make_app(pool, limits, metrics)) as client:
        answer = client.post("/v1/judge", content=body, headers={"content-type": "application/json"}).text
    pool.close()
    kept = re.sub(r'"raw":.*?(?="truncated")|(?<="truncated":false,).*(?="judge")', "…,", answer)
    assert_same(command.output, kept)


def test_the_line_that_adds_a_model_fits_into_the_demo() -> None:
    line = re.search(r"^```\n(  my-model: .*\n)```$", PAGES["docs/running.md"], re.MULTILINE)
    assert line is not None
    text = (ROOT / "config.yaml").read_text("utf-8").replace("\nmodels:\n", f"\nmodels:\n{line[1]}")
    assert "my-model" in build_plan(yaml.safe_load(text)).models


def test_the_standings_of_the_demo_have_its_models_and_judges() -> None:
    demo = yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))
    header, *rows = re.findall(
        r"^(?:model|simulated-\S+|smollm2-\S+)  .*", PAGES["docs/running.md"].partition("Agreement with")[0], re.MULTILINE
    )
    assert header.replace(" (gold)", "").split() == ["model", "answers", *demo["scorers"]]
    assert {row.split()[0] for row in rows} == set(demo["models"])


def python_examples() -> Iterator[tuple[str, str, str]]:
    """Yield page, code and output of every Python block that is directly followed by a block with its output."""
    for page, text in PAGES.items():
        for code, output in re.findall(r"^```python\n(.*?)^```\n+```\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            yield page, code, output


@pytest.mark.parametrize(("page", "code", "output"), list(python_examples()))
def test_python_examples_print_what_the_page_shows(page: str, code: str, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, page, "exec"), {})
    assert_same(output, capsys.readouterr().out)
