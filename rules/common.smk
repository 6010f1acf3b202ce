"""The plan of the run, and helpers of the rules. No rules here."""

import gc
import functools
import inspect
import json
import re
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError

from bert_judge import plan, tables
from bert_judge.plan import batches, graph
from bert_judge.runtime import summaries
from bert_judge.runtime.errors import ConfigError
from bert_judge.tables import selections

STARTED = time.time()

# The jobs of a large grid are millions of long-lived objects; scanning them for garbage takes a third of the planning time.
gc.set_threshold(200_000, 50, 100)


def checked_plan():
    """Validate the configuration before any job runs, and report all problems at once."""
    try:
        return plan.build_plan(config, workflow.configfiles)
    except ConfigError as error:
        raise WorkflowError("The configuration has errors; no job was started.", *error.errors) from None


PLAN = checked_plan()
# The judges that suit the tasks, if the configuration has none: scripts read their blocks there.
config.setdefault("judges", {name: block.model_dump(mode="json", exclude_unset=True) for name, block in PLAN.config.judges.items()})


# --- wildcards and paths ---


def any_of(names):
    """Return a regular expression that matches one of these names; without names, nothing."""
    return "|".join(map(re.escape, names)) or "(?!)"


def judges_of_rule(rule):
    return any_of(PLAN.judges_of_rule(rule))


def from_wildcards(function):
    """Turn a function whose parameters are wildcards into an input, params or resource function."""
    names = list(inspect.signature(function).parameters)
    return lambda wildcards: function(*(getattr(wildcards, name) for name in names))


def inputs_of(make_inputs):
    """Input function: the files that the plan names for the job's wildcards."""
    return unpack(from_wildcards(make_inputs))


def spec_of(make_spec):
    """Params function: canonical JSON of the spec that `make_spec` returns for the job's wildcards."""
    spec = from_wildcards(make_spec)
    return lambda wildcards: tables.canonical(spec(wildcards))


@functools.cache
def run_targets():
    """Return the targets of this run, or of the run that this job belongs to. Known only after all rules are parsed."""
    requested = batches.run_targets(workflow.is_main_process, workflow.dag_settings.targets)
    if requested is not None:
        # Executors that start jobs on other machines pass on registered variables.
        workflow.register_envvars(batches.TARGETS_VARIABLE)
    return requested


@functools.cache
def required_tables(kind):
    """Return the keys of the tables of this kind, `answers` or `labels`, that this run requires; none if a job does not know it."""
    require = {"answers": PLAN.required_answers, "labels": PLAN.required_labels}[kind]
    return set() if run_targets() is None else require(run_targets() or ["all"])


# --- batches ---


@functools.cache
def answer_batches(model):
    """Return the tables of a model that are answered in one job."""
    return batches.plan_answer_batches(PLAN, model, required_tables("answers"), f"results/answer_batches/{model}")


@functools.cache
def label_batches(judge, model):
    """Return the tables of a model that a judge labels in one job, or in several that share the rows."""
    folder = f"results/label_batches/{judge}/{model}"
    # An encoder loads quickly: a table is labelled by its own job if it exists or is the only one.
    loads_fast = PLAN.kind_of(judge).label_rule(PLAN.config.judges[judge]) == "label_encoder"

    def exists(task):
        return Path(f"results/labels/{judge}/{model}/{task}.parquet").exists()

    return batches.plan_label_batches(
        PLAN, judge, model, required_tables("labels"), folder=folder, exists=exists if loads_fast else None
    )


def find_batch(wildcards):
    """Return the batch of a job. A job that does not know the targets of its run cannot find it."""
    is_label_batch = hasattr(wildcards, "judge")
    model_batches = label_batches(wildcards.judge, wildcards.model) if is_label_batch else answer_batches(wildcards.model)
    if wildcards.batch not in model_batches.by_name:
        raise WorkflowError(
            f"no batch {wildcards.batch} in this run; batches follow from the run's targets, which jobs read from the environment "
            f"variable {batches.TARGETS_VARIABLE}: make the executor pass it on"
        )
    return model_batches.by_name[wildcards.batch]


def batch_spec(wildcards):
    """Params function: canonical JSON of the specs of a batch."""
    return tables.canonical(find_batch(wildcards).specs)


def batch_inputs(wildcards):
    """Input function, to unpack: the sources of the questions of an answer batch."""
    return find_batch(wildcards).inputs


def prelabel_inputs(wildcards):
    """Input function, to unpack: the answers of a label batch, and the inputs of the judge's kind."""
    batch, kind = find_batch(wildcards), PLAN.kind_of(wildcards.judge)
    files = [kind.label_inputs(PLAN, wildcards.judge, wildcards.model, task) for task in batch.specs]
    overlaps = [inputs["overlap"] for inputs in files if "overlap" in inputs]
    return {**batch.inputs, **files[0], "overlap": overlaps}


def batch_title(wildcards):
    """Params function: the tables of a label batch in words, for the job's message."""
    shard = next(iter(find_batch(wildcards).specs.values())).get("shard")
    return f"a batch of tasks of {wildcards.model}" + (f", part {shard}" if shard else "")


