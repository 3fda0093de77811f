"""Copies of what a program made: no file on the host ever runs as somebody else; byte code holds."""

from __future__ import annotations

import os
import py_compile
import stat
import subprocess
import sys
from pathlib import Path

from workers.sandbox.work import copy_tree


def test_no_copy_keeps_a_bit_that_lends_rights(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "folder").mkdir(parents=True)
    (source / "folder" / "program").write_text("#!/bin/sh")
    (source / "readable").write_text("text")
    (source / "link").symlink_to("/etc/passwd")
    for name, mode in (("folder", 0o7777), ("folder/program", 0o6755), ("readable", 0o644), ("", 0o3755)):
        (source / name).chmod(mode)
    target.mkdir(mode=0o755)
    target.chmod(0o2755)
    copy_tree(source, target)
    modes = {
        path.name: stat.S_IMODE(path.lstat().st_mode) for path in (target, *target.rglob("*")) if not path.is_symlink()
    }
    assert {name for name, mode in modes.items() if mode & 0o7000} == set()
    assert (modes["program"], modes["readable"], modes["folder"]) == (0o755, 0o644, 0o755)
    assert (target / "link").readlink() == Path("/etc/passwd")


def test_what_was_compiled_is_not_compiled_again_where_its_copy_is_read(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    module = source / "module.py"
    module.write_text("")
    os.utime(module, (1_000_000_000, 1_000_000_000))
    py_compile.compile(str(module), doraise=True)
    copy_tree(source, target)
    command = [sys.executable, "-v", "-c", "import module"]
    environment = os.environ | {"PYTHONPATH": str(target)}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert f"matches {target}/module.py" in done.stderr
