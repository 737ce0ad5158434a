rule judge:
    input:
        lambda w: sources_of("verbs.judge", claims.module_of(w.claim)),
        scores=scores_of,
    output:
        report(
            "results/{scale}/verdicts/{claim}.json",
            caption="../report/verdict.rst",
            category="2 Claims",
            labels={"claim": "{claim}", "what": "verdict"},
        ),
    log:
        "results/{scale}/logs/judge/{claim}.log",
    conda:
        "../../environment.yml"
    params:
        config=claim_digest,
    shell:
        "python -m learnability judge {wildcards.claim} --scale {wildcards.scale} --log {log}"


rule figure:
    input:
        lambda w: sources_of("verbs.figure", figures.module_of(w.claim)),
        scores=scores_of,
        curves=curves_of,
    output:
        report(
            "results/{scale}/figures/{claim}.svg",
            caption="../report/figure.rst",
            category="2 Claims",
            labels={"claim": "{claim}", "what": "figure"},
        ),
        "results/{scale}/figures/{claim}.pdf",
        "results/{scale}/figures/{claim}.png",
    log:
        "results/{scale}/logs/figure/{claim}.log",
    conda:
        "../../environment.yml"
    params:
        config=claim_digest,
        caption=lambda w: claims.load(w.claim).STATEMENT,
    shell:
        "python -m learnability figure {wildcards.claim} --scale {wildcards.scale} --log {log}"
