"""Chunks in a bucket that speaks S3. A browser may send a chunk straight to the bucket, by an address signed for it.

The chunk arrives under `incoming/`. We read it, check its SHA-256 and copy it to its place, so nobody reads an object
that a signed address lets a client write.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any
from uuid import UUID, uuid4

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, SSLError
from django.utils import timezone

from webapp.core.problems import Invalid
from webapp.uploads.storing import PIECE, TRIAL, UNSETTLED, StoreAway, copy, require_same

SIGNED_FOR = 3600  # s; then the client asks for another address
TRIES = 3
PATIENCE: dict[str, Any] = {
    "connect_timeout": 5,
    "read_timeout": 60,
    "retries": {"max_attempts": TRIES, "mode": "standard"},
}
NOT_THERE = ("404", "NoSuchKey", "NotFound")
NAMES = {"404": "NoSuchBucket", "403": "AccessDenied"}  # an answer to HEAD has a number only


class Bucket:
    def __init__(self, name: str, endpoint: str, public_endpoint: str, region: str) -> None:
        """Connect to `endpoint`; sign for `public_endpoint` if clients reach the bucket there."""
        self.name = name
        self.endpoint = endpoint or f"https://s3.{region}.amazonaws.com"
        self._client = _client(self.endpoint, region)
        self._signer = _client(public_endpoint or self.endpoint, region)
        self._asker = _client(self.endpoint, region, connect_timeout=1, read_timeout=1, retries={"max_attempts": 0})

    def put(self, team_id: UUID, sha256: str, size: int, stream: IO[bytes]) -> None:
        with tempfile.TemporaryFile() as file:  # check it before the store sees a byte
            copy(stream, file, sha256, size)
            file.seek(0)
            with _told():
                self._client.put_object(Bucket=self.name, Key=_key(team_id, sha256), Body=file, ContentLength=size)

    def read(self, team_id: UUID, sha256: str, start: int, count: int) -> bytes:
        if not count:
            return b""
        asked = f"bytes={start}-{start + count - 1}"
        with _told():
            for _ in range(TRIES):  # boto3 retries a request, but not the reading of its answer
                body = self._get(_key(team_id, sha256), Range=asked)
                try:
                    return bytes(body.read())
                except BotoCoreError as error:
                    broke = error
            raise broke

    def delete(self, team_id: UUID, sha256: str) -> None:
        with _told():
            self._client.delete_object(Bucket=self.name, Key=_key(team_id, sha256))

    def offer(self, team_id: UUID, sha256: str, size: int) -> str:
        what = {"Bucket": self.name, "Key": _incoming(team_id, sha256), "ContentLength": size}
        return str(self._signer.generate_presigned_url("put_object", Params=what, ExpiresIn=SIGNED_FOR))

    def settle(self, team_id: UUID, sha256: str, size: int) -> bool:
        came = _incoming(team_id, sha256)
        with _told():
            try:
                about = self._client.head_object(Bucket=self.name, Key=came)
            except ClientError as error:
                if error.response["Error"]["Code"] in NOT_THERE:
                    return False
                raise
            try:
                self._check(came, about, sha256, size)
                self._client.copy_object(
                    Bucket=self.name,
                    Key=_key(team_id, sha256),
                    CopySource={"Bucket": self.name, "Key": came},
                    CopySourceIfMatch=about["ETag"],  # copy what we read, not what somebody put there since
                )
            finally:
                self._client.delete_object(Bucket=self.name, Key=came)
        return True

    def sweep(self) -> None:
        oldest = timezone.now() - UNSETTLED
        with _told():
            for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix="incoming/"):
                for one in page.get("Contents", ()):
                    if one["LastModified"] < oldest:
                        self._client.delete_object(Bucket=self.name, Key=one["Key"])

    def ask(self) -> None:
        with _told():
            self._asker.head_bucket(Bucket=self.name)

    def try_out(self) -> None:
        what = {"Bucket": self.name, "Key": f"incoming/{uuid4()}"}
        with _told():
            self._client.put_object(**what, Body=TRIAL)
            try:
                if self._get(what["Key"]).read() != TRIAL:
                    raise StoreAway("The object store returns other bytes than were written.", hint="Check its disks.")
            finally:
                self._client.delete_object(**what)

    def told(self) -> dict[str, str]:
        return {"kind": "s3", "bucket": self.name, "endpoint": self.endpoint}

    def _check(self, key: str, about: Any, sha256: str, size: int) -> None:
        """Read it all: not every store that speaks S3 checks its own checksum."""
        digest = hashlib.sha256()
        if about["ContentLength"] == size:
            body = self._get(key)
            while piece := body.read(PIECE):
                digest.update(piece)
        require_same(sha256, size, digest.hexdigest(), about["ContentLength"])

    def _get(self, key: str, **options: str) -> Any:
        return self._client.get_object(Bucket=self.name, Key=key, **options)["Body"]


def _client(endpoint: str, region: str, **patience: Any) -> Any:
    """Let boto3 find the keys: in the environment, a file, or the machine's role."""
    is_amazons = endpoint.endswith(".amazonaws.com")
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=region,
        config=Config(
            signature_version="s3v4",
            s3={"addressing_style": "virtual" if is_amazons else "path"},
            **(PATIENCE | patience),
            request_checksum_calculation="when_required",  # other stores lack the newer kinds
            response_checksum_validation="when_required",
        ),
    )


def _key(team_id: UUID, sha256: str) -> str:
    return f"chunks/{team_id}/{sha256[:2]}/{sha256}"


def _incoming(team_id: UUID, sha256: str) -> str:
    return f"incoming/{team_id}/{sha256}"


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if error.response["ResponseMetadata"]["HTTPStatusCode"] in (502, 503, 504):  # the words of a proxy before it
            raise StoreAway(f"The object store does not answer ({code}).", hint="Try again in a while.") from None
        if code in ("PreconditionFailed", "412"):
            raise Invalid("The chunk was sent anew while it was being read.", code="chunk-mismatch") from None
        hint = "Ask the operator to check the name of the bucket and its permissions."
        raise StoreAway(f"The object store refuses ({NAMES.get(code, code)}).", hint=hint) from None
    except SSLError as error:
        raise StoreAway(
            f"The object store's certificate is not trusted ({error.kwargs['error']}).",
            hint="If an authority of your own signed it, name its PEM file in AWS_CA_BUNDLE.",
        ) from None
    except BotoCoreError as error:
        raise StoreAway(
            f"The object store does not answer ({type(error).__name__}).", hint="Try again in a while."
        ) from None
