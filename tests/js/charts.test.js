import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { legend as keysOfDuet, sentence as ofDuet } from "../../static/js/charts/duet.js";
import { sentence as ofForest } from "../../static/js/charts/forest.js";
import { sentence as ofHistogram } from "../../static/js/charts/histogram.js";
import { sentence as ofLines, tokensAt } from "../../static/js/charts/lines.js";
import { legend, sentence as ofPositions } from "../../static/js/charts/positions.js";
import { sentence as ofPredicted, table as predicted } from "../../static/js/charts/predicted.js";
import { sentence as ofRounds } from "../../static/js/charts/rounds.js";
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

test("a histogram is told by its ends and its mean", () => {
  const speculative = (counts) => ({ speculative: { name: "static:2", acceptance_histogram: counts } });
  assert.equal(ofHistogram(speculative([5, 1, 4])),
    "static:2, 10 rounds: the target accepted no drafted token in 50 % of them, and 2 in 40 %. The mean is 0.9.");
  assert.equal(ofHistogram(speculative([])), "");
  assert.equal(ofHistogram({}), "");
});

test("acceptance by position is told from the first place to the last", () => {
  const rows = [{ name: "a", places: [0.8, 0.6, 0.41] }, { name: "b", places: [0.7] }, { name: "c", places: [] }];
  assert.equal(ofPositions({ rows }), "Share accepted, of the drafts that reached this position: a from 80 % at position 1 to 41 % at position 3; b 70 % at position 1.");
  assert.equal(ofPositions({ rows: [] }), "");
});

test("in a legend runs of one strategy share its colour and are told apart by their dashes; the baseline drafts nothing", () => {
  globalThis.document = { querySelector: () => ({ dataset: { marks: "marks.svg" } }) };
  const run = (strategy, dash, role) => ({ strategy, dash, role, name: strategy });
  const keys = legend({ rows: [run("a", "", "baseline"), run("b", "", "ranked"), run("b", "dash-2nd", "ranked"), run("c", "dash-unranked", "bound")] });
  assert.deepEqual(keys.map((key) => key.attributes.class), ["entry s-b ", "entry s-b dash-2nd", "entry s-c dash-unranked"]);
});

test("rounds and lines are told by their sums, the fastest first", () => {
  const rounds = (...counts) => ({ all: { rounds: counts.map(([drafted, accepted]) => ({ drafted: Array(drafted).fill(1), accepted })) } });
  assert.equal(ofRounds({ run: { name: "a" }, ...rounds([4, 2], [4, 4]) }), "a, 2 rounds: 8 tokens drafted, 6 of them kept.");
  assert.equal(ofRounds({ run: { name: "b" }, ...rounds([0, 0]) }), "b, 1 round without a draft.");
  assert.equal(ofRounds({ run: { name: "b" }, ...rounds() }), "");
  const runs = ["a", "b", "c"].map((name, number) => ({ name, number }));
  const state = (ms) => ({ rounds: [{}], deliveries: [], tokens: Array(8), nowNs: ms * 1e6, prefillNs: 0 });
  assert.equal(ofLines({ runs, whole: new Map([[0, state(10)], [1, state(4.4)]]) }), "A steeper line is faster: b 8 tokens in 4 ms; a 8 tokens in 10 ms.");
});

test("the clock of rounds without a draft tells of the target alone", () => {
  const round = (drafted) => ({ number: 1, drafted, draftStart: 0, draftEnd: 2e6, verifyStart: 2e6, verifyEnd: 5e6, anticipateEnd: 0 });
  const told = (drafted) => ({ state: { rounds: [round(drafted)] }, chosen: 1 });
  assert.equal(ofDuet(told([7])), "Round 1: the draft worked for 2.00 ms, the target verified for 3.00 ms.");
  assert.equal(ofDuet(told([])), "Round 1: without a draft, the target verified for 3.00 ms.");
  assert.equal(keysOfDuet(told([])).filter(Boolean).length, 1);
});

test("speed-ups are told with how many prompts were faster", () => {
  const rows = [{ number: 1, name: "static:4", isBaseline: true, speedup: { ratio: 1 } }, { number: 2, name: "a", speedup: { ratio: 1.5 } }];
  assert.equal(ofForest({ rows, baseline: "static:4", paired: new Map([[2, [{ ratio: 0.9 }, { ratio: 1.6 }]]]) }),
    "Speed-up over static:4: a 1.50 times, faster on 1 of 2 prompts.");
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
