"""Files written whole: nothing else is left, and an earlier file stays as long as the new one is incomplete."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import prism_explore as px
from prism_explore.session.session import Session
from prism_explore.session.small_files import ANSWERS, SmallFiles
from prism_explore.support import user_folders
from prism_explore.support.whole_files import write_whole
from tests.session.test_autosave import session

LONG = bytes(1 << 20)


@contextmanager
def full_disk(most_bytes: int = 1 << 16) -> Iterator[None]:
    """No file may grow beyond some bytes, as where the disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(params=["without a name", "beside its place"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "beside its place":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)


@pytest.mark.usefixtures("_way")
def test_a_new_file_and_one_that_exists_have_the_content_and_nothing_else_is_left(tmp_path: Path) -> None:
    for content in (b"first", LONG, b""):
        write_whole(tmp_path / "run.prism", content, durable=True)
        assert (tmp_path / "run.prism").read_bytes() == content
    write_whole(tmp_path / ("é" * 120), b"a name as long as names may be")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.usefixtures("_way")
def test_on_a_full_disk_the_earlier_file_stays_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_whole(tmp_path / "run.prism", b"earlier")
    with full_disk(), pytest.raises(OSError):
        write_whole(tmp_path / "run.prism", LONG)

    assert (tmp_path / "run.prism").read_bytes() == b"earlier"
    assert len(list(tmp_path.iterdir())) == 1


def test_what_a_full_disk_keeps_from_the_cache_leaves_no_part_of_it(tmp_path: Path) -> None:
    files = SmallFiles(tmp_path, ANSWERS)
    with full_disk():
        files.store("digest", LONG.decode())

    assert files.find("digest") is None
    assert not list(tmp_path.iterdir())


def test_a_search_that_cannot_be_saved_on_a_full_disk_goes_on_and_can_be_saved_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "run.prism"
    with session() as sess:
        sess.step(3)
        sess.save(path)
        with full_disk(100), pytest.raises(OSError, match=r"File too large: .*run\.prism"):
            sess.save(path)
        sess.run()
        assert sess.state == "finished"
        assert len(px.load(path).journal) < len(sess.journal)
        assert [path] == list(tmp_path.iterdir())
        sess.save(path)
        with Session.load(path) as again:
            assert again.journal.events == sess.journal.events


@pytest.mark.usefixtures("_way")
def test_threads_that_write_one_file_leave_one_of_their_contents(tmp_path: Path) -> None:
    contents = [bytes([n]) * 100_000 for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: write_whole(tmp_path / "run.prism", content), contents * 4))

    assert (tmp_path / "run.prism").read_bytes() in contents
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="only Linux has files without a name")
def test_a_process_that_is_killed_while_it_writes_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from prism_explore.support.whole_files import write_whole\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_whole(Path(sys.argv[1], 'run.prism'), bytes(1 << 20), durable=True)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)])

    assert ended.returncode == -signal.SIGKILL
    assert not list(tmp_path.iterdir())


def test_what_is_no_file_is_written_and_not_replaced() -> None:
    write_whole(Path("/dev/null"), b"nothing")

    assert Path("/dev/null").is_char_device()


def test_a_user_without_a_home_has_a_folder_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(user_folders.Path, "home", unknown)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert user_folders.user_folder("cache").is_absolute()
