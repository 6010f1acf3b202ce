rule train_judge:
    input:
        train=training_file("train.parquet"),
        validation=training_file("validation.parquet"),
        validation_weak=training_file("validation_weak.parquet"),
        summary=training_file("summary.json"),
        backbone="results/prepared/judge-{judge}.json",
    output:
        config=update("results/judges/{judge}/config.json"),
        weights=update("results/judges/{judge}/model.safetensors"),
        tokenizer=update("results/judges/{judge}/tokenizer.json"),
        trees=update("results/judges/{judge}/trees.safetensors"),
        metrics=update("results/judges/{judge}/metrics.json"),
        card=update("results/judges/{judge}/README.md"),
        # Written last: a folder without it is not a judge.
        judge=update("results/judges/{judge}/judge.json"),
    log:
        "<logs>/judges/{judge}.log",
    benchmark:
        "<benchmarks>/judges/{judge}.tsv"
    wildcard_constraints:
        judge=any_of(name for name in trained_judges() if name not in fine_tuned_judges()),
    conda:
        "../envs/core.yaml"
    threads: 8
    resources:
        mem_mb=memory_of_dataset,
        # A retried job resumes from its last checkpoint: it may need more memory, but not more time.
        runtime=720,
        gpu=1,
    params:
        spec=spec_of(PLAN.judge_spec),
        stage_version=plan.STAGE_VERSIONS["judge"],
    message:
        "Train {wildcards.judge}"
    script:
        "../workflow_scripts/train_judge.py"


# Its weights are an adapter or complete, in one file or several.
use rule train_judge as train_language_model with:
    output:
        metrics=update("results/judges/{judge}/metrics.json"),
        card=update("results/judges/{judge}/README.md"),
        # Written last: a folder without it is not a judge.
        judge=update("results/judges/{judge}/judge.json"),
    wildcard_constraints:
        judge=any_of(fine_tuned_judges()),
    resources:
        mem_mb=memory_of_weights("backbone", copies=6),
        runtime=1440,
        gpu=1,
