if PLAN.config.attacks:

    rule make_attacks:
        input:
            inputs_of(lambda task: PLAN.candidates_inputs(plan.ATTACKS, task)),
        output:
            # A candidates table, so that the label rules apply to it.
            candidates=update(f"results/candidates/{plan.ATTACKS}/{{task}}.parquet"),
            attacks=update("results/attacks/families/{task}.parquet"),
        log:
            "<logs>/attacks/{task}.log",
        benchmark:
            "<benchmarks>/attacks/{task}.tsv"
        wildcard_constraints:
            task=any_of(PLAN.attack_tasks),
        conda:
            "../envs/core.yaml"
        resources:
            mem_mb=doubling(2000),
            runtime=doubling(20),
        params:
            spec=spec_of(PLAN.attacks_spec),
            stage_version=plan.STAGE_VERSIONS["attacks"],
        message:
            "Attacks on judges from {wildcards.task}"
        script:
            "../workflow_scripts/make_attacks.py"

    rule measure_attacks:
        input:
            inputs_of(PLAN.attack_rates_inputs),
        output:
            rates=update("results/attacks/rates.parquet"),
            examples=update("results/attacks/examples.parquet"),
        log:
            "<logs>/attacks.log",
        benchmark:
            "<benchmarks>/attacks.tsv"
        conda:
            "../envs/core.yaml"
        resources:
            mem_mb=doubling(4000),
            runtime=doubling(20),
        params:
            spec=spec_of(PLAN.attack_rates_spec),
            stage_version=plan.STAGE_VERSIONS["attacks"],
        message:
            "Error rates of judges under attack"
        script:
            "../workflow_scripts/measure_attacks.py"
