"""What the rules of filters and students ask of the plan. No rules here."""


def chosen_candidates(wildcards):
    return tables_of("candidates/{model}/{task}", PLAN.filter_tables(wildcards.filter))


def chosen_labels(wildcards):
    """The verdicts that a filter goes by; none for a control."""
    judge = PLAN.filter_judge(wildcards.filter)
    return (
        tables_of("labels/{judge}/{model}/{task}", [(judge, *pair) for pair in PLAN.filter_tables(wildcards.filter)]) if judge else []
    )


def questions_of_filter(wildcards):
    return tables_of("tasks/{task}", [(task,) for task in PLAN.config.filters[wildcards.filter].tasks])


def filtered_for(wildcards):
    """The answers that a student learns from."""
    student = PLAN.students[wildcards.model]
    return f"results/filtered/{student.filter}/{student.keep}.parquet"


def base_of(wildcards):
    """What says where a student's base model lies."""
    return f"results/prepared/base-{PLAN.students[wildcards.model].key}.json"


def overlap_of_student(wildcards):
    """The check of what a student learnt from against the test task that it answers."""
    if wildcards.task not in PLAN.config.tasks.test:
        return []
    return f"results/filtered/{PLAN.students[wildcards.model].filter}/overlap/{wildcards.task}.json"


def student_files():
    """What the report shows of students; nothing without one."""
    return ["results/students.parquet"] if PLAN.students else []


# --- resources ---


def memory_of_base(wildcards, input, attempt):
    """Megabytes of a job that fits a prepared model: room for its weights in float32 several times over, and for all else."""
    files = json.loads(Path(input.base).read_text("utf-8"))["files"]
    return doubling(12_000 + 6 * sum(file["size"] for file in files) // 1_000_000)(wildcards, attempt)


def student_gpus(wildcards):
    """GPUs that fit a student together."""
    return PLAN.student_gpus(wildcards.model)
