"""Experiment tracking: the one module that knows Weights & Biases.

A training job is one W&B run (group = experiment, job type = learner, config = all of it), and the
verdicts are a run of their own. Tracking never fails a job, never asks for or prints a key, and
uses the network in mode ``online`` only. If no server answers then, runs are written offline, which
is said once over all jobs that share a marker file; ``wandb sync`` sends them later.
"""

from __future__ import annotations

import functools
import glob
import json
import netrc
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd

MARKER_SECONDS = 3600.0  # how long no job tries the server again after one has failed to reach it
_WISHES = dict.fromkeys(("online", "run", "shared"), "online") | {"disabled": "disabled"}
_FAILURES = (Exception, SystemExit)  # wandb's teardown may call sys.exit
_SETTINGS = {  # wandb shall wait in vain for seconds only, and send nothing but what is logged
    **{"init_timeout": 5.0, "finish_timeout": 30.0, "finish_timeout_raises": True},
    **{"console": "off", "silent": True, "reinit": "create_new", "save_code": False},
    **{"disable_code": True, "disable_git": True, "x_save_requirements": False},
    **{f"x_disable_{what}": True for what in ("machine_info", "meta", "stats", "viewer")},
}


def resolve_mode(mode: str, environ: Mapping[str, str]) -> str:
    """The mode to run in: ``online``, ``offline`` or ``disabled``.

    The environment is the user's most immediate wish, so it always wins over the config:
    ``WANDB_DISABLED=true``, then ``WANDB_MODE`` (a name unknown to wandb means ``offline``). The
    config's ``auto`` is ``online`` with an API key (environment or netrc file), else ``offline``.
    """
    if mode not in {"auto", "online", "offline", "disabled"}:
        raise ValueError(f"tracking mode {mode!r} is not auto, online, offline or disabled")
    if environ.get("WANDB_DISABLED", "").strip().lower() in {"true", "1", "yes", "on"}:
        return "disabled"
    if wish := environ.get("WANDB_MODE", "").strip().lower():
        return _WISHES.get(wish, "offline")
    if mode != "auto":
        return mode
    return "online" if _has_key(environ) else "offline"


def _quietly(method: Callable[..., None]) -> Callable[..., None]:
    """Do nothing once the tracker is off (or in a fork), and turn it off if wandb fails."""

    @functools.wraps(method)
    def guarded(self: Tracker, *args: Any, **kwargs: Any) -> None:
        if self._on and self._process == os.getpid():
            with _environment(self._folder):
                try:
                    method(self, *args, **kwargs)
                except _FAILURES as error:
                    self._turn_off(error)

    return guarded


