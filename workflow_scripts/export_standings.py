"""The standings as CSV, Markdown, LaTeX and a picture."""

from pathlib import Path

from bert_judge.report.exports import write_exports
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    made = snakemake.output
    write_exports(Path(snakemake.input[0]), Path(made.csv), Path(made.markdown), Path(made.latex), Path(made.picture))
