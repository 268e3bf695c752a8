// What events add up to, and what is told of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { outcomes, winner } from "../../static/js/charts/ahead.js";
import { alike, matches, oracleAt } from "../../static/js/live/bound.js";
import { facts } from "../../static/js/live/facts.js";
import { begin as beginLog, fold as foldLine } from "../../static/js/live/log.js";
import { Recording } from "../../static/js/live/moment.js";
import { Hole, begin, decodeNs, fold, foldAll, partsOf, progress } from "../../static/js/live/sample-state.js";
import { expected, ssd, traces, twoRounds } from "./golden.js";

for (const [name, events] of Object.entries(traces)) {
  test(`${name} folds to the facts that Python folds it to, moves no older state, and is replayed to any moment`, () => {
    const told = expected[name], state = foldAll(events);
    assert.deepEqual(state.tokens.map((token) => token.id), told.tokens);
    assert.deepEqual([state.promptTokens, state.reason, decodeNs(state)], [told.prompt_tokens, told.reason, told.decode_ns]);
    const rounds = state.rounds.filter((round) => round.drafted.length);
    const counted = (list, meets) => list.map((_, i) => rounds.filter((round) => meets(round, i)).length);
    assert.deepEqual(counted(told.acceptance_histogram, (round, i) => round.accepted === i), told.acceptance_histogram);
    assert.deepEqual(counted(told.drafts_by_position, (round, i) => round.drafted.length > i), told.drafts_by_position);
    assert.deepEqual(counted(told.accepted_by_position, (round, i) => round.accepted > i), told.accepted_by_position);
    assert.equal(progress(state).at(-1)[1], told.tokens.length);

    let frozen = deepFreeze(begin());
    for (const event of events) frozen = deepFreeze(fold(frozen, deepFreeze(event)));
    assert.deepEqual(frozen, state);
    assert.deepEqual(foldAll(events.slice(1), foldAll(events.slice(0, 4))), state); // pieces that overlap

    const jumping = new Recording(events);
    assert.equal(jumping.lengthNs, told.decode_ns);
    assert.deepEqual(jumping.at(Infinity), state);
    for (const share of [0.9, 0.1, 0.5, 0.49, 1, 0]) {
      const ns = share * jumping.lengthNs, at = jumping.at(ns);
      assert.deepEqual(at, new Recording(events).at(ns));
      assert.ok(decodeNs(at) <= ns);
    }
  });
}

function deepFreeze(value) {
  if (value && typeof value === "object" && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
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
});

test("a hole is refused, and an event of another version", () => {
  assert.throws(() => fold(begin(), { seq: 1, event: "guessed" }), /unknown kind: guessed/);
  const [first, , third] = traces["static-4"];
  assert.throws(() => foldAll([first, third]), Hole);
});

test("what was prepared ahead belongs to its round, also when it is told after the verdict", () => {
  const { rounds, tokens } = foldAll(twoRounds);
  assert.deepEqual(tokens.slice(0, 2).map((token) => token.fate), ["accepted", "correction"]);
  assert.deepEqual([rounds[0].branches, rounds[1].source, rounds[1].branches], [[[3, 4, 2], [1, 6, 2]], "hit", []]);
  const told = twoRounds.findIndex((event) => event.event === "anticipated"), late = [...twoRounds];
  late.splice(told + 1, 0, ...late.splice(told, 1));
  assert.deepEqual(foldAll(late.map((event, i) => ({ ...event, seq: i + 1 }))).rounds, rounds);
});

test("every branch stands in the column of its accepted count, and the next round says whether it was of use", () => {
  const { rounds } = foldAll(ssd); // as the engine recorded them on the starter pair
  for (const [i, round] of rounds.entries()) {
    const columns = outcomes(round);
    assert.deepEqual(columns.map((column) => column.branches.length), round.fanout);
    assert.deepEqual(columns.filter((column) => column.isVerdict).map((column) => column.accepted), [round.accepted]);
    const won = columns.flatMap((column) => column.branches.filter((branch) => branch.isWinner));
    assert.equal(won.length, winner(round) ? 1 : 0);
    if (rounds[i + 1]) assert.equal(winner(round) !== undefined, rounds[i + 1].source === "hit", `round ${round.number}`);
  }
});

test("what other strategies drafted tells the lookahead that the oracle took when it ran; another text tells nothing", () => {
  const states = Object.fromEntries(Object.entries(traces).map(([name, trace]) => [name, foldAll(trace)]));
  const { "oracle-8": oracle, autoregressive, ...others } = states;
  const said = matches(Object.values(others), oracle.tokens.length);
  const told = oracle.rounds.filter((round) => round.drafted.length).map((round) => [round, oracleAt(said, round.start, 8)]);
  const known = told.filter(([, found]) => !found.isLeast);
  assert.ok(known.length > told.length / 2);
  for (const [round, found] of known.slice(0, -1)) assert.equal(found.lookahead, round.drafted.length, `round ${round.number}`);
  assert.deepEqual(oracleAt([true, true, undefined, true], 0), { lookahead: 2, isLeast: true });
  assert.deepEqual(oracleAt([true, true, false, true], 0), { lookahead: 3, isLeast: false });
  const other = { ...oracle, tokens: oracle.tokens.map((token) => ({ ...token, id: token.id + 1 })) };
  assert.deepEqual(alike(oracle, [oracle, other]), [oracle]);
});

test("a round is told in one line, with every reason to stop and with why a draft was lost", () => {
  const [first] = foldAll(twoRounds).rounds;
  assert.equal(facts({ ...first, draftEnd: first.draftStart + 1.234e6, verifyEnd: first.verifyStart + 3.553e9 }),
    "Round 1 · 1 of 3 accepted · drafted in 1.23 ms, ended by: lookahead reached · the target waited 0.00 ms and verified in 3,553 ms");
  assert.match(facts({ ...first, drafted: [], source: "none", lost: "Why." }), /^Round 1 · no draft · the target waited.* · Why\.$/);
  const declared = readFileSync(new URL("../../decoding/trace/events.py", import.meta.url), "utf8").match(/StopReason = Literal\[([^\]]*)\]/)[1];
  const reasons = [...declared.matchAll(/^ *"(\w+)"/gm)].map(([, reason]) => reason);
  assert.ok(reasons.includes("limit") && reasons.includes("early"));
  for (const stop of reasons) assert.ok(!facts({ ...first, stop }).includes(`ended by: ${stop} `), stop);
});

// ---- the log of a job

const line = (seq, numbers = {}, sentence = "") => ({ seq, sentence, numbers });
const epoch = (seq, done) => line(seq, { phase: "training", done, due: 60, train_loss: 1 / done, held_out_loss: 2 / done, held_out_f1: 0.5 });

test("epochs come one by one, what comes twice changes nothing, and another attempt begins anew but for its figures", () => {
  const lines = [line(1), line(2, { phase: "recording training", done: 1, due: 20 }), epoch(3, 1), epoch(4, 2), line(5, { figures: 2 }, "Drawn.")];
  const state = [...lines, ...lines].reduce(foldLine, beginLog());
  assert.deepEqual([state.epochs.map((each) => each.epoch), state.seq], [[1, 2], 5]);
  const again = foldLine(state, line(6, {}, "Attempt 2, on w1."));
  assert.deepEqual([again.epochs.length, again.phase, again.seq, again.figures], [0, "", 6, 2]);
});
