rule build_standings:
    input:
        scores=tables_of("scores/{model}/{task}", PLAN.scored),
    output:
        model_pairs=update("results/model_pairs.parquet"),
        agreement=update("results/agreement.parquet"),
        comparisons=update("results/comparisons.parquet"),
        judge_pairs=update("results/judge_pairs.parquet"),
        moves=update("results/moves.parquet"),
        reliability=update("results/reliability.parquet"),
        thresholds=update("results/thresholds.parquet"),
        standings=update("results/standings.parquet"),
    log:
        "<logs>/standings.log",
    benchmark:
        "<benchmarks>/standings.tsv"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=grown(4000),
        runtime=grown(60),
    params:
        spec=spec_of(PLAN.standings_spec),
        stage_version=plan.STAGE_VERSIONS["standings"],
    message:
        "Standings"
    script:
        "../workflow_scripts/build_standings.py"
