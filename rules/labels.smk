# All rules write the same tables with the same script. A judge's kind chooses its rule by what the job needs.


rule label:
    input:
        inputs_of(PLAN.label_inputs),
    output:
        update("results/labels/{judge}/{model}/{task}.parquet"),
    log:
        "<logs>/labels/{judge}/{model}/{task}.log",
    benchmark:
        "<benchmarks>/labels/{judge}/{model}/{task}.tsv"
    wildcard_constraints:
        judge=judges_of_rule("label"),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=label_resource("mem_mb"),
        runtime=label_resource("minutes"),
    params:
        spec=spec_of(PLAN.labels_spec),
    message:
        "Verdicts of {wildcards.judge} on {wildcards.model}, {wildcards.task}"
    script:
        "../workflow_scripts/label.py"


# From label tables of other judges.
use rule label as combine_labels with:
    wildcard_constraints:
        judge=judges_of_rule("combine_labels"),
        model=any_of(PLAN.answer_sources),


# From stored hidden states.
use rule label as label_from_features with:
    wildcard_constraints:
        judge=judges_of_rule("label_from_features"),


# By a language model behind an address.
use rule label as label_openai with:
    wildcard_constraints:
        judge=judges_of_rule("label_openai"),


# By a language model in this process.
use rule label as label_hf with:
    wildcard_constraints:
        judge=judges_of_rule("label_hf"),
    threads: 8
    resources:
        mem_mb=memory_of_weights("manifest"),
        runtime=720,
        gpu=1,


# By a trained encoder. One of several tables of a model, or a table with shards, is labelled by `prelabel_encoder` and only written
# here.
use rule label as label_encoder with:
    input:
        inputs_of(PLAN.label_inputs),
        prelabelled=label_manifests,
    wildcard_constraints:
        judge=judges_of_rule("label_encoder"),
    threads: light_if_prelabelled(1, share_of_cores(len(PLAN.score_tables)))
    resources:
        mem_mb=doubling(4000),
        # It resumes: more memory helps, more time does not.
        runtime=240,
        gpu=light_if_prelabelled(0, 1),


# Loading a model takes longer than labelling a small table: one job labels all tables of a model that the targets need and that do
# not exist yet, and a light job writes each table. With `num_shards`, as many jobs share the rows of these tables.
rule prelabel_encoder:
    input:
        unpack(prelabel_inputs),
    output:
        update("results/label_batches/{judge}/{model}/{batch}.json"),
    log:
        "<logs>/label_batches/{judge}/{model}/{batch}.log",
    benchmark:
        "<benchmarks>/label_batches/{judge}/{model}/{batch}.tsv"
    wildcard_constraints:
        batch=unfinished_batches(),
        judge=judges_of_rule("label_encoder"),
    conda:
        "../envs/core.yaml"
    threads: threads_of_batch
    resources:
        mem_mb=doubling(4000),
        # It resumes: more memory helps, more time does not.
        runtime=720,
        gpu=1,
    params:
        spec=batch_spec,
        title=batch_title,
    message:
        "Verdicts of {wildcards.judge} on {params.title}"
    script:
        "../workflow_scripts/prelabel.py"


use rule prelabel_encoder as prelabel_vllm with:
    wildcard_constraints:
        batch=unfinished_batches(),
        judge=judges_of_rule("label_vllm"),
    conda:
        "../envs/vllm.yaml"
    threads: 8
    resources:
        mem_mb=32000,
        runtime=1440,
        gpu=gpus_of_judge,


use rule label as label_vllm with:
    input:
        inputs_of(PLAN.label_inputs),
        prelabelled=label_manifests,
    wildcard_constraints:
        judge=judges_of_rule("label_vllm"),
    conda:
        "../envs/vllm.yaml"
    threads: light_if_prelabelled(1, 8)
    resources:
        mem_mb=light_if_prelabelled(4000, 32000),
        runtime=light_if_prelabelled(60, 1440),
        gpu=light_if_prelabelled(0, gpus_of_judge),
