// What a page of a comparison knows: samples, results, requests under load, and the moment that is shown.
import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptanceOf } from "../../static/js/core/stats.js";
import { compare, valueOf } from "../../static/js/core/sorting.js";
import { Heats } from "../../static/js/live/heats.js";
import { Moment } from "../../static/js/live/moment.js";
import { framesOf, rowsOf as unpacked } from "../../static/js/live/packed.js";
import { passes, rowsOf, sorted } from "../../static/js/live/prompt-table.js";
import { Requests, asOf, onOneClock, shownBlock, spanOf, totals, totalsAsOf } from "../../static/js/live/requests.js";
import { Results } from "../../static/js/live/results.js";
import { begin, foldAll } from "../../static/js/live/sample-state.js";
import { ComparisonState } from "../../static/js/live/comparison-state.js";
import { traces } from "./golden.js";

const trace = traces["static-4"];
const row = (id, run, prompt, more = {}) => ({ id, run, prompt, repeat: 1, is_finished: false, ...more });
const events = (sample, list, words = {}) => ({ t: "events", sample, events: list, words });

test("frames that come twice, or overlap, change nothing, and words are learnt as they come", () => {
  const known = new ComparisonState();
  known.hear({ t: "samples", rows: [row("a", 1, 1)] });
  for (const part of [trace.slice(0, 5), trace.slice(0, 5), trace.slice(3), trace]) known.hear(events("a", part, { 7: " the" }));
  assert.deepEqual([known.state("a"), known.events.get("a")], [foldAll(trace), trace]);
  assert.deepEqual([known.word(7), known.word(8)], [" the", "⟨8⟩"]);
});

test("a heat holds one sample for each strategy, the newest attempt, and what is missing is asked for from where it stands", () => {
  const known = new ComparisonState({ rows: [row("a", 1, 1), row("b", 2, 1), row("d", 3, 1)] });
  known.hear(events("a", trace.slice(0, 4)));
  known.hear(events("b", trace.slice(0, 3)));
  known.hear({ t: "complete", sample: "d", last_seq: 9 });
  known.hear({ t: "samples", rows: [row("b2", 2, 1), row("c", 1, 2)] });
  assert.deepEqual([...known.samples("1.1")], [[1, "a"], [2, "b2"], [3, "d"]]);
  assert.deepEqual([known.missing("1.1"), known.events.has("b"), known.latest], [{ a: 4, b2: 0 }, false, "1.2"]);
  known.hear({ t: "samples", rows: [row("a", 1, 1, { is_finished: true })] }); // told again
  assert.equal(known.latest, "1.2");
});

test("of long watching only the latest whole traces are kept, and what was let go is asked for again from its start", () => {
  const known = new ComparisonState({ rows: [row("grows", 2, 1)] }, () => 1, 3 * trace.length);
  known.hear(events("grows", trace.slice(0, 3)));
  known.lookedAt = "1.2";
  for (let prompt = 1; prompt <= 9; prompt++) {
    known.hear({ t: "samples", rows: [row(`s${prompt}`, 1, prompt)] });
    known.hear(events(`s${prompt}`, trace));
    known.hear({ t: "complete", sample: `s${prompt}`, last_seq: trace.length });
  }
  assert.deepEqual([...known.events.keys()], ["grows", "s2", "s9"]);
  assert.deepEqual([known.missing("1.2"), known.missing("1.3")], [{}, { s3: 0 }]);
  known.hear(events("grows", trace.slice(3)));
  assert.deepEqual(known.state("grows"), foldAll(trace));
});

const done = (run, prompt, repeat, speed, more = {}) => ({ id: `${run} ${prompt} ${repeat}`, run, prompt, repeat, speed, is_finished: true, ...more });

