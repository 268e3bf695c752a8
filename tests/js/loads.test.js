import assert from "node:assert/strict";
import { test } from "node:test";
import { frontOf, sentence as ofFront, table as frontTable } from "../../static/js/charts/load-front.js";
import { sentence as ofLatency, table as latencyTable } from "../../static/js/charts/load-latency.js";
import { crossing, sentence as ofSpeedup } from "../../static/js/charts/load-speedup.js";
import { loadAxis, seriesOf } from "../../static/js/core/loads.js";
import { Requests, asOf, onOneClock, shownBlock, spanOf, totals, totalsAsOf } from "../../static/js/live/requests.js";
import { begin } from "../../static/js/live/trace.js";

globalThis.document = {};

const times = (p50, p95, p99) => ({ p50, p95, p99, intervals: { p50: [p50 - 0.5, p50 + 0.5], p95: [p95 - 0.5, p95 + 1], p99: null } });
const row = (settings, concurrency, user, device, more = {}) => ({
  settings, name: concurrency > 1 ? `${settings} @${concurrency}` : settings, strategy: settings.split(":")[0], dash: "", role: "ranked",
  concurrency, rate: null, sample_count: 6, tokens_per_s_user: user, tokens_per_s_device: device, isBaseline: settings === "autoregressive",
  speedup: { ratio: user / 100, low: null, high: null, prompts: 6 },
  queued_ms: times(4, 5, 6), e2e_ms: times(70, 80, 90), ttft_ms: times(10, 20, 30), tpot_ms: times(1, 2, 3), gap_ms: times(1, 2, 3), ...more,
});
const rows = [row("autoregressive", 1, 100, 100), row("static:4", 1, 150, 150), row("autoregressive", 8, 60, 480), row("static:4", 8, 50, 400)];

test("on the front stands what nothing beats both for a user and on the device; a bound is not ranked", () => {
  const bound = row("oracle:8", 1, 900, 900, { role: "bound" });
  assert.deepEqual(frontOf([...rows, bound]).map((one) => one.name), ["static:4", "autoregressive @8"]);
  assert.equal(frontTable({ everyRow: rows }).children[1].children.length, 4);
});

test("charts of loads say nothing about a comparison with one user at a time", () => {
  const alone = rows.slice(0, 2), data = { everyRow: alone, report: { crossovers: [], objective: {} } };
  for (const sentence of [ofFront, ofSpeedup, ofLatency]) assert.equal(sentence(data), "");
});

test("a crossover is told as far as the intervals say", () => {
  const told = (gain_until, loss_from, axis = "concurrency") => crossing({ axis, gain_until, loss_from });
  assert.equal(told(4, 16), "is shown to be a gain up to 4 at once and a loss from 16 at once on");
  assert.match(told(null, 2, "rate"), /loss from 2 requests\/s on, and a gain at no load/);
});

test("the table of waiting times goes from the queue to the end of the answer", () => {
  const [head, body] = latencyTable({ everyRow: rows }).children, cells = (row) => row.children.map((one) => one.children[0]);
  const [name, load, ...times] = cells(body.children[3]);
  assert.deepEqual([name, load, times.length], ["static:4 @8", "8 at once", 15]);
  assert.deepEqual([cells(head.children[0])[2], times[0], cells(head.children[0])[16], times[14]],
    ["In the queue, p50", "4.00 ms (3.50 ms to 4.50 ms)", "End to end, p99", "90.0 ms"]);
});

test("a strategy is one series over its loads, and doubling the load is one step", () => {
  assert.deepEqual(seriesOf(rows, "concurrency").map((series) => series.rows.map((one) => one.concurrency)), [[1, 8], [1, 8]]);
  const axis = loadAxis(rows, "concurrency");
  assert.deepEqual([axis.at, axis.at.map(axis.format)], [[0, 3], ["1", "8"]]);
});

// ---- requests

const done = (id, prompt, span, tokens = 10) => ({ id, run: 1, prompt, repeat: 1, is_finished: true, span, new_tokens: tokens,
  drafts_by_position: [4, 2], accepted_by_position: [2, 1] });

