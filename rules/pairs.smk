rule pair_answers:
    input:
        inputs_of(PLAN.pair_inputs),
    output:
        update("results/pairs/{pair_set}/{part}.parquet"),
    log:
        "<logs>/pairs/{pair_set}/{part}.log",
    benchmark:
        "<benchmarks>/pairs/{pair_set}/{part}.tsv"
    wildcard_constraints:
        pair_set=pair_sets(imported=False),
        part=any_of(sorted({part for name in PLAN.config.pairs for part in PLAN.pair_parts(name) if "@" in part})),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(2000),
        runtime=doubling(30),
    params:
        spec=spec_of(PLAN.pairs_spec),
        stage_version=plan.STAGE_VERSIONS["pairs"],
    message:
        "Pairs of {wildcards.part} in {wildcards.pair_set}"
    script:
        "../workflow_scripts/pair_answers.py"


rule import_pairs:
    input:
        inputs_of(lambda pair_set: PLAN.pair_inputs(pair_set, "imported")),
    output:
        update("results/pairs/{pair_set}/imported.parquet"),
    log:
        "<logs>/pairs/{pair_set}/imported.log",
    benchmark:
        "<benchmarks>/pairs/{pair_set}/imported.tsv"
    wildcard_constraints:
        pair_set=pair_sets(imported=True),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(2000),
        runtime=doubling(30),
    params:
        spec=lambda wildcards: tables.canonical(PLAN.pairs_spec(wildcards.pair_set, "imported")),
        stage_version=plan.STAGE_VERSIONS["pairs"],
    message:
        "Pairs of the file of {wildcards.pair_set}"
    script:
        "../workflow_scripts/import_pairs.py"


# All rules write the same tables with the same script. What a judge runs on decides its rule.


rule compare_rule:
    input:
        inputs_of(PLAN.preference_inputs),
    output:
        update("results/labels/{judge}/pairs/{pair_set}.parquet"),
    log:
        "<logs>/labels/{judge}/pairs/{pair_set}.log",
    benchmark:
        "<benchmarks>/labels/{judge}/pairs/{pair_set}.tsv"
    wildcard_constraints:
        judge=judges_of_rule("compare_rule"),
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(2000),
        runtime=doubling(30),
    params:
        spec=spec_of(PLAN.preferences_spec),
    message:
        "Preferences of {wildcards.judge} on {wildcards.pair_set}"
    script:
        "../workflow_scripts/compare.py"


use rule compare_rule as compare_encoder with:
    wildcard_constraints:
        judge=judges_of_rule("compare_encoder"),
    threads: 8
    resources:
        mem_mb=doubling(4000),
        runtime=240,
        gpu=1,


use rule compare_rule as compare_openai with:
    wildcard_constraints:
        judge=judges_of_rule("compare_openai"),
    resources:
        mem_mb=doubling(2000),
        runtime=720,


use rule compare_rule as compare_hf with:
    wildcard_constraints:
        judge=judges_of_rule("compare_hf"),
    threads: 8
    resources:
        mem_mb=memory_of_weights("manifest"),
        runtime=720,
        gpu=1,


use rule compare_rule as compare_vllm with:
    wildcard_constraints:
        judge=judges_of_rule("compare_vllm"),
    conda:
        "../envs/vllm.yaml"
    threads: 8
    resources:
        mem_mb=32000,
        runtime=1440,
        gpu=gpus_of_judge,