test("a speed-up is the median over repeats paired with the baseline's, in whatever order samples end", () => {
  const rows = [done(1, 1, 1, 100), done(1, 1, 2, 200), done(2, 1, 1, 150), done(2, 1, 2, 400), done(2, 2, 1, 999), done(1, 3, 1, 0), done(2, 3, 1, 5)];
  for (const order of [rows, [...rows].reverse(), [rows[2], rows[0], rows[4], rows[3], rows[1], rows[6], rows[5]]]) {
    const results = new Results(() => 1);
    for (const one of order) results.note(one);
    assert.deepEqual([...results.paired.values()].flat(), [{ prompt: 1, ratio: 1.75 }]);
  }
});

test("another attempt takes speed-up and drafts of the last one back until it ends, and a row that comes twice counts once", () => {
  const counts = { drafts_by_position: [20, 12, 1], accepted_by_position: [16, 6] };
  const known = new ComparisonState({ rows: [done(1, 1, 1, 100), done(2, 1, 1, 150, counts), done(2, 2, 1, 150), done(1, 2, 1, 50)] }, () => 1);
  known.hear({ t: "samples", rows: [done(2, 1, 1, 150, counts)] });
  assert.deepEqual(known.results.places(2), { drafts: [20, 12, 1], accepted: [16, 6] });
  assert.deepEqual(acceptanceOf(known.results.places(2)), [0.8, 0.5]); // the third was too seldom reached
  known.hear({ t: "samples", rows: [{ ...done(2, 1, 1, null), id: "again", is_finished: false }] });
  assert.deepEqual([known.results.paired.get(2), known.results.places(2).drafts], [[{ prompt: 2, ratio: 3 }], []]);
  known.hear({ t: "samples", rows: [{ ...done(2, 1, 1, 120), id: "again" }] });
  assert.deepEqual(known.results.paired.get(2), [{ prompt: 2, ratio: 3 }, { prompt: 1, ratio: 1.2 }]);
});

test("prompts are rows with a cell for each strategy, found by words, category and finding, and sorted with nothing last", () => {
  const results = new Results(() => 1), finding = (audit, share) => ({ audit, drafts_by_position: [4], accepted_by_position: [share] });
  for (const one of [done(1, 1, 1, 10), done(1, 2, 1, 10), done(2, 1, 1, 15, finding("identical", 2)), done(2, 1, 2, 15, finding("tie", 4)),
    done(2, 2, 1, 8, finding("divergent", 1)), done(3, 1, 1, 9, finding("identical", 3))]) results.note(one);
  assert.deepEqual(results.of(2, 1), { count: 2, ratio: 1.5, accepted: 0.75, audit: "tie" }); // the worst finding of all repeats
  const rows = rowsOf({
    runs: [{ number: 2, name: "a" }, { number: 3, name: "b" }], results,
    prompts: new Map([[1, { category: "code", text: "def Main" }], [2, { category: "chat", text: "hello" }]]),
  });
  assert.deepEqual(rows.map(({ prompt, cells }) => [prompt, cells.map((cell) => cell.ratio)]), [[1, [1.5, 0.9]], [2, [0.8, undefined]]]);
  const asked = (more) => rows.filter((one) => passes(one, { words: "", category: "", only: "", ...more })).map(({ prompt }) => prompt);
  assert.deepEqual([asked({ words: "MAIN" }), asked({ category: "chat" }), asked({ only: "differs" }), asked({ only: "slower 2" })], [[1], [2], [1, 2], [2]]);
  const order = (by, isDown) => sorted(rows, { by, isDown }).map(({ prompt }) => prompt);
  assert.deepEqual([order("2", true), order("2", false), order("3", false)], [[1, 2], [2, 1], [1, 2]]);
});

test("a table is sorted by numbers with their units, by words without them, and what has no value comes last", () => {
  const values = ["1.52×", " 78 %", "−3.1", "12\u202f345", "1.20 –\n 1.40", "identical", "–", ""].map((textContent) => valueOf({ textContent }));
  assert.deepEqual(values, [1.52, 78, -3.1, 12345, 1.2, "identical", null, null]);
  assert.ok(compare(2, 1, true) < 0 && compare(null, 1, true) > 0 && compare(null, 1, false) > 0);
});

