import assert from "node:assert/strict";
import { test } from "node:test";
import { chromeTrace } from "../../static/js/live/perfetto.js";
import { foldAll } from "../../static/js/live/trace.js";
import { traces } from "./golden.js";

test("a golden trace becomes complete events in microseconds, a thread for each model", () => {
  const states = new Map([[1, foldAll(traces["static-4"])], [2, undefined]]);
  const { traceEvents } = chromeTrace([{ number: 1, name: "static:4" }, { number: 2, name: "has not begun" }], states);
  const [state] = [states.get(1)], spans = traceEvents.filter(({ ph }) => ph === "X");
  assert.deepEqual(traceEvents.filter(({ name }) => name === "process_name").map(({ args }) => args.name), ["static:4"]);
  const verifying = spans.filter(({ name }) => name === "verify");
  assert.equal(verifying.length, state.rounds.length);
  assert.deepEqual(verifying.map(({ args }) => args.accepted), state.rounds.map((round) => round.accepted));
  assert.equal(verifying[0].ts, state.rounds[0].verifyStart / 1000);
  assert.ok(spans.every(({ ts, dur, tid }) => ts >= 0 && dur >= 0 && (tid === 1 || tid === 2)));
});
