"""The plan of the run, and what the rules ask of it. No rules here."""

import gc
import functools
import inspect
import json
import re
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError

from bert_judge import plan, tables, tasks
from bert_judge.labels import table_shards
from bert_judge.plan import batches, targets
from bert_judge.runtime.errors import ConfigError
from bert_judge.tables import selections

DATASET_FILES = ["train.parquet", "validation.parquet", "validation_weak.parquet", "summary.json"]
STANDINGS = "results/standings.parquet"
# What is told from the score tables.
STANDINGS_FILES = [
    STANDINGS,
    "results/model_pairs.parquet",
    "results/agreement.parquet",
    "results/comparisons.parquet",
    "results/judge_pairs.parquet",
    "results/rank_shifts.parquet",
    "results/reliability.parquet",
    "results/thresholds.parquet",
    "results/cost.parquet",
]
# The standings for other programs.
EXPORTS = [f"results/standings.{ending}" for ending in ("csv", "md", "tex", "svg")]
STARTED = time.time()

# The jobs of a large grid are millions of objects that stay; looking through them for garbage takes a third of the planning time.
gc.set_threshold(200_000, 50, 100)


def checked_plan():
    """The plan of the configuration, or every fault of it, before any job runs."""
    try:
        return plan.make(config, workflow.configfiles)
    except ConfigError as error:
        raise WorkflowError("The configuration has faults; no job was started.", *error.errors) from None


PLAN = checked_plan()


# --- names ---


def one_of(names):
    """Regular expression of a wildcard: one of these names, or nothing at all when there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def answer_tables():
    """(model, task) of every answer table that is needed."""
    trained_on = {pair for dataset in PLAN.config.datasets for pair in PLAN.dataset_tables(dataset)}
    paired = {pair for name in PLAN.config.pairs for pair in PLAN.pair_answers(name)}
    chosen_from = {pair for name in PLAN.config.filters for pair in PLAN.filter_tables(name)}
    return sorted({*PLAN.score_tables, *trained_on, *paired, *chosen_from})


def label_tables():
    """(judge, model, task) of every label table that is needed."""
    scored = {(judge, *pair) for judge in PLAN.config.scorers for pair in PLAN.score_tables}
    taught = {table for dataset in PLAN.config.datasets for table in PLAN.training_tables(dataset)}
    judges = {name: judge for name in PLAN.config.filters if (judge := PLAN.filter_judge(name))}
    return sorted(scored | taught | {(judge, *pair) for name, judge in judges.items() for pair in PLAN.filter_tables(name)})


@functools.cache
def requested_tables():
    """(model, task) of every answer table that this run's targets need. Snakemake knows them only after it has read the rules."""
    return targets.required_answers(PLAN, targets_of_run())


@functools.cache
def requested_labels():
    """(judge, model, task) of every table of verdicts that this run's targets need."""
    return targets.required_labels(PLAN, targets_of_run())


@functools.cache
def targets_of_run():
    """What this run was asked for, or the run that this job belongs to."""
    found = targets.run_targets(workflow.is_main_process, workflow.dag_settings.targets)
    if found is not None:
        # Executors that start jobs on other machines pass on the variables that are registered.
        workflow.register_envvars(targets.TARGETS_VARIABLE)
    return found


@functools.cache
def batches_of(model):
    """Which tables of a model are answered together."""
    return batches.plan_answer_batches(PLAN, model, requested_tables(), f"results/answer_batches/{model}")


def named(batches, name):
    """The batch of this name. A job that was not told what its run needs cannot know it."""
    if name not in batches.by_name:
        raise WorkflowError(
            f"no batch {name} among those of this run; it follows from the run's targets, which the environment variable "
            f"{targets.TARGETS_VARIABLE} tells to jobs: have the executor pass it on"
        )
    return batches.by_name[name]


def tables_of(pattern, keys):
    """Paths of the tables with these keys; a key's members fill the pattern's wildcards in their order."""
    fields = re.findall(r"{(\w+)}", pattern)
    return [f"results/{pattern}.parquet".format(**dict(zip(fields, key))) for key in keys]


# --- labels ---


def trained_judges():
    """Encoders that are trained here; others of their kind come with a checkpoint."""
    return [name for name in PLAN.judges("bert") if PLAN.config.judges[name].dataset]


def judges_of_rule(rule):
    """Regular expression of the judges whose tables this rule labels."""
    return one_of(PLAN.judges_of_rule(rule))


def label_version(wildcards):
    """Params function: version of the labels of the judge's kind."""
    return PLAN.kind_of(wildcards.judge).stage_version


def label_inputs(wildcards):
    """Input function, to unpack: what a judge's kind needs to label a table, beside the answers."""
    return PLAN.kind_of(wildcards.judge).label_inputs(PLAN, wildcards.judge, wildcards.model, wildcards.task)


def label_memory(wildcards, attempt):
    return doubling(label_resources(wildcards).mem_mb)(wildcards, attempt)


def label_minutes(wildcards, attempt):
    return doubling(label_resources(wildcards).minutes)(wildcards, attempt)


