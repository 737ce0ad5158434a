"""Reads back what an offline W&B run holds (a log in LevelDB's format)."""

from __future__ import annotations

import json
import struct
from pathlib import Path


def offline_runs(folder: Path) -> list[Path]:
    return sorted(folder.glob("wandb/offline-run-*"))


def records(folder: Path) -> list:
    """The records of the only offline run in ``folder`` (a log in LevelDB's format)."""
    from wandb.proto.wandb_internal_pb2 import Record

    (run,) = offline_runs(folder)
    (file,) = run.glob("run-*.wandb")
    data, at, part, found = file.read_bytes(), 7, b"", []
    assert data[:4] == b":W&B"
    while at + 7 <= len(data):
        if (room := 32768 - at % 32768) < 7:
            at += room
            continue
        _, size, kind = struct.unpack_from("<IHB", data, at)
        part += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # a whole record, or the last part of one
            found.append(Record.FromString(part))
            part = b""
    return found


def decoded(items) -> dict:
    return {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in items}


def history(folder: Path) -> list[dict]:
    return [decoded(r.history.item) for r in records(folder) if r.HasField("history")]


def last_summary(folder: Path) -> dict:
    merged: dict = {}
    for record in records(folder):
        if record.HasField("summary"):
            merged |= decoded(record.summary.update)
    return merged
