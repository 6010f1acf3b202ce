"""What the rules about two answers ask of the plan. No rules here."""


def pair_files(name):
    """The tables of a set of pairs: one per two models, or the one of a file."""
    return [f"results/pairs/{name}/{part}.parquet" for part in PLAN.pair_parts(name)]


def preference_files():
    """Verdicts of pairwise judges, in the order of `PLAN.compared_sets`."""
    return [f"results/labels/{judge}/pairs/{name}.parquet" for judge, name in PLAN.compared_sets]


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


def gpus_to_tune(wildcards):
    """GPUs that fit a tuned judge together."""
    return PLAN.gpus_to_tune(wildcards.judge)


def comparison_inputs(wildcards):
    """Input function, to unpack: the files that a pairwise judge is loaded from."""
    return PLAN.kind_of(wildcards.judge).inputs(wildcards.judge, PLAN.config.judges[wildcards.judge])
