# One rule per generator: all write the same table, and a model's generator decides which of them does.


rule simulate_candidates:
    input:
        table="results/tasks/{task}.parquet",
    output:
        update("results/candidates/{model}/{task}.parquet"),
    log:
        "<logs>/candidates/{model}/{task}.log",
    benchmark:
        "<benchmarks>/candidates/{model}/{task}.tsv"
    wildcard_constraints:
        model=one_of(PLAN.generated_by("simulated")),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=grown(1000),
        runtime=grown(20),
    params:
        spec=spec_of(PLAN.candidates_spec),
        stage_version=plan.STAGE_VERSIONS["candidates"],
    message:
        "Answers of {wildcards.model} to {wildcards.task} (simulated)"
    script:
        "../workflow_scripts/simulate_candidates.py"


rule import_candidates:
    input:
        table="results/tasks/{task}.parquet",
        source=imported_file,
    output:
        update("results/candidates/{model}/{task}.parquet"),
    log:
        "<logs>/candidates/{model}/{task}.log",
    benchmark:
        "<benchmarks>/candidates/{model}/{task}.tsv"
    wildcard_constraints:
        model=one_of(PLAN.generated_by("imported")),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=grown(2000),
        runtime=grown(20),
    params:
        spec=spec_of(PLAN.candidates_spec),
        stage_version=plan.STAGE_VERSIONS["candidates"],
    message:
        "Answers of {wildcards.model} to {wildcards.task} (imported)"
    script:
        "../workflow_scripts/import_candidates.py"


rule generate_candidates_hf:
    input:
        table="results/tasks/{task}.parquet",
        manifest="results/prepared/model-{model}.json",
    output:
        update("results/candidates/{model}/{task}.parquet"),
    log:
        "<logs>/candidates/{model}/{task}.log",
    benchmark:
        "<benchmarks>/candidates/{model}/{task}.tsv"
    wildcard_constraints:
        model=one_of(PLAN.generated_by("hf")),
    conda:
        "../envs/core.yaml"
    threads: 8
    resources:
        mem_mb=memory_of_weights,
        # A job that is tried again goes on where it was: more memory helps, more time does not.
        runtime=720,
        gpu=1,
    params:
        spec=spec_of(PLAN.candidates_spec),
        stage_version=plan.STAGE_VERSIONS["candidates"],
    message:
        "Answers of {wildcards.model} to {wildcards.task}"
    script:
        "../workflow_scripts/generate_candidates.py"


# Loading vLLM takes longer than many a table: one job answers all that the targets need, and a light one writes each table.
rule fill_store_vllm:
    input:
        unpack(fill_sources),
        manifest="results/prepared/model-{model}.json",
    output:
        update("results/answer_batches/{model}/{batch}.json"),
    log:
        "<logs>/answer_batches/{model}/{batch}.log",
    benchmark:
        "<benchmarks>/answer_batches/{model}/{batch}.tsv"
    wildcard_constraints:
        batch="[0-9a-f]{16}",
        model=one_of(PLAN.generated_by("vllm")),
    conda:
        "../envs/vllm.yaml"
    threads: 8
    resources:
        mem_mb=memory_of_weights,
        runtime=1440,
        gpu=gpus_of,
    params:
        spec=fill_spec,
        stage_version=plan.STAGE_VERSIONS["candidates"],
    message:
        "Answers of {wildcards.model} to a batch of tasks"
    script:
        "../workflow_scripts/pregenerate_answers.py"


rule generate_candidates_vllm:
    input:
        table="results/tasks/{task}.parquet",
        manifest="results/prepared/model-{model}.json",
        answered=batch_of,
    output:
        update("results/candidates/{model}/{task}.parquet"),
    log:
        "<logs>/candidates/{model}/{task}.log",
    benchmark:
        "<benchmarks>/candidates/{model}/{task}.tsv"
    wildcard_constraints:
        model=one_of(PLAN.generated_by("vllm")),
    conda:
        "../envs/vllm.yaml"
    resources:
        mem_mb=grown(4000),
        runtime=grown(20),
    params:
        spec=spec_of(PLAN.candidates_spec),
        stage_version=plan.STAGE_VERSIONS["candidates"],
    message:
        "Answers of {wildcards.model} to {wildcards.task}"
    script:
        "../workflow_scripts/generate_candidates.py"


rule generate_candidates_openai:
    input:
        table="results/tasks/{task}.parquet",
    output:
        update("results/candidates/{model}/{task}.parquet"),
    log:
        "<logs>/candidates/{model}/{task}.log",
    benchmark:
        "<benchmarks>/candidates/{model}/{task}.tsv"
    wildcard_constraints:
        model=one_of(PLAN.generated_by("openai")),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=grown(2000),
        runtime=1440,
    params:
        spec=spec_of(PLAN.candidates_spec),
        stage_version=plan.STAGE_VERSIONS["candidates"],
    message:
        "Answers of {wildcards.model} to {wildcards.task} (from a server)"
    script:
        "../workflow_scripts/generate_candidates.py"
