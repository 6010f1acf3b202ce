rule train_probe:
    input:
        train=training_file("train.parquet"),
        validation=training_file("validation.parquet"),
        features=training_features,
        backbone=probe_backbone,
    output:
        metrics=update("results/judges/{judge}/metrics.json"),
        card=update("results/judges/{judge}/README.md"),
        # Written last: a folder without it is not a probe.
        probe=update("results/judges/{judge}/probe.json"),
    log:
        "<logs>/judges/{judge}.log",
    benchmark:
        "<benchmarks>/judges/{judge}.tsv"
    wildcard_constraints:
        judge=one_of(PLAN.judges("probe")),
    conda:
        "../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=memory_of_training,
        runtime=grown(240),
    params:
        spec=spec_of(PLAN.probe_spec),
        stage_version=plan.STAGE_VERSIONS["probe"],
    message:
        "Train {wildcards.judge}"
    script:
        "../workflow_scripts/train_probe.py"


rule label_probe:
    input:
        candidates="results/candidates/{model}/{task}.parquet",
        features=judged_features,
        probe="results/judges/{judge}/probe.json",
        # No verdict on a test that the probe was trained on.
        overlap=overlap_of_probe,
    output:
        update("results/labels/{judge}/{model}/{task}.parquet"),
    log:
        "<logs>/labels/{judge}/{model}/{task}.log",
    benchmark:
        "<benchmarks>/labels/{judge}/{model}/{task}.tsv"
    wildcard_constraints:
        judge=one_of(PLAN.judges("probe")),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=grown(4000),
        runtime=grown(60),
    params:
        spec=spec_of(PLAN.labels_spec),
        stage_version=plan.STAGE_VERSIONS["labels"],
    message:
        "Verdicts of {wildcards.judge} on {wildcards.model}, {wildcards.task}"
    script:
        "../workflow_scripts/label_probe.py"
