# One rule per kind of judge: all write the same table, and a judge's kind decides which of them does.


rule label_lexical:
    input:
        candidates="results/candidates/{model}/{task}.parquet",
    output:
        update("results/labels/{judge}/{model}/{task}.parquet"),
    log:
        "<logs>/labels/{judge}/{model}/{task}.log",
    benchmark:
        "<benchmarks>/labels/{judge}/{model}/{task}.tsv"
    wildcard_constraints:
        judge=one_of(PLAN.judges("lexical")),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=grown(1000),
        runtime=grown(20),
    params:
        spec=spec_of(PLAN.labels_spec),
        stage_version=plan.STAGE_VERSIONS["labels"],
    message:
        "Verdicts of {wildcards.judge} on {wildcards.model}, {wildcards.task}"
    script:
        "../workflow_scripts/label_lexical.py"


rule label_imported:
    input:
        candidates="results/candidates/{model}/{task}.parquet",
        source=verdict_file,
    output:
        update("results/labels/{judge}/{model}/{task}.parquet"),
    log:
        "<logs>/labels/{judge}/{model}/{task}.log",
    benchmark:
        "<benchmarks>/labels/{judge}/{model}/{task}.tsv"
    wildcard_constraints:
        judge=one_of(PLAN.judges("imported")),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=grown(1000),
        runtime=grown(20),
    params:
        spec=spec_of(PLAN.labels_spec),
        stage_version=plan.STAGE_VERSIONS["labels"],
    message:
        "Verdicts of {wildcards.judge} on {wildcards.model}, {wildcards.task}"
    script:
        "../workflow_scripts/label_imported.py"


rule label_simulated:
    input:
        candidates="results/candidates/{model}/{task}.parquet",
        table="results/tasks/{task}.parquet",
    output:
        update("results/labels/{judge}/{model}/{task}.parquet"),
    log:
        "<logs>/labels/{judge}/{model}/{task}.log",
    benchmark:
        "<benchmarks>/labels/{judge}/{model}/{task}.tsv"
    wildcard_constraints:
        judge=one_of(PLAN.judges("simulated")),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=grown(1000),
        runtime=grown(20),
    params:
        spec=spec_of(PLAN.labels_spec),
        stage_version=plan.STAGE_VERSIONS["labels"],
    message:
        "Verdicts of {wildcards.judge} on {wildcards.model}, {wildcards.task}"
    script:
        "../workflow_scripts/label_simulated.py"


rule label_adapted:
    input:
        labels=verdicts_to_adapt,
        validation=rows_of_prior,
    output:
        update("results/labels/{judge}/{model}/{task}.parquet"),
    log:
        "<logs>/labels/{judge}/{model}/{task}.log",
    benchmark:
        "<benchmarks>/labels/{judge}/{model}/{task}.tsv"
    wildcard_constraints:
        judge=one_of(PLAN.judges("prior_shift")),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=grown(1000),
        runtime=grown(20),
    params:
        spec=spec_of(PLAN.labels_spec),
        stage_version=plan.STAGE_VERSIONS["labels"],
    message:
        "Verdicts of {wildcards.judge} on {wildcards.model}, {wildcards.task}"
    script:
        "../workflow_scripts/label_adapted.py"


rule label_bert:
    input:
        candidates="results/candidates/{model}/{task}.parquet",
        checkpoint=checkpoint_of,
        # No verdict on a test that the judge was trained on.
        overlap=overlap_of,
        # A table that is judged in parts, or together with others of the model, is only joined or written here.
        parts=parts_of,
        judged=encoder_batch_of,
    output:
        update("results/labels/{judge}/{model}/{task}.parquet"),
    log:
        "<logs>/labels/{judge}/{model}/{task}.log",
    benchmark:
        "<benchmarks>/labels/{judge}/{model}/{task}.tsv"
    wildcard_constraints:
        judge=one_of(PLAN.judges("bert")),
    conda:
        "../envs/core.yaml"
    threads: if_judged(1, share_of_cores(len(PLAN.scored)))
    resources:
        mem_mb=grown(4000),
        # It goes on where it was: more memory helps, more time does not.
        runtime=240,
        gpu=if_judged(0, 1),
    params:
        spec=spec_of(PLAN.labels_spec),
        stage_version=plan.STAGE_VERSIONS["labels"],
    message:
        "Verdicts of {wildcards.judge} on {wildcards.model}, {wildcards.task}"
    script:
        "../workflow_scripts/label_bert.py"


rule label_bert_part:
    input:
        candidates="results/candidates/{model}/{task}.parquet",
        checkpoint=checkpoint_of,
        overlap=overlap_of,
    output:
        update("results/label_shards/{judge}/{model}/{task}/{part}.parquet"),
    log:
        "<logs>/label_shards/{judge}/{model}/{task}/{part}.log",
    benchmark:
        "<benchmarks>/label_shards/{judge}/{model}/{task}/{part}.tsv"
    wildcard_constraints:
        part=r"\d+-of-\d+",
        judge=one_of(PLAN.judges("bert")),
    conda:
        "../envs/core.yaml"
    threads: share_of_cores(len(PLAN.scored))
    resources:
        mem_mb=grown(4000),
        runtime=240,
        gpu=1,
    params:
        spec=spec_of(PLAN.labels_spec),
        stage_version=plan.STAGE_VERSIONS["labels"],
    message:
        "Verdicts of {wildcards.judge} on {wildcards.model}, {wildcards.task}, part {wildcards.part}"
    script:
        "../workflow_scripts/label_bert_part.py"


