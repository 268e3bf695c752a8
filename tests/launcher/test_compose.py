"""No Docker engine here: what can be known of the compose file without one."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def test_every_module_that_is_started_exists(services: dict[str, Any]) -> None:
    started = [service["command"] for service in services.values() if service.get("command", [""])[0] == "python"]
    modules = [command[command.index("-m") + 1] for command in started]
    assert modules == ["worker.supervisor.prepare", "worker.scheduler"]
    assert all(importlib.util.find_spec(module) for module in modules)


def test_every_setting_is_one_that_is_read(services: dict[str, Any]) -> None:
    settings = "".join((ROOT / "webapp" / "config" / name).read_text() for name in ("settings.py", "environment.py"))
    named = {name for name in services["web"]["environment"] if not name.startswith("AWS_")}  # those boto3 reads
    assert all(f'"{name}"' in settings for name in named)


def test_what_the_images_copy_is_there_and_the_web_has_no_torch() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (?!--from)(.+)$", dockerfile, re.MULTILINE):
        assert all((ROOT / name).exists() for name in line.split()[:-1])
    web = dockerfile.split(" AS web\n")[1].split("\nFROM ")[0]
    assert re.findall(r"pip install (.+)", web) == ["-r requirements-web.txt"]
    assert "torch" not in (ROOT / "requirements-web.txt").read_text().split("# ")[0]


def test_only_pages_and_bucket_are_reachable_and_only_from_this_machine(services: dict[str, Any]) -> None:
    reachable = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert set(reachable) == {"web", "minio"}  # browsers send files to the bucket straight, where there is one
    assert services["minio"]["profiles"] == ["s3"]
    assert all(port.startswith("127.0.0.1:") for ports in reachable.values() for port in ports)
