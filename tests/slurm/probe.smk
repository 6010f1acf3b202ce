"""Jobs that show what SLURM gave them; run with the project's own profile."""


def memory(wildcards, attempt):
    return 400 * 2 ** (attempt - 1)


rule card:
    output:
        "card.txt",
    resources:
        gpu=1,
        mem_mb=500,
        runtime=5,
    shell:
        "echo $CUDA_VISIBLE_DEVICES > {output}"


# Takes 400 MB beside the two Snakemakes that every job of SLURM holds: too much for the first attempt.
rule hungry:
    output:
        "hungry.txt",
    resources:
        mem_mb=memory,
        runtime=5,
        attempt=lambda wildcards, attempt: attempt,
    shell:
        "python3 -c \"import time; held = b'x' * 400_000_000; time.sleep(5)\" && echo {resources.attempt} {resources.mem_mb} > {output}"


rule slow:
    output:
        "slow.txt",
    resources:
        mem_mb=500,
        runtime=5,
    shell:
        "touch {output}.begun && sleep 25 && touch {output}"


rule after:
    input:
        "slow.txt",
    output:
        "after.txt",
    resources:
        mem_mb=500,
        runtime=5,
    shell:
        "touch {output}"
