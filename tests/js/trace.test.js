import assert from "node:assert/strict";
import { test } from "node:test";
import { Hole, begin, decodeNs, fold, foldAll, partsOf, progress } from "../../static/js/live/trace.js";
import { expected, traces, twoRounds } from "./golden.js";

for (const [name, events] of Object.entries(traces)) {
  const facts = expected[name];

  test(`${name} folds to the facts that Python folds it to`, () => {
    const state = foldAll(events);
    assert.deepEqual(state.tokens.map((token) => token.id), facts.tokens);
    assert.equal(state.promptTokens, facts.prompt_tokens);
    assert.equal(state.reason, facts.reason);
    assert.equal(decodeNs(state), facts.decode_ns);
    const rounds = state.rounds.filter((round) => round.drafted.length);
    const counted = (list, meets) => list.map((_, i) => rounds.filter((round) => meets(round, i)).length);
    assert.deepEqual(counted(facts.acceptance_histogram, (round, i) => round.accepted === i), facts.acceptance_histogram);
    assert.deepEqual(counted(facts.drafts_by_position, (round, i) => round.drafted.length > i), facts.drafts_by_position);
    assert.deepEqual(counted(facts.accepted_by_position, (round, i) => round.accepted > i), facts.accepted_by_position);
    assert.equal(rounds.length, facts.num_spec_steps);
  });

  test(`${name} folds to the same in pieces that overlap`, () => {
    const half = events.slice(0, 4);
    assert.deepEqual(foldAll(events.slice(1), foldAll(half)), foldAll(events));
  });

  test(`${name} never moves an older state`, () => {
    let state = deepFreeze(begin());
    for (const event of events) state = deepFreeze(fold(state, deepFreeze(event)));
    assert.equal(state.seq, events.length);
  });

  test(`${name} gains tokens as time passes, up to all of them`, () => {
    const points = progress(foldAll(events));
    assert.deepEqual(points[0], [0, 0]);
    for (let i = 1; i < points.length; i++) {
      assert.ok(points[i][0] > points[i - 1][0] && points[i][1] > points[i - 1][1]);
    }
    assert.equal(points.at(-1)[1], facts.tokens.length);
  });
}

test("a server's deliveries are the parts of its text, and some are text alone", () => {
  const state = foldAll([
    { seq: 1, event: "started", prompt_tokens: 3, prefill_ns: 5 },
    { seq: 2, event: "delivered", tokens: [], count: 1, text: "One", end_ns: 5 },
    { seq: 3, event: "delivered", tokens: [], count: 2, text: " and two", end_ns: 1000005 },
    { seq: 4, event: "delivered", tokens: [8, 9], count: 2, text: "", end_ns: 1000006 },
    { seq: 5, event: "reported", new_tokens: 5, end_ns: 1000006 },
    { seq: 6, event: "finished", reason: "length", new_tokens: 5, end_ns: 1000006 },
  ]);
  assert.deepEqual([state.rounds.length, decodeNs(state), state.reason], [0, 1000001, "length"]);
  assert.deepEqual(state.tokens.map((token) => token.id), ["One", " and two", "", 8, 9]);
  assert.deepEqual(partsOf(state).map((part) => part.accepted + 1), [1, 2, 2]);
  assert.deepEqual(progress(state).slice(0, 3), [[0, 0], [0, 1], [1, 3]]);
});

test("a hole is refused, and an event of another version", () => {
  assert.throws(() => fold(begin(), { seq: 1, event: "guessed" }), /unknown kind: guessed/);
  const [first, , third] = traces["static-4"];
  assert.throws(() => foldAll([first, third]), Hole);
});

test("a token knows its fate", () => {
  const fates = foldAll(twoRounds).tokens.map((token) => token.fate);
  assert.equal(fates[0], "accepted");
  assert.equal(fates[1], "correction");
  const alone = foldAll(traces.autoregressive).tokens;
  assert.ok(alone.every((token) => token.fate === "own"));
});

test("what was prepared ahead belongs to its round", () => {
  const [first, second] = foldAll(twoRounds).rounds;
  assert.deepEqual(first.branches, [[3, 4, 2], [1, 6, 2]]);
  assert.equal(second.source, "hit");
  assert.deepEqual(second.branches, []);
});

test("what is told after the verdict still belongs to its round", () => {
  const told = twoRounds.findIndex((event) => event.event === "anticipated");
  const late = [...twoRounds];
  late.splice(told + 1, 0, ...late.splice(told, 1));
  const renumbered = late.map((event, i) => ({ ...event, seq: i + 1 }));
  assert.deepEqual(foldAll(renumbered).rounds, foldAll(twoRounds).rounds);
});

function deepFreeze(value) {
  if (value && typeof value === "object" && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
