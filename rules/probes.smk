# Hidden states are extracted once per answer and shared by all probes and aspects.
rule features:
    input:
        candidates="results/candidates/{model}/{task}.parquet",
        manifest=from_wildcards(lambda features: f"results/prepared/{PLAN.backbone_of(features)}.json"),
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


rule train_probe:
    input:
        train=training_file("train.parquet"),
        validation=training_file("validation.parquet"),
        features=training_features,
        backbone=probe_backbone,
    output:
        selection=update("results/judges/{judge}/selection.json"),
        predictions=update("results/judges/{judge}/predictions.parquet"),
        # Written last: a folder without it is not a probe.
        probe=update("results/judges/{judge}/probe.json"),
    log:
        "<logs>/judges/{judge}.log",
    benchmark:
        "<benchmarks>/judges/{judge}.tsv"
    wildcard_constraints:
        judge=any_of(PLAN.judges("probe")),
    conda:
        "../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=memory_of_dataset,
        runtime=doubling(240),
    params:
        spec=spec_of(PLAN.probe_spec),
        stage_version=plan.STAGE_VERSIONS["probe"],
    message:
        "Train {wildcards.judge}"
    script:
        "../workflow_scripts/train_probe.py"


rule measure_probe:
    input:
        selection="results/judges/{judge}/selection.json",
        predictions="results/judges/{judge}/predictions.parquet",
    output:
        metrics=update("results/judges/{judge}/metrics.json"),
        card=update("results/judges/{judge}/README.md"),
    log:
        "<logs>/judges/{judge}-measures.log",
    benchmark:
        "<benchmarks>/judges/{judge}-measures.tsv"
    wildcard_constraints:
        judge=any_of(PLAN.judges("probe")),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(2000),
        runtime=doubling(10),
    params:
        spec=spec_of(PLAN.probe_spec),
        stage_version=plan.STAGE_VERSIONS["probe_measures"],
    message:
        "Metrics of {wildcards.judge} and its baselines"
    script:
        "../workflow_scripts/measure_probe.py"