class Tracker(AbstractContextManager):
    """One W&B run, as a context manager; at most one is open in a process at a time.

    Steps must not go down. All that is given for one step becomes one row of the history.
    """

    def __init__(self, mode: str, folder: Path, marker: Path, say: Callable[[str], None]) -> None:
        """A tracker without a run; use `Tracker.open`."""
        self.mode, self._on = mode, mode != "disabled"  # mode: what has become of the wish
        self._folder, self._marker, self._say = folder.absolute(), marker, say
        self._process = os.getpid()
        self._wandb = self._run = self._step = None  # the module, the run, the row's step
        self._row, self._summary = dict[str, Any](), dict[str, Any]()

    @classmethod
    def open(
        cls,
        *,
        mode: str,
        project: str,
        entity: str | None,
        run_id: str,
        name: str,
        group: str,
        job_type: str,
        config: dict,
        folder: Path,
        marker: Path,
        say: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
    ) -> Tracker:
        """Start a run, offline if ``online`` does not work out; ``mode`` is the config's.

        ``folder`` belongs to this job alone; an offline rerun replaces the offline run of the same
        ``run_id`` there, an online one goes on with it. ``marker`` is shared by all jobs: while it
        is fresh, none of them tries the server again. ``say`` gets the lines for the user.
        """
        tracker = cls(resolve_mode(mode, os.environ), Path(folder), Path(marker), say)
        where = {"project": project, "entity": entity, "group": group, "job_type": job_type}
        tracker._start(id=run_id, name=name, config=config, **where)
        return tracker

    @_quietly
    def log(self, step: int, values: dict[str, float]) -> None:
        """Log some numbers for ``step``."""
        if self._step not in (None, step):
            self._flush()
        self._step = step
        self._row |= {name: float(value) for name, value in values.items()}

    @_quietly
    def curves(self, step: int, name: str, values: ArrayLike, best: int | None = None) -> None:
        """Log one number per replica (not finite = diverged) as six numbers at most.

        These are ``name/min``, ``q10``, ``q50`` and ``q90`` of the replicas alive, ``alive``
        (their count) and ``best``, the value of replica ``best`` if that one is alive.
        """
        every = np.asarray(values, dtype=float).ravel()
        finite = every[np.isfinite(every)]
        levels = {"min": 0.0, "q10": 0.1, "q50": 0.5, "q90": 0.9} if finite.size else {}
        row = {key: np.quantile(finite, level) for key, level in levels.items()}
        row["alive"] = finite.size
        if best is not None and np.isfinite(every[best]):
            row["best"] = every[best]
        self.log(step, {f"{name}/{key}": value for key, value in row.items()})

    @_quietly
    def table(self, name: str, frame: pd.DataFrame) -> None:
        """Log a table (the verdicts); what is not finite becomes empty."""
        parts = frame.to_json(orient="split", index=False, double_precision=15, default_handler=str)
        self._row[name] = self._wandb.Table(**json.loads(parts), allow_mixed_types=True)

    @_quietly
    def image(self, name: str, path: Path) -> None:
        """Log a figure; anything but an existing PNG or JPEG file is passed over."""
        if Path(path).suffix.lower() in {".png", ".jpg", ".jpeg"} and Path(path).is_file():
            self._row[name] = self._wandb.Image(str(path))

    @_quietly
    def summary(self, values: dict) -> None:
        """Set values that hold for the run as a whole; they are written when it finishes."""
        self._summary |= _plain(values)

    @_quietly
    def finish(self, exit_code: int = 0) -> None:
        """End the run; further calls do nothing."""
        self._flush()
        self._run.summary.update(self._summary)
        self._run.finish(exit_code=exit_code)
        self._wandb.teardown()
        self._on = False

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.finish(exit_code=0 if kind is None else 1)

    @_quietly
    def _start(self, *, id: str, config: dict, **about: str | None) -> None:
        import wandb

        self._wandb = wandb
        written = self._folder / "wandb"
        written.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self._folder / "scratch", ignore_errors=True)
        about |= {"id": id, "config": _plain(config), "dir": str(self._folder)}
        begin = functools.partial(wandb.init, settings=_SETTINGS, **about)
        with suppress(OSError):
            if time.time() - self._marker.stat().st_mtime > MARKER_SECONDS:
                self._marker.unlink()
        if self.mode == "online" and not self._marker.exists():
            before = set(written.glob("run-*"))
            try:
                if _has_key(os.environ):
                    self._run = begin(mode="online", resume="allow")
                    return
            except _FAILURES:
                with suppress(*_FAILURES):
                    wandb.teardown()
                for attempt in set(written.glob("run-*")) - before:
                    shutil.rmtree(attempt, ignore_errors=True)
            self._say_offline()
        self.mode = "offline"
        for earlier in written.glob(f"offline-run-????????_??????-{glob.escape(id)}"):
            shutil.rmtree(earlier, ignore_errors=True)
        self._run = begin(mode="offline")

    def _flush(self) -> None:
        row, self._row = self._row, {}
        if row:
            self._run.log(row, step=self._step, commit=True)

    def _turn_off(self, error: BaseException) -> None:
        self._on = False
        with suppress(*_FAILURES):
            self._wandb.teardown(exit_code=1)
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        reason = reason.replace(os.environ.get("WANDB_API_KEY") or "\n", "***")[:200]
        self._say(f"tracking: off for this job ({reason}); {self._folder} holds what came before")

    def _say_offline(self) -> None:
        """Tell the later jobs, by the marker, and the user, if no other job has done so."""
        with suppress(OSError):
            self._marker.parent.mkdir(parents=True, exist_ok=True)
            with self._marker.open("x", encoding="utf-8") as file:
                json.dump({"tracking": "offline", "since": time.time()}, file)
            reason = "no W&B server in reach (or key refused); runs are written offline to"
            self._say(f"tracking: {reason} {self._folder}, send them later with `wandb sync`")


@contextmanager
def _environment(folder: Path) -> Iterator[None]:
    """The environment that wandb shall see: silent (so it asks for no key), all files in folder."""
    ours = dict.fromkeys(("WANDB_CACHE_DIR", "WANDB_DATA_DIR"), str(folder / "scratch"))
    ours |= {"WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false"}
    before = {name: os.environ.pop(name) for name in ours if name in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)
        os.environ.update(before)


def _has_key(environ: Mapping[str, str]) -> bool:
    """Whether there are credentials for W&B, found out without wandb."""
    host = urlsplit(environ.get("WANDB_BASE_URL") or "https://api.wandb.ai").netloc
    file = environ.get("NETRC") or os.path.join(environ.get("HOME", "~"), ".netrc")
    with suppress(OSError, ValueError, netrc.NetrcParseError):
        if netrc.netrc(os.path.expanduser(file)).authenticators(host):
            return True
    return bool(environ.get("WANDB_API_KEY") or environ.get("WANDB_IDENTITY_TOKEN_FILE"))


def _plain(values: dict) -> dict:
    """The same as JSON knows it: arrays and their scalars by value, other objects by name."""
    return json.loads(json.dumps(values, default=lambda x: getattr(x, "tolist", x.__str__)()))
