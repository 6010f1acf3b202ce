rule build_scores:
    input:
        candidates="results/candidates/{model}/{task}.parquet",
        labels=scoring_labels,
    output:
        update("results/scores/{model}/{task}.parquet"),
    log:
        "<logs>/scores/{model}/{task}.log",
    benchmark:
        "<benchmarks>/scores/{model}/{task}.tsv"
    wildcard_constraints:
        model=one_of(PLAN.models),
        task=one_of(PLAN.tasks),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=grown(2000),
        runtime=grown(10),
    params:
        spec=spec_of(PLAN.scores_spec),
        stage_version=plan.STAGE_VERSIONS["scores"],
    message:
        "Scores of {wildcards.model} on {wildcards.task}"
    script:
        "../workflow_scripts/build_scores.py"
