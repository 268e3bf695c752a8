"""Find a package's plug-ins: every module in it is one, and adding a file is all it takes."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

SHARED = "base"  # the module that holds what a package's plug-ins share


def modules_in(package: ModuleType, parts: Mapping[str, str]) -> list[ModuleType]:
    """Import the plug-ins in the order of their names. `parts` maps each name that a module must hold to what it is;
    a module that lacks one is refused."""
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.name != SHARED)
    found = [_imported(f"{package.__name__}.{name}") for name in names]
    for module in found:
        for part, meaning in parts.items():
            if not hasattr(module, part):
                raise ImportError(f"{module.__name__} lacks {part}, {meaning}. Add it, or move the file elsewhere.")
    return found


def _imported(name: str) -> ModuleType:
    try:
        return import_module(name)
    except (TypeError, SyntaxError) as error:
        raise ImportError(f"{name} cannot be used: {error}.") from error
