import assert from "node:assert/strict";
import { test } from "node:test";
import { framesOf, rowsOf } from "../../static/js/live/packed.js";

// as webapp/comparisons/packing.py writes it
const part = {
  kinds: [0, 1, 0],
  tables: [
    { seq: { steps: [1, 2] }, tokens: [[5, 6], []] },
    { seq: { steps: [2] }, share: [0.5], nested: [{ steps: [4] }] },
  ],
  words: { 5: " a" },
};
const events = [{ seq: 1, tokens: [5, 6] }, { seq: 2, share: 0.5, nested: { steps: [4] } }, { seq: 3, tokens: [] }];

test("rows come back in their order, each with its own fields", () => {
  assert.deepEqual(rowsOf(part), events);
  assert.deepEqual(rowsOf({ kinds: [], tables: [], words: {} }), []);
});

test("a whole trace comes back as the frames that a socket would have brought", () => {
  assert.deepEqual([...framesOf({ sample: "a", last_seq: 3, parts: [part] })], [
    { t: "events", sample: "a", events, words: part.words },
    { t: "complete", sample: "a", last_seq: 3 },
  ]);
});
