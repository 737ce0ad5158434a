"""A warm interpreter: torch and its like are imported once a workflow, not once a job.

Importing torch, Lightning, pandas or seaborn takes 1 to 4 s of CPU, more than most jobs of a small run. Snakemake
starts one process when its first job is due (``onstart``); it imports what a verb needs when first asked for it,
and forks. The forked child runs the verb as a process of its own, with the caller's directory, environment and
terminal, and reads our own modules afresh. ``python -m learnability`` hands itself over (:func:`hand_over`) if
``LEARNABILITY_WARM`` names the socket, and runs by itself if not (typed by hand, on a cluster node), if it was
given more than one thread (pools are sized when the libraries load), or if nobody answers.

The child ends when its caller does, and the server when Snakemake does.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path

VARIABLE = "LEARNABILITY_WARM"
POOLS = [f"{pool}_NUM_THREADS" for pool in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "VECLIB_MAXIMUM")]
_TABLES = ("pydantic", "yaml", "pandas", "pyarrow.parquet", "scipy.special")
_TENSORS = (*_TABLES, "torch", "safetensors.torch")
NEEDS = {  # verb -> libraries that its first call imports, none of them ours
    "configure": _TABLES,
    "sample": _TENSORS,
    "train": (*_TENSORS, "lightning.pytorch", "wandb", "wandb.sdk.launch"),  # wandb.init imports the last
    "evaluate": _TABLES,
    "judge": _TABLES,
    "figure": (*_TABLES, "seaborn"),
    "ledger": _TABLES,
}
LOST = 143  # exit code of a job whose other half is gone


def start() -> str:
    """Start the server beside this process and return the path of its socket; '' where none can be made."""
    folder = Path(tempfile.mkdtemp(prefix="learnability-"))  # short: a socket's path has 107 characters at most
    path = str(folder / "warm")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
    except OSError:  # a long TMPDIR, a file system without sockets: jobs start cold
        listener.close()
        shutil.rmtree(folder, ignore_errors=True)
        return ""
    listener.listen(128)
    subprocess.Popen(
        [sys.executable, "-m", "learnability.warm", str(listener.fileno()), str(os.getpid())],
        env=os.environ | dict.fromkeys(POOLS, "1"),
        pass_fds=[listener.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    listener.close()
    return path


def hand_over(arguments: list[str]) -> int | None:
    """Exit code of the verb run by the server; None if it must be run here."""
    path = os.environ.get(VARIABLE)
    if not path or not arguments or arguments[0] not in NEEDS or not _single(arguments):
        return None
    request = json.dumps({"arguments": arguments, "cwd": os.getcwd(), "environment": dict(os.environ)}).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        try:
            server.connect(path)
            socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
            server.sendall(request)
            answer = server.recv(1)
        except KeyboardInterrupt:
            return 130  # the child hears of it by the closed socket
        except OSError:
            return None
        if answer != b"y":  # the server could not import something: here the user sees why
            return None
        try:
            code = server.recv(1)
        except KeyboardInterrupt:
            return 130
    return code[0] if code else LOST


def _single(arguments: list[str]) -> bool:
    """Whether one thread is asked for; ``--threads=1`` and ``--thr 1`` are argparse's other ways to say it."""
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, given, value = word.partition("=")
        if name.startswith("--t") and (value if given else following) != "1":
            return False
    return True


def serve(listener: socket.socket, parent: int) -> None:
    """Answer calls until ``parent`` (Snakemake) is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children leave no zombies
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the jobs and for Snakemake
    listener.settimeout(1.0)
    while os.getppid() == parent:
        try:
            caller, _ = listener.accept()
        except TimeoutError:
            continue
        with caller:
            _answer(listener, caller)
    shutil.rmtree(Path(listener.getsockname()).parent, ignore_errors=True)


def _answer(listener: socket.socket, caller: socket.socket) -> None:
    """Read one call, import what it needs, fork the child that runs it."""
    handles: list[int] = []
    try:
        caller.settimeout(5.0)  # a caller that died while calling must not stop the others
        size, handles, _, _ = socket.recv_fds(caller, 8, 3)
        request = json.loads(_receive(caller, int.from_bytes(size, "big")))
        for library in NEEDS[request["arguments"][0]]:
            import_module(library)
        caller.settimeout(None)
        caller.sendall(b"y")
        if os.fork() == 0:
            listener.close()
            _run(caller, handles, request)
    except (OSError, ValueError, ImportError):
        pass  # the closed socket tells the caller to run by itself
    finally:
        for handle in handles:
            os.close(handle)


def _receive(caller: socket.socket, size: int) -> bytes:
    """Just ``size`` bytes."""
    found = b""
    while len(found) < size:
        part = caller.recv(size - len(found))
        if not part:
            raise OSError("the caller is gone")
        found += part
    return found


def _run(caller: socket.socket, handles: list[int], request: dict) -> None:
    """In the child: be the caller's process, run the verb, tell the exit code; never returns."""
    code = 1
    try:
        for signum in (signal.SIGCHLD, signal.SIGINT):
            signal.signal(signum, signal.SIG_DFL if signum == signal.SIGCHLD else signal.default_int_handler)
        for target, handle in enumerate(handles):
            os.dup2(handle, target)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.argv = ["learnability", *request["arguments"]]
        threading.Thread(target=_end_with, args=(caller,), daemon=True).start()
        from learnability.cli import main

        code = main(request["arguments"])
    except SystemExit as end:  # argparse
        code = end.code if isinstance(end.code, int) else 1
    finally:
        for last in (atexit._run_exitfuncs, sys.stdout.flush, sys.stderr.flush):
            with suppress(Exception):  # a terminal that is gone must not hide the exit code
                last()
        with suppress(OSError):
            caller.sendall(bytes([code]))
        os._exit(code)


def _end_with(caller: socket.socket) -> None:
    """Wait for the caller's end of the socket to close: it was killed, so this job ends too."""
    caller.recv(1)
    os._exit(LOST)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
