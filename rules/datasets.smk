rule merge_dataset:
    input:
        candidates=merged_candidates,
        labels=merged_labels,
    output:
        train=update("results/datasets/{dataset}/train.parquet"),
        validation=update("results/datasets/{dataset}/validation.parquet"),
        summary=update("results/datasets/{dataset}/summary.json"),
    log:
        "<logs>/datasets/{dataset}.log",
    benchmark:
        "<benchmarks>/datasets/{dataset}.tsv"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        spec=spec_of(PLAN.dataset_spec),
        stage_version=plan.STAGE_VERSIONS["dataset"],
    message:
        "Training rows of {wildcards.dataset}"
    script:
        "../workflow_scripts/merge_dataset.py"


# A job of its own, so that a new test task reruns this check and not the training.
rule check_overlap:
    input:
        train="results/datasets/{dataset}/train.parquet",
        validation="results/datasets/{dataset}/validation.parquet",
        tests=test_tasks,
    output:
        update("results/datasets/{dataset}/overlap.json"),
    log:
        "<logs>/overlap/{dataset}.log",
    benchmark:
        "<benchmarks>/overlap/{dataset}.tsv"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        spec=spec_of(PLAN.overlap_spec),
        stage_version=plan.STAGE_VERSIONS["overlap"],
    message:
        "Look for test questions in {wildcards.dataset}"
    script:
        "../workflow_scripts/check_overlap.py"
