# Downloads happen here and nowhere else: on a cluster, on the node that has a network. It says so itself, because a list of local
# rules is lost when another workflow takes the rules under other names.
rule prepare_asset:
    output:
        update("results/prepared/{asset}.json"),
    log:
        "<logs>/prepared/{asset}.log",
    benchmark:
        "<benchmarks>/prepared/{asset}.tsv"
    localrule: True
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=grown(2000),
        runtime=240,
    params:
        spec=spec_of(asset_spec),
        stage_version=plan.STAGE_VERSIONS["prepared"],
    message:
        "Fetch and pin {wildcards.asset}"
    script:
        "../workflow_scripts/prepare_asset.py"
