rule tune_pair_judge:
    input:
        pairs=pairs_to_learn,
        base="results/prepared/judge-{judge}.json",
    output:
        config=update("results/judges/{judge}/config.json"),
        weights=update("results/judges/{judge}/model.safetensors"),
        tokenizer=update("results/judges/{judge}/tokenizer.json"),
        metrics=update("results/judges/{judge}/metrics.json"),
        card=update("results/judges/{judge}/README.md"),
        manifest=update("results/judges/{judge}/manifest.json"),
        # Written last: a folder without it is not a judge.
        judge=update("results/judges/{judge}/judge.json"),
    log:
        "<logs>/judges/{judge}.log",
    benchmark:
        "<benchmarks>/judges/{judge}.tsv"
    wildcard_constraints:
        judge=one_of(PLAN.tuned_pair_judges),
    conda:
        "../envs/core.yaml"
    threads: 8
    resources:
        mem_mb=memory_of_base,
        # It goes on from its last checkpoint: more memory helps, more time does not.
        runtime=720,
        gpu=gpus_to_tune,
    params:
        spec=spec_of(PLAN.tuned_judge_spec),
        stage_version=plan.STAGE_VERSIONS["tuned_judge"],
    message:
        "Tune {wildcards.judge} to compare"
    script:
        "../workflow_scripts/tune_pair_judge.py"