test("what a page brings packed comes back as the frames that a socket would have brought", () => { // as packing.py writes it
  const part = { kinds: [0, 1, 0], words: { 5: " a" }, tables: [
    { seq: { steps: [1, 2] }, tokens: [[5, 6], []] }, { seq: { steps: [2] }, share: [0.5], nested: [{ steps: [4] }] }] };
  const rows = [{ seq: 1, tokens: [5, 6] }, { seq: 2, share: 0.5, nested: { steps: [4] } }, { seq: 3, tokens: [] }];
  assert.deepEqual([...framesOf({ sample: "a", last_seq: 3, parts: [part] })],
    [{ t: "events", sample: "a", events: rows, words: part.words }, { t: "complete", sample: "a", last_seq: 3 }]);
  assert.deepEqual(unpacked({ kinds: [], tables: [], words: {} }), []);
});

test("heats have names and neighbours, and what is looked at is read from an address as it was written there", () => {
  const runs = [{ number: 1, label: "autoregressive" }, { number: 2, label: "ssd:4,branches=8" }];
  const prompts = [{ number: 3, category: "function", text: "a" }, { number: 7, category: "", turn: 2, text: "b" }];
  const once = new Heats({ prompts, repeats: 1, runs }), twice = new Heats({ prompts, repeats: 2, runs });
  assert.deepEqual(twice.all, ["1.3", "1.7", "2.3", "2.7"]);
  assert.deepEqual([twice.beside("1.7", 1), twice.beside("1.3", -1)], ["2.3", undefined]);
  assert.deepEqual([once.nameOf("1.3"), twice.nameOf("2.7")], ["Prompt 1 of 2 · function", "Prompt 2 of 2, repeat 2 of 2 · turn 2"]);
  for (const heats of [once, twice]) {
    const looked = { heat: heats.all.at(-1), run: 2, whatIf: "static:5" };
    assert.deepEqual(heats.read(heats.written(looked)), looked);
  }
  for (const hash of ["", "#prompt=8&strategy=static:9", "#%"]) {
    assert.deepEqual(twice.read(hash), { heat: undefined, run: undefined, whatIf: null });
  }
});

// ---- the moment that is shown

const RUNS = [{ number: 1 }, { number: 2 }], TRACES = [traces["autoregressive"], trace];

/** A heat of two runs, of which so many are here to their end. */
function watched(whole) {
  const rows = RUNS.map(({ number }) => row(`s${number}`, number, 1)), known = new ComparisonState({ rows });
  for (const [i, { id }] of rows.entries()) {
    known.hear(events(id, TRACES[i]));
    if (i < whole) known.hear({ t: "complete", sample: id });
  }
  const moment = new Moment(known);
  moment.look("1.1");
  return moment;
}

const tokens = (states) => [...states.values()].map((state) => state.tokens.length);

test("a replay goes from the start to the end at its speed, is paused where it is, and needs every run to its end", () => {
  assert.equal(watched(1).isWhole(RUNS), false);
  const moment = watched(2), all = tokens(moment.whole()), half = moment.spanNs / 2;
  assert.equal(moment.isWhole(RUNS), true);
  moment.hurry(0.25);
  moment.play();
  assert.deepEqual(tokens(moment.states()), [0, 0]);
  moment.tick(0);
  moment.tick((4 * half) / 1e6);
  assert.ok(Math.abs(moment.clock - half) < 1 && tokens(moment.states()).every((count, i) => count < all[i]));
  moment.play();
  assert.equal(moment.playing, null);
  moment.play();
  moment.tick(500_000); // the pause does not count
  assert.ok(Math.abs(moment.clock - half) < 1);
  moment.tick(500_000 + (4.1 * half) / 1e6);
  assert.deepEqual([moment.isReplay, tokens(moment.states())], [false, all]);
  moment.scrub(half);
  assert.deepEqual([moment.playing, moment.clock], [null, half]);
});

