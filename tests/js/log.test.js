import assert from "node:assert/strict";
import { test } from "node:test";
import { attempt, begin, counted, fold, inWords, step } from "../../static/js/live/log.js";

const line = (seq, numbers = {}, sentence = "") => ({ seq, sentence, numbers });
const epoch = (seq, done) => line(seq, { phase: "training", done, due: 60, train_loss: 1 / done, held_out_loss: 2 / done, held_out_f1: 0.5 });
const running = { state: "running", done: 12, total: 36, seconds_left: 130 };

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
  assert.deepEqual(counted(projecting), { done: 126, total: 1255 });
  assert.deepEqual(counted(running), { done: 12, total: 36 });
  assert.equal(inWords(begin(), projecting).count, "126 of 1255");
  assert.equal(step(projecting), "Projecting: 126 of 1255, about 40 s left.");
  assert.equal(step({ ...projecting, seconds_left: null }), "Projecting: 126 of 1255.");
  assert.equal(step(running), "");
});

test("why the last attempt ended stands beside the number of this one", () => {
  const again = { trouble: "The machine is busy.", attempt: 2, setback: "w1 went silent." };
  assert.equal(attempt(again), "The machine is busy. Attempt 2. w1 went silent.");
  assert.equal(attempt({ ...again, trouble: "", attempt: 1 }), "");
});

test("it says how far it is, in words", () => {
  const recording = fold(begin(), line(1, { phase: "recording", done: 1, due: 36 }));
  assert.deepEqual(inWords(recording, running), {
    phase: "Recording what the draft would say", count: "12 of 36 samples decoded", left: "about 2 min left",
  });
  assert.equal(inWords(fold(begin(), line(1, { phase: "running SSD, 2 at once", done: 1, due: 36 })), running).phase, "Running SSD, 2 at once");
  assert.deepEqual(inWords(fold(begin(), epoch(1, 7)), running), { phase: "Training, epoch 7 of 60", count: "", left: "about 2 min left" });
  assert.equal(inWords(begin(), { ...running, state: "queued" }).phase, "Waiting");
  assert.equal(inWords(begin(), running).phase, "Loading the pair");
});
