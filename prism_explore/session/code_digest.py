"""Digests that name the files of the caches: what was stored by other code of this package is not used."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import prism_explore


@cache
def code_digest() -> str:
    """A digest of the files of this package, by size and time: an edited package searches differently."""
    root = Path(prism_explore.__file__).parent
    files = sorted((str(p.relative_to(root)), p.stat().st_size, p.stat().st_mtime_ns) for p in root.rglob("*.py"))
    return digest_of(files)


def digest_of(value: object) -> str:
    """A digest of data.

    Args:
        value: what JSON can write; other values are taken as texts.

    Returns:
        32 hexadecimal digits.
    """
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@cache
def version_of(package: str) -> str | None:
    """The version of an installed package.

    Args:
        package: its name.

    Returns:
        The version; None if it is not installed.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return None
