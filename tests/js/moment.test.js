import assert from "node:assert/strict";
import test from "node:test";
import { Moment } from "../../static/js/live/moment.js";
import { ComparisonState } from "../../static/js/live/watching.js";
import { traces } from "./golden.js";

const RUNS = [{ number: 1 }, { number: 2 }];
const TRACES = [traces["autoregressive"], traces["static-4"]];
const HEAT = "1.1";

/** A heat of two runs, of which so many are here to their end. */
function watched(whole) {
  const rows = RUNS.map(({ number }) => ({ id: `s${number}`, run: number, prompt: 1, repeat: 1 }));
  const known = new ComparisonState({ rows });
  for (const [i, row] of rows.entries()) {
    known.hear({ t: "events", sample: row.id, events: TRACES[i] });
    if (i < whole) known.hear({ t: "complete", sample: row.id });
  }
  const moment = new Moment(known);
  moment.look(HEAT);
  return moment;
}

const tokens = (states) => [...states.values()].map((state) => state.tokens.length);

test("it can be replayed once every run is here to its end", () => {
  assert.equal(watched(1).isWhole(RUNS), false);
  assert.equal(watched(2).isWhole(RUNS), true);
});

test("a replay goes from the start to the end, at its speed, and is then over", () => {
  const moment = watched(2), all = tokens(moment.whole());
  moment.hurry(0.25);
  moment.play();
  assert.deepEqual(tokens(moment.states()), [0, 0]);
  moment.tick(0);
  moment.tick((2 * moment.spanNs) / 1e6); // half of it has been seen
  assert.ok(Math.abs(moment.clock - moment.spanNs / 2) < 1);
  const half = tokens(moment.states());
  assert.ok(half.every((count, i) => count < all[i]) && half.some((count) => count > 0));
  assert.deepEqual(tokens(moment.whole()), all);
  moment.tick((5 * moment.spanNs) / 1e6);
  assert.equal(moment.isReplay, false);
  assert.deepEqual(tokens(moment.states()), all);
});

test("it is paused where it is and goes on from there, and a scrub stops it", () => {
  const moment = watched(2);
  moment.play();
  moment.tick(0);
  moment.tick(moment.spanNs / 4e6);
  moment.play();
  assert.equal(moment.playing, null);
  moment.play();
  moment.tick(500_000); // the pause does not count
  assert.ok(Math.abs(moment.clock - moment.spanNs / 4) < 1);
  moment.scrub(moment.spanNs / 2);
  assert.equal(moment.playing, null);
  assert.equal(moment.clock, moment.spanNs / 2);
  moment.look(HEAT);
  assert.equal(moment.isReplay, false);
});

test("under load a text is as far as it was when its request had been served so long", () => {
  const plain = watched(2), { known } = plain, started = 3e9;
  const lanes = { spanNs: 9e9, begunAt: (run) => (run === 1 ? 0 : started) };
  const moment = new Moment(known, lanes);
  moment.look(HEAT);
  assert.equal(moment.isWhole(RUNS), false);
  known.status = { is_final: true };
  assert.equal(moment.isWhole(RUNS), true);
  assert.equal(moment.spanNs, 9e9);
  moment.scrub(started);
  const [first, second] = tokens(moment.states());
  assert.ok(first > 0 && second === 0);
  moment.look(HEAT, { clock: 8e9, playing: null });
  assert.deepEqual(tokens(moment.states()), tokens(plain.whole()));
});
