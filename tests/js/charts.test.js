// What charts say, and their numbers.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";

globalThis.document = Object.assign(new EventTarget(), { querySelectorAll: () => [], querySelector: () => ({ dataset: { marks: "marks.svg" } }) });
const at = "../../static/js";
const { sentence: ofMap } = await import(`${at}/charts/best-map.js`);
const { frontOf, sentence: ofFront } = await import(`${at}/charts/load-front.js`);
const { sentence: ofLatency } = await import(`${at}/charts/load-latency.js`);
const { crossing, sentence: ofSpeedup } = await import(`${at}/charts/load-speedup.js`);
const { folded } = await import(`${at}/charts/oracle-lookaheads.js`);
const { legend: ofPositions } = await import(`${at}/charts/positions.js`);
const { sentence: ofPredicted, table: predicted } = await import(`${at}/charts/predicted.js`);
const { legend: ofWaterfall, table: waterfall } = await import(`${at}/charts/waterfall.js`);

/** Texts of a table's rows. */
const cells = (table) => table.children[1].children.map((row) => row.children.map(textOf));
const textOf = (cell) => cell.children.flat().map((one) => one?.children?.[0] ?? one).join("");

test("every chart says where it stands, what it is called, what it shows and its numbers", async () => {
  const folder = new URL(`${at}/charts/`, import.meta.url);
  for (const file of readdirSync(folder)) {
    const chart = await import(new URL(file, folder));
    assert.ok(Object.values(chart.on).length && Object.values(chart.on).every(Number.isInteger), file);
    assert.ok(["string", "function"].includes(typeof chart.title), file);
    for (const part of ["sentence", "table"]) assert.equal(typeof chart[part], "function", `${file} ${part}`);
  }
});

test("in a legend runs of one strategy share its colour and are told apart by their dashes; the baseline drafts nothing", () => {
  const run = (strategy, dash, role) => ({ strategy, dash, role, name: strategy });
  const keys = ofPositions({ rows: [run("a", "", "baseline"), run("b", "", "ranked"), run("b", "dash-2nd", "ranked"), run("c", "dash-unranked", "bound")] });
  assert.deepEqual(keys.map((key) => key.attributes.class), ["entry s-b ", "entry s-b dash-2nd", "entry s-c dash-unranked"]);
});

test("a plan draws every strategy with a number it varied, a line for each combination of what else differs", () => {
  const row = (strategy, params, speedup) => ({ strategy, params, speedup });
  const found = { predictions: [
    row("a", { n: 2 }, 1.2), row("a", { n: 1 }, 1.1), row("b", { cap: 8, t: 0.2, adaptive: false }, 1.4), row("b", { cap: 8, t: 0.4, adaptive: false }, 1.3),
    ...[0.2, 0.4, 0.6].map((threshold) => row("b", { cap: 20, t: threshold, adaptive: false }, 1)), row("c", { cap: 20 }, 2),
  ] };
  assert.equal(ofPredicted({ found }), "The best that is predicted of each strategy: b, cap 8, t 0.2: 1.40×; a, n 2: 1.20×.");
  assert.deepEqual(cells(predicted({ found })).map(([name]) => name),
    ["a, n 1", "a, n 2", "b, cap 8, t 0.2", "b, cap 8, t 0.4", "b, cap 20, t 0.2", "b, cap 20, t 0.4", "b, cap 20, t 0.6"]);
});

test("a pair on the map is told what is best near it, and one far beyond that it is not on the map", () => {
  const fields = [0.1, 0.6].map((price) => ({ price, acceptance: 0.8, best: "ssd", label: "ssd:4", speedups: { ssd: 1.5 } }));
  const said = (price) => ofMap({ found: { map: { fields, pair: { price, acceptance: 0.8 } } } });
  for (const price of [0.06, 1.1]) assert.match(said(price), /Near there ssd is best/);
  for (const price of [0.01, 115]) assert.match(said(price), /That is beyond the map\. At its edge ssd is best/);
});

test("sets of lookaheads stand on one scale, on which rare long ones stand in the last bar unless they are common in one set", () => {
  const [shares] = folded([[500, 300, 100, 50, 42, 5, ...Array(30).fill(0), 3]]);
  assert.deepEqual(shares, [0.5, 0.3, 0.1, 0.05, 0.042, 0.008]);
  assert.deepEqual(folded([[99, 1], [10, 10, 10, 10, 10, 10, 10]]).map((of) => of.length), [7, 7]);
});

test("the waterfall goes on to the prompt and under load to the queue; a run without rounds shows what was measured", () => {
  const step = (name, from, to) => ({ name, title: name, from, to, seconds: 0.5 });
  const why = { refusal: "", bound: 100, steps: [step("others", 100, 80), step("overhead", 80, 60)], measured: 60, with_prompt: 50, end_to_end: 40,
    baseline: 30, largest: "" };
  const data = (more) => ({ explained: { label: "static:4 @8", concurrency: 8, rate: null, why: { ...why, ...more } }, roundsAt: "/rounds/" });
  const bars = (shown) => cells(waterfall(shown)).map(([name, to]) => `${name} ${to}`);
  assert.deepEqual(bars(data()), ["bound 100", "others 80.0", "overhead 60.0", "measured 60.0", "prompt reading 50.0", "queue 40.0", "end to end 40.0"]);
  assert.deepEqual(bars(data({ end_to_end: 50 })).at(-2), "prompt reading 50.0");
  const server = data({ refusal: "A server does not report its rounds.", bound: null, steps: [] });
  assert.deepEqual(bars(server), ["measured 60.0", "prompt reading 50.0", "queue 40.0", "end to end 40.0"]);
  assert.equal(ofWaterfall(server).filter(Boolean).length, 1);
});

// ---- loads

const row = (settings, concurrency, user, device, more = {}) => ({
  settings, name: concurrency > 1 ? `${settings} @${concurrency}` : settings, role: "ranked", concurrency, rate: null,
  tokens_per_s_user: user, tokens_per_s_device: device, isBaseline: settings === "autoregressive", ...more,
});
const rows = [row("autoregressive", 1, 100, 100), row("static:4", 1, 150, 150), row("autoregressive", 8, 60, 480), row("static:4", 8, 50, 400)];

test("charts of loads name the front without bounds and crossovers as far as intervals say, and nothing with one user", () => {
  const bound = row("oracle:8", 1, 900, 900, { role: "bound" });
  assert.deepEqual(frontOf([...rows, bound]).map((one) => one.name), ["static:4", "autoregressive @8"]);
  const told = (gain_until, loss_from, axis = "concurrency") => crossing({ axis, gain_until, loss_from });
  assert.equal(told(4, 16), "is shown to be a gain up to 4 at once and a loss from 16 at once on");
  assert.match(told(null, 2, "rate"), /loss from 2 requests\/s on, and a gain at no load/);
  const alone = { everyRow: rows.slice(0, 2), report: { crossovers: [], objective: {} } };
  for (const sentence of [ofFront, ofSpeedup, ofLatency]) assert.equal(sentence(alone), "");
});
