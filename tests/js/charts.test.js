import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { tokensAt } from "../../static/js/charts/lines.js";
import { legend } from "../../static/js/charts/positions.js";
import { sentence as ofPredicted, table as predicted } from "../../static/js/charts/predicted.js";
import { counted, grouped } from "../../static/js/core/words.js";

const folder = new URL("../../static/js/charts/", import.meta.url);

for (const file of readdirSync(folder)) {
  test(`${file} is a chart: it says where it stands, what it is called, what it shows and its numbers`, async () => {
    const chart = await import(new URL(file, folder));
    assert.ok(Object.values(chart.on).length && Object.values(chart.on).every(Number.isInteger), "on: { place: rank }");
    assert.ok(["string", "function"].includes(typeof chart.title), "title");
    for (const part of ["sentence", "table"]) assert.equal(typeof chart[part], "function", part);
    assert.ok(["undefined", "function"].includes(typeof chart.draw), "draw");
  });
}

test("in a legend runs of one strategy share its colour and are told apart by their dashes; the baseline drafts nothing", () => {
  globalThis.document = { querySelector: () => ({ dataset: { marks: "marks.svg" } }) };
  const run = (strategy, dash, role) => ({ strategy, dash, role, name: strategy });
  const keys = legend({ rows: [run("a", "", "baseline"), run("b", "", "ranked"), run("b", "dash-2nd", "ranked"), run("c", "dash-unranked", "bound")] });
  assert.deepEqual(keys.map((key) => key.attributes.class), ["entry s-b ", "entry s-b dash-2nd", "entry s-c dash-unranked"]);
});

test("tokens at a moment are those of the rounds that were over", () => {
  const line = [[0, 0], [1.5, 3], [4, 5]];
  assert.deepEqual([0, 1.4, 1.5, 3.9, 4, 9].map((ms) => tokensAt(line, ms)), [0, 0, 3, 3, 5, 5]);
});

test("a plan draws every strategy with a number it varied, a line for each combination of what else differs", () => {
  const row = (strategy, params, speedup) => ({ strategy, params, speedup });
  const found = { predictions: [
    row("a", { n: 2 }, 1.2), row("a", { n: 1 }, 1.1), row("b", { cap: 8, t: 0.2, adaptive: false }, 1.4), row("b", { cap: 8, t: 0.4, adaptive: false }, 1.3),
    row("b", { cap: 20, t: 0.2, adaptive: false }, 1), row("b", { cap: 20, t: 0.4, adaptive: false }, 1), row("b", { cap: 20, t: 0.6, adaptive: false }, 1), row("c", { cap: 20 }, 2),
  ] };
  assert.equal(ofPredicted({ found }), "The best that is predicted of each strategy: b, cap 8, t 0.2: 1.40×; a, n 2: 1.20×.");
  const settings = predicted({ found }).children[1].children.map((one) => one.children[0].children[0]);
  assert.deepEqual(settings, ["a, n 1", "a, n 2", "b, cap 8, t 0.2", "b, cap 8, t 0.4", "b, cap 20, t 0.2", "b, cap 20, t 0.4", "b, cap 20, t 0.6"]);
});

test("commas stand between thousands, and nowhere behind a point", () => {
  assert.deepEqual([0.0002, 999, 1234.5678, -12345].map(grouped), ["0.0002", "999", "1,234.5678", "-12,345"]);
  assert.deepEqual([counted(1, "round"), counted(2000, "round")], ["1 round", "2,000 rounds"]);
});
