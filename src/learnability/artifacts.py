"""Reading and writing the files between stages: whole or not at all, never a pickle.

Every write goes to a temporary name in the same folder and is renamed at the end, so a job killed
at any moment leaves either the old file or the new one. Every read names the file it fails on.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from learnability.errors import UserError

if TYPE_CHECKING:
    import pandas
    import torch


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Call ``write(temporary)``, then move the temporary file to ``path`` in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp makes files that only their owner may read
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole."""
    write_whole(path, lambda temporary: temporary.write_text(text))


def write_json(path: Path, content: Any) -> None:
    """Write JSON whole, keys in the order given, one final newline."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    try:
        return json.loads(path.read_text())
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise UserError(f"{path}: damaged: not valid JSON; delete it and rerun") from None


def write_tensors(path: Path, tensors: dict[str, torch.Tensor], meta: dict[str, str] | None = None) -> None:
    """Write tensors (any device) and string metadata to a safetensors file, whole."""
    from safetensors.torch import save_file

    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_whole(path, lambda temporary: save_file(plain, temporary, metadata=meta or {}))


def read_tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Tensors and metadata of a safetensors file; a missing or truncated file is named."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise UserError(f"{path}: no such file")
    try:
        with safe_open(path, framework="pt") as file:
            return {k: file.get_tensor(k) for k in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(f"{path}: damaged or truncated ({error}); delete it and rerun to make it again") from None


def write_frame(path: Path, frame: pandas.DataFrame) -> None:
    """Write a table to Parquet, whole; same rows, same bytes."""
    write_whole(path, lambda temporary: frame.to_parquet(temporary, index=False))


def read_frame(path: Path) -> pandas.DataFrame:
    """A Parquet table; a missing or damaged file is named."""
    import pandas
    from pyarrow import ArrowInvalid

    try:
        return pandas.read_parquet(path)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (ArrowInvalid, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: damaged ({reason}); delete it and rerun to make it again") from None


def read_frames(paths: list[Path]) -> pandas.DataFrame:
    """Several Parquet tables, one below the other."""
    import pandas

    return pandas.concat([read_frame(path) for path in paths], ignore_index=True)
