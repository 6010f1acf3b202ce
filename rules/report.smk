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


rule export_standings:
    input:
        STANDINGS,
    output:
        csv=report(
            update("results/standings.csv"),
            caption="../report/standings.rst",
            category="Standings",
            labels={"what": "every number", "form": "table"},
        ),
        markdown=update("results/standings.md"),
        latex=update("results/standings.tex"),
        picture=report(
            update("results/standings.svg"),
            caption="../report/picture.rst",
            category="Standings",
            labels={"what": "accuracy per model and judge", "form": "picture"},
        ),
    log:
        "<logs>/exports.log",
    benchmark:
        "<benchmarks>/exports.tsv"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(1000),
        runtime=doubling(10),
    params:
        stage_version=plan.STAGE_VERSIONS["report"],
    message:
        "Standings as CSV, Markdown, LaTeX and SVG"
    script:
        "../workflow_scripts/export_standings.py"
