"""The plan of the run, and helpers of the rules. No rules here."""

import gc
import functools
import inspect
import json
import re
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError

from bert_judge import plan, tables, tasks
from bert_judge.plan import batches
from bert_judge.runtime import summaries
from bert_judge.runtime.errors import ConfigError
from bert_judge.tables import selections

CANDIDATES = "candidates/{model}/{task}"
LABELS = "labels/{judge}/{model}/{task}"
DATASET_FILES = ["train.parquet", "validation.parquet", "validation_weak.parquet", "summary.json"]
STANDINGS = "results/standings.parquet"
STANDINGS_TABLES = ["model_pairs", "agreement", "comparisons", "judge_pairs", "rank_shifts", "reliability", "thresholds", "cost"]
STANDINGS_FILES = [STANDINGS, *(f"results/{name}.parquet" for name in STANDINGS_TABLES)]
AUDIT_TABLES = [f"results/audit/{name}.parquet" for name in ("corrected_accuracy", "corrected_pairs", "certificate")]
EXPORTS = [f"results/standings.{suffix}" for suffix in ("csv", "md", "tex", "svg")]
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


def spec_of(make_spec):
    """Params function: canonical JSON of the spec that `make_spec` returns for the job's wildcards."""
    spec = from_wildcards(make_spec)
    return lambda wildcards: tables.canonical(spec(wildcards))


def table_paths(pattern, keys):
    """Return the paths of tables; the members of a key fill the pattern's wildcards in order."""
    fields = re.findall(r"{(\w+)}", pattern)
    return [f"results/{pattern}.parquet".format(**dict(zip(fields, key))) for key in keys]


# --- required tables ---


def answer_tables():
    """Return (model, task) of every answer table that scores, datasets, pairs and filters use."""
    in_datasets = {pair for dataset in PLAN.config.datasets for pair in PLAN.dataset_tables(dataset)}
    in_pairs = {pair for name in PLAN.config.pairs for pair in PLAN.pair_answers(name)}
    in_filters = {pair for name in PLAN.config.filters for pair in PLAN.filter_tables(name)}
    return sorted({*PLAN.score_tables, *in_datasets, *in_pairs, *in_filters})


def label_tables():
    """Return (judge, model, task) of every label table that scores, datasets and filters use."""
    scored = {(judge, *pair) for judge in PLAN.config.scorers for pair in PLAN.score_tables}
    in_datasets = {table for dataset in PLAN.config.datasets for table in PLAN.training_tables(dataset)}
    judges = {name: judge for name in PLAN.config.filters if (judge := PLAN.filter_judge(name))}
    return sorted(scored | in_datasets | {(judge, *pair) for name, judge in judges.items() for pair in PLAN.filter_tables(name)})


@functools.cache
def run_targets():
    """Return the targets of this run, or of the run that this job belongs to. Known only after all rules are parsed."""
    requested = batches.run_targets(workflow.is_main_process, workflow.dag_settings.targets)
    if requested is not None:
        # Executors that start jobs on other machines pass on registered variables.
        workflow.register_envvars(batches.TARGETS_VARIABLE)
    return requested


@functools.cache
def requested_labels():
    return batches.required_labels(PLAN, run_targets())


# --- batches ---


@functools.cache
def answer_batches(model):
    """Return the tables of a model that are answered in one job."""
    requested = batches.required_answers(PLAN, run_targets())
    return batches.plan_answer_batches(PLAN, model, requested, f"results/answer_batches/{model}")


@functools.cache
def label_batches(judge, model):
    """Return the tables of a model that a judge labels in one job, or in several that share the rows."""
    folder = f"results/label_batches/{judge}/{model}"
    # An encoder loads quickly: a table is labelled by its own job if it exists or is the only one.
    loads_fast = PLAN.kind_of(judge).label_rule(PLAN.config.judges[judge]) == "label_encoder"

    def exists(task):
        return Path(f"results/labels/{judge}/{model}/{task}.parquet").exists()

    return batches.plan_label_batches(PLAN, judge, model, requested_labels(), folder, exists if loads_fast else None)


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


label_inputs = from_wildcards(lambda judge, model, task: PLAN.kind_of(judge).label_inputs(PLAN, judge, model, task))


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


def dataset_candidates(wildcards):
    return table_paths(CANDIDATES, PLAN.dataset_tables(wildcards.dataset))


def dataset_labels(wildcards):
    """Input function: the teacher's labels."""
    teacher = PLAN.config.datasets[wildcards.dataset].teacher
    return table_paths(LABELS, [(teacher, *pair) for pair in PLAN.dataset_tables(wildcards.dataset)])


def weak_labels(wildcards):
    """Input function: the weak teacher's labels; empty without one."""
    weak_teacher = PLAN.config.datasets[wildcards.dataset].weak_teacher
    return table_paths(LABELS, [(weak_teacher.teacher, *pair) for pair in PLAN.weakly_labelled_tables(wildcards.dataset)])


def training_file(name):
    """Input function: a file of the dataset that a judge is trained on."""
    return lambda wildcards: f"results/datasets/{PLAN.config.judges[wildcards.judge].dataset}/{name}"


def trained_judges():
    """Return the encoders and language models that this workflow trains on datasets; others have a checkpoint."""
    return [name for name in PLAN.judges("bert") + PLAN.judges("llm") if PLAN.config.judges[name].dataset]


def fine_tuned_judges():
    """Return the language models that this workflow fine-tunes."""
    return [name for name in trained_judges() if PLAN.config.judges[name].kind == "llm"]


def previous_labels(wildcards):
    """Input function: the labels of a cascade's judges before this one."""
    sources = PLAN.source_tables(wildcards.cascade, wildcards.model, wildcards.task)
    return table_paths(LABELS, sources[: len(previous_judges(wildcards))])


