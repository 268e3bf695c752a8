import assert from "node:assert/strict";
import { test } from "node:test";
import { alike, matches, oracleAt } from "../../static/js/live/bound.js";
import { foldAll } from "../../static/js/live/trace.js";
import { traces } from "./golden.js";

const states = Object.fromEntries(Object.entries(traces).map(([name, trace]) => [name, foldAll(trace)]));

test("what the other strategies drafted tells the lookahead that the oracle took when it ran", () => {
  const { "oracle-8": oracle, autoregressive, ...others } = states;
  const said = matches(Object.values(others), oracle.tokens.length);
  const told = oracle.rounds.filter((round) => round.drafted.length).map((round) => [round, oracleAt(said, round.start, 8)]);
  const known = told.filter(([, found]) => !found.isLeast);
  assert.ok(known.length > told.length / 2);
  for (const [round, found] of known.slice(0, -1)) assert.equal(found.lookahead, round.drafted.length, `round ${round.number}`);
  for (const [round, found] of told.filter(([, found]) => found.isLeast)) assert.ok(found.lookahead <= round.drafted.length);
});

test("where nobody drafted, the oracle's lookahead is only known to be at least so much", () => {
  assert.deepEqual(oracleAt([true, true, undefined, true], 0), { lookahead: 2, isLeast: true });
  assert.deepEqual(oracleAt([true, true, false, true], 0), { lookahead: 3, isLeast: false });
  assert.deepEqual(oracleAt([true, true, true], 0), { lookahead: 3, isLeast: false });
  assert.deepEqual(oracleAt([true, true, true, true], 0, 2), { lookahead: 2, isLeast: false });
});

test("another text tells nothing of this one", () => {
  const state = states["static-4"];
  const other = { ...state, tokens: state.tokens.map((token) => ({ ...token, id: token.id + 1 })) };
  assert.deepEqual(alike(state, [state, other]), [state]);
});
