import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, valueOf } from "../../static/js/core/sorting.js";
import { passes, rowsOf, sorted } from "../../static/js/live/prompt-table.js";
import { Results } from "../../static/js/live/results.js";

const finished = (run, prompt, drafts, accepted, audit, repeat = 1) =>
  ({ run, prompt, repeat, is_finished: true, drafts_by_position: drafts, accepted_by_position: accepted, audit });

test("of all repeats of a prompt the accepted share counts, and the worst finding of the audit", () => {
  const results = new Results();
  results.note(finished(2, 7, [2, 2], [2, 1], "identical"));
  results.note(finished(2, 7, [2, 2], [1, 0], "tie", 2));
  assert.deepEqual(results.of(2, 7), { count: 2, ratio: undefined, accepted: 0.5, audit: "tie" });
  assert.deepEqual(results.of(2, 8), { count: 0, ratio: undefined, accepted: null, audit: null });
});

test("a sample that another attempt begins anew no longer counts", () => {
  const results = new Results();
  results.note(finished(2, 7, [2], [2], "divergent"));
  results.note({ run: 2, prompt: 7, repeat: 1 });
  assert.equal(results.of(2, 7).count, 0);
});

const results = new Results(() => 1);
for (const [run, prompt, audit, speed] of [[1, 1, "", 10], [1, 2, "", 10], [2, 1, "identical", 15], [2, 2, "divergent", 8], [3, 1, "identical", 9]]) {
  results.note({ ...finished(run, prompt, [4], [2], audit), speed });
}
const rows = rowsOf({
  runs: [{ number: 2, name: "a" }, { number: 3, name: "b" }], results,
  prompts: new Map([[1, { category: "code", text: "def Main" }], [2, { category: "chat", text: "hello" }]]),
});
const asked = (more) => rows.filter((row) => passes(row, { words: "", category: "", only: "", ...more })).map(({ prompt }) => prompt);

test("every prompt with a finished sample is a row with a cell for each strategy", () => {
  assert.deepEqual(rows.map(({ prompt, cells }) => [prompt, cells.map((cell) => cell.ratio)]), [[1, [1.5, 0.9]], [2, [0.8, undefined]]]);
});

test("prompts are found by their words, their category, a text that differs, and a strategy that is slower", () => {
  assert.deepEqual(asked({}), [1, 2]);
  assert.deepEqual(asked({ words: "MAIN" }), [1]);
  assert.deepEqual(asked({ category: "chat" }), [2]);
  assert.deepEqual(asked({ only: "differs" }), [2]);
  assert.deepEqual(asked({ only: "slower 2" }), [2]);
  assert.deepEqual(asked({ only: "slower 3" }), [1]);
});

test("prompts are sorted by a strategy's speed-up, those without one last whichever way", () => {
  assert.deepEqual(sorted(rows, { by: "2", isDown: true }).map(({ prompt }) => prompt), [1, 2]);
  assert.deepEqual(sorted(rows, { by: "2", isDown: false }).map(({ prompt }) => prompt), [2, 1]);
  assert.deepEqual(sorted(rows, { by: "3", isDown: false }).map(({ prompt }) => prompt), [1, 2]);
});

test("a table is sorted by numbers with their units, by words without them, and what has no value comes last", () => {
  const value = (textContent) => valueOf({ textContent });
  assert.deepEqual(["1.52×", " 78 %", "−3.1", "12\u202f345", "1.20 –\n 1.40"].map(value), [1.52, 78, -3.1, 12345, 1.2]);
  assert.deepEqual(["identical", "–", ""].map(value), ["identical", null, null]);
  assert.ok(compare(2, 1, true) < 0 && compare(2, 1, false) > 0);
  assert.ok(compare(null, 1, true) > 0 && compare(null, 1, false) > 0);
});
