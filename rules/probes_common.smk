"""What the rules of probes ask of the plan. No rules here."""


def backbone_manifest(wildcards):
    """What says where the frozen model lies."""
    return f"results/prepared/{PLAN.backbone_of(wildcards.features)}.json"


def training_features(wildcards):
    """Hidden states that a probe is trained on: by set, then in the order of the spec's tables."""
    pairs = PLAN.dataset_tables(PLAN.probe(wildcards.judge).dataset)
    return tables_of(
        "features/{features}/{model}/{task}", [(name, *p) for name in PLAN.features_of(wildcards.judge) for p in pairs]
    )


def probe_backbone(wildcards):
    """What says where the frozen model of a probe lies."""
    return f"results/prepared/{PLAN.backbone_of(PLAN.features_of(wildcards.judge)[0])}.json"


def prediction_tables(wildcards):
    """What a probe tells of rows that it has not learnt from, and what its baselines tell of them."""
    asked = PLAN.probe(wildcards.judge).backbone_baselines
    return [
        f"results/judges/{wildcards.judge}/predictions.parquet",
        *tables_of("baselines/{judge}/{name}", [(wildcards.judge, n) for n in asked]),
    ]


def notes_of_baselines(wildcards):
    """How those baselines came about that load the backbone."""
    return [f"results/baselines/{wildcards.judge}/{name}.json" for name in PLAN.probe(wildcards.judge).backbone_baselines]


def probe_metrics():
    """Figures of the probes, which the report shows."""
    return [f"results/judges/{judge}/metrics.json" for judge in PLAN.judges("probe") if judge in PLAN.config.scorers]


# --- resources ---


def memory_of_backbone(wildcards, input, attempt):
    """Megabytes of a job that fits a frozen model: room for its weights in float32 several times over, and for all else."""
    files = json.loads(Path(input.backbone).read_text("utf-8"))["files"]
    return doubling(8000 + 10 * sum(file["size"] for file in files) // 1_000_000)(wildcards, attempt)
