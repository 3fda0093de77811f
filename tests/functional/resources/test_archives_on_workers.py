"""Any archive that passes the site's check can be unpacked by a worker, with its own code."""

import contextlib
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from competitions.runs.worker_api.jobs import job_for
from competitions.submissions.states import Kind
from core.refusals import InvalidFile
from files.archives import ArchiveLimits, check_zip
from tests.scenario import Scenario
from tests.soak import examples
from workers.agent.runs.archive import ArchiveRefused, unpack
from workers.protocol.jobs import StagedFile, parse_job

part = st.one_of(
    st.sampled_from(["a", "b", "..", ".", "", "C:", "a\\b", "x" * 256, "é", "a\nb"]), st.text(min_size=1, max_size=8)
)
paths = st.lists(part, min_size=1, max_size=4).map("/".join)
names = st.lists(st.one_of(paths, paths.map(lambda path: path + "/")), min_size=1, max_size=5)


@settings(max_examples=examples(300), deadline=None)
@given(names)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_any_names(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, target = Path(folder) / "a.zip", Path(folder) / "out"
        with contextlib.suppress(UnicodeEncodeError), zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(zipfile.ZipInfo(name), "" if name.endswith("/") else name)
        try:
            accepted = check_zip(path, limits=ArchiveLimits(), what="x")
        except InvalidFile:
            return
        try:
            unpack(path, target)
        except ArchiveRefused as refusal:
            pytest.fail(f"the site accepted {accepted!r}, the worker refused: {refusal.detail}")
        unpacked_names = {str(file.relative_to(target)) for file in target.rglob("*") if file.is_file()}
        assert unpacked_names == set(accepted)


@pytest.mark.parametrize(
    "name", ["..", ".", "x" * 255 + ".zip", "\N{CJK UNIFIED IDEOGRAPH-6A21}" * 240 + ".zip", "a b'.zip"]
)
def test_whatever_a_submissions_file_is_called_a_worker_can_place_it(site: Scenario, name: str, tmp_path: Path) -> None:
    site.submit(kind=Kind.CODE, name=name)
    job = parse_job(job_for(site.claim()).model_dump(mode="json"))
    files = [mount.file for stage in job.stages for mount in stage.mounts if isinstance(mount, StagedFile)]
    assert files
    for file in files:
        (tmp_path / file.name).touch()
    assert any(path.suffix == ".zip" for path in tmp_path.iterdir())
