"""The manifests of deploy/kubernetes/ are valid, name what the site has, and keep workers shut in."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import kubernetes_validate
import pytest
import yaml
from django.urls import resolve

from tests.services import REPOSITORY
from workers.cli import config_from, parser

FOLDER = REPOSITORY / "deploy" / "kubernetes"
VERSIONS = ("1.29.0", "1.37.0")
Manifest = dict[str, Any]


def manifests() -> list[Manifest]:
    names = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    return [each for name in names for each in yaml.safe_load_all((FOLDER / name).read_text())]


def of_kind(kind: str) -> list[Manifest]:
    return [each for each in manifests() if each["kind"] == kind]


def pod_specs() -> dict[str, Manifest]:
    specs = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in (*of_kind("Deployment"), *of_kind("Job"))
    }
    scaled = {
        each["metadata"]["name"]: each["spec"]["jobTargetRef"]["template"]["spec"] for each in of_kind("ScaledJob")
    }
    return specs | scaled


def own_kinds() -> list[Manifest]:
    return [each for each in manifests() if "keda.sh" not in each["apiVersion"]]


def as_plain_job(scaled: Manifest) -> Manifest:
    """The job that KEDA makes of its own kind, which has no published schema of Kubernetes."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": scaled["metadata"],
        "spec": scaled["spec"]["jobTargetRef"],
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_is_valid_by_the_published_schema(version: str) -> None:
    for manifest in (*own_kinds(), *map(as_plain_job, of_kind("ScaledJob"))):
        kubernetes_validate.validate(manifest, version, strict=True)


def test_the_schemas_refuse_what_is_wrong() -> None:
    wrong = of_kind("Deployment")[0] | {"spec": {"replicas": "two"}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not here")
def test_kustomize_builds_them() -> None:
    done = subprocess.run(["kubectl", "kustomize", str(FOLDER)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    built = list(yaml.safe_load_all(done.stdout))
    assert len(built) == len(manifests())


def test_every_file_of_the_folder_is_a_resource() -> None:
    named = set(yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"])
    assert named == {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}


def test_no_pod_has_a_token_of_the_cluster_and_one_container_alone_is_privileged() -> None:
    for name, spec in pod_specs().items():
        assert spec["automountServiceAccountToken"] is False, name
        for container in (*spec["containers"], *spec.get("initContainers", [])):
            context = container["securityContext"]
            if container["name"] == "engine":
                continue
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"]["drop"] == ["ALL"]
            assert "privileged" not in context


def test_the_scaler_asks_for_a_number_that_the_site_answers() -> None:
    """By KEDA's contract of `metrics-api`: a GET with a bearer token, and a path to a number."""
    for scaled in of_kind("ScaledJob"):
        (trigger,) = scaled["spec"]["triggers"]
        metadata = trigger["metadata"]
        assert (trigger["type"], metadata["authMode"]) == ("metrics-api", "bearer")
        url = urlsplit(metadata["url"])
        assert resolve(url.path).url_name == "launcher-queue-depth"
        assert set(parse_qs(url.query)) == {"gpus", "isolation", "max_wall_s", "max_memory_bytes"}
        assert metadata["valueLocation"] == "total"
        authentication = {each["metadata"]["name"]: each["spec"] for each in of_kind("TriggerAuthentication")}
        (secret,) = authentication[trigger["authenticationRef"]["name"]]["secretTargetRef"]
        assert secret["parameter"] == "token"


def test_a_worker_takes_no_larger_run_than_the_scaler_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for scaled in of_kind("ScaledJob"):
        bounds = parse_qs(urlsplit(scaled["spec"]["triggers"][0]["metadata"]["url"]).query)
        job = scaled["spec"]["jobTargetRef"]
        worker = job["template"]["spec"]["containers"][0]
        for variable in worker["env"]:
            monkeypatch.setenv(variable["name"], variable.get("value", "pod-1"))
        token = tmp_path / "token"
        token.write_text("secret")
        monkeypatch.setenv("PODIUM_WORKER_TOKEN_FILE", str(token))
        config = config_from(parser().parse_args(["run", "--ends-at", "2000000000"]))
        assert config.allocation.job == config.name == "pod-1"
        assert config.until_idle_s == 60
        assert config.allocation.memory_bytes == int(bounds["max_memory_bytes"][0])
        left_s = job["activeDeadlineSeconds"] - 100 - 2 * config.allocation.drain_s
        assert int(bounds["max_wall_s"][0]) <= left_s
        assert bounds["gpus"] == [str(int("nvidia.com/gpu" in str(job)))]


def test_workers_reach_the_site_and_names_alone() -> None:
    (policy,) = of_kind("NetworkPolicy")
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policy["spec"], "nothing reaches them"
    site, names = policy["spec"]["egress"]
    assert site["to"] == [{"podSelector": {"matchLabels": {"app": "podium-web"}}}]
    assert {port["port"] for port in names["ports"]} == {53}
    for scaled in of_kind("ScaledJob"):
        labels = scaled["spec"]["jobTargetRef"]["template"]["metadata"]["labels"]
        assert labels == policy["spec"]["podSelector"]["matchLabels"]
