# One rule per generator; all write the same table.


rule simulate_candidates:
    input:
        inputs_of(PLAN.candidates_inputs),
    output:
        update("results/candidates/{model}/{task}.parquet"),
    log:
        "<logs>/candidates/{model}/{task}.log",
    benchmark:
        "<benchmarks>/candidates/{model}/{task}.tsv"
    wildcard_constraints:
        model=any_of(PLAN.models_of_generator("simulated")),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(1000),
        runtime=doubling(20),
    params:
        spec=spec_of(PLAN.candidates_spec),
        stage_version=plan.STAGE_VERSIONS["candidates"],
    message:
        "Answers of {wildcards.model} to {wildcards.task} (simulated)"
    script:
        "../workflow_scripts/simulate_candidates.py"


rule import_candidates:
    input:
        inputs_of(PLAN.candidates_inputs),
    output:
        update("results/candidates/{model}/{task}.parquet"),
    log:
        "<logs>/candidates/{model}/{task}.log",
    benchmark:
        "<benchmarks>/candidates/{model}/{task}.tsv"
    wildcard_constraints:
        model=any_of(PLAN.models_of_generator("imported")),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(2000),
        runtime=doubling(20),
    params:
        spec=spec_of(PLAN.candidates_spec),
        stage_version=plan.STAGE_VERSIONS["candidates"],
    message:
        "Answers of {wildcards.model} to {wildcards.task} (imported)"
    script:
        "../workflow_scripts/import_candidates.py"


rule generate_candidates_hf:
    input:
        inputs_of(PLAN.candidates_inputs),
    output:
        update("results/candidates/{model}/{task}.parquet"),
    log:
        "<logs>/candidates/{model}/{task}.log",
    benchmark:
        "<benchmarks>/candidates/{model}/{task}.tsv"
    wildcard_constraints:
        model=any_of(PLAN.models_of_generator("hf")),
    conda:
        "../envs/core.yaml"
    threads: 8
    resources:
        mem_mb=memory_of_weights("manifest"),
        # A retried job resumes: it may need more memory, but not more time.
        runtime=720,
        gpu=1,
    params:
        spec=spec_of(PLAN.candidates_spec),
        stage_version=plan.STAGE_VERSIONS["candidates"],
    message:
        "Answers of {wildcards.model} to {wildcards.task}"
    script:
        "../workflow_scripts/generate_candidates.py"


# Loading vLLM takes longer than generating many a table: one job generates all answers of a model that the targets need, and a
# light job per table writes them.
rule pregenerate_answers_vllm:
    input:
        unpack(batch_inputs),
        manifest="results/prepared/model-{model}.json",
    output:
        update("results/answer_batches/{model}/{batch}.json"),
    log:
        "<logs>/answer_batches/{model}/{batch}.log",
    benchmark:
        "<benchmarks>/answer_batches/{model}/{batch}.tsv"
    wildcard_constraints:
        batch="[0-9a-f]{16}",
        model=any_of(PLAN.models_of_generator("vllm")),
    conda:
        "../envs/vllm.yaml"
    threads: 8
    resources:
        mem_mb=memory_of_weights("manifest"),
        runtime=1440,
        gpu=from_wildcards(lambda model: PLAN.models[model].tensor_parallel_size),
    params:
        spec=batch_spec,
        stage_version=plan.STAGE_VERSIONS["candidates"],
    message:
        "Answers of {wildcards.model} to a batch of tasks"
    script:
        "../workflow_scripts/pregenerate_answers.py"


use rule generate_candidates_hf as generate_candidates_vllm with:
    input:
        inputs_of(PLAN.candidates_inputs),
        batch=answer_batch,
    wildcard_constraints:
        model=any_of(PLAN.models_of_generator("vllm")),
    conda:
        "../envs/vllm.yaml"
    threads: 1
    resources:
        mem_mb=doubling(4000),
        runtime=doubling(20),


use rule generate_candidates_hf as generate_candidates_openai with:
    wildcard_constraints:
        model=any_of(PLAN.models_of_generator("openai")),
    threads: 1
    resources:
        mem_mb=doubling(2000),
        runtime=1440,


use rule generate_candidates_hf as generate_candidates_student with:
    wildcard_constraints:
        model=any_of(PLAN.students),
