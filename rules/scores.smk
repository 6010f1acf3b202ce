rule build_scores:
    input:
        inputs_of(PLAN.scores_inputs),
    output:
        update("results/scores/{model}/{task}.parquet"),
    log:
        "<logs>/scores/{model}/{task}.log",
    benchmark:
        "<benchmarks>/scores/{model}/{task}.tsv"
    wildcard_constraints:
        model=any_of(PLAN.models),
        task=any_of(PLAN.tasks),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(2000),
        runtime=doubling(10),
    params:
        spec=spec_of(PLAN.scores_spec),
        stage_version=plan.STAGE_VERSIONS["scores"],
    message:
        "Scores of {wildcards.model} on {wildcards.task}"
    script:
        "../workflow_scripts/build_scores.py"


rule build_standings:
    input:
        inputs_of(PLAN.standings_inputs),
    output:
        model_pairs=update("results/model_pairs.parquet"),
        agreement=update("results/agreement.parquet"),
        comparisons=update("results/comparisons.parquet"),
        judge_pairs=update("results/judge_pairs.parquet"),
        rank_shifts=update("results/rank_shifts.parquet"),
        reliability=update("results/reliability.parquet"),
        thresholds=update("results/thresholds.parquet"),
        cost=update("results/cost.parquet"),
        standings=update("results/standings.parquet"),
        csv=report(
            update("results/standings.csv"),
            caption="../report/standings.rst",
            category="Standings",
            labels={"what": "every number", "form": "table"},
        ),
        markdown=update("results/standings.md"),
        latex=update("results/standings.tex"),
        plot=report(
            update("results/standings.svg"),
            caption="../report/picture.rst",
            category="Standings",
            labels={"what": "accuracy per model and judge", "form": "picture"},
        ),
    log:
        "<logs>/standings.log",
    benchmark:
        "<benchmarks>/standings.tsv"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(4000),
        runtime=doubling(60),
    params:
        spec=spec_of(PLAN.standings_spec),
        stage_version=plan.STAGE_VERSIONS["standings"],
    message:
        "Standings"
    script:
        "../workflow_scripts/build_standings.py"
