import assert from "node:assert/strict";
import { test } from "node:test";
import { Recording } from "../../static/js/live/replay.js";
import { Results } from "../../static/js/live/results.js";
import { acceptanceOf, median, reach, ticks } from "../../static/js/core/stats.js";
import { decodeNs, foldAll } from "../../static/js/live/trace.js";
import { ComparisonState } from "../../static/js/live/watching.js";
import { expected, traces, twoRounds } from "./golden.js";

const row = (id, run, prompt, more = {}) => ({ id, run, prompt, repeat: 1, is_finished: false, ...more });
const events = (sample, list, words = {}) => ({ t: "events", sample, events: list, words });

test("frames that come twice, or overlap, change nothing", () => {
  const known = new ComparisonState();
  const trace = traces["static-4"];
  known.hear({ t: "samples", rows: [row("a", 1, 1)] });
  for (const part of [trace.slice(0, 5), trace.slice(0, 5), trace.slice(3), trace]) known.hear(events("a", part));
  assert.deepEqual(known.trace("a"), foldAll(trace));
  assert.deepEqual(known.events.get("a"), trace);
});

test("the words of tokens are learnt as they come", () => {
  const known = new ComparisonState();
  known.hear(events("a", [], { 7: " the" }));
  assert.equal(known.word(7), " the");
  assert.equal(known.word(8), "⟨8⟩");
});

test("a heat holds one sample for each strategy, the newest attempt", () => {
  const known = new ComparisonState({ rows: [row("a", 1, 1), row("b", 2, 1)] });
  known.hear(events("b", traces["static-4"].slice(0, 3)));
  known.hear({ t: "samples", rows: [row("b2", 2, 1), row("c", 1, 2)] });
  assert.deepEqual([...known.samples("1.1")], [[1, "a"], [2, "b2"]]);
  assert.equal(known.trace("b2").seq, 0);
  assert.equal(known.events.has("b"), false);
  assert.equal(known.latest, "1.2");
});

test("a row that is told again, finished, does not make its heat the latest", () => {
  const known = new ComparisonState({ rows: [row("a", 1, 1), row("b", 1, 2)] });
  known.hear({ t: "samples", rows: [row("a", 1, 1, { is_finished: true })] });
  assert.equal(known.latest, "1.2");
  assert.ok(known.isFinished.has("a"));
});

test("what is missing of a heat is asked for from where it stands", () => {
  const known = new ComparisonState({ rows: [row("a", 1, 1), row("b", 2, 1), row("c", 3, 1)] });
  known.hear(events("a", traces["static-4"].slice(0, 4)));
  known.hear({ t: "complete", sample: "b", last_seq: 9 });
  assert.deepEqual(known.missing("1.1"), { a: 4, c: 0 });
});

test("of long watching only the latest traces are kept, and what was let go is asked for again from its start", () => {
  const trace = traces["static-4"];
  const known = new ComparisonState({}, () => 1, 3 * trace.length);
  const told = (prompt) => {
    known.hear({ t: "samples", rows: [row(`s${prompt}`, 1, prompt)] });
    known.hear(events(`s${prompt}`, trace));
    known.hear({ t: "complete", sample: `s${prompt}`, last_seq: trace.length });
  };
  told(1);
  known.lookedAt = "1.2";
  for (let prompt = 2; prompt <= 9; prompt++) told(prompt);
  assert.deepEqual([...known.events.keys()], ["s2", "s8", "s9"]);
  assert.deepEqual([known.missing("1.2"), known.missing("1.1"), known.count], [{}, { s1: 0 }, 3 * trace.length]);
  assert.equal(known.heatBy.size, 9);

  known.lookedAt = "1.1";
  known.hear(events("s1", trace));
  assert.deepEqual([...known.events.keys()], ["s8", "s9", "s1"]);
  assert.deepEqual(known.trace("s1"), foldAll(trace));
});

test("a trace that still grows is never let go", () => {
  const trace = traces["static-4"];
  const known = new ComparisonState({ rows: [row("a", 1, 1), row("b", 1, 2)] }, () => 1, trace.length);
  known.hear(events("a", trace.slice(0, 3)));
  known.hear(events("b", trace));
  known.hear(events("a", trace.slice(3)));
  assert.deepEqual(known.trace("a"), foldAll(trace));
});

for (const [name, trace] of Object.entries(traces)) {
  test(`${name} replayed to any moment is the trace up to that moment`, () => {
    const recording = new Recording(trace);
    const whole = foldAll(trace);
    assert.equal(recording.lengthNs, expected[name].decode_ns);
    assert.deepEqual(recording.at(Infinity), whole);
    const half = recording.at(recording.lengthNs / 2);
    assert.ok(decodeNs(half) <= recording.lengthNs / 2 && half.tokens.length < whole.tokens.length);
    assert.equal(recording.at(0).tokens.length, 0);
    assert.deepEqual(recording.at(recording.lengthNs), whole);
  });
}

