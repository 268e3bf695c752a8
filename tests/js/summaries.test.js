import assert from "node:assert/strict";
import { test } from "node:test";
import { ofForest, ofHistogram, ofLines, ofPositions, ofRounds } from "../../static/js/live/summaries.js";

test("a histogram is told by its ends and its mean", () => {
  assert.equal(ofHistogram("static:2", [5, 1, 4]),
    "static:2, 10 rounds: in 50 % of them no drafted token was accepted, in 40 % as many as 2, on average 0.9.");
  assert.equal(ofHistogram("static:2", []), "");
});

test("acceptance by position is told from the first place to the last", () => {
  const rows = [{ name: "a", places: [0.8, 0.6, 0.41] }, { name: "b", places: [0.7] }, { name: "c", places: [] }];
  assert.equal(ofPositions(rows), "Accepted of those drafts that came so far: a from 80 % in the first place to 41 % in place 3; b 70 % in the only place.");
  assert.equal(ofPositions([]), "");
});

test("rounds and lines are told by their sums, the fastest first", () => {
  const round = (drafted, accepted) => ({ drafted: Array(drafted).fill(1), accepted });
  assert.equal(ofRounds("a", [round(4, 2), round(4, 4)]), "a, 2 rounds: 8 tokens drafted, 6 of them kept.");
  assert.equal(ofRounds("b", [round(0, 0)]), "b, 1 rounds without a draft.");
  assert.equal(ofLines([{ name: "a", tokens: 8, ms: 10 }, { name: "b", tokens: 8, ms: 4.4 }]),
    "The steeper the faster: b 8 tokens in 4 ms; a 8 tokens in 10 ms.");
});

test("speed-ups are told with how many prompts were faster", () => {
  const rows = [{ number: 1, name: "static:4", isBaseline: true, speedup: { median: 1 } }, { number: 2, name: "a", speedup: { median: 1.5 } }];
  assert.equal(ofForest(rows, new Map([[2, [{ ratio: 0.9 }, { ratio: 1.6 }]]])),
    "Speed-up over static:4: a 1.50 times, faster on 1 of 2 prompts.");
});