def previous_judges(wildcards):
    """Params function: the judges of a cascade before this one."""
    judges = PLAN.config.judges[wildcards.cascade].judges
    return judges[: judges.index(wildcards.judge)]


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


def memory_of_dataset(wildcards, attempt):
    """Megabytes of a job that loads a dataset: about 10 kB per row."""
    dataset = getattr(wildcards, "dataset", None) or PLAN.config.judges[wildcards.judge].dataset
    return doubling(8000 + (PLAN.config.datasets[dataset].mix.total or 0) // 100)(wildcards, attempt)


def share_of_cores(jobs):
    """Return the threads of each of `jobs` similar jobs that share the cores; 8 on a cluster."""
    # `workflow.cores` raises an error if no number of cores is given: on a cluster and for reports.
    cores = workflow.resource_settings.cores
    return max(1, cores // jobs) if cores else 8


def threads_of_batch(wildcards):
    """Threads function: a share of the cores for each job that a judge labels batches in."""
    return share_of_cores(len(PLAN.models) * getattr(PLAN.config.judges[wildcards.judge], "num_shards", 1))


gpus_of_judge = from_wildcards(lambda judge: PLAN.kind_of(judge).gpus(PLAN.config.judges[judge]))


# --- inputs of the report; empty for what is not configured ---


def cascade_files():
    return ["results/cascades.parquet"] if PLAN.measured_cascades else []


def audit_files():
    sheet = ["results/audit/sheet.csv", "results/audit/sheet.html"] if PLAN.config.audit else []
    return [*sheet, *AUDIT_TABLES] if PLAN.corrects_accuracy else sheet


def audit_labels():
    """Return the sheets that people have filled in."""
    return [str(Path(sheet).expanduser()) for sheet in PLAN.config.audit.sheets]


def attack_files():
    return ["results/attacks/rates.parquet", "results/attacks/examples.parquet"] if PLAN.config.attacks else []


def rank_files():
    return [f"results/{name}.parquet" for name in ("pair_agreement", "ranks", "rank_correlations")] if PLAN.ranked_sets else []


def student_files():
    return ["results/students.parquet"] if PLAN.students else []


# --- pairs ---


def pair_files(pair_set):
    return [f"results/pairs/{pair_set}/{part}.parquet" for part in PLAN.pair_parts(pair_set)]


def preference_files():
    """Return the verdicts of pairwise judges, in the order of `PLAN.compared_sets`."""
    return [f"results/labels/{judge}/pairs/{name}.parquet" for judge, name in PLAN.compared_sets]


def pair_sets(imported):
    """Return a regular expression of the imported pair sets, or of the generated ones."""
    return any_of([name for name, entry in PLAN.config.pairs.items() if bool(entry.source) == imported])


def pair_candidates(side):
    """Input function: the answers of the first (0) or second (1) model of a part."""
    return lambda wildcards: table_paths(CANDIDATES, PLAN.pair_tables(wildcards.pair_set, wildcards.part)[side])


def pair_gold(side):
    """Input function: the gold labels of these answers; empty without a gold judge."""

    def paths(wildcards):
        gold = PLAN.config.pairs[wildcards.pair_set].gold
        answers = PLAN.pair_tables(wildcards.pair_set, wildcards.part)[side]
        return table_paths(LABELS, [(gold, *pair) for pair in answers]) if gold else []

    return paths


def training_pairs(wildcards):
    """Input function: the tables of the pair sets that a judge is trained on."""
    return [path for name in sorted(PLAN.pair_judge(wildcards.judge).pairs) for path in pair_files(name)]


# --- probes ---


def training_features(wildcards):
    """Input function: the hidden states that a probe is trained on, by set, then in the order of the spec's tables."""
    pairs = PLAN.dataset_tables(PLAN.probe(wildcards.judge).dataset)
    keys = [(name, *pair) for name in PLAN.features_of(wildcards.judge) for pair in pairs]
    return table_paths("features/{features}/{model}/{task}", keys)


def probe_backbone(wildcards):
    """Input function: the manifest of a probe's backbone."""
    return f"results/prepared/{PLAN.backbone_of(PLAN.features_of(wildcards.judge)[0])}.json"


# --- filters and students ---


def filter_labels(wildcards):
    """Input function: the labels that a filter uses; empty for a control."""
    judge = PLAN.filter_judge(wildcards.filter)
    return table_paths(LABELS, [(judge, *pair) for pair in PLAN.filter_tables(wildcards.filter)]) if judge else []


def student_answers(wildcards):
    """Input function: the filtered answers that a student is trained on."""
    student = PLAN.students[wildcards.model]
    return f"results/filtered/{student.filter}/{student.keep}.parquet"


def student_overlap(wildcards):
    """Input function: the overlap check of a student's training questions with the test task that it answers."""
    is_test = wildcards.task in PLAN.config.tasks.test
    return f"results/filtered/{PLAN.students[wildcards.model].filter}/overlap/{wildcards.task}.json" if is_test else []


# --- the start and the end of a run ---


def claim_summary():
    """Name the optional models that are left out. Stop a run that would replace the summary of another configuration."""
    for line in PLAN.left_out:
        print(line)
    outputs = [Path(path) for job in workflow.dag.needrun_jobs() for path in job.output]
    summaries.claim(outputs, Path(workflow.configfiles[0]), workflow=Path(workflow.basedir))


def show_results():
    """Print the standings and the paths of the pages, if this run has written them."""
    if Path(STANDINGS).exists() and Path(STANDINGS).stat().st_mtime >= STARTED:
        from bert_judge.cli.standings import print_standings

        print_standings(Path(STANDINGS))
    for line in summaries.new_pages(STARTED):
        print(line)