test("a replay may jump to and fro, and is always what it is when played from the start", () => {
  const trace = traces["autoregressive"];
  const jumping = new Recording(trace);
  for (const share of [0.9, 0.1, 0.5, 0.49, 1, 0, 0.75, 0.76, 0.2]) {
    const ns = share * jumping.lengthNs;
    assert.deepEqual(jumping.at(ns), new Recording(trace).at(ns), String(share));
  }
});

test("an event that is told late does not hold up those that were told before it", () => {
  const recording = new Recording(twoRounds);
  const last = twoRounds.at(-1);
  assert.deepEqual(recording.at(Infinity), foldAll(twoRounds));
  assert.equal(recording.lengthNs, last.end_ns - recording.zero);
});

const done = (run, prompt, repeat, speed) => ({ id: `${run} ${prompt} ${repeat}`, run, prompt, repeat, speed, is_finished: true });

test("a speed-up is paired by prompt and repeat, and is the median over repeats, in whatever order samples end", () => {
  const rows = [done(1, 1, 1, 100), done(1, 1, 2, 200), done(2, 1, 1, 150), done(2, 1, 2, 400), done(2, 2, 1, 999)];
  for (const order of [rows, [...rows].reverse(), [rows[2], rows[0], rows[4], rows[3], rows[1]]]) {
    const results = new Results(() => 1);
    for (const row of order) results.note(row);
    assert.deepEqual(results.paired, new Map([[2, [{ prompt: 1, ratio: 1.75 }]]]));
  }
});

test("what has no speed has no speed-up", () => {
  const known = new ComparisonState({ rows: [done(1, 1, 1, 0), done(2, 1, 1, 5), done(1, 2, 1, null), done(2, 2, 1, 5), done(1, 3, 1, 5), done(1, 4, 1, 5), done(2, 4, 1, null)] }, () => 1);
  known.hear({ t: "samples", rows: [{ ...done(2, 3, 1, null), is_finished: false }] });
  assert.deepEqual([...known.results.paired.values()].flat(), []);
});

test("an attempt that took the place of another takes its speed-up back until it ends", () => {
  const known = new ComparisonState({ rows: [done(1, 1, 1, 100), done(2, 1, 1, 150), done(2, 2, 1, 150), done(1, 2, 1, 50)] }, () => 1);
  known.hear({ t: "samples", rows: [{ ...done(2, 1, 1, null), id: "again", is_finished: false }] });
  assert.deepEqual(known.results.paired.get(2), [{ prompt: 2, ratio: 3 }]);
  known.hear({ t: "samples", rows: [{ ...done(2, 1, 1, 120), id: "again" }] });
  assert.deepEqual(known.results.paired.get(2), [{ prompt: 2, ratio: 3 }, { prompt: 1, ratio: 1.2 }]);
  known.hear({ t: "samples", rows: [{ ...done(1, 2, 1, null), id: "alone again", is_finished: false }] });
  assert.deepEqual(known.results.paired.get(2), [{ prompt: 1, ratio: 1.2 }]);
});

test("acceptance by position leaves out what was seldom reached", () => {
  assert.deepEqual(acceptanceOf({ drafts: [20, 12, 2], accepted: [16, 6, 2] }), [0.8, 0.5]);
});

test("drafts by position are summed up over a run's finished samples, each once however often its row or another attempt comes", () => {
  const row = (id, is_finished, audit = null) =>
    ({ id, run: 2, prompt: id, repeat: 1, is_finished, audit, drafts_by_position: is_finished ? [10, 6, 1] : [], accepted_by_position: is_finished ? [8, 3] : [] });
  const known = new ComparisonState({ rows: [row(1, true), row(2, false)] });
  assert.deepEqual(known.results.places(2), { drafts: [10, 6, 1], accepted: [8, 3] });
  known.hear({ t: "samples", rows: [row(1, true, "identical"), row(2, true), row(2, true, "tie"), row(3, false)] });
  assert.deepEqual(known.results.places(2), { drafts: [20, 12, 2], accepted: [16, 6] });
  assert.deepEqual(known.results.places(3), { drafts: [], accepted: [] });
  known.hear({ t: "samples", rows: [{ ...row(2, false), id: "again" }] }); // another attempt takes its drafts back
  assert.deepEqual(known.results.places(2), { drafts: [10, 6, 1], accepted: [8, 3] });
});

test("a few values far beyond all others do not squeeze these, and many are no few", () => {
  const usual = Array.from({ length: 97 }, (_, i) => 1 + i / 96);
  assert.equal(reach([...usual, 2.9]), 2.9);
  assert.ok(Math.abs(reach([...usual, 9, 14]) - 2.2) < 0.05);
  assert.equal(reach([...usual, ...usual.map((value) => 7 * value)]), 14);
  assert.equal(reach([1, 2, 14]), 14);
  assert.equal(reach([]), 0);
});

test("medians and ticks", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.deepEqual(ticks(100, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticks(0, 5), [0]);
  assert.deepEqual(ticks(1.35, 3), [0, 0.5, 1]);
});
