if PLAN.config.audit:

    rule draw_audit:
        input:
            inputs_of(PLAN.audit_inputs),
        output:
            sheet=update("results/audit/sheet.csv"),
            page=update("results/audit/sheet.html"),
        log:
            "<logs>/audit/sheet.log",
        benchmark:
            "<benchmarks>/audit/sheet.tsv"
        conda:
            "../envs/core.yaml"
        resources:
            mem_mb=doubling(4000),
            runtime=doubling(30),
        params:
            spec=spec_of(PLAN.audit_spec),
            stage_version=plan.STAGE_VERSIONS["audit"],
        message:
            "Annotation sheet for the audit"
        script:
            "../workflow_scripts/draw_audit.py"

    rule correct_accuracies:
        input:
            inputs_of(PLAN.corrected_inputs),
        output:
            [update(path) for path in graph.AUDIT_TABLES],
        log:
            "<logs>/audit/corrected.log",
        benchmark:
            "<benchmarks>/audit/corrected.tsv"
        conda:
            "../envs/core.yaml"
        resources:
            mem_mb=doubling(4000),
            runtime=doubling(30),
        params:
            spec=spec_of(PLAN.corrected_spec),
            stage_version=plan.STAGE_VERSIONS["audit"],
        message:
            "Accuracies and differences corrected with labels of a sample, and certificates of the judges"
        script:
            "../workflow_scripts/correct_accuracies.py"
