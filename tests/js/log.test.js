import assert from "node:assert/strict";
import { test } from "node:test";
import { begin, fold, inWords } from "../../static/js/live/log.js";

const line = (seq, numbers = {}, sentence = "") => ({ seq, sentence, numbers });
const epoch = (seq, done) => line(seq, { phase: "training", done, due: 60, train_loss: 1 / done, held_out_loss: 2 / done, held_out_f1: 0.5 });
const running = { state: "running", done: 12, total: 36, parts: "samples", seconds_left: 130 };

test("epochs come one by one, and what comes twice changes nothing", () => {
  const lines = [line(1), line(2, { phase: "recording training", done: 1, due: 20 }), epoch(3, 1), epoch(4, 2)];
  const state = lines.reduce(fold, begin());
  assert.deepEqual(state.epochs.map((each) => each.epoch), [1, 2]);
  assert.deepEqual([...lines, ...lines].reduce(fold, begin()), state);
  assert.equal(state.seq, 4);
});

test("another attempt begins anew", () => {
  const state = [line(1, {}, "Attempt 1, on w1."), epoch(2, 1), line(3, {}, "w1 went silent."), line(4, {}, "Attempt 2, on w1.")].reduce(fold, begin());
  assert.deepEqual([state.epochs.length, state.phase, state.seq], [0, "", 4]);
});

test("figures that are drawn are counted, also over another attempt", () => {
  const drawn = (seq, figures) => line(seq, { figures }, "Drawn: Figure 3, misses.");
  const state = [line(1, { phase: "recording", done: 1, due: 4 }), drawn(2, 1), drawn(3, 2), line(4, {}, "Attempt 2, on w1.")].reduce(fold, begin());
  assert.deepEqual([state.figures, state.phase], [2, ""]);
  assert.equal(fold(state, line(5, { phase: "running SSD", done: 0, due: 9 })).figures, 2);
});

test("a step that counts no samples has the bar, the count and the time left to itself", () => {
  const projecting = { ...running, done: 2, total: 2, seconds_left: 40, step: { phase: "projecting", done: 126, due: 1255 } };
  assert.deepEqual(inWords(projecting),
    { phase: "Projecting", done: "126 of 1255", left: "about 40 s left", bar: { max: 1255, value: 126 }, reason: "" });
});

test("it says how far it is and why the last attempt ended, in words", () => {
  const again = { ...running, trouble: "The machine is busy.", attempt: 2, setback: "w1 went silent." };
  assert.deepEqual(inWords(again, fold(begin(), line(1, { phase: "recording", done: 1, due: 36 }))), {
    phase: "Recording what the draft would say", done: "12 of 36 samples", left: "about 2 min left", bar: { max: 36, value: 12 },
    reason: "The machine is busy. Attempt 2. w1 went silent.",
  });
  assert.equal(inWords(running, fold(begin(), line(1, { phase: "running SSD, 2 at once", done: 1, due: 36 }))).phase, "Running SSD, 2 at once");
  assert.equal(inWords(running, fold(begin(), epoch(1, 7))).done, "epoch 7 of 60");
  assert.equal(inWords({ ...running, total: 0 }).phase, "Starting");
  const waiting = inWords({ ...running, state: "queued", sentence: "No worker listens." });
  assert.deepEqual([waiting.phase, waiting.reason], ["Waiting", "No worker listens."]);
});
