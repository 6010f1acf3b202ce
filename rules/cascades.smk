rule held_out_answers:
    input:
        "results/datasets/{dataset}/validation.parquet",
    output:
        update(f"results/candidates/{selections.HeldOut('{dataset}').name}/{selections.VALIDATION}.parquet"),
    log:
        "<logs>/cascades/{dataset}.log",
    benchmark:
        "<benchmarks>/cascades/{dataset}.tsv"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(2000),
        runtime=doubling(20),
    params:
        stage_version=plan.STAGE_VERSIONS["cascade"],
    message:
        "Write the validation rows of {wildcards.dataset} as candidates"
    script:
        "../workflow_scripts/held_out_answers.py"


rule select_undecided:
    input:
        inputs_of(lambda model, cascade, judge, task: PLAN.candidates_inputs(f"{model}@{cascade}@{judge}", task)),
    output:
        update("results/candidates/{model}@{cascade}@{judge}/{task}.parquet"),
    log:
        "<logs>/cascades/{cascade}/{judge}/{model}/{task}.log",
    benchmark:
        "<benchmarks>/cascades/{cascade}/{judge}/{model}/{task}.tsv"
    wildcard_constraints:
        model=any_of(PLAN.answer_sources),
        cascade=any_of(PLAN.judges("cascade")),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(1000),
        runtime=doubling(20),
    params:
        judges=from_wildcards(PLAN.previous_judges),
        stage_version=plan.STAGE_VERSIONS["cascade"],
    message:
        "Select answers of {wildcards.model} to {wildcards.task} that {wildcards.cascade} escalates to {wildcards.judge}"
    script:
        "../workflow_scripts/select_undecided.py"


if PLAN.measured_cascades:

    rule measure_cascades:
        input:
            inputs_of(PLAN.cascades_inputs),
        output:
            update("results/cascades.parquet"),
        log:
            "<logs>/cascades.log",
        benchmark:
            "<benchmarks>/cascades.tsv"
        conda:
            "../envs/core.yaml"
        resources:
            mem_mb=doubling(4000),
            runtime=doubling(30),
        params:
            spec=spec_of(PLAN.cascades_spec),
            stage_version=plan.STAGE_VERSIONS["cascade"],
        message:
            "Evaluate cascades"
        script:
            "../workflow_scripts/measure_cascades.py"
