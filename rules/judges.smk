# A judge of any kind that learns from labels; its kind says from which files, and with which resources.
rule train_judge:
    input:
        inputs_of(PLAN.training_inputs),
    output:
        metrics=update("results/judges/{judge}/metrics.json"),
        card=update("results/judges/{judge}/README.md"),
        # Without it the folder is not a judge. Weights beside it are not declared: their files depend on the kind.
        judge=update("results/judges/{judge}/judge.json"),
    log:
        "<logs>/judges/{judge}.log",
    benchmark:
        "<benchmarks>/judges/{judge}.tsv"
    wildcard_constraints:
        judge=trained_judges(with_gpu=True),
    conda:
        "../envs/core.yaml"
    threads: 8
    resources:
        mem_mb=training_memory,
        # A retried job resumes from its last checkpoint: it may need more memory, but not more time.
        runtime=from_wildcards(lambda judge: PLAN.training_resources(judge).minutes),
        gpu=1,
    params:
        spec=spec_of(PLAN.training_spec),
        stage_version=from_wildcards(lambda judge: PLAN.kind_of(judge).training_version),
    message:
        "Train {wildcards.judge}"
    script:
        "../workflow_scripts/train_judge.py"


use rule train_judge as fit_judge with:
    wildcard_constraints:
        judge=trained_judges(with_gpu=False),
    threads: 1
    resources:
        mem_mb=training_memory,
        runtime=lambda wildcards, attempt: doubling(PLAN.training_resources(wildcards.judge).minutes)(wildcards, attempt),
    message:
        "Fit {wildcards.judge}"