test("under load a text is as far as it was when its request had been served so long", () => {
  const { known } = watched(2), started = 3e9, lanes = { spanNs: 9e9, begunAt: (run) => (run === 1 ? 0 : started) };
  const moment = new Moment(known, lanes);
  moment.look("1.1");
  known.status = { is_final: true };
  assert.equal(moment.isWhole(RUNS), true);
  moment.scrub(started);
  const [first, second] = tokens(moment.states());
  assert.ok(first > 0 && second === 0);
});

// ---- requests under load

test("running requests are known from their traces, finished ones from their rows, and a later attempt replaces an earlier one", () => {
  const requests = new Requests();
  requests.note({ ...done(1, 1, 1, 1), span: [0, 5, 20], new_tokens: 10, drafts_by_position: [4, 2], accepted_by_position: [2, 1] });
  for (const id of ["b", "c"]) requests.note(row(id, 1, 2));
  const state = { ...begin(), arrivedNs: 7, queuedNs: 1, nowNs: 9, rounds: [{ drafted: [1, 2], accepted: 1 }], tokens: [1, 2] };
  const [first, second, ...more] = requests.of(1, (id) => (id === "c" ? state : assert.fail(id)));
  assert.deepEqual([first.arrived, first.queued, first.served, first.drafted, first.accepted, first.isOver], [0, 5, 20, 6, 3, true]);
  assert.deepEqual([second.id, second.arrived, second.tokens, second.drafted, second.accepted, second.isOver], ["c", 7, 2, 2, 1, false]);
  assert.equal(more.length, 0);
});

const served = (id, arrived, queued, took, tokens = 10) => ({ id, arrived, queued, served: took, tokens, drafted: 8, accepted: 4, isOver: true });

test("each block of prompts follows the one before it, and requests that overlap take rows of their own", () => {
  const spans = [[0, 0, 10], [0, 0, 30], [10, 0, 10], [0, 5, 10]]; // the last one is the first of another block
  const placed = onOneClock(spans.map((span, id) => served(id, ...span)), false);
  assert.deepEqual(placed.map((one) => [one.block, one.from, one.begun, one.to]), [[0, 0, 0, 10], [0, 0, 0, 30], [0, 10, 10, 20], [1, 30, 35, 45]]);
  assert.deepEqual([shownBlock(placed, 0).map((one) => one.row), shownBlock(placed).map((one) => one.id)], [[0, 1, 0], [3]]);
  const alone = onOneClock([[0, 0, 10], [0, 0, 30]].map((span, id) => served(id, ...span)), true);
  assert.deepEqual(alone.map((one) => [one.from, one.to]), [[0, 10], [10, 40]]);
});

test("the device's tokens per second follow Little's law in a closed loop, what was answered in an open one, and a moment", () => {
  const requests = [[0, 0, 1e9], [0, 1e9, 1e9]].map((span, id) => served(id, ...span, 30));
  assert.deepEqual(totals(requests, { concurrency: 4 }), { speed: 80, running: 0, waitedNs: 5e8, acceptance: 0.5 });
  assert.equal(totals(requests, { concurrency: null }).speed, 30); // one more answer in one second, of 30 tokens
  const block = shownBlock(onOneClock([served("a", 5e9, 0, 2e9), served("b", 5e9, 1e9, 2e9), served("c", 7e9, 0, 1e9)], false), "a");
  const half = asOf(block, 5e8), whole = totalsAsOf(asOf(block, spanOf(block)), { concurrency: 2 });
  assert.deepEqual(half.map((one) => [one.id, one.hasBegun, one.isOver]), [["a", true, false], ["b", false, false]]);
  assert.deepEqual(totalsAsOf(half, { concurrency: 2 }), { speed: 0, acceptance: null, running: 1, waitedNs: 0 });
  assert.deepEqual([spanOf(block), whole], [3e9, totals(block, { concurrency: 2 })]);
});
