"""Find a package's plug-ins: every module in it is one, and adding a file is all it takes."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType

SHARED = "base"  # the module that holds what a package's plug-ins share


def modules_in(package: ModuleType) -> list[ModuleType]:
    """Import the plug-ins in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.name != SHARED)
    return [_imported(f"{package.__name__}.{name}") for name in names]


def _imported(name: str) -> ModuleType:
    try:
        return import_module(name)
    except (TypeError, SyntaxError) as error:
        raise ImportError(f"{name} cannot be used: {error}.") from error
