"""The verbs that the rules call; each can be typed by hand.

    learnability check                                   validate the config, list the jobs
    learnability sample fig2a                            draw the samples of an experiment
    learnability train fig2a 3resnet m200                train (or solve) one learner at one point
    learnability evaluate fig2a                          collect the scores
    learnability judge B-fig2a | figure B-fig2a          one claim
    learnability ledger | publish                        all claims; verdicts to W&B

This module only finds files and hands them on. It imports what a verb needs when it is called, so that a
light verb starts fast, and pins the BLAS pools before anything can start them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from learnability.errors import UserError
from learnability.warm import POOLS


class Log:
    """Says lines on the terminal, and in a file if there is one, behind the job's name."""

    def __init__(self, path: Path | None, name: str) -> None:
        self.name, self.file = name, None
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self.file = path.open("w", buffering=1)
            except OSError as error:
                raise UserError(f"{path}: cannot be written: {error.strerror}") from None

    def __call__(self, line: str) -> None:
        if self.file:
            print(line, file=self.file)
        with suppress(OSError):  # a terminal that is gone must not end the job
            print(f"[{self.name}] {line}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="learnability",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--scale", help="smoke, laptop or paper; default: config.yaml's")
    common.add_argument("--config", type=Path, default=Path("config"), help="folder of the config")
    common.add_argument("--threads", type=int, default=1, choices=range(1, 1025), metavar="N")
    common.add_argument("--log", type=Path)
    verbs = parser.add_subparsers(dest="verb", required=True)

    def verb(name: str, *arguments: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, parents=[common])
        for argument in arguments:
            added.add_argument(argument)
        return added

    verb("check")
    verb("configure", "experiment")
    verb("sample", "experiment")
    verb("train", "experiment", "learner", "point")
    verb("evaluate", "experiment")
    verb("judge", "claim")
    verb("figure", "claim")
    verb("ledger").add_argument(
        "--partial", action="store_true", help="also list claims without a verdict, with the reason"
    )
    verb("publish")
    return parser


class Context:
    """Config and places for one call."""

    def __init__(self, args: argparse.Namespace) -> None:
        from learnability.config import choose, load_experiments, load_settings, parse_settings
        from learnability.plan import Layout

        if given := os.environ.get("LEARNABILITY_SETTINGS"):  # config.yaml with --config laid over
            self.settings = parse_settings(json.loads(given))
        else:
            self.settings = load_settings(args.config)
        self.scale = args.scale or self.settings.scale
        self.experiments = load_experiments(args.config, self.scale)
        self.chosen = list(choose(self.experiments, self.settings.experiments, args.config))
        self.layout = Layout(self.scale)

    def experiment(self, name: str) -> Any:
        if name not in self.experiments:
            raise UserError(f"no experiment {name!r}; allowed: {', '.join(self.experiments)}")
        return self.experiments[name]

    def claim(self, name: str) -> tuple[list[Any], dict[str, Any]]:
        """The experiment that serves a claim with those it joins, and the claim's parameters."""
        from learnability.plan import judged_on

        for experiment in self.experiments.values():
            if name in experiment.claims:
                return judged_on(self.experiments, experiment.id), experiment.claims[name]
        known = [c for e in self.experiments.values() for c in e.claims]
        raise UserError(f"no claim {name!r}; allowed: {', '.join(known)}")

    def claims(self) -> list[str]:
        """Claims of the chosen experiments."""
        return [c for name in self.chosen for c in self.experiment(name).claims]

    def tracker(self, name: str, run_id: str, group: str, job_type: str, config: dict, say: Log) -> Any:
        from learnability.tracking import Tracker

        tracking = self.settings.tracking
        return Tracker.open(
            mode=tracking.mode,
            project=tracking.project,
            entity=tracking.entity,
            run_id=run_id,
            name=name,
            group=group,
            job_type=job_type,
            config=config,
            folder=self.layout.tracking(run_id),
            marker=Path(self.settings.scratch) / "tracking-offline.json",
            say=say,
        )


def check(args: argparse.Namespace, say: Log) -> None:
    from learnability.plan import jobs

    context = Context(args)
    for name, experiment in context.experiments.items():
        found = jobs(experiment)
        say(f"{name}: {len(found)} jobs at scale {context.scale}, claims {', '.join(experiment.claims)}")
        for learner in experiment.learners:
            say(f"  {learner}: {', '.join(job.point for job in found if job.learner == learner)}")


def configure(args: argparse.Namespace, say: Log) -> None:
    """The experiment as resolved for the scale, for the report and for the reader."""
    import yaml

    from learnability.artifacts import write_text

    context = Context(args)
    content = context.experiment(args.experiment).model_dump(mode="json")
    head = f"# {args.experiment} at scale {context.scale}: every default and override resolved\n"
    write_text(context.layout.config(args.experiment), head + yaml.safe_dump(content, sort_keys=False))


