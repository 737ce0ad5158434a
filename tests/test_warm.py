"""The warm interpreter: a verb handed over is the verb itself, and no process outlives whom it works for."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SLOW, Project
from learnability import warm
from test_resume import checkpoints, wait_for

QUICK = SLOW.replace("phases: [500, 100]", "phases: [20]").replace("50.0]", "0.5]")
TRAIN = ("train", "tiny", "3resnet", "m60")
PARENT = "import sys; from learnability import warm; print(warm.start(), flush=True); sys.stdin.read()"


class Server:
    """A process that starts a warm interpreter, as Snakemake does, and waits."""

    def __init__(self, folder: Path, **environment: str) -> None:
        ours = ("WANDB", "LEARNABILITY", "PYTHONUNBUFFERED")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PARENT],
            cwd=folder,
            env=kept | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.path = Path(self.process.stdout.readline().strip())
        (self.pid,) = children(self.process.pid)

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()


def children(process: int) -> list[int]:
    table = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True).stdout
    rows = [line.split() for line in table.splitlines()]
    return [int(pid) for pid, parent, state in rows if int(parent) == process and not state.startswith("Z")]


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    found = Server(tmp_path_factory.mktemp("elsewhere"))
    yield found
    found.end()


@pytest.fixture
def caller(project, monkeypatch, server: Server) -> Project:
    """A project that this process is in, ready to hand over to ``server``."""
    here = project("caller", QUICK)
    for name in [name for name in os.environ if name.startswith(("WANDB", "LEARNABILITY"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("WANDB_MODE", "disabled")
    monkeypatch.setenv(warm.VARIABLE, str(server.path))
    monkeypatch.chdir(here.folder)
    return here


def test_a_verb_handed_over_gives_the_same_bytes_and_says_the_same(project, caller: Project, capfd) -> None:
    cold = project("cold", QUICK)
    for words in (("configure", "tiny"), ("sample", "tiny"), TRAIN, ("train", "tiny", "2layer-last", "m60")):
        words = (*words, "--scale", "smoke", "--threads", "1", "--log", f"{words[0]}.log")
        code, output = cold.run(*words, module="learnability", WANDB_MODE="disabled")
        assert warm.hand_over([*words]) == code == 0
        said = capfd.readouterr()
        assert said.err == output and said.out == ""
        assert Path(f"{words[0]}.log").read_text() == (cold.folder / f"{words[0]}.log").read_text()
    for words in (("evaluate", "tiny"), ("judge", "B-fig2a"), ("figure", "B-fig2a"), ("ledger",)):
        assert cold.run(*words, "--scale", "smoke", module="learnability") == (0, capture(capfd, *words))
    results = "results/smoke/**/*.*"
    assert cold.bytes(results) == caller.bytes(results)
    assert len([name for name in cold.bytes(results) if name.endswith((".parquet", ".safetensors"))]) == 6


def capture(capfd, *words: str) -> str:
    """What a verb that is handed over and goes well says."""
    assert warm.hand_over([*words, "--scale", "smoke"]) == 0
    return capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (
            ("train", "tiny", "svm", "m60", "--scale", "smoke"),
            1,
            "error: tiny: no learner 'svm'; allowed: 3resnet,",
        ),
        ((*TRAIN, "--scale", "huge"), 1, "error: --scale: must be one of smoke, laptop, paper"),
        ((*TRAIN, "--scale", "smoke"), 1, "samples.safetensors: no such file; `learnability sample tiny` makes it"),
        (("train", "tiny"), 2, "the following arguments are required: learner, point"),
        ((*TRAIN, "--loud"), 2, "unrecognized arguments: --loud"),
        (("train", "--help"), 0, "usage: learnability train"),
    ],
    ids=["wrong name", "wrong scale", "no samples", "too few words", "unknown option", "help"],
)
def test_exit_codes_are_those_of_the_verb(caller: Project, capfd, words, code, says) -> None:
    assert warm.hand_over([*words]) == code
    said = capfd.readouterr()
    assert says in said.err + said.out and "Traceback" not in said.err
    assert caller.run(*words, module="learnability") == (code, said.out + said.err)


def test_directory_and_environment_are_the_callers(caller: Project, monkeypatch, capfd) -> None:
    """The server was started elsewhere and knows of no settings."""
    monkeypatch.setenv("LEARNABILITY_SETTINGS", json.dumps({"scale": "paper", "scratch": "mine"}))
    assert warm.hand_over(["configure", "tiny"]) == 0
    assert [str(path) for path in Path("results").rglob("*.yaml")] == ["results/paper/tiny/config.yaml"]
    monkeypatch.setenv("LEARNABILITY_SETTINGS", json.dumps({"scale": "huge"}))
    assert warm.hand_over(["configure", "tiny"]) == 1
    assert 'must be one of smoke, laptop, paper, got "huge"' in capfd.readouterr().err


def test_our_own_modules_are_read_afresh(caller: Project, tmp_path, monkeypatch) -> None:
    """A source that changed while the server was up is the one that runs."""
    copy = tmp_path / "src" / "learnability"
    copy.mkdir(parents=True)
    for name in ("__init__", "warm"):
        (copy / f"{name}.py").write_bytes((Path(warm.__file__).parent / f"{name}.py").read_bytes())
    (copy / "cli.py").write_text("def main(arguments): return 7\n")
    own = Server(tmp_path, PYTHONPATH=str(copy.parent))
    try:
        monkeypatch.setenv(warm.VARIABLE, str(own.path))
        assert warm.hand_over(["evaluate", "tiny"]) == 7
        (copy / "cli.py").write_text("def main(arguments): return len(arguments) + 90\n")
        assert warm.hand_over(["evaluate", "tiny"]) == 92
    finally:
        own.end()


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_killing_the_caller_ends_its_child_and_not_the_server(project, server: Server, signum) -> None:
    busy = project("busy", SLOW)
    assert busy.run("sample", "tiny", "--scale", "smoke", module="learnability")[0] == 0
    words = (*TRAIN, "--scale", "smoke")
    environment = {warm.VARIABLE: str(server.path), "WANDB_MODE": "disabled"}
    process = busy.start(*words, module="learnability", **environment)
    wait_for(lambda: checkpoints(busy))
    (child,) = children(server.pid)  # the verb runs there
    assert not children(process.pid)
    process.send_signal(signum)
    assert process.wait(timeout=20) == (130 if signum == signal.SIGINT else -signum)
    process.stdout.close()
    wait_for(lambda: not alive(child), 10)
    assert not busy.bytes("results/smoke/tiny/3resnet/m60/*") and not children(server.pid)
    assert busy.run("configure", "tiny", "--scale", "smoke", module="learnability", **environment)[0] == 0
    assert alive(server.pid)


def test_a_killed_child_is_a_failed_job(project, server: Server) -> None:
    busy = project("busy", SLOW)
    busy.run("sample", "tiny", "--scale", "smoke", module="learnability")
    environment = {warm.VARIABLE: str(server.path), "WANDB_MODE": "disabled"}
    process = busy.start(*TRAIN, "--scale", "smoke", module="learnability", **environment)
    wait_for(lambda: checkpoints(busy))
    (child,) = children(server.pid)
    os.kill(child, signal.SIGKILL)
    process.communicate(timeout=20)
    assert process.returncode == warm.LOST and alive(server.pid)


@pytest.mark.parametrize("how", ["ends", "is killed"])
def test_the_server_ends_with_its_parent_and_leaves_nothing(tmp_path, how: str) -> None:
    own = Server(tmp_path, TMPDIR=str(tmp_path))
    assert own.path.is_socket() and alive(own.pid)
    if how == "ends":
        own.end()
    else:
        own.process.kill()
        own.process.communicate()
    wait_for(lambda: not alive(own.pid), 10)
    assert not list(tmp_path.iterdir())


def test_a_socket_that_nobody_answers_is_passed_over(project, caller: Project, tmp_path, monkeypatch) -> None:
    left = tmp_path / "left"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(left))
    for path in (left, tmp_path / "none", tmp_path):
        monkeypatch.setenv(warm.VARIABLE, str(path))
        assert warm.hand_over(["configure", "tiny", "--scale", "smoke"]) is None
    words = ("configure", "tiny", "--scale", "smoke")
    assert caller.run(*words, module="learnability", **{warm.VARIABLE: str(left)})[0] == 0
    assert Path("results/smoke/tiny/config.yaml").exists()


@pytest.mark.parametrize(
    "words",
    [
        (*TRAIN, "--threads", "2"),
        (*TRAIN, "--threads=2"),
        ("train", "--thr", "2", "tiny", "3resnet", "m60"),
        (*TRAIN, "--threads"),
        ("check",),
        ("publish",),
        ("--help",),
        (),
    ],
    ids=" ".join,
)
def test_some_calls_are_never_handed_over(caller: Project, words) -> None:
    assert warm.hand_over([*words]) is None


def test_without_a_server_nothing_is_handed_over(caller: Project, monkeypatch) -> None:
    for value in ("", None):
        monkeypatch.setenv(warm.VARIABLE, "") if value == "" else monkeypatch.delenv(warm.VARIABLE)
        assert warm.hand_over(["configure", "tiny"]) is None


def test_more_threads_run_by_themselves(caller: Project, server: Server) -> None:
    assert caller.run("sample", "tiny", "--scale", "smoke", module="learnability")[0] == 0
    words = (*TRAIN, "--scale", "smoke", "--threads", "2")
    environment = {warm.VARIABLE: str(server.path), "WANDB_MODE": "disabled"}
    assert caller.run(*words, module="learnability", **environment)[0] == 0
    assert len(caller.bytes("results/smoke/tiny/3resnet/m60/*")) == 2


def test_a_failed_import_leaves_the_verb_to_the_caller(caller: Project, tmp_path, monkeypatch) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "seaborn.py").write_text("raise ImportError('half installed')\n")
    source = Path(warm.__file__).parents[1]
    own = Server(tmp_path, PYTHONPATH=os.pathsep.join([str(broken), str(source)]))
    try:
        monkeypatch.setenv(warm.VARIABLE, str(own.path))
        assert warm.hand_over(["figure", "B-fig2a", "--scale", "smoke"]) is None
        assert warm.hand_over(["configure", "tiny", "--scale", "smoke"]) == 0  # the others go on
    finally:
        own.end()


@pytest.mark.parametrize(("stream", "words"), [("stderr", ("sample", "tiny")), ("stdout", ("sample", "--help"))])
def test_a_lost_terminal_does_not_hide_the_exit_code(caller: Project, server: Server, stream, words) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "learnability", *words, "--scale", "smoke"]
    environment = caller.environment(**{warm.VARIABLE: str(server.path)})
    done = subprocess.run(command, env=environment, timeout=60, **{stream: writer})
    os.close(writer)
    assert done.returncode == 0


def test_where_no_socket_can_be_made_jobs_start_cold(tmp_path, monkeypatch) -> None:
    deep = tmp_path / ("long" * 30)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    assert warm.start() == "" and not list(deep.iterdir())
