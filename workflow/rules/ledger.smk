rule ledger:
    input:
        sources_of("verbs.ledger"),
        verdicts=lambda w: [str(plan.Layout(w.scale).verdict(c)) for c in claims_of(w.scale)],
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


# The verdicts go to W&B, and Snakemake makes its own report of all that is above: it is run a second time, on
# the finished part of the graph, while the first one holds the working directory's lock.
rule report:
    input:
        lambda w: measurements_of(w.scale),
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
        "python -m learnability publish --scale {wildcards.scale} && "
        "python -m snakemake measurements --report {output} --nolock --cores 1"
        " --config scale={wildcards.scale} 'experiments={params.experiments}' > {log} 2>&1"
