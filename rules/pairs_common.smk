"""What the rules about two answers ask of the plan. No rules here."""


def pair_files(name):
    """The tables of a set of pairs: one per two models, or the one of a file."""
    return [f"results/pairs/{name}/{part}.parquet" for part in PLAN.pair_parts(name)]


def preference_files():
    """Verdicts of pairwise judges, in the order of `PLAN.compared`."""
    return [f"results/labels/{judge}/pairs/{name}.parquet" for judge, name in PLAN.compared]


def rank_files():
    """What is told of verdicts on pairs; nothing where no judge compares any."""
    made = ("pair_agreement", "ranks", "rank_correlations")
    return [f"results/{name}.parquet" for name in made] if PLAN.ranked_sets else []


def rank_exports():
    """The ranks for other programs."""
    return ["results/ranks.csv", "results/ranks.md"] if PLAN.ranked_sets else []


def sets_from(imported):
    """Regular expression of the sets that come from a file, or of those that are made of answers."""
    return one_of([name for name, entry in PLAN.config.pairs.items() if bool(entry.source) == imported])


def models_of_pairs():
    """Regular expression of the parts that two models make."""
    return one_of(sorted({part for name, entry in PLAN.config.pairs.items() if not entry.source for part in PLAN.pair_parts(name)}))


def pair_answers_of(side):
    """Input function: the answers of the first model of a part, or of the other."""
    return lambda wildcards: tables_of("candidates/{model}/{task}", PLAN.pair_tables(wildcards.pair_set, wildcards.part)[side])


def pair_gold_of(side):
    """Input function: gold's verdicts on these answers; none without a gold judge."""

    def paths(wildcards):
        gold = PLAN.config.pairs[wildcards.pair_set].gold
        answers = PLAN.pair_tables(wildcards.pair_set, wildcards.part)[side]
        return tables_of("labels/{judge}/{model}/{task}", [(gold, *pair) for pair in answers]) if gold else []

    return paths


def pair_source(wildcards):
    """The file that a set of pairs is imported from."""
    return PLAN.pair_file(wildcards.pair_set)


def pairs_to_compare(wildcards):
    """All tables of a set."""
    return pair_files(wildcards.pair_set)


def pairs_to_learn(wildcards):
    """All tables of the sets that a judge is trained on."""
    return [path for name in sorted(PLAN.pair_judge(wildcards.judge).pairs) for path in pair_files(name)]


def pair_checkpoint_of(wildcards):
    """What says where a pairwise encoder lies: its own folder when trained here, else what `prepare` found."""
    if wildcards.judge in PLAN.trained_pair_encoders:
        return f"results/judges/{wildcards.judge}/judge.json"
    return f"results/prepared/judge-{wildcards.judge}.json"


def pair_manifest_of(wildcards):
    """What says where a language model lies that compares: in its own folder when tuned here, else where `prepare` found it."""
    if wildcards.judge in PLAN.tuned_pair_judges:
        return f"results/judges/{wildcards.judge}/manifest.json"
    return f"results/prepared/judge-{wildcards.judge}.json"


def gpus_to_tune(wildcards):
    """GPUs that fit a tuned judge together."""
    return PLAN.gpus_to_tune(wildcards.judge)


def gpus_of_pair_judge(wildcards):
    """GPUs over which a language model that compares is spread."""
    return PLAN.gpus_of_pair_judge(wildcards.judge)


def pairs_spec(pair_set, part):
    """Of one table of a set."""
    return PLAN.pairs_spec(pair_set, part)


def preferences_spec(judge, pair_set):
    """Of a judge's verdicts on a set."""
    return PLAN.preferences_spec(judge, pair_set)
