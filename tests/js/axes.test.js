import assert from "node:assert/strict";
import { test } from "node:test";
import { layout, moved, passes, rounded, span, valueAt, withEnd, written } from "../../static/js/core/axes.js";
import { moments, pieces } from "../../static/js/charts/history.js";
import { apart } from "../../static/js/core/plot.js";
import { steps } from "../../static/js/charts/pareto.js";

const axis = { name: "speedup", title: "Speed-up", kind: "times" };
const run = (speedup, lookahead = null) => ({ label: "x", strategy: "static", values: { speedup, lookahead } });
const chart = { axes: [{ name: "lookahead", title: "lookahead", kind: "number" }, axis], runs: [run(1), run(2, 4), run(1.5, 8)] };

test("an axis reaches from the least to the most value, and has a width even where all are alike", () => {
  assert.deepEqual(span(axis, chart.runs), { low: 1, high: 2 });
  assert.deepEqual(span(axis, [run(2)]), { low: 1.8, high: 2.2 });
  const flat = span(axis, [run(0)]);
  assert.ok(flat.low < 0 && flat.high > 0);
});

test("on a wide page axes stand side by side, on a narrow one below each other", () => {
  const wide = layout(chart, 1200), narrow = layout(chart, 170);
  assert.ok(wide.isUpright && !narrow.isUpright);
  assert.ok(wide.axes[1].at > 1000);
  assert.ok(narrow.axes[1].at < narrow.height);
  assert.ok(narrow.length <= 170);
});

test("a run without a value has no place on that axis, and is in no range of it", () => {
  const { lines } = layout(chart, 1200);
  assert.equal(lines[0].places[0], null);
  assert.equal(lines[1].places[0][1], 0);
  assert.equal(lines[1].places[1][1], 240);
  assert.equal(passes(chart.runs[0], { lookahead: { from: null, to: 100 } }), false);
  assert.equal(passes(chart.runs[0], {}), true);
  assert.equal(passes(chart.runs[1], { lookahead: { from: 4, to: 4 }, speedup: { from: 1.9, to: null } }), true);
  assert.equal(passes(chart.runs[1], { speedup: { from: 2.1, to: null } }), false);
});

test("keys move an end by steps, and past the axis's end it is no bound any more", () => {
  const whole = { low: 1, high: 2, ...axis };
  assert.equal(moved(whole, "from", null, "ArrowUp"), 1.025);
  assert.equal(moved(whole, "from", 1.5, "PageDown"), 1.375);
  assert.equal(moved(whole, "from", 1.01, "ArrowDown"), null);
  assert.equal(moved(whole, "to", 1.99, "ArrowRight"), null);
  assert.equal(moved(whole, "to", null, "ArrowLeft"), 1.975);
  assert.equal(moved(whole, "from", 1.5, "Home"), null);
  assert.equal(moved(whole, "to", 1.5, "Home"), 1);
  assert.equal(moved(whole, "to", 1.5, "x"), undefined);
});

test("ends that pass each other change places, and a range without ends is none", () => {
  assert.deepEqual(withEnd({ from: 1, to: 2 }, "from", 3), { from: 2, to: 3 });
  assert.deepEqual(withEnd(undefined, "to", 3), { from: null, to: 3 });
  assert.equal(withEnd({ from: 1, to: null }, "from", null), null);
});

test("values at places stay within the axis and are written short", () => {
  const whole = { low: 0, high: 0.05 };
  assert.equal(valueAt(whole, -5, 100), 0);
  assert.equal(valueAt(whole, 500, 100), 0.05);
  assert.equal(rounded(0.0123456, whole), 0.01235);
  assert.equal(rounded(1234.567, { low: 0, high: 5000 }), 1235);
  assert.deepEqual([written(0.256, "share"), written(1.5, "times"), written(null), written(312.4, "number"), written(4, "number"), written(3.5, "number"), written(82.88, "number")],
    ["26 %", "1.50×", "–", "312", "4", "3.50", "82.9"]);
});

test("the Pareto line goes in steps: a cost in between buys what the cheaper run gives", () => {
  assert.equal(steps([[0, 10], [5, 4]], 9), "M0,10H5V4H9");
  assert.equal(steps([], 9), "");
});

test("the history of a strategy is broken where what it ran on changed", () => {
  const point = (label, at, device) => ({ label, at, device, versions: "" });
  const points = [point("a", "1", "x"), point("b", "1", "x"), point("a", "2", "x"), point("a", "3", "y")];
  assert.deepEqual([...pieces(points)].map(([label, parts]) => [label, parts.map((part) => part.length)]), [["a", [2, 1]], ["b", [1]]]);
  assert.deepEqual(moments(points), ["1", "2", "3"]);
});

test("labels of lines that lie close move up until none covers another, and others stay", () => {
  assert.deepEqual(apart([100, 40, 96], 13), [100, 40, 87]);
  assert.deepEqual(apart([96, 100, 98], 13), [74, 100, 87]);
  assert.deepEqual(apart([], 13), []);
});
