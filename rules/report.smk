rule build_report:
    input:
        standings=STANDINGS_FILES,
        scores=table_paths("scores/{model}/{task}", PLAN.score_tables),
        audit=audit_files(),
        attacks=attack_files(),
        cascades=cascade_files(),
        pairs=rank_files(),
        students=student_files(),
        fitted=expand("results/judges/{judge}/cascade.json", judge=PLAN.measured_cascades),
        judges=expand("results/judges/{judge}/metrics.json", judge=trained_judges()),
        probes=[f"results/judges/{judge}/metrics.json" for judge in PLAN.judges("probe") if judge in PLAN.config.scorers],
    output:
        report(
            update("results/report.html"),
            caption="../report/report.rst",
            category="Standings",
            labels={"what": "the whole report", "form": "page"},
        ),
    log:
        "<logs>/report.log",
    benchmark:
        "<benchmarks>/report.tsv"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(4000),
        runtime=doubling(30),
    params:
        spec=spec_of(PLAN.report_spec),
        stage_version=plan.STAGE_VERSIONS["report"],
    message:
        "Report"
    script:
        "../workflow_scripts/build_report.py"