def sample(args: argparse.Namespace, say: Log) -> None:
    from learnability.plan import sample_config
    from learnability.verbs import sample as stage

    context = Context(args)
    experiment = context.experiment(args.experiment)
    stage.run(sample_config(experiment), context.layout.samples(args.experiment), say)


def train(args: argparse.Namespace, say: Log) -> None:
    context = Context(args)
    from learnability.plan import find_job
    from learnability.training.device import keep_freed_memory, pick_device, set_threads
    from learnability.verbs import train as stage

    job = find_job(context.experiment(args.experiment), args.learner, args.point)
    scratch = Path(context.settings.scratch)
    set_threads(args.threads)
    keep_freed_memory()
    device = pick_device(context.settings.device, scratch)
    place = (job.experiment, job.learner, job.point)
    config = {**job.config(), "scale": context.scale}
    run_id = f"{context.scale}-{job.digest()}"
    name = f"{job.learner} {job.point} ({context.scale})"
    try:
        (scratch / run_id).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"config: scratch: {scratch} cannot be written: {error.strerror}") from None
    with context.tracker(name, run_id, job.experiment, job.learner, config, say) as tracker:
        stage.run(
            job,
            samples=context.layout.samples(job.experiment),
            metrics=context.layout.metrics(*place),
            model=context.layout.model(*place),
            scratch=scratch / run_id,
            device=device,
            tracker=tracker,
            say=say,
        )


def evaluate(args: argparse.Namespace, say: Log) -> None:
    from learnability.plan import jobs
    from learnability.verbs import evaluate as stage

    context = Context(args)
    found = jobs(context.experiment(args.experiment))
    paths = [(job, context.layout.metrics(job.experiment, job.learner, job.point)) for job in found]
    stage.run(paths, context.layout.scores(args.experiment))


def judge(args: argparse.Namespace, say: Log) -> None:
    from learnability.plan import claim_config
    from learnability.verbs import judge as stage

    context = Context(args)
    found, given = context.claim(args.claim)
    word = stage.run(
        args.claim,
        given,
        context.scale,
        claim_config(found, args.claim),
        [context.layout.scores(experiment.id) for experiment in found],
        context.layout.verdict(args.claim),
    )
    say(word)


def figure(args: argparse.Namespace, say: Log) -> None:
    from learnability.verbs import figure as stage

    context = Context(args)
    found, given = context.claim(args.claim)
    outputs = {ending: context.layout.figure(args.claim, ending) for ending in ("svg", "pdf", "png")}
    stage.run(args.claim, given, [context.layout.scores(experiment.id) for experiment in found], **outputs)


def ledger(args: argparse.Namespace, say: Log) -> None:
    from learnability.verbs import ledger as stage

    context = Context(args)
    verdicts = {claim: context.layout.verdict(claim) for claim in context.claims()}
    missing = {}
    if args.partial:
        needs = {claim: (context.layout, context.claim(claim)[0], claim) for claim in verdicts}
        missing = {claim: stage.why_open(*need) for claim, need in needs.items() if not stage.is_current(*need)}
        verdicts = {c: path for c, path in verdicts.items() if c not in missing}
    outputs = {ending: context.layout.ledger(ending) for ending in ("csv", "md", "rst")}
    stage.run(verdicts, context.scale, outputs, missing)
    say(f"{outputs['csv']}: {len(verdicts)} verdict(s), {len(missing)} open")


def publish(args: argparse.Namespace, say: Log) -> None:
    from learnability.plan import digest
    from learnability.verbs import publish as stage

    context = Context(args)
    figures = [context.layout.figure(claim, "png") for claim in context.claims()]
    config = {e: context.experiments[e].model_dump(mode="json") for e in context.chosen}
    run_id = f"{context.scale}-verdicts-{digest(config)}"
    name = f"verdicts ({context.scale})"
    with context.tracker(name, run_id, "verdicts", "verdict", config, say) as tracker:
        stage.run(context.layout.ledger("csv"), figures, tracker)


def main(arguments: list[str] | None = None) -> int:
    """Run one verb; 0 if it went well, 1 with one line on stderr if the user can mend it."""
    args = _parser().parse_args(arguments)
    os.environ.update(dict.fromkeys(POOLS, str(args.threads)))
    words = [getattr(args, part, "") for part in ("experiment", "claim", "learner", "point")]
    name = "/".join(word for word in words if word) or args.verb
    try:
        say = Log(args.log, name)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if parent := os.environ.get("LEARNABILITY_PARENT"):
        from learnability.workdir import end_with

        end_with(int(parent), say)
    try:
        globals()[args.verb](args, say)
    except UserError as error:
        for line in str(error).splitlines():
            say(f"error: {line}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; run the same command again to go on")
        return 130
    except Exception as error:
        say(traceback.format_exc().rstrip())
        say(f"error: {type(error).__name__}: {error}")
        return 2
    return 0