def label_resources(wildcards):
    return PLAN.kind_of(wildcards.judge).label_resources(PLAN.config.judges[wildcards.judge])


@functools.cache
def label_batches(judge, model):
    """The tables of a model that a judge labels in one job."""
    folder = f"results/label_batches/{judge}/{model}"
    if PLAN.kind_of(judge).label_rule(PLAN.config.judges[judge]) != "label_encoder":
        return batches.plan_label_batches(PLAN, judge, model, requested_labels(), folder)

    def is_single(task):
        return bool(shards_in(judge, model, task)) or Path(f"results/labels/{judge}/{model}/{task}.parquet").exists()

    return batches.plan_encoder_batches(PLAN, judge, model, requested_labels(), folder, is_single)


def label_batch_of(wildcards):
    """The job that labels this table, among others of the model."""
    batch = label_batches(wildcards.judge, wildcards.model).batch_by_task[wildcards.task]
    return f"results/label_batches/{wildcards.judge}/{wildcards.model}/{batch}.json"


def encoder_batch_of(wildcards):
    """The job that labels this table among others of the model; none for a table that is labelled alone or in shards."""
    is_batched = wildcards.task in label_batches(wildcards.judge, wildcards.model).batch_by_task
    return label_batch_of(wildcards) if is_batched and not shards_of(wildcards) else []


def prelabel_inputs(wildcards):
    """Input function, to unpack: the answers of a batch, and what the judge's kind needs to label them."""
    batch, kind = named(label_batches(wildcards.judge, wildcards.model), wildcards.batch), PLAN.kind_of(wildcards.judge)
    files = [kind.label_inputs(PLAN, wildcards.judge, wildcards.model, task) for task in batch.specs]
    overlaps = [inputs["overlap"] for inputs in files if "overlap" in inputs]
    return {**batch.inputs, **files[0], "overlap": overlaps}


def prelabel_spec(wildcards):
    """Params function: canonical JSON of all that a batch of labels needs."""
    return tables.canonical(named(label_batches(wildcards.judge, wildcards.model), wildcards.batch).specs)


@functools.cache
def shards_in(judge, model, task):
    """The same answer for as long as this process plans, whatever its jobs write meanwhile."""
    table = tables_of("labels/{judge}/{model}/{task}", [(judge, model, task)])[0]
    num_shards = getattr(PLAN.config.judges[judge], "num_shards", 1)
    return table_shards.shard_paths(f"results/label_shards/{judge}/{model}/{task}", table, num_shards)


def shards_of(wildcards):
    """The shards that a label table is joined from; none when one job labels it."""
    return shards_in(wildcards.judge, wildcards.model, wildcards.task)


def light_if_prelabelled(light, full):
    """Resource of a job that writes labels: little when it only joins shards, or when the job of its batch labels in this run; the full
    amount when that was done before, because then this job runs for new answers, and labels them itself.

    Args:
        light: an amount.
        full: an amount, or a function of the wildcards.
    """

    def amount(wildcards):
        known = label_batches(wildcards.judge, wildcards.model)
        batch = known.batch_by_task.get(wildcards.task)
        if shards_of(wildcards) or (batch is not None and batch not in known.done):
            return light
        return full(wildcards) if callable(full) else full

    return amount


# --- cascades ---


def held_out_labels(wildcards):
    """Labels of a cascade's judges on the rows that it is fitted on."""
    return tables_of("labels/{judge}/{model}/{task}", PLAN.kind_of(wildcards.judge).fit_tables(PLAN, wildcards.judge))


def held_out_rows(wildcards):
    """The rows that a cascade is fitted on."""
    return f"results/datasets/{PLAN.config.judges[wildcards.judge].dataset}/validation.parquet"


def previous_judges(wildcards):
    """The judges of a cascade that come before this one."""
    judges = PLAN.config.judges[wildcards.cascade].judges
    return judges[: judges.index(wildcards.judge)]


def previous_labels(wildcards):
    """Labels of the judges that come before this one."""
    sources = PLAN.source_tables(wildcards.cascade, wildcards.model, wildcards.task)
    return tables_of("labels/{judge}/{model}/{task}", sources[: len(previous_judges(wildcards))])


# --- resources ---


def gpus_of_judge(wildcards):
    """GPUs that a job of a judge holds."""
    return PLAN.kind_of(wildcards.judge).gpus(PLAN.config.judges[wildcards.judge])


def doubling(amount):
    """Resource of a job that starts anew when it is tried again: twice as much with each attempt."""
    return lambda wildcards, attempt: amount * 2 ** (attempt - 1)


