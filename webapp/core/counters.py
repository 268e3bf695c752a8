"""Counters of this process that lower apps add to. webapp/metrics tells them."""

from __future__ import annotations

from prometheus_client import Counter

sign_ins_refused = Counter("drafthouse_sign_ins_refused", "Wrong passwords, links and tokens.", ["by"], registry=None)
upload_requests_refused = Counter(
    "drafthouse_upload_requests_refused", "Requests about uploads that were refused.", ["code"], registry=None
)
