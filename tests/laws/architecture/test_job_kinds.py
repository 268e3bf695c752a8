"""Each kind of job stands in one module of `worker/jobs`: nothing else asks which kind a job or an order is."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
REMEDY = (
    "Do not ask for the kind of a job here. Give `webapp.jobs.kinds.Kind` a field, or `worker.messages.Order` a "
    "method, that says what you want to know, and let each kind set it."
)
ALL = """
import json, sys
import django; django.setup()
from worker.jobs import works
from worker.messages import Order

def below(order):
    return [found for sub in order.__subclasses__() for found in (sub, *below(sub))]

slugs, orders = list(works()), below(Order)
loaded = [name.split(".")[0] for name in sys.modules]
modules = sorted({order.__module__ for order in orders})
print(json.dumps({"slugs": slugs, "orders": [o.__name__ for o in orders], "modules": modules, "loaded": loaded}))
"""
ENGINE = """
import sys
from importlib import import_module
from worker.engine import serving, studying
from worker.jobs.comparison import comparing
for name in {modules}:
    import_module(name)
print(*sys.modules)
"""


def run(code: str, data: Path) -> str:
    environment = {**os.environ, "DRAFTHOUSE_DATA": str(data), "DJANGO_SETTINGS_MODULE": "webapp.config.settings"}
    return subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, env=environment, text=True)


def sources() -> Iterator[tuple[Path, ast.AST]]:
    for folder in ("webapp", "worker"):
        for path in (ROOT / folder).rglob("*.py"):
            if "migrations" not in path.parts:
                yield path.relative_to(ROOT), ast.parse(path.read_text())


def asks_for_a_kind(node: ast.AST, slugs: set[str], orders: set[str]) -> bool:
    match node:
        case ast.Compare():
            sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
            names = {*slugs, *(slug.replace("-", "_").upper() for slug in slugs), "slug"}
            said = {word for side in sides for word in re.findall(r"[\w-]+", side)}
            kinds = [side for side in sides if re.search(r"\bkind$", side)]
            is_equality = isinstance(node.ops[0], ast.Eq | ast.NotEq)
            return any((is_equality and side.endswith("job.kind")) or said & names for side in kinds)
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]):
            return bool(set(re.findall(r"\w+", ast.unparse(kinds))) & orders)
        case ast.Call(func=ast.Name(id="type"), args=[ast.Name(id="order")]):
            return True
        case ast.MatchClass(cls=ast.Name(id=name)):
            return name in orders
    return False


def test_nobody_asks_which_kind_a_job_is(tmp_path: Path) -> None:
    told = json.loads(run(ALL, tmp_path))
    slugs, orders = set(told["slugs"]), set(told["orders"])
    assert {"comparison", "unpack"} <= slugs and {"Compare", "CheckModel"} <= orders
    found = [
        f"{path}:{node.lineno}: {ast.unparse(node)}. {REMEDY}"
        for path, tree in sources()
        for node in ast.walk(tree)
        if asks_for_a_kind(node, slugs, orders)
    ]
    pages = [
        f"{path.relative_to(ROOT)}: {line.strip()}. {REMEDY}"
        for path in (ROOT / "templates").rglob("*.html")
        for line in path.read_text().splitlines()
        if re.search(r"\bjob\.kind (==|!=|in) ", line)
    ]
    assert not found + pages, "\n".join(found + pages)


def test_the_worker_loads_no_torch_for_the_kinds_and_the_engine_no_django(tmp_path: Path) -> None:
    told = json.loads(run(ALL, tmp_path))
    assert not {"torch", "transformers", "numpy"} & set(told["loaded"])
    engine = run(ENGINE.format(modules=told["modules"]), tmp_path).split()
    assert "torch" in engine and "django" not in engine
