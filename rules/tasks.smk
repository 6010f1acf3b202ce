rule build_task:
    input:
        inputs_of(PLAN.task_inputs),
    output:
        update("results/tasks/{task}.parquet"),
    log:
        "<logs>/tasks/{task}.log",
    benchmark:
        "<benchmarks>/tasks/{task}.tsv"
    wildcard_constraints:
        task=any_of(PLAN.tasks),
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
