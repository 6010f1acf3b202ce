rule build_report:
    input:
        standings=STANDINGS_FILES,
        scores=tables_of("scores/{model}/{task}", PLAN.scored),
        audit=audit_files(),
        attacks=attack_files(),
        cascades=cascade_files(),
        fitted=expand("results/judges/{judge}/cascade.json", judge=PLAN.measured_cascades),
        judges=expand("results/judges/{judge}/metrics.json", judge=trained_judges()),
    output:
        report(update("results/report.html"), caption="../report/report.rst", category="Standings"),
    log:
        "<logs>/report.log",
    benchmark:
        "<benchmarks>/report.tsv"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=grown(4000),
        runtime=grown(30),
    params:
        spec=spec_of(PLAN.report_spec),
        stage_version=plan.STAGE_VERSIONS["report"],
    message:
        "Report"
    script:
        "../workflow_scripts/build_report.py"