def answer_batch(wildcards):
    """Input function: the manifest of the job that answers this table and others of the model."""
    [batch] = answer_batches(wildcards.model).names_by_task[wildcards.task]
    return f"results/answer_batches/{wildcards.model}/{batch}.json"


def label_manifests(wildcards):
    """Input function: the manifests of the jobs that label this table and others of the model; empty if its own job labels it."""
    names = label_batches(wildcards.judge, wildcards.model).names_by_task.get(wildcards.task, [])
    return [f"results/label_batches/{wildcards.judge}/{wildcards.model}/{name}.json" for name in names]


def unfinished_batches():
    """Return a regular expression of the label batches without a manifest. A finished batch must belong to no rule: otherwise new
    answers to one task would make the labels of its whole batch stale, and the judges trained on them."""
    done = [path.stem for path in Path("results/label_batches").glob("*/*/*.json")]
    return f"(?!{any_of(done)})[0-9a-f]{{16}}"


# --- labels ---


def light_if_prelabelled(light, full):
    """Resource function: `light` if the job only copies from batches that this run labels; otherwise `full`, an amount or a
    function of the wildcards. A batch of an earlier run means that this job labels new answers itself.
    """

    def amount(wildcards):
        known_batches = label_batches(wildcards.judge, wildcards.model)
        names = known_batches.names_by_task.get(wildcards.task, [])
        if names and known_batches.done.isdisjoint(names):
            return light
        return full(wildcards) if callable(full) else full

    return amount


# --- datasets and judges ---


def trained_judges(with_gpu):
    """Return a regular expression of the judges that are trained with or without a GPU."""
    return any_of(name for name in PLAN.trained_judges if bool(PLAN.training_resources(name).gpus) == with_gpu)


# --- resources ---


def doubling(amount):
    """Resource function of a job that restarts from scratch when retried: twice as much with each attempt."""
    return lambda wildcards, attempt: amount * 2 ** (attempt - 1)


def label_resource(name):
    """Resource function: a resource of the judge's kind, doubled with each attempt."""

    def amount(wildcards, attempt):
        kind = PLAN.kind_of(wildcards.judge)
        return doubling(getattr(kind, name))(wildcards, attempt)

    return amount


def memory_of_weights(manifest, base_mb=12_000, copies=1):
    """Resource function: megabytes for `copies` of the weights of a prepared model, and `base_mb` for everything else.

    In a dry run before `prepare` there is no manifest yet, and Snakemake shows the amount as TBD.

    Args:
        manifest: name of the input file that lists the model's files.
    """

    def amount(wildcards, input, attempt):
        files = json.loads(Path(getattr(input, manifest)).read_text("utf-8"))["files"]
        return doubling(base_mb + copies * sum(file["size"] for file in files) // 1_000_000)(wildcards, attempt)

    return amount


def memory_of_rows(datasets):
    """Megabytes of these datasets in memory: about 10 kB per row."""
    return sum((PLAN.config.datasets[name].mix.total or 0) // 100 for name in datasets)


def memory_of_dataset(wildcards, attempt):
    return doubling(8000 + memory_of_rows([wildcards.dataset]))(wildcards, attempt)


def training_memory(wildcards, input, attempt):
    """Megabytes of a training: what the judge's kind says, its datasets and the weights of its backbone."""
    needed, kind = PLAN.training_resources(wildcards.judge), PLAN.kind_of(wildcards.judge)
    base_mb = needed.mem_mb + memory_of_rows(kind.depends_on(PLAN.config.judges[wildcards.judge]).datasets)
    if not needed.copies_of_backbone:
        return doubling(base_mb)(wildcards, attempt)
    return memory_of_weights("backbone", base_mb, needed.copies_of_backbone)(wildcards, input, attempt)


def share_of_cores(jobs):
    """Return the threads of each of `jobs` similar jobs that share the cores; 8 on a cluster."""
    # `workflow.cores` raises an error if no number of cores is given: on a cluster and for reports.
    cores = workflow.resource_settings.cores
    return max(1, cores // jobs) if cores else 8


def threads_of_batch(wildcards):
    """Threads function: a share of the cores for each job that a judge labels batches in."""
    return share_of_cores(len(PLAN.models) * getattr(PLAN.config.judges[wildcards.judge], "num_shards", 1))


gpus_of_judge = from_wildcards(lambda judge: PLAN.kind_of(judge).gpus(PLAN.config.judges[judge]))


def pair_sets(imported):
    """Return a regular expression of the imported pair sets, or of the generated ones."""
    return any_of([name for name, entry in PLAN.config.pairs.items() if bool(entry.source) == imported])


# --- the start and the end of a run ---


def claim_summary():
    """Name the optional models that are left out. Stop a run that would replace the summary of another configuration."""
    for line in PLAN.left_out:
        print(line)
    outputs = [Path(path) for job in workflow.dag.needrun_jobs() for path in job.output]
    summaries.claim(outputs, Path(workflow.configfiles[0]), workflow=Path(workflow.basedir))


def show_results():
    """Print the standings and the paths of the pages, if this run has written them."""
    if Path(graph.STANDINGS).exists() and Path(graph.STANDINGS).stat().st_mtime >= STARTED:
        from bert_judge.cli.standings_tables import print_standings

        print_standings(Path(graph.STANDINGS))
    for line in summaries.new_pages(STARTED):
        print(line)
