rule train:
    input:
        sources_of_job,
        samples="results/{scale}/{experiment}/samples.safetensors",
    output:
        metrics="results/{scale}/{experiment}/{learner}/{point}/metrics.parquet",
        model="results/{scale}/{experiment}/{learner}/{point}/model.safetensors",
    log:
        "results/{scale}/logs/train/{experiment}/{learner}/{point}.log",
    priority: lambda w: job_of(w).work()
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        gpu=int(SETTINGS.device == "cuda"),
    params:
        config=lambda w: job_of(w).digest(),
    shell:
        "python -m learnability train {wildcards.experiment} {wildcards.learner} {wildcards.point}"
        " --scale {wildcards.scale} --threads {threads} --log {log}"