def memory_of_weights(wildcards, input, attempt):
    """Megabytes of a job that loads a prepared model: its weights, which pass through the memory, and room for all else.

    In a dry run before `prepare` there is no manifest yet, and Snakemake shows the amount as open.
    """
    files = json.loads(Path(input.manifest).read_text("utf-8"))["files"]
    return doubling(12_000 + sum(file["size"] for file in files) // 1_000_000)(wildcards, attempt)


def memory_of_rows(dataset, attempt):
    """Megabytes of a job that holds a dataset: text and tokens of a row take about 10 kB; without a limit, nobody knows how many."""
    rows = PLAN.config.datasets[dataset].mix.total or 0
    return doubling(8000 + rows // 100)(None, attempt)


def memory_of_training(wildcards, attempt):
    return memory_of_rows(PLAN.config.judges[wildcards.judge].dataset, attempt)


def memory_of_dataset(wildcards, attempt):
    return memory_of_rows(wildcards.dataset, attempt)


def share_of_cores(jobs):
    """Threads of one of so many like jobs: many share the cores, one alone takes them all; on a cluster, a node's worth."""
    # `workflow.cores` raises where no number of cores is given: on a cluster, and when Snakemake only reports.
    cores = workflow.resource_settings.cores
    return max(1, cores // jobs) if cores else 8


def gpus_of(wildcards):
    """GPUs over which a model is spread."""
    return PLAN.models[wildcards.model].tensor_parallel_size


# --- params ---


def spec_of(make):
    """Params function: the canonical JSON of what `make` says of the job's wildcards, taken by name."""
    names = list(inspect.signature(make).parameters)
    return lambda wildcards: tables.canonical(make(*(getattr(wildcards, name) for name in names)))


def asset_spec(asset):
    return PLAN.assets[asset]


def fill_spec(wildcards):
    """Params function: canonical JSON of all that a batch of tables needs."""
    return tables.canonical(named(batches_of(wildcards.model), wildcards.batch).specs)


# --- inputs ---


def fill_sources(wildcards):
    """What the questions of a batch are made of."""
    return named(batches_of(wildcards.model), wildcards.batch).inputs


def batch_of(wildcards):
    """The job that answers for this table, and for others of the model."""
    return f"results/answer_batches/{wildcards.model}/{batches_of(wildcards.model).batch_by_task[wildcards.task]}.json"


def open_batches():
    """Regular expression of the batches of verdicts that no earlier run judged. What is done is no job's any more: if it were,
    new answers to one task would make the verdicts on all tasks of its batch stale, and the judges that are trained on them."""
    done = [path.stem for path in Path("results/label_batches").glob("*/*/*.json")]
    return f"(?!{one_of(done)})[0-9a-f]{{16}}"


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


def merged_candidates(wildcards):
    return tables_of("candidates/{model}/{task}", PLAN.dataset_spec(wildcards.dataset)["tables"])


def merged_labels(wildcards):
    dataset = PLAN.dataset_spec(wildcards.dataset)
    return tables_of("labels/{judge}/{model}/{task}", [(dataset["teacher"], *pair) for pair in dataset["tables"]])


def weak_labels(wildcards):
    """Input function: the verdicts on what the teacher leaves open; none where nobody else is asked."""
    weak_teacher = PLAN.dataset_spec(wildcards.dataset).get("weak_teacher")
    pairs = [(weak_teacher["teacher"], *pair) for pair in weak_teacher["tables"]] if weak_teacher else []
    return tables_of("labels/{judge}/{model}/{task}", pairs)


def training_file(name):
    """Input function: a file of the dataset that a judge is trained on."""
    return lambda wildcards: f"results/datasets/{PLAN.config.judges[wildcards.judge].dataset}/{name}"


def scoring_labels(wildcards):
    return tables_of(
        "labels/{judge}/{model}/{task}",
        [(judge, wildcards.model, wildcards.task) for judge in PLAN.config.scorers],
    )


def verdicts_of_cascades():
    """Verdicts of the cascades that are measured."""
    return tables_of(
        "labels/{judge}/{model}/{task}", [(name, *pair) for name in PLAN.measured_cascades for pair in PLAN.score_tables]
    )


def cascade_files():
    """What the report shows of cascades; nothing without one."""
    return ["results/cascades.parquet"] if PLAN.measured_cascades else []


def filled_sheet():
    """What people made of the sheet, as a list; empty without one."""
    audit = PLAN.config.audit
    return [str(Path(audit.labels).expanduser())] if audit and audit.labels else []


def audit_files():
    """What the report shows of the audit; nothing without one."""
    if PLAN.config.audit is None:
        return []
    sheet = ["results/audit/sheet.csv", "results/audit/sheet.html"]
    return [*sheet, "results/audit/corrected_accuracy.parquet"] if PLAN.corrects_accuracy else sheet


def attack_labels():
    """Verdicts on made-up answers, in the order of the spec: by judge, then by task."""
    judges = PLAN.config.attacks.judges
    return tables_of(
        "labels/{judge}/{model}/{task}", [(judge, plan.ATTACKS, task) for judge in judges for task in PLAN.attack_tasks]
    )


def attack_files():
    """What the report shows of the attacks; nothing where none are configured."""
    return ["results/attacks/rates.parquet", "results/attacks/examples.parquet"] if PLAN.config.attacks else []


# --- the end of a run ---


def show_standings():
    """Print the standings when this run has made them."""
    made = Path(STANDINGS)
    if made.exists() and made.stat().st_mtime >= STARTED:
        from bert_judge.cli.show_standings import show

        show(made)
