import assert from "node:assert/strict";
import { test } from "node:test";
import { apart } from "../../static/js/core/plot.js";

test("labels of lines that lie close move up until none covers another, and others stay", () => {
  assert.deepEqual(apart([100, 40, 96], 13), [100, 40, 87]);
  assert.deepEqual(apart([96, 100, 98], 13), [74, 100, 87]);
  assert.deepEqual(apart([], 13), []);
});
