"""Files chosen in a browser, sent in pieces: through the server or straight to a bucket, and unpacked by a worker."""

from __future__ import annotations

import io
import re
import zipfile

import pytest
from playwright.sync_api import expect

from tests.kit.stores import bucket, s3_server  # noqa: F401
from webapp.core.problems import Invalid
from webapp.jobs import services as jobs
from worker.attempt import Attempt
from worker.jobs import unpack
from worker.pulse import Hold

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
FILES = "[data-upload]:not([hidden]) input:not([webkitdirectory])"


def choose(page, name: str, content: bytes) -> None:
    page.locator("summary", has_text="file from this computer").click()
    page.set_input_files(FILES, [{"name": name, "mimeType": "application/octet-stream", "buffer": content}])


def add(page) -> None:
    page.locator("[name=add]").click()
    expect(page.locator("h1")).to_have_text("p")


def unpack_one() -> None:
    """Unpack a waiting upload as a worker does."""
    hold = Hold(jobs.claim(worker="w1", queues=["light"]))
    unpack.work(Attempt(hold, engine=None))
    jobs.succeed(job=hold.job)


def test_a_file_goes_straight_to_the_bucket_where_there_is_one(open_page, bucket, settings):  # noqa: F811
    bucket.Cors().put(CORSConfiguration={"CORSRules": [{"AllowedMethods": ["PUT"], "AllowedOrigins": ["*"]}]})
    policy = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    settings.CONTENT_SECURITY_POLICY = {"DIRECTIVES": {**policy, "connect-src": ["'self'", settings.S3_ENDPOINT]}}
    page = open_page("/datasets/new/")
    sent_to = []
    page.on("request", lambda asked: sent_to.append(asked.url) if asked.method == "PUT" else None)
    choose(page, "p.txt", b"one\ntwo\n")
    expect(page.locator("[data-told]")).to_have_text("sent and checked")
    (address,) = sent_to
    assert address.startswith(f"{settings.S3_ENDPOINT}/{bucket.name}/incoming/")
    page.fill("[name=name]", "p")
    add(page)


def test_an_archive_is_unpacked_or_refused_while_the_page_waits(open_page, hands):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("p.txt", "one\ntwo\n")
    page = open_page("/datasets/new/")
    page.fill("[name=name]", "p")
    told = page.locator("[data-told]")
    choose(page, "p.zip", packed.getvalue())
    expect(told).to_have_text("sent; being unpacked")
    hands(unpack_one)
    expect(told).to_have_text("sent and checked")
    page.set_input_files(FILES, [{"name": "q.zip", "mimeType": "application/zip", "buffer": b"no archive"}])
    expect(told).to_have_text("sent; being unpacked")
    with pytest.raises(Invalid, match="cannot be unpacked"):
        hands(unpack_one)
    expect(page.locator("[data-wrong]")).to_have_text(re.compile("The archive q.zip cannot be unpacked"))
    add(page)


def test_what_can_never_be_a_model_is_refused_before_a_byte_is_sent(open_page):
    page, asked = open_page("/models/new/"), []
    page.on("request", lambda request: asked.append(request.url) if "/api/" in request.url else None)
    page.set_input_files(FILES, [{"name": "m.bin", "mimeType": "", "buffer": b"PK\x03\x04" + bytes(100)}])
    expect(page.locator("[data-wrong]")).to_contain_text("m.bin is a pickle")
    assert asked == []