test("running requests are known from their traces, finished ones from their rows, and a later attempt replaces an earlier one", () => {
  const requests = new Requests();
  requests.note(done("a", 1, [0, 5, 20]));
  requests.note({ id: "b", run: 1, prompt: 2, repeat: 1, is_finished: false });
  requests.note({ id: "c", run: 1, prompt: 2, repeat: 1, is_finished: false });
  const state = { ...begin(), arrivedNs: 7, queuedNs: 1, nowNs: 9, rounds: [{ drafted: [1, 2], accepted: 1 }], tokens: [1, 2] };
  const [first, second, ...more] = requests.of(1, (id) => (id === "c" ? state : assert.fail(id)));
  assert.deepEqual([first.arrived, first.queued, first.served, first.drafted, first.accepted, first.isOver], [0, 5, 20, 6, 3, true]);
  assert.deepEqual([second.id, second.arrived, second.tokens, second.drafted, second.accepted, second.isOver], ["c", 7, 2, 2, 1, false]);
  assert.deepEqual([more, requests.of(2, assert.fail)], [[], []]);
});

test("each block of prompts follows the one before it, and requests that overlap take rows of their own", () => {
  const spans = [[0, 0, 10], [0, 0, 30], [10, 0, 10], [0, 5, 10]]; // the last one is the first of another block
  const placed = onOneClock(spans.map(([arrived, queued, served], id) => ({ id, arrived, queued, served })), false);
  assert.deepEqual(placed.map((one) => [one.block, one.from, one.begun, one.to]), [[0, 0, 0, 10], [0, 0, 0, 30], [0, 10, 10, 20], [1, 30, 35, 45]]);
  assert.deepEqual(shownBlock(placed, 0).map((one) => one.row), [0, 1, 0]);
  assert.deepEqual(shownBlock(placed).map((one) => one.id), [3]);
  const alone = onOneClock([[0, 0, 10], [0, 0, 30]].map(([arrived, queued, served], id) => ({ id, arrived, queued, served })), true);
  assert.deepEqual(alone.map((one) => [one.from, one.to]), [[0, 10], [10, 40]]);
});

test("the tokens per second of the device follow Little's law in a closed loop, and what was answered in an open one", () => {
  const requests = [[0, 0, 1e9], [0, 1e9, 1e9]].map(([arrived, queued, served]) => ({ arrived, queued, served, tokens: 30, drafted: 4, accepted: 3, isOver: true }));
  const closed = totals(requests, { concurrency: 4 });
  assert.deepEqual([closed.speed, closed.running, closed.waitedNs, closed.acceptance], [80, 0, 5e8, 0.75]);
  assert.equal(totals(requests, { concurrency: null }).speed, 30); // one more answer in one second, of 30 tokens
  assert.equal(totals([], { concurrency: null }).speed, 0);
});

const served = (id, arrived, queued, took, tokens = 10) => ({ id, arrived, queued, served: took, tokens, drafted: 8, accepted: 4, isOver: true });

test("a block as of a moment holds what had come by then, and how far each request was", () => {
  const block = shownBlock(onOneClock([served("a", 5e9, 0, 2e9), served("b", 5e9, 1e9, 2e9), served("c", 7e9, 0, 1e9)], false), "a");
  assert.equal(spanOf(block), 3e9);
  const half = asOf(block, 5e8);
  assert.deepEqual(half.map((one) => [one.id, one.hasBegun, one.isOver]), [["a", true, false], ["b", false, false]]);
  assert.deepEqual(totalsAsOf(half, { concurrency: 2 }), { speed: 0, acceptance: null, running: 1, waitedNs: 0 });
  const later = asOf(block, 2.5e9);
  assert.deepEqual(later.map((one) => [one.id, one.hasBegun, one.isOver]), [["a", true, true], ["b", true, false], ["c", true, false]]);
  assert.deepEqual(totalsAsOf(later, { concurrency: 2 }), { speed: 10, acceptance: 0.5, running: 2, waitedNs: 1e9 / 3 });
  const whole = totalsAsOf(asOf(block, spanOf(block)), { concurrency: 2 });
  assert.deepEqual(whole, totals(block, { concurrency: 2 }));
});
