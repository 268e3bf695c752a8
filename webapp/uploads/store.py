"""The chunk store that the settings name: a folder, or a bucket that speaks S3."""

from __future__ import annotations

import functools
from pathlib import Path

from django.conf import settings

from webapp.uploads.folder import FolderStore
from webapp.uploads.storing import Store


def current() -> Store:
    if settings.S3_BUCKET:
        return _s3(settings.S3_BUCKET, settings.S3_ENDPOINT, settings.S3_PUBLIC_ENDPOINT, settings.S3_REGION)
    if settings.STORE_DIR:
        return FolderStore(Path(settings.STORE_DIR), mode=0o666)  # as far as the umask lets: workers may be other users
    return FolderStore(Path(settings.DATA_DIR) / "chunks")


@functools.cache
def _s3(bucket: str, endpoint: str, public_endpoint: str, region: str) -> Store:
    from webapp.uploads.s3 import Bucket  # boto3 takes a second to import, and few installations need it

    return Bucket(bucket, endpoint, public_endpoint, region)
