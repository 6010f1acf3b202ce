# The only rule with network access: on a cluster it runs on the login node. `localrule: True` instead of a `localrules` list, which
# is lost when another workflow imports these rules as a module.
rule prepare_asset:
    output:
        update("results/prepared/{asset}.json"),
    log:
        "<logs>/prepared/{asset}.log",
    benchmark:
        "<benchmarks>/prepared/{asset}.tsv"
    # The hub's client repeats what may succeed; without a network, a retry only prints the error again.
    retries: 0
    localrule: True
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=doubling(2000),
        runtime=240,
    params:
        spec=spec_of(lambda asset: PLAN.assets[asset]),
        stage_version=plan.STAGE_VERSIONS["prepared"],
    message:
        "Fetch and pin {wildcards.asset}"
    script:
        "../workflow_scripts/prepare_asset.py"
