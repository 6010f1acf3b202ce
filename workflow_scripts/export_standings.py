"""The standings as CSV, Markdown, LaTeX and a picture."""

from pathlib import Path

from bert_judge.logs import job_log
from bert_judge.report.exports import write_exports

with job_log(snakemake.log[0]):
    made = snakemake.output
    write_exports(Path(snakemake.input[0]), Path(made.csv), Path(made.markdown), Path(made.latex), Path(made.picture))
