rule evaluate:
    input:
        sources_of("verbs.evaluate"),
        metrics=metrics_of,
    output:
        "results/{scale}/{experiment}/scores.parquet",
    log:
        "results/{scale}/logs/evaluate/{experiment}.log",
    conda:
        "../../environment.yml"
    shell:
        "python -m learnability evaluate {wildcards.experiment} --scale {wildcards.scale} --log {log}"
