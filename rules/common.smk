"""The plan of the run, and what the rules ask of it. No rules here."""

import gc
import functools
import inspect
import re
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError

from bert_judge import plan, tables, targets, tasks
from bert_judge.errors import ConfigError

DATASET_FILES = ["train.parquet", "validation.parquet", "summary.json"]
STANDINGS_FILES = ["results/standings.parquet", "results/agreement.parquet", "results/comparisons.parquet"]
STARTED = time.time()

# The jobs of a large grid are millions of objects that stay; looking through them for garbage takes a third of the planning time.
gc.set_threshold(200_000, 50, 100)


def checked_plan():
    """The plan of the configuration, or every fault of it, before any job runs."""
    try:
        return plan.make(config, workflow.configfiles)
    except ConfigError as error:
        raise WorkflowError("The configuration has faults; no job was started.", *error.faults) from None


PLAN = checked_plan()


# --- names ---


def one_of(names):
    """Regular expression of a wildcard: one of these names, or nothing at all when there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def trained_judges():
    """Judges that are trained here; the others of their kind come with a checkpoint."""
    return [name for name in PLAN.judges("bert") if PLAN.config.judges[name].dataset]


def prompted_judges(generator):
    """Judges of kind llm whose model is of this generator."""
    return [name for name in PLAN.judges("llm") if PLAN.config.judges[name].model.generator == generator]


def asked():
    """(model, task) of every answer table that is needed."""
    return sorted({*PLAN.scored, *(pair for dataset in PLAN.config.datasets for pair in PLAN.labelled(dataset))})


def judged():
    """(judge, model, task) of every label table that is needed."""
    scored = {(judge, *pair) for judge in PLAN.config.score_with for pair in PLAN.scored}
    taught = {(entry.teacher, *pair) for name, entry in PLAN.config.datasets.items() for pair in PLAN.labelled(name)}
    return sorted(scored | taught)


@functools.cache
def needed():
    """(model, task) of every answer table that this run's targets need. Snakemake knows them only after it has read the rules."""
    return targets.answers_for(PLAN, targets.of_run(workflow.is_main_process, workflow.dag_settings.targets))


@functools.cache
def batches_of(model):
    """Which tables of a model are answered together."""
    return targets.batches(PLAN, model, needed(), f"results/answered/{model}")


def tables_of(pattern, keys):
    """Paths of the tables with these keys; a key's members fill the pattern's wildcards in their order."""
    fields = re.findall(r"{(\w+)}", pattern)
    return [f"results/{pattern}.parquet".format(**dict(zip(fields, key))) for key in keys]


# --- resources ---


def share_of_cores():
    """Threads of a job that labels one table: many tables share the cores, one alone takes them all; on a cluster, a node's worth."""
    # `workflow.cores` raises where no number of cores is given: on a cluster, and when Snakemake only reports.
    cores = workflow.resource_settings.cores
    return max(1, cores // len(PLAN.scored)) if cores else 8


def gpus_of(wildcards):
    """GPUs over which a model is spread."""
    return PLAN.models[wildcards.model].tensor_parallel_size


def gpus_of_judge(wildcards):
    """GPUs over which a prompted judge's model is spread."""
    return PLAN.config.judges[wildcards.judge].model.tensor_parallel_size


# --- params ---


def spec_of(make):
    """Params function: the canonical JSON of what `make` says of the job's wildcards, taken by name."""
    names = list(inspect.signature(make).parameters)
    return lambda wildcards: tables.canonical(make(*(getattr(wildcards, name) for name in names)))


def asset_spec(asset):
    return PLAN.assets[asset]


def fill_spec(wildcards):
    """Params function: canonical JSON of all that a batch of tables needs."""
    return tables.canonical(batches_of(wildcards.model).by_name[wildcards.batch].parts)


# --- inputs ---


def fill_sources(wildcards):
    """What the questions of a batch are made of."""
    return batches_of(wildcards.model).by_name[wildcards.batch].inputs


def batch_of(wildcards):
    """The job that answers for this table, and for others of the model."""
    return f"results/answered/{wildcards.model}/{batches_of(wildcards.model).of_task[wildcards.task]}.json"


def task_source(wildcards):
    """The file that a task's questions come from: an imported file, a data set's, a user's task file, or none."""
    return PLAN.source_file(wildcards.task) or []


def task_manifest(wildcards):
    """What says where a task's data set lies; none for a task that `prepare` has nothing to do for."""
    asset = f"task-{wildcards.task}"
    return f"results/prepared/{asset}.json" if asset in PLAN.assets else []


def imported_file(wildcards):
    """The file that answers to a task are imported from."""
    return PLAN.import_path(PLAN.import_of(wildcards.task))


def verdict_file(wildcards):
    """The file that a judge's verdicts on a task are imported from."""
    return PLAN.import_path(PLAN.verdict_import(wildcards.judge, wildcards.task))


def checkpoint_of(wildcards):
    """What says where a judge's weights lie: its own folder when trained here, else what `prepare` found."""
    if wildcards.judge in trained_judges():
        return f"results/judges/{wildcards.judge}/judge.json"
    return f"results/prepared/judge-{wildcards.judge}.json"


def merged_candidates(wildcards):
    return tables_of("candidates/{model}/{task}", PLAN.dataset_spec(wildcards.dataset)["tables"])


def merged_labels(wildcards):
    dataset = PLAN.dataset_spec(wildcards.dataset)
    return tables_of("labels/{judge}/{model}/{task}", [(dataset["teacher"], *pair) for pair in dataset["tables"]])


def training_file(name):
    """Input function: a file of the dataset that a judge is trained on."""
    return lambda wildcards: f"results/datasets/{PLAN.config.judges[wildcards.judge].dataset}/{name}"


def overlap_of(wildcards):
    """The check of a judge's training data against a test task; none for a checkpoint, whose training data are not known."""
    if wildcards.judge not in trained_judges() or wildcards.task not in PLAN.config.tasks.test:
        return []
    return training_file(f"overlap/{wildcards.task}.json")(wildcards)


def scoring_labels(wildcards):
    return tables_of(
        "labels/{judge}/{model}/{task}",
        [(judge, wildcards.model, wildcards.task) for judge in PLAN.config.score_with],
    )


# --- the end of a run ---


def show_standings():
    """Print the standings when this run has made them."""
    made = Path(STANDINGS_FILES[0])
    if made.exists() and made.stat().st_mtime >= STARTED:
        from bert_judge.cli.show_standings import show

        show(made)
