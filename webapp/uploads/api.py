"""Uploads over REST: the same for browser, command line and scripts."""

from __future__ import annotations

import io
from typing import Any
from uuid import UUID

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.core.api import Nouns
from webapp.core.rest import Body
from webapp.uploads import serializers, services
from webapp.uploads.models import Upload


class Bytes(BaseParser):
    """The body as a stream, so that no chunk is in memory whole."""

    media_type = "application/octet-stream"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        return {"stream": stream}


class Uploads(Nouns):
    queryset = Upload.objects.select_related("team", "job")
    body = Body(bytes=settings.CHUNK_BYTES, values=2 * services.MOST_CHUNKS)  # a manifest names every chunk
    ordering_fields = ("created", "name", "state")

    def get_serializer_class(self) -> Any:
        return serializers.UploadRow if self.action == "list" else serializers.UploadOut

    @extend_schema(request=serializers.Manifest, responses={201: serializers.UploadOut})
    def create(self, request: Request) -> Response:
        """Start an upload by its manifest. The answer lists the chunks that are not here yet."""
        return self.shown(services.begin(by=self.actor, **self.read(serializers.Manifest)), 201)

    @extend_schema(request=None, responses={200: serializers.UploadOut, 202: serializers.UploadOut})
    def complete(self, request: Request, pk: UUID) -> Response:
        """Complete an upload: everything is sent. A worker unpacks a single zip, tar or Parquet file: 202, and `state`
        says when."""
        upload = services.complete(upload=self.get_object(), by=self.actor)
        return self.shown(upload, 202 if upload.state == Upload.State.UNPACKING else 200)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: UUID) -> Response:
        services.discard(upload=self.get_object(), by=self.actor)
        return Response(status=204)


SHA256 = OpenApiParameter("sha256", {"type": "string", "pattern": "^[0-9a-f]{64}$"}, OpenApiParameter.PATH)


class Chunks(Nouns):
    queryset = Upload.objects.select_related("team")
    serializer_class = serializers.UploadOut

    def get_parsers(self) -> list[BaseParser]:
        return [Bytes()] if self.request is None or self.request.method == "PUT" else super().get_parsers()

    @extend_schema(request=None, responses=serializers.ChunkOut, parameters=[SHA256])
    def offer(self, request: Request, pk: UUID, sha256: str) -> Response:
        """Say whether the lab has the chunk. If not, PUT it to `url`, which may be the object store's."""
        is_here, url = services.offer(upload=self.get_object(), sha256=sha256, by=self.actor)
        return Response({"is_here": is_here, "url": url})

    @extend_schema(
        request={"application/octet-stream": OpenApiTypes.BINARY}, responses={204: None}, parameters=[SHA256]
    )
    def update(self, request: Request, pk: UUID, sha256: str) -> Response:
        """Send one chunk, under the name of its SHA-256. Sending it again does no harm."""
        body: Any = request.data
        stream = body.get("stream") or io.BytesIO()  # an empty body is not parsed
        services.receive(upload=self.get_object(), sha256=sha256, stream=stream, by=self.actor)
        return Response(status=204)
