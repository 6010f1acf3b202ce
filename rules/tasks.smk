rule build_task:
    input:
        source=task_source,
        manifest=task_manifest,
    output:
        update("results/tasks/{task}.parquet"),
    log:
        "<logs>/tasks/{task}.log",
    benchmark:
        "<benchmarks>/tasks/{task}.tsv"
    wildcard_constraints:
        task=one_of(PLAN.tasks),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(4000),
        runtime=doubling(30),
    params:
        spec=spec_of(PLAN.task_spec),
        stage_version=plan.STAGE_VERSIONS["task"],
    message:
        "Questions of {wildcards.task}"
    script:
        "../workflow_scripts/build_task.py"
