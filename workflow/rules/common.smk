# What the rules share: the config checked before any job, and lookups from wildcards to jobs.

import json
import os
import sys
from functools import cache
from pathlib import Path

from learnability import claims, figures, learners, plan, sources, teachers, warm
from learnability.config import choose, load_experiments, load_settings
from learnability.errors import UserError
from learnability.workdir import clear_stale_lock


def or_exit(action):
    """Run ``action``; a mistake of the user's ends the call with its one line, not a traceback."""
    try:
        return action()
    except UserError as error:
        print(
            *[f"error: {line}" for line in str(error).splitlines()],
            sep="\n",
            file=sys.stderr,
        )
        sys.stderr.flush()
        os._exit(1)  # sys.exit would be reported by Snakemake as an error of the Snakefile


SETTINGS = or_exit(lambda: load_settings(Path("config"), dict(config)))
SCALE = SETTINGS.scale

# Jobs find this interpreter, this source and these settings, also on a cluster node, where this file
# is read again. They are no params: where Python lies or how runs are tracked changes no number.
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
    PYTHONPATH=os.pathsep.join([str(sources.PACKAGE.parent), os.environ.get("PYTHONPATH", "")]),
    LEARNABILITY_SETTINGS=SETTINGS.model_dump_json(),
    LEARNABILITY_PARENT=str(os.getpid()),
)

# The same command goes on after a kill (profiles/default does its part).
if clear_stale_lock():
    print("removed the lock of a Snakemake that was killed", file=sys.stderr)


wildcard_constraints:
    scale="smoke|laptop|paper",
    experiment="[A-Za-z0-9._-]+",
    learner="[A-Za-z0-9._-]+",
    point="[A-Za-z0-9._-]+",
    claim="[A-Za-z0-9._-]+",


@cache
def experiments(scale):
    """Experiments of a scale by id; those that config.yaml leaves out can still be named as targets."""
    return or_exit(lambda: load_experiments(Path("config"), scale))


@cache
def chosen(scale):
    """Experiments that `rule all` asks for."""
    found = experiments(scale)
    return list(or_exit(lambda: choose(found, SETTINGS.experiments, Path("config"))))


def experiment_of(wildcards):
    found = experiments(wildcards.scale)
    return or_exit(lambda: lookup(found, "experiment", wildcards.experiment))


def job_of(wildcards):
    experiment = experiment_of(wildcards)
    return or_exit(lambda: plan.find_job(experiment, wildcards.learner, wildcards.point))


def claim_of(wildcards):
    """The experiment that serves the claim, and those it joins."""
    found = experiments(wildcards.scale)
    served = {c: plan.judged_on(found, e.id) for e in found.values() for c in e.claims}
    return or_exit(lambda: lookup(served, "claim", wildcards.claim))


def lookup(table, what, name):
    if name not in table:
        raise UserError(f"no {what} {name!r}; allowed: {', '.join(table)}")
    return table[name]


def sources_of(*modules):
    """Source files as rule inputs, relative to the working directory."""
    return [os.path.relpath(path) for path in sources.closure(*modules)]


def sources_of_job(wildcards):
    """What training one learner runs: the verb, its network and its teacher, not its neighbours."""
    job = job_of(wildcards)
    teacher = teachers.module_of(job.parts[0].teacher.kind)
    own = {
        "kernel": ["verbs.part", "training.kernel_ridge"],
        "handmade": ["verbs.part", "training.minimal_norm"],
        "densenet": ["verbs.dense", "training.dense_fit"],
        "polynomial": ["verbs.dense", "training.polynomial2"],
        "interpolate": ["verbs.logistic"],
        "two_phases": ["verbs.two_phases"],
        "margin": ["verbs.margins"],
        "definition": ["verbs.margins"],
    }
    if job.spec.train in own:
        return sources_of("verbs.train", *own[job.spec.train], teacher)
    how = ["training.fit"] if job.training else ["training.closed_form"]
    how += [] if job.spec.train == "hidden" else ["learners.linearised"]
    return sources_of("verbs.train", "verbs.part", *how, learners.module_of(job.spec.network), teacher)


def metrics_of(wildcards):
    layout = plan.Layout(wildcards.scale)
    return [
        str(layout.metrics(job.experiment, job.learner, job.point)) for job in plan.jobs(experiment_of(wildcards))
    ]


def scores_of(wildcards):
    return [str(plan.Layout(wildcards.scale).scores(e.id)) for e in claim_of(wildcards)]


def curves_of(wildcards):
    """Metrics of the learners whose training a claim's figure draws; most draw none."""
    layout, found = plan.Layout(wildcards.scale), claim_of(wildcards)
    given = claims.load(wildcards.claim).Parameters(**found[0].claims[wildcards.claim])
    wanted = figures.learners(wildcards.claim, given)
    mine = [job for experiment in found for job in plan.jobs(experiment) if job.learner in wanted]
    return [str(layout.metrics(job.experiment, job.learner, job.point)) for job in mine]


def claim_digest(wildcards):
    """What a claim's judge and figure depend on beside the scores."""
    return plan.claim_config(claim_of(wildcards), wildcards.claim)


def claims_of(scale):
    return [claim for name in chosen(scale) for claim in experiments(scale)[name].claims]


def measurements_of(scale):
    """All that the chosen experiments ask for. Metrics and scores are named too, so that one that was
    deleted is made again, with what follows from it."""
    layout = plan.Layout(scale)
    found = []
    for name in chosen(scale):
        experiment = experiments(scale)[name]
        found += [layout.metrics(job.experiment, job.learner, job.point) for job in plan.jobs(experiment)]
        found += [layout.scores(name), layout.config(name)]
        found += [layout.verdict(claim) for claim in experiment.claims]
        found += [layout.figure(claim, "svg") for claim in experiment.claims]
    return [str(path) for path in found]


experiments(SCALE)  # all of the config is checked here, before any job
chosen(SCALE)