# Loading the encoder takes longer than a small table: one job judges all tables of a model that the targets need and nobody has
# judged yet, and a light one writes each table.
rule fill_verdicts_bert:
    input:
        unpack(judged_answers),
        checkpoint=checkpoint_of,
        overlap=overlaps_of_batch,
    output:
        update("results/label_batches/{judge}/{model}/{batch}.json"),
    log:
        "<logs>/label_batches/{judge}/{model}/{batch}.log",
    benchmark:
        "<benchmarks>/label_batches/{judge}/{model}/{batch}.tsv"
    wildcard_constraints:
        batch=open_batches(),
        judge=one_of(PLAN.judges("bert")),
    conda:
        "../envs/core.yaml"
    threads: share_of_cores(len(PLAN.models))
    resources:
        mem_mb=grown(4000),
        # It goes on where it was: more memory helps, more time does not.
        runtime=720,
        gpu=1,
    params:
        spec=judging_spec,
        stage_version=plan.STAGE_VERSIONS["labels"],
    message:
        "Verdicts of {wildcards.judge} on a batch of tasks of {wildcards.model}"
    script:
        "../workflow_scripts/fill_verdicts_bert.py"


# A prompted judge, by what its model runs on.
rule label_llm_hf:
    input:
        candidates="results/candidates/{model}/{task}.parquet",
        manifest="results/prepared/judge-{judge}.json",
    output:
        update("results/labels/{judge}/{model}/{task}.parquet"),
    log:
        "<logs>/labels/{judge}/{model}/{task}.log",
    benchmark:
        "<benchmarks>/labels/{judge}/{model}/{task}.tsv"
    wildcard_constraints:
        judge=one_of(prompted_judges("hf")),
    conda:
        "../envs/core.yaml"
    threads: 8
    resources:
        mem_mb=memory_of_weights,
        runtime=720,
        gpu=1,
    params:
        spec=spec_of(PLAN.labels_spec),
        stage_version=plan.STAGE_VERSIONS["labels"],
    message:
        "Verdicts of {wildcards.judge} on {wildcards.model}, {wildcards.task}"
    script:
        "../workflow_scripts/label_llm.py"


rule label_llm_openai:
    input:
        candidates="results/candidates/{model}/{task}.parquet",
    output:
        update("results/labels/{judge}/{model}/{task}.parquet"),
    log:
        "<logs>/labels/{judge}/{model}/{task}.log",
    benchmark:
        "<benchmarks>/labels/{judge}/{model}/{task}.tsv"
    wildcard_constraints:
        judge=one_of(prompted_judges("openai")),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=grown(2000),
        runtime=720,
    params:
        spec=spec_of(PLAN.labels_spec),
        stage_version=plan.STAGE_VERSIONS["labels"],
    message:
        "Verdicts of {wildcards.judge} on {wildcards.model}, {wildcards.task}"
    script:
        "../workflow_scripts/label_llm.py"


# Loading vLLM takes longer than many a table: one job asks the judge about all tables of a model that the targets need, and a light
# one writes each table.
rule fill_verdicts_vllm:
    input:
        unpack(judged_answers),
        manifest="results/prepared/judge-{judge}.json",
    output:
        update("results/label_batches/{judge}/{model}/{batch}.json"),
    log:
        "<logs>/label_batches/{judge}/{model}/{batch}.log",
    benchmark:
        "<benchmarks>/label_batches/{judge}/{model}/{batch}.tsv"
    wildcard_constraints:
        batch=open_batches(),
        judge=one_of(prompted_judges("vllm")),
    conda:
        "../envs/vllm.yaml"
    threads: 8
    resources:
        mem_mb=32000,
        runtime=1440,
        gpu=gpus_of_judge,
    params:
        spec=judging_spec,
        stage_version=plan.STAGE_VERSIONS["labels"],
    message:
        "Verdicts of {wildcards.judge} on a batch of tasks of {wildcards.model}"
    script:
        "../workflow_scripts/fill_verdicts.py"


rule label_llm_vllm:
    input:
        candidates="results/candidates/{model}/{task}.parquet",
        manifest="results/prepared/judge-{judge}.json",
        judged=verdict_batch_of,
    output:
        update("results/labels/{judge}/{model}/{task}.parquet"),
    log:
        "<logs>/labels/{judge}/{model}/{task}.log",
    benchmark:
        "<benchmarks>/labels/{judge}/{model}/{task}.tsv"
    wildcard_constraints:
        judge=one_of(prompted_judges("vllm")),
    conda:
        "../envs/vllm.yaml"
    threads: if_judged(1, 8)
    resources:
        mem_mb=if_judged(4000, 32000),
        runtime=if_judged(60, 1440),
        gpu=if_judged(0, gpus_of_judge),
    params:
        spec=spec_of(PLAN.labels_spec),
        stage_version=plan.STAGE_VERSIONS["labels"],
    message:
        "Verdicts of {wildcards.judge} on {wildcards.model}, {wildcards.task}"
    script:
        "../workflow_scripts/label_llm.py"
