"""Input and output of uploads."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from rest_framework import serializers

from webapp.accounts.serializers import Name
from webapp.core.api import Input, Output
from webapp.uploads import paths, services
from webapp.uploads.models import Upload, UploadedFile

_SHA256 = re.compile(r"[0-9a-f]{64}")
LARGEST = 1 << 40


class Digests(serializers.ListField):
    """A list of up to 100,000 chunk hashes. One pattern checks each: the child's rules would take seconds."""

    def run_child_validation(self, data: Any) -> list[Any]:
        for index, one in enumerate(data):
            if not (isinstance(one, str) and _SHA256.fullmatch(one)):
                raise serializers.ValidationError({str(index): ["This is no SHA-256 in lower-case hex."]})
        return list(data)


class ListedFile(Input):
    path = serializers.CharField(max_length=paths.LONGEST, trim_whitespace=False)
    size = serializers.IntegerField(min_value=0, max_value=LARGEST)
    chunks = Digests(
        child=serializers.RegexField(_SHA256.pattern + r"\Z", max_length=64, min_length=64),
        max_length=services.MOST_CHUNKS,
        help_text="SHA-256 of each 8 MiB piece, in order, in lower-case hex",
    )

    def validate_path(self, value: str) -> str:
        return paths.clean(value, field="files.path")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        due = -(-attrs["size"] // settings.CHUNK_BYTES)
        if len(attrs["chunks"]) != due:
            sentence = f"A file of {attrs['size']} bytes has {due} chunks of {settings.CHUNK_BYTES} bytes each."
            raise serializers.ValidationError({"chunks": f"{sentence} {len(attrs['chunks'])} are listed."})
        return attrs


class Manifest(Input):
    name = Name(max_length=200)
    files = ListedFile(many=True, allow_empty=False, max_length=services.MOST_FILES)  # type: ignore[call-arg]

    def validate_files(self, value: list[dict[str, Any]]) -> list[UploadedFile]:
        seen: set[str] = set()
        for file in value:
            if file["path"].casefold() in seen:
                raise serializers.ValidationError(f"{file['path']} is listed twice.")
            seen.add(file["path"].casefold())
        if sum(len(file["chunks"]) for file in value) > services.MOST_CHUNKS:
            raise serializers.ValidationError(f"More than {services.MOST_CHUNKS} chunks; send it in several uploads.")
        return [UploadedFile(**file) for file in value]


class FileOut(Output):
    class Meta:
        model = UploadedFile
        fields = ("path", "size")


class UploadRow(Output):
    class Meta:
        model = Upload
        fields = ("id", "name", "state", "reason", "job", "created")


class ChunkOut(serializers.Serializer[Any]):
    is_here = serializers.BooleanField()
    url = serializers.CharField(
        allow_blank=True, help_text="PUT the bytes there, then ask again; empty: PUT them to this address"
    )


class UploadOut(Output):
    files = FileOut(many=True)
    missing = serializers.SerializerMethodField(help_text="chunks still to be sent")
    chunk_bytes = serializers.SerializerMethodField()
    is_direct = serializers.SerializerMethodField(help_text="chunks may go straight to the object store; ask where")
    reason = serializers.SerializerMethodField(help_text="why it was refused, or why nobody unpacks it")

    class Meta:
        model = Upload
        fields = ("id", "name", "state", "reason", "job", "created", "files", "missing", "chunk_bytes", "is_direct")

    def get_reason(self, upload: Upload) -> str:
        return services.why_stuck(upload)

    def get_missing(self, upload: Upload) -> list[str]:
        return services.missing(upload) if upload.state == Upload.State.OPEN else []

    def get_is_direct(self, upload: Upload) -> bool:
        return bool(settings.S3_BUCKET)

    def get_chunk_bytes(self, upload: Upload) -> int:
        return int(settings.CHUNK_BYTES)
