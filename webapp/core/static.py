"""Static files with hashed names, so that browsers may keep them for ever."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStatic(CompressedManifestStaticFilesStorage):
    support_js_module_import_aggregation = True  # also hash the names inside `import … from "./x.js"`
