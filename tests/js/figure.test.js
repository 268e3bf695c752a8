import assert from "node:assert/strict";
import { test } from "node:test";
import { labelled, legend, look, table } from "../../static/js/charts/figure.js";

const point = (x, y, low = null, high = null, label = "") => ({ x, y, low, high, label });
const figure = {
  number: "Figure 3", title: "Misses", why: "The pair is another.",
  x: { label: "branches", format: "number", log: true, names: [] }, y: { label: "misses", format: "share", log: true },
  series: [
    { name: "1B", origin: "published", grade: "Pd", source: "there", is_line: true, points: [point(2, 0.25)] },
    { name: "ours", origin: "computed", grade: "", source: "", is_line: true, points: [point(2, 0.3, 0.2, 0.4), point(4, 0.015, null, null, "C = 1")] },
  ],
};

test("published series and ours have looks of their own, each counted from 0", () => {
  assert.deepEqual([0, 1].map((i) => look(figure, i)), ["published d0", "ours f0"]);
  assert.deepEqual(legend({ figure }).map((entry) => entry.children[0]), ["1B (published)", "ours (computed)"]);
});

test("a published series, and one without a line, is shown by its dot in the legend", () => {
  assert.deepEqual(legend({ figure }).map((entry) => entry.attributes.class), ["key spot published d0", "key line ours f0"]);
  const spots = { ...figure, series: figure.series.map((series) => ({ ...series, is_line: false })) };
  assert.deepEqual(legend({ figure: spots }).map((entry) => entry.attributes.class), ["key spot published d0", "key spot ours f0"]);
});

test("the table has every point, its interval, and how a published one was read", () => {
  const rows = table({ figure }).children[1].children.map((row) => row.children.map((cell) => cell.children.flat().join("")));
  assert.deepEqual(rows, [
    ["1B", "published", "2", "25 %", "–", "there [Pd]"],
    ["ours", "computed", "2", "30 %", "20 % – 40 %", "–"],
    ["ours", "computed", "C = 1", "1.5 %", "–", "–"],
  ]);
});

test("the ends of a line are labelled where no axis says what its points are", () => {
  const points = ["C = 1", "C = 0.5", "C = 0"].map((label, i) => point(i, i, null, null, label));
  assert.deepEqual(labelled({ is_line: true, points }).map(({ label }) => label), ["C = 1", "C = 0"]);
  assert.deepEqual(labelled({ is_line: true, points: [...points, point(3, 3)] }), []);
  assert.deepEqual(labelled({ is_line: true, points: [point(0, 0, null, null, "ssd:4,fanout=uniform / static:4")] }), []);
});
