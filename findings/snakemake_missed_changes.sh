#!/usr/bin/env bash
# Tool: snakemake 9.27.1.
# Behaviour: two changes of a workflow that change its results are not noticed. Exchanging the names of two input files (references and
# candidates) leaves the set of inputs as it was, and nothing is run. A file that disappears from the folder of a checkpoint is not made
# again: the files are listed as they are, and the aggregate is computed from the rest.
# Seen: "Nothing to be done" and the verdicts of the exchanged columns; a count of 2 instead of 3, exit status 0.
# Why it matters: an evaluation keeps results that its Snakefile no longer describes, and lost shards shrink a benchmark silently.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile snakemake==9.27.1 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
cd "$folder"
cat >Snakefile <<'SNAKEFILE'
rule all:
    input: "verdicts.txt", "count.txt"

rule judge:
    input: references="gold.txt", candidates="model.txt"
    output: "verdicts.txt"
    shell: "paste {input.references} {input.candidates} > {output}"

checkpoint split:
    output: directory("shards")
    shell: "mkdir -p {output} && for i in 1 2 3; do echo $i > {output}/$i.txt; done"

rule score:
    input: "shards/{i}.txt"
    output: "scores/{i}.txt"
    shell: "cp {input} {output}"

def scores(wildcards):
    shards = checkpoints.split.get().output[0]
    return expand("scores/{i}.txt", i=glob_wildcards(shards + "/{i}.txt").i)

rule count:
    input: scores
    output: "count.txt"
    shell: "cat {input} | wc -l > {output}"
SNAKEFILE
echo gold >gold.txt
echo model >model.txt
run() { env/bin/snakemake --cores 1 >run.log 2>&1 && { grep -o "Nothing to be done" run.log || echo "ran"; }; }
{
    run
    cat verdicts.txt count.txt
    sed -i 's/references="gold.txt", candidates="model.txt"/candidates="gold.txt", references="model.txt"/' Snakefile
    run
    cat verdicts.txt
    rm shards/2.txt
    run
    cat count.txt
} | tr '\t' ' ' >seen
diff - seen <<'EXPECTED'
ran
gold model
3
Nothing to be done
gold model
ran
2
EXPECTED
echo "as described"
