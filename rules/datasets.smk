rule merge_dataset:
    input:
        inputs_of(PLAN.dataset_inputs),
    output:
        train=update("results/datasets/{dataset}/train.parquet"),
        validation=update("results/datasets/{dataset}/validation.parquet"),
        validation_weak=update("results/datasets/{dataset}/validation_weak.parquet"),
        summary=update("results/datasets/{dataset}/summary.json"),
    log:
        "<logs>/datasets/{dataset}.log",
    benchmark:
        "<benchmarks>/datasets/{dataset}.tsv"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=memory_of_dataset,
        runtime=doubling(60),
    params:
        spec=spec_of(PLAN.dataset_spec),
        stage_version=plan.STAGE_VERSIONS["dataset"],
    message:
        "Training rows of {wildcards.dataset}"
    script:
        "../workflow_scripts/merge_dataset.py"


# One job per test task, required by its labels: a new test task is checked without retraining.
rule check_overlap:
    input:
        inputs_of(PLAN.overlap_inputs),
    output:
        update("results/datasets/{dataset}/overlap/{task}.json"),
    log:
        "<logs>/overlap/{dataset}/{task}.log",
    benchmark:
        "<benchmarks>/overlap/{dataset}/{task}.tsv"
    # Run before the training, which an overlap would waste.
    priority: 10
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(4000),
        runtime=doubling(30),
    params:
        spec=spec_of(PLAN.overlap_spec),
        stage_version=plan.STAGE_VERSIONS["overlap"],
    message:
        "Check {wildcards.dataset} for questions of {wildcards.task}"
    script:
        "../workflow_scripts/check_overlap.py"
