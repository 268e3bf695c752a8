import assert from "node:assert/strict";
import { test } from "node:test";
import { laidOut, sentence } from "../../static/js/charts/tree-shape.js";

const places = [[-1, 0], [-1, 1], [0, 0], [0, 1], [2, 0]].map(([parent, rank]) => ({ parent, rank, accepted: 0.5 }));

test("a place stands one level below its parent and in the middle of the places below it", () => {
  const at = laidOut(places);
  assert.deepEqual(at.map((one) => one.depth), [1, 1, 2, 2, 3]);
  assert.deepEqual(at.map((one) => Math.round(one.across * 6)), [2, 5, 1, 3, 1]);
});

test("a plan without trees says why", () => {
  assert.deepEqual(laidOut([]), []);
  assert.match(sentence({ found: {} }), /before/u);
  assert.equal(sentence({ found: { trees: { sentence: "Trees pay." } } }), "Trees pay.");
});
