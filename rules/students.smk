rule filter_answers:
    input:
        inputs_of(PLAN.filtered_inputs),
    output:
        update("results/filtered/{filter}/{keep}.parquet"),
    log:
        "<logs>/filtered/{filter}/{keep}.log",
    benchmark:
        "<benchmarks>/filtered/{filter}/{keep}.tsv"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(4000),
        runtime=doubling(30),
    params:
        spec=spec_of(PLAN.filtered_spec),
        stage_version=plan.STAGE_VERSIONS["filtered"],
    message:
        "Select {wildcards.keep}% of the answers by {wildcards.filter}"
    script:
        "../workflow_scripts/filter_answers.py"


# Needs only the questions, so that an overlap is reported before any answer is generated.
rule check_filter_overlap:
    input:
        inputs_of(PLAN.filter_overlap_inputs),
    output:
        update("results/filtered/{filter}/overlap/{task}.json"),
    log:
        "<logs>/overlap/filters/{filter}/{task}.log",
    benchmark:
        "<benchmarks>/overlap/filters/{filter}/{task}.tsv"
    priority: 10
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(4000),
        runtime=doubling(30),
    params:
        spec=spec_of(PLAN.filter_overlap_spec),
        stage_version=plan.STAGE_VERSIONS["overlap"],
    message:
        "Check the questions of {wildcards.filter} for those of {wildcards.task}"
    script:
        "../workflow_scripts/check_filter_overlap.py"


rule train_student:
    input:
        inputs_of(PLAN.student_inputs),
    output:
        config=update("results/students/{model}/config.json"),
        weights=update("results/students/{model}/model.safetensors"),
        metrics=update("results/students/{model}/metrics.json"),
        card=update("results/students/{model}/README.md"),
        # Written last: a folder without it is not a model.
        manifest=update("results/students/{model}/manifest.json"),
    log:
        "<logs>/students/{model}.log",
    benchmark:
        "<benchmarks>/students/{model}.tsv"
    wildcard_constraints:
        model=any_of(PLAN.students),
    conda:
        "../envs/core.yaml"
    threads: 8
    resources:
        mem_mb=memory_of_weights("base", copies=6),
        # A retried job resumes from its last checkpoint: it may need more memory, but not more time.
        runtime=720,
        gpu=1,
    params:
        spec=spec_of(PLAN.student_spec),
        stage_version=plan.STAGE_VERSIONS["student"],
    message:
        "Train student {wildcards.model}"
    script:
        "../workflow_scripts/train_student.py"


if PLAN.students:

    rule measure_students:
        input:
            inputs_of(PLAN.students_inputs),
        output:
            update("results/students.parquet"),
        log:
            "<logs>/students.log",
        benchmark:
            "<benchmarks>/students.tsv"
        conda:
            "../envs/core.yaml"
        resources:
            mem_mb=doubling(2000),
            runtime=doubling(10),
        params:
            spec=spec_of(PLAN.students_spec),
            stage_version=plan.STAGE_VERSIONS["student"],
        message:
            "Evaluate students"
        script:
            "../workflow_scripts/measure_students.py"
