"""Static files with hashed names, so that browsers may keep them for ever."""

from functools import cached_property

from whitenoise.storage import CompressedManifestStaticFilesStorage

STYLES, _ = CompressedManifestStaticFilesStorage.patterns
_, IMPORTS = CompressedManifestStaticFilesStorage._js_module_import_aggregation_patterns


class HashedStatic(CompressedManifestStaticFilesStorage):
    """Also hash the names inside style sheets and inside `import … from "./x.js"` of our own modules. Libraries are one
    file each, and searching their megabytes took a third of the time."""

    patterns = (STYLES, ("js/*.js", IMPORTS))

    def url(self, name: str, force: bool = False) -> str:
        """Look each name up once: a table names its marks in every row."""
        if name not in self._urls:
            self._urls[name] = super().url(name, force)
        return self._urls[name]

    @cached_property
    def _urls(self) -> dict[str, str]:
        return {}
