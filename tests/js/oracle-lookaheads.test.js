import assert from "node:assert/strict";
import { test } from "node:test";
import { folded } from "../../static/js/charts/oracle-lookaheads.js";

test("one long lookahead does not squeeze the others: rare ones stand in the last bar", () => {
  const [shares] = folded([[500, 300, 100, 50, 42, 5, ...Array(30).fill(0), 3]]);
  assert.deepEqual(shares, [0.5, 0.3, 0.1, 0.05, 0.042, 0.008]);
});

test("sets stand on one scale, and what is common in one of them is folded in none", () => {
  const [one, other] = folded([[99, 1], [10, 10, 10, 10, 10, 10, 10]]);
  assert.equal(one.length, 7);
  assert.equal(other.length, 7);
  assert.deepEqual(one, [0.99, 0.01, 0, 0, 0, 0, 0]);
});
