rule build_standings:
    input:
        scores=tables_of("scores/{model}/{task}", PLAN.scored),
    output:
        standings=update("results/standings.parquet"),
        agreement=update("results/agreement.parquet"),
        comparisons=update("results/comparisons.parquet"),
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
