from snakemake.utils import min_version

min_version("9.27")


report: "report/start.rst"


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


for target in graph.TARGETS:

    rule:
        name:
            target
        default_target: target == "all"
        input:
            PLAN.target_files(target),


onstart:
    claim_summary()


onsuccess:
    show_results()


onerror:
    show_results()
    print(summaries.first_failure(log))
