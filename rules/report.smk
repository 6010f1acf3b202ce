rule build_report:
    input:
        inputs_of(PLAN.report_inputs),
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
