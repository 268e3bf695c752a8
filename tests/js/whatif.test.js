import assert from "node:assert/strict";
import { test } from "node:test";
import { onCurve, pieces, valuesOf } from "../../static/js/forms/curve.js";
import { asked, beside, canBe, question, sentence, toRun } from "../../static/js/forms/whatif.js";

const gain = (ratio, low = ratio - 0.1, high = ratio + 0.1) => ({ ratio, low, high, prompts: 12 });
const ran = (strategy, params, label, ratio, more = {}) => ({ strategy, params, label, name: label, role: "ranked", speedup: gain(ratio), ...more });
const ANSWER = {
  label: "static:3", strategy: "static", params: { lookahead: 3 }, speedup: gain(1.3), bound: 1.6, error: 0.034,
  measured: [ran("static", { lookahead: 2 }, "static:2", 1.2), ran("threshold", { threshold: 0.4, cap: 20 }, "threshold:0.4", 1.25),
    ran("oracle", { cap: 32 }, "oracle:32", 1.5, { role: "bound" })],
  curve: { param: "lookahead", points: [1, 2, 3, 4].map((value) => ({ value, ratio: 1.1, low: 1, high: 1.2, unmeasured: value > 2 ? 0.5 : 0 })) },
};

test("a setting is read from the way labels spell it, and nothing else is", () => {
  const params = { static: "lookahead", threshold: "threshold" };
  assert.deepEqual(asked("static:6", params), { strategy: "static", knobs: { lookahead: "6" } });
  assert.deepEqual(asked("threshold:0.2,cap=8", params), { strategy: "threshold", knobs: { threshold: "0.2", cap: "8" } });
  assert.deepEqual(asked("static:6 @16", params), { strategy: "static", knobs: { lookahead: "6", users: "16" } });
  assert.deepEqual(asked("hybrid @4", { hybrid: "" }), { strategy: "hybrid", knobs: { users: "4" } });
  for (const label of [null, undefined, "", "oracle:32", "nonsense"]) assert.equal(asked(label, params), null);
  assert.equal(question("threshold", { threshold: "0.2", cap: "8" }), "strategy=threshold&threshold=0.2&cap=8");
});

test("a knob stays where it is for a value that it cannot show", () => {
  const range = { min: "0.05", max: "0.95" };
  assert.deepEqual(["0.05", "0.4", "0.95", "0", "1", "x"].map((value) => canBe(range, value)), [true, true, true, false, false, false]);
  assert.ok(canBe({ options: [{ value: "uniform" }] }, "uniform") && !canBe({ options: [] }, "uniform"));
});

test("it stands beside the same setting if that ran, else beside the fastest that is ranked", () => {
  assert.equal(beside(ANSWER).label, "threshold:0.4");
  assert.equal(beside({ ...ANSWER, label: "static:2" }).label, "static:2");
  assert.equal(beside({ ...ANSWER, measured: [] }), null);
});

test("what it says begins with simulated, gives the doubt, and what was measured", () => {
  assert.equal(sentence(ANSWER),
    "Simulated: static:3 would be 1.30 times as fast as autoregressive (95 % interval 1.20 to 1.40, 12 prompts). " +
    "Measured: threshold:0.4 is 1.25 times as fast. On the strategies that ran, this replay is off by at most 4 %.");
  const alone = { ...ANSWER, measured: [], error: null, speedup: { ratio: 1.3, low: null, high: null, prompts: 1 } };
  assert.match(sentence(alone), /\(a single prompt\)\.$/);
});

test("to run it is to run it beside the fastest that the same form can hold", () => {
  assert.equal(toRun(ANSWER), "static:3,threshold:0.4");
  const capped = { ...ANSWER, label: "threshold:0.2,cap=8", strategy: "threshold", params: { threshold: 0.2, cap: 8 }, curve: { ...ANSWER.curve, param: "threshold" } };
  assert.equal(toRun(capped), "threshold:0.2,cap=8,static:2"); // the form has one cap
});

test("for several users it says how many, and is run at that load", () => {
  const many = { ...ANSWER, label: "static:3 @16", users: 16, measured: [ran("static", { lookahead: 2 }, "static:2 @16", 1.2)], error: null };
  assert.match(sentence(many), /^Simulated: static:3 @16 would be 1\.30 times as fast as autoregressive with 16 users at once \(95 %/);
  assert.equal(toRun(many), "static:3,static:2");
});

test("a measured run lies on the curve if it differs in nothing but what the curve is over", () => {
  assert.deepEqual(onCurve(ANSWER).map((row) => row.label), ["static:2"]);
  const over = { ...ANSWER, strategy: "threshold", curve: { ...ANSWER.curve, param: "threshold" } };
  assert.deepEqual(onCurve({ ...over, params: { threshold: 0.1, cap: 20 } }).map((row) => row.label), ["threshold:0.4"]);
  assert.deepEqual(onCurve({ ...over, params: { threshold: 0.4, cap: 8 } }), []);
});

test("the line is broken where its price is extended, and has no gap", () => {
  const found = pieces(ANSWER.curve.points);
  assert.deepEqual(found.map((piece) => [piece.isExtended, piece.points.map((point) => point.value)]), [[false, [1, 2]], [true, [2, 3, 4]]]);
});

test("an axis has room for points that are still to come", () => {
  assert.deepEqual(valuesOf({ points: [{ value: 4 }, { value: 8 }], missing: [6, 2] }), [2, 4, 6, 8]);
  assert.deepEqual(valuesOf({ points: [{ value: 1 }] }), [1]);
});
