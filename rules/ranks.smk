if PLAN.ranked_sets:

    rule build_ranks:
        input:
            inputs_of(PLAN.ranks_inputs),
        output:
            agreement=update("results/pair_agreement.parquet"),
            ranks=update("results/ranks.parquet"),
            correlations=update("results/rank_correlations.parquet"),
            csv=report(
                update("results/ranks.csv"),
                caption="../report/ranks.rst",
                category="Standings",
                labels={"what": "ranks by pairs, every number", "form": "table"},
            ),
            markdown=update("results/ranks.md"),
        log:
            "<logs>/ranks.log",
        benchmark:
            "<benchmarks>/ranks.tsv"
        conda:
            "../envs/core.yaml"
        resources:
            mem_mb=doubling(4000),
            runtime=doubling(60),
        params:
            spec=spec_of(PLAN.ranks_spec),
            stage_version=plan.STAGE_VERSIONS["ranks"],
        message:
            "Model ranks from pairs of answers"
        script:
            "../workflow_scripts/build_ranks.py"
