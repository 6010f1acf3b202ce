from snakemake.utils import min_version

min_version("9.27")


pathvars:
    logs="logs",
    benchmarks="results/benchmarks",


# A configuration given on the command line replaces the demo's instead of being merged into it.
if not workflow.overwrite_configfiles:

    configfile: "config.yaml"


include: "rules/common.smk"
include: "rules/prepare.smk"
include: "rules/tasks.smk"
include: "rules/candidates.smk"
include: "rules/labels.smk"
include: "rules/datasets.smk"
include: "rules/judges.smk"
include: "rules/probes.smk"
include: "rules/cascades.smk"
include: "rules/students.smk"
include: "rules/scores.smk"
include: "rules/audit.smk"
include: "rules/attacks.smk"
include: "rules/pairs.smk"
include: "rules/ranks.smk"
include: "rules/report.smk"


wildcard_constraints:
    asset=any_of(PLAN.assets),
    # Label rules also apply to selections of answers; generation rules apply to models only.
    task=any_of([*PLAN.tasks, selections.VALIDATION]),
    model=any_of([*PLAN.answer_sources, *PLAN.selections]),
    judge=any_of(PLAN.config.judges),
    dataset=any_of(PLAN.config.datasets),
    pair_set=any_of(PLAN.config.pairs),
    filter=any_of(PLAN.config.filters),
    keep=r"[\d.]+",


rule prepare:
    input:
        expand("results/prepared/{asset}.json", asset=PLAN.assets),


rule candidates:
    input:
        table_paths(CANDIDATES, answer_tables()),


rule labels:
    input:
        table_paths(LABELS, label_tables()),


rule datasets:
    input:
        expand("results/datasets/{dataset}/{part}", dataset=PLAN.config.datasets, part=DATASET_FILES),
        expand("results/datasets/{dataset}/overlap/{task}.json", dataset=PLAN.config.datasets, task=PLAN.config.tasks.test),


rule judges:
    input:
        expand("results/judges/{judge}/judge.json", judge=trained_judges()),
        expand("results/judges/{judge}/{part}", judge=PLAN.judges("probe"), part=["probe.json", "README.md"]),
        expand("results/judges/{judge}/cascade.json", judge=PLAN.judges("cascade")),
        expand("results/judges/{judge}/judge.json", judge=PLAN.trained_pair_judges),


rule students:
    input:
        expand("results/students/{model}/manifest.json", model=PLAN.students),
        student_files(),


rule scores:
    input:
        table_paths("scores/{model}/{task}", PLAN.score_tables),


rule standings:
    input:
        STANDINGS_FILES,


rule audit:
    input:
        audit_files(),


rule certificate:
    input:
        [path for path in AUDIT_TABLES if path in audit_files()],


rule attacks:
    input:
        attack_files(),


rule pairs:
    input:
        [path for name in PLAN.config.pairs for path in pair_files(name)],


rule preferences:
    input:
        preference_files(),


rule ranks:
    input:
        rank_files(),
        ["results/ranks.csv", "results/ranks.md"] if PLAN.ranked_sets else [],


rule report:
    input:
        "results/report.html",
        STANDINGS_FILES,
        EXPORTS,


rule all:
    default_target: True
    input:
        rules.report.input,
        rules.scores.input,
        rules.judges.input,
        rules.preferences.input,
        rules.ranks.input,


onstart:
    claim_summary()


onsuccess:
    show_results()


onerror:
    show_results()
    print(summaries.first_failure(log))
