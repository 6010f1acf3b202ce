rule pair_answers:
    input:
        one=pair_candidates(0),
        other=pair_candidates(1),
        gold_one=pair_gold(0),
        gold_other=pair_gold(1),
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
        source=from_wildcards(PLAN.pair_file),
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


rule train_pair_judge:
    input:
        pairs=training_pairs,
        backbone="results/prepared/judge-{judge}.json",
    output:
        config=update("results/judges/{judge}/config.json"),
        weights=update("results/judges/{judge}/model.safetensors"),
        tokenizer=update("results/judges/{judge}/tokenizer.json"),
        metrics=update("results/judges/{judge}/metrics.json"),
        card=update("results/judges/{judge}/README.md"),
        # Written last: a folder without it is not a judge.
        judge=update("results/judges/{judge}/judge.json"),
    log:
        "<logs>/judges/{judge}.log",
    benchmark:
        "<benchmarks>/judges/{judge}.tsv"
    wildcard_constraints:
        judge=any_of(name for name in PLAN.trained_pair_judges if not PLAN.pair_judge(name).base),
    conda:
        "../envs/core.yaml"
    threads: 8
    resources:
        mem_mb=doubling(8000),
        # A retried job resumes from its last checkpoint: it may need more memory, but not more time.
        runtime=720,
        gpu=1,
    params:
        spec=spec_of(PLAN.pair_judge_spec),
        stage_version=plan.STAGE_VERSIONS["pair_judge"],
    message:
        "Train pairwise judge {wildcards.judge}"
    script:
        "../workflow_scripts/train_pair_judge.py"


# Its weights are an adapter or complete, in one file or several.
use rule train_pair_judge as train_pair_language_model with:
    output:
        metrics=update("results/judges/{judge}/metrics.json"),
        card=update("results/judges/{judge}/README.md"),
        # Written last: a folder without it is not a judge.
        judge=update("results/judges/{judge}/judge.json"),
    wildcard_constraints:
        judge=any_of(name for name in PLAN.trained_pair_judges if PLAN.pair_judge(name).base),
    resources:
        mem_mb=memory_of_weights("backbone", copies=6),
        runtime=1440,
        gpu=1,


# All rules write the same tables with the same script. What a judge runs on decides its rule.


rule compare_rule:
    input:
        unpack(from_wildcards(lambda judge: PLAN.kind_of(judge).inputs(judge, PLAN.config.judges[judge]))),
        pairs=from_wildcards(pair_files),
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
