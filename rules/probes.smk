# Hidden states are extracted once per answer and shared by all probes and aspects.
rule features:
    input:
        inputs_of(PLAN.features_inputs),
    output:
        update("results/features/{features}/{model}/{task}.parquet"),
    log:
        "<logs>/features/{features}/{model}/{task}.log",
    benchmark:
        "<benchmarks>/features/{features}/{model}/{task}.tsv"
    wildcard_constraints:
        features=any_of(PLAN.feature_sets),
    conda:
        "../envs/core.yaml"
    threads: share_of_cores(len(PLAN.score_tables))
    resources:
        mem_mb=memory_of_weights("manifest"),
        # A retried job resumes: it may need more memory, but not more time.
        runtime=240,
        gpu=1,
    params:
        spec=spec_of(PLAN.features_spec),
        stage_version=plan.STAGE_VERSIONS["features"],
    message:
        "Hidden states {wildcards.features} of {wildcards.model}, {wildcards.task}"
    script:
        "../workflow_scripts/read_features.py"
