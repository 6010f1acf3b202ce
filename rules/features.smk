# Hidden states are read once per answer, whatever probes and aspects are told from them.
rule features:
    input:
        candidates="results/candidates/{model}/{task}.parquet",
        manifest=backbone_manifest,
    output:
        update("results/features/{features}/{model}/{task}.parquet"),
    log:
        "<logs>/features/{features}/{model}/{task}.log",
    benchmark:
        "<benchmarks>/features/{features}/{model}/{task}.tsv"
    wildcard_constraints:
        features=one_of(PLAN.feature_sets),
    conda:
        "../envs/core.yaml"
    threads: share_of_cores(len(PLAN.scored))
    resources:
        mem_mb=memory_of_weights,
        # It goes on where it was: more memory helps, more time does not.
        runtime=240,
        gpu=1,
    params:
        spec=spec_of(PLAN.features_spec),
        stage_version=plan.STAGE_VERSIONS["features"],
    message:
        "Hidden states {wildcards.features} of {wildcards.model}, {wildcards.task}"
    script:
        "../workflow_scripts/read_features.py"
