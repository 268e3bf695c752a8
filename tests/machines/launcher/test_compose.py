"""Checks of the files for containers and systemd that need no Docker engine."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
ENDING = {"prepare", "bucket"}  # they do one thing and end


def modules_in(command: list[str]) -> list[str]:
    return [after for word, after in pairwise(command) if word == "-m"]


def test_every_module_setting_and_file_that_images_and_services_name_is_there() -> None:
    started = [yaml.safe_load(line) for line in re.findall(r"^(?:CMD|ENTRYPOINT) (.+)$", DOCKERFILE, re.MULTILINE)]
    started += [service.get("command", []) for service in SERVICES.values()]
    started += [service["healthcheck"]["test"] for service in SERVICES.values() if "healthcheck" in service]
    modules = {module for command in started for module in modules_in(command)}
    assert {"webapp.config.server", "worker", "worker.scheduler", "worker.supervisor.prepare"} < modules
    assert all(importlib.util.find_spec(module) for module in modules)
    readers = [*(ROOT / "webapp" / "config").glob("*.py"), ROOT / "worker" / "heartbeat.py"]
    program = "".join(path.read_text() for path in readers)
    named = {name for name in SERVICES["web"]["environment"] if not name.startswith("AWS_")}  # those boto3 reads
    assert all(f'"{name.removesuffix("_FILE")}"' in program for name in named)
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE):
        assert all((ROOT / name).exists() for name in line.split()[:-1])


def test_every_worker_keeps_a_name_of_its_own_when_it_starts_again() -> None:
    """Metrics have one series for it, and its jobs are given back at once."""
    commands = [service["command"] for name, service in SERVICES.items() if name.startswith("worker")]
    names = [dict(pairwise(command))["--name"] for command in commands]
    assert len(set(names)) == len(names) == 3 and all("${WORKER_HOST:-" in name for name in names)


def test_only_a_proxy_is_reachable_from_other_machines_and_meets_the_web_alone() -> None:
    reachable = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert set(reachable) == {"web", "minio", "nginx", "caddy"}
    assert {name for name, ports in reachable.items() if not ports[0].startswith("127.0.0.1:")} == {"nginx", "caddy"}
    for proxy in ("nginx", "caddy"):
        its = set(SERVICES[proxy]["networks"])
        assert {name for name, one in SERVICES.items() if its & set(one["networks"])} == {"web", "nginx", "caddy"}
    assert SERVICES["db"]["networks"] == SERVICES["valkey"]["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"]["internal"]
    believed = SERVICES["web"]["environment"]["DRAFTHOUSE_PROXIES"].split(",")[0]
    assert {SERVICES[name]["networks"]["proxied"]["ipv4_address"] for name in ("nginx", "caddy")} == {believed}


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_locked_limited_watched_and_pinned_and_reads_passwords_from_files(name: str) -> None:
    service = SERVICES[name]
    assert service["init"] and service["read_only"] and service["cap_drop"] == ["ALL"]
    assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "caddy" else [])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"] and service["pids_limit"] and service["logging"]["options"]["max-size"]
    assert all("size=" in folder for folder in service["tmpfs"])
    assert ("healthcheck" in service) is (name not in ENDING)
    assert ("cpu_shares" in service) is (name == "worker-light")  # light work leaves the cores to measurements
    assert "build" in service or re.search(r":\D*\d+\.?\d*", service["image"])
    for setting, value in service.get("environment", {}).items():
        if re.search("PASSWORD|SECRET", setting):
            assert setting.endswith("_FILE") and value.removeprefix("/run/secrets/") in service["secrets"]
    assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])


def test_passwords_are_made_once_and_are_for_their_owner_alone(tmp_path: Path) -> None:
    def made() -> dict[str, str]:
        subprocess.run([ROOT / "docker" / "secrets.sh"], cwd=tmp_path, check=True, capture_output=True)
        return {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}

    first = made()
    assert len(set(first.values())) == 3 and all(re.fullmatch("[0-9a-f]{48}", each) for each in first.values())
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    assert made() == first


def test_proxies_end_what_a_client_claims_keep_metrics_inside_and_log_no_address() -> None:
    """Read from the files: docker/try runs nginx, and Caddy overwrites what clients claim by itself."""
    nginx = (ROOT / "docker" / "proxy" / "nginx.conf").read_text()
    claims = {"For $remote_addr", "Proto $scheme", "Host $http_host"}
    assert all(f"proxy_set_header X-Forwarded-{claim};" in nginx for claim in claims)
    assert 'proxy_set_header Forwarded "";' in nginx
    assert re.search(r"location = /metrics \{\s+return 404;", nginx)
    logged = re.search(r"log_format brief '(.*)';", nginx)
    assert logged and "access_log /dev/stdout brief;" in nginx and "error_log stderr crit;" in nginx
    assert not re.search(r"\$(request|request_uri|uri|args|http_\w+)\b", logged[1])
    caddy = (ROOT / "docker" / "proxy" / "Caddyfile").read_text()
    assert all(line in caddy for line in ("header_up -Forwarded", "respond /metrics 404", "request>uri delete"))


PROGRAM = {
    "CHANGELOG.md", "LICENSE", "decoding", "docs", "manage.py", "package-lock.json", "package.json",
    "requirements-web.txt", "requirements.txt", "starter/defaults.json", "starter/pair", "starter/prompts", "static",
    "templates", "webapp", "worker",
}  # fmt: skip
SECRET = {"**/.*", "**/secrets", "**/*.key", "**/*.pem", "**/*.sqlite3*", "**/__pycache__", "static/vendor"}


def test_the_program_reaches_an_image_and_no_secret_in_its_folders_does() -> None:
    """Docker lets the last rule that fits decide: first nothing, then the program, then never a secret."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    nothing, *rules = [line for line in lines if line and not line.startswith("#")]
    assert nothing == "*"
    assert {rule.removeprefix("!") for rule in rules[: len(PROGRAM)]} == PROGRAM
    never = rules[len(PROGRAM) :]
    assert {*never} >= SECRET and not any(rule.startswith("!") for rule in never)


def test_git_never_takes_a_secret() -> None:
    for name in (".env", ".env.production", "secrets/postgres_password", "tls.key", "tls.pem"):
        assert subprocess.run(["git", "check-ignore", "--quiet", name], cwd=ROOT).returncode in (0, 128)  # no checkout


UNITS = sorted((ROOT / "docker" / "systemd").iterdir())


def test_units_start_modules_that_are_there_and_systemd_finds_nothing_wrong_with_them(tmp_path: Path) -> None:
    """Installed in this checkout, because systemd looks whether the programs are there."""
    started = {module for unit in UNITS for module in re.findall(r"^ExecStart=\S+ -m (\S+)", unit.read_text(), re.M)}
    assert len(started) == 4 and all(map(importlib.util.find_spec, started))
    for unit in UNITS:
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/drafthouse", str(ROOT)))
    if shutil.which("systemd-analyze"):
        command = ["systemd-analyze", "verify", *map(str, sorted(tmp_path.iterdir()))]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
