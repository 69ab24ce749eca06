"""Logs of `make run` stay small while other processes write them."""

from __future__ import annotations

import pytest

from memos_site import log_files


def test_a_log_that_has_grown_is_moved_aside_and_its_writer_goes_on_at_the_beginning(tmp_path):
    small = tmp_path / "worker.log"
    small.write_text("short\n")
    with (tmp_path / "web.log").open("ab", buffering=0) as writer:
        writer.write(b"old line\n" * 20)

        assert log_files.rotate(tmp_path, most_bytes=100) == ["web.log"]
        writer.write(b"new line\n")

    assert (tmp_path / "web.log").read_bytes() == b"new line\n"
    assert (tmp_path / "web.log.1").read_bytes() == b"old line\n" * 20
    assert (tmp_path / "web.log.1").stat().st_mode & 0o077 == 0
    assert small.read_text() == "short\n"
    assert not (tmp_path / "worker.log.1").exists()


def test_a_log_that_cannot_be_copied_is_left(tmp_path):
    (tmp_path / "web.log").write_text("line\n" * 100)
    (tmp_path / "web.log.1").mkdir()

    with pytest.raises(OSError, match=r"web\.log\.1"):
        log_files.rotate(tmp_path, most_bytes=100)

    assert (tmp_path / "web.log").read_text() == "line\n" * 100
