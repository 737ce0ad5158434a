rule ledger:
    input:
        sources_of("verbs.ledger"),
        verdicts=lambda w: [
            str(plan.Layout(w.scale).verdict(c)) for c in claims_of(w.scale)
        ],
    output:
        csv=report(
            "results/{scale}/ledger.csv",
            caption="../report/ledger.rst",
            category="1 Ledger",
            labels={"table": "all claims"},
        ),
        md="results/{scale}/ledger.md",
        rst="results/{scale}/ledger.rst",
    log:
        "results/{scale}/logs/ledger.log",
    conda:
        "../../environment.yml"
    shell:
        "python -m learnability ledger --scale {wildcards.scale} --log {log}"


# Snakemake's own report of all that is above. It runs Snakemake a second time, on the finished part of the
# graph, while the first one holds the working directory's lock.
rule report:
    input:
        lambda w: ledger_inputs(w.scale),
        "results/{scale}/ledger.csv",
    output:
        "results/{scale}/report.html",
    log:
        "results/{scale}/logs/report.log",
    conda:
        "../../environment.yml"
    params:
        experiments=lambda w: json.dumps(chosen(w.scale)),
    shell:
        "python -m snakemake measurements --report {output} --nolock --cores 1"
        " --config scale={wildcards.scale} 'experiments={params.experiments}' > {log} 2>&1"


rule publish:
    input:
        "results/{scale}/ledger.csv",
        figures=lambda w: [
            str(plan.Layout(w.scale).figure(c, "png")) for c in claims_of(w.scale)
        ],
    output:
        "results/{scale}/wandb/verdicts.json",
    log:
        "results/{scale}/logs/publish.log",
    conda:
        "../../environment.yml"
    shell:
        "python -m learnability publish --scale {wildcards.scale} --log {log}"
