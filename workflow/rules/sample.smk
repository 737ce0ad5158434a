rule configure:
    output:
        report(
            "results/{scale}/{experiment}/config.yaml",
            caption="../report/config.rst",
            category="3 Configuration",
            labels={"experiment": "{experiment}"},
        ),
    log:
        "results/{scale}/logs/configure/{experiment}.log",
    conda:
        "../../environment.yml"
    params:
        config=lambda w: plan.digest(experiment_of(w).model_dump(mode="json")),
    shell:
        "python -m learnability configure {wildcards.experiment} --scale {wildcards.scale} --log {log}"


rule sample:
    input:
        lambda w: sources_of("verbs.sample", teachers.module_of(experiment_of(w).teacher.kind)),
    output:
        "results/{scale}/{experiment}/samples.safetensors",
    log:
        "results/{scale}/logs/sample/{experiment}.log",
    priority: 1e18  # every training job of the experiment waits for it
    conda:
        "../../environment.yml"
    params:
        config=lambda w: plan.digest(plan.sample_config(experiment_of(w))),
    shell:
        "python -m learnability sample {wildcards.experiment} --scale {wildcards.scale} --log {log}"
