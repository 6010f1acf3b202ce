"""The stage that trains a student: filtered answers and a base model in, a folder that is an ordinary model out."""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bert_judge import __version__, tables
from bert_judge.assets.prepare import Manifest, load_manifest, make_manifest
from bert_judge.candidates.generators.hf import load_model, merge_adapter
from bert_judge.candidates.generators.tokenization import ENCODING_ERRORS, PromptEncoder
from bert_judge.candidates.tuning import Example, tune
from bert_judge.config import Tuning
from bert_judge.judges.model_card import describe_tuning, markdown_table, write_model_card
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.tasks.registry import instruction

log = logging.getLogger(__name__)
MANIFEST, METRICS = "manifest.json", "metrics.json"
# A single weights file, whose name is known in advance.
SINGLE_FILE = "100TB"


def train_student(
    spec: Mapping[str, Any],
    filtered: str | Path,
    base: str | Path,
    folder: str | Path,
    *,
    work_folder: str | Path,
    run_time: Mapping[str, Any] | None = None,
) -> None:
    """Fine-tune a base model on filtered answers.

    Args:
        folder: receives weights, tokenizer, metrics.json, README.md (the model card) and, last, manifest.json, which makes the
            student a prepared model like any other.
        work_folder: holds the training checkpoints until the student is complete.

    Raises:
        InputError: the base model cannot be loaded, or no answer fits into its context.
    """
    folder, name, manifest = Path(folder), spec["student"], load_manifest(base)
    rows = tables.read(filtered, tables.FILTERED)
    if rows.empty:
        raise InputError(f"{filtered}: no answer to train on; filter other answers")
    tuning = Tuning.model_validate({**spec["training"], **(run_time or {})})
    loaded = load_model(name, spec["settings"], manifest.path)
    encoder = PromptEncoder(name, loaded.tokenizer, spec["settings"])
    instructions = {task: instruction(family, spec["prompt_style"]) for task, family in spec["families"].items()}
    prompts = rows["question"] + rows["task"].map(instructions)
    max_length = min(tuning.max_length, loaded.max_length or tuning.max_length)
    examples, left_out = encode_examples(encoder, loaded.eos_ids, zip(prompts, rows["candidate"], strict=True), max_length)
    # Checkpoints of other rows or another spec must not be resumed.
    key = resume.content_key(tables.canonical(spec), manifest.revision, tables.fingerprint(rows))
    dtype = loaded.model.dtype
    model, training_metrics = tune(loaded, examples, tuning, Path(work_folder) / key)
    model = merge_adapter(model, dtype)
    folder.mkdir(parents=True, exist_ok=True)
    for file in (MANIFEST, METRICS):
        (folder / file).unlink(missing_ok=True)
    model.save_pretrained(folder, max_shard_size=SINGLE_FILE)
    for weights in folder.glob("*.safetensors"):
        tables.set_default_mode(weights)
    loaded.tokenizer.save_pretrained(folder)
    # Before the other files are written, which are no part of the model.
    completed = make_manifest(name, folder, spec["settings"]["trust_remote_code"])
    metrics = {"answers": len(examples), "left_out": left_out, "training": training_metrics}
    tables.write_json(folder / METRICS, metrics)
    write_card(folder, spec, manifest, metrics)
    tables.write_json(folder / MANIFEST, completed)
    resume.clear(work_folder)
    log.info("%s was trained on %d answers; loss %.4f", name, len(examples), training_metrics["loss"])


def write_card(folder: Path, spec: Mapping[str, Any], base: Manifest, metrics: Mapping[str, Any]) -> None:
    answer_filter = spec["filter"]
    models, tasks = (", ".join(sorted(set(names))) for names in zip(*answer_filter["tables"], strict=True))
    data = {
        "base model": f"`{base.repository}`, revision `{base.revision}`",
        "answers": f"{metrics['answers']}, of {models} to {tasks}; {metrics['left_out']} left out as too long",
        "filter": f"`{answer_filter['filter']}`: {describe_filter(answer_filter)}",
        "prompts": f"style `{spec['prompt_style']}`",
        "made by": f"bert-judge {__version__}",
        **describe_tuning(spec["training"], metrics["training"]),
    }
    write_model_card(
        folder,
        title=spec["student"],
        introduction=(
            f"A language model fine-tuned on answers to training questions ({describe_filter(answer_filter)}). It is meant for the "
            "comparison of answer filters only."
        ),
        sections={"Training": markdown_table(("training", ""), data.items())},
        base_model=base.repository,
        pipeline_tag="text-generation",
    )


def describe_filter(answer_filter: Mapping[str, Any]) -> str:
    if answer_filter["judge"] == "all":
        return "all of them"
    share = f"{answer_filter['keep']:g}%"
    if answer_filter["judge"] == "random":
        return f"{share} of them, drawn at random"
    return f"the {share} that {answer_filter['judge']} scores best"


def encode_examples(
    encoder: PromptEncoder, eos_ids: frozenset[int], pairs: Iterable[tuple[str, str]], max_length: int
) -> tuple[list[Example], int]:
    """Encode prompts with their answers; return the examples that fit into the model's context, and the number left out.

    Args:
        max_length: prompt and completion together, in tokens.

    Raises:
        InputError: none is left.
    """
    examples: list[Example] = []
    left_out = 0
    for prompt, answer in pairs:
        try:
            example = encode_dialogue(encoder, eos_ids, prompt, answer)
        except ENCODING_ERRORS as error:
            log.warning("%.60s… cannot be encoded: %s", answer, " ".join(str(error).split()))
            left_out += 1
            continue
        if len(example) <= max_length:
            examples.append(example)
        else:
            left_out += 1
    total = len(examples) + left_out
    if left_out:
        log.warning("%d of %d texts are left out: prompt and completion exceed %d tokens", left_out, total, max_length)
    if not examples:
        raise InputError(f"max_length: none of {total} texts fits into {max_length} tokens; raise it, or filter other answers")
    return examples, left_out


def encode_dialogue(encoder: PromptEncoder, eos_ids: frozenset[int], prompt: str, answer: str) -> Example:
    """Encode a prompt with its answer as the chat template writes them; without a template, the plain texts.

    The prompt has the same tokens as in generation. Text that the template puts between prompt and answer, such as an empty
    reasoning block, belongs to the completion: the model has to generate it.
    """
    prompt_ids, _ = encoder.encode(prompt)
    ids = encoder.tokenize(_rendered_answer(encoder, prompt, answer))
    # After the end token, the template prepares another turn.
    end = next((position for position, token in enumerate(ids) if token in eos_ids), None)
    if end is not None:
        return Example(prompt_ids, ids[: end + 1])
    eos_id = encoder.tokenizer.eos_token_id if encoder.tokenizer.eos_token_id is not None else min(eos_ids, default=None)
    return Example(prompt_ids, [*ids, *([] if eos_id is None else [eos_id])])


def _rendered_answer(encoder: PromptEncoder, prompt: str, answer: str) -> str:
    if encoder.template is None:
        # A completion of a plain prompt starts on a new line.
        return f"\n{answer}"
    start, rendered = encoder.render(prompt), encoder.render(prompt, answer)
    # Some templates render a finished turn differently from one that begins.
    return rendered.removeprefix(start) if rendered.startswith(start) else answer
