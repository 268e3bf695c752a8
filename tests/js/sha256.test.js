import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import test from "node:test";

import { plain } from "../../static/js/forms/sha256.js";

test("our own SHA-256 agrees with node's at every awkward length", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 100_003]) {
    const bytes = randomBytes(length);
    const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + length);
    assert.equal(Buffer.from(plain(copy)).toString("hex"), createHash("sha256").update(bytes).digest("hex"));
  }
});
