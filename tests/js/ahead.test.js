import assert from "node:assert/strict";
import { test } from "node:test";
import { outcomes, winner } from "../../static/js/charts/ahead.js";
import { foldAll } from "../../static/js/live/trace.js";
import { ssd } from "./golden.js";

const rounds = foldAll(ssd).rounds; // as the engine recorded them on the starter pair

test("a round holds what was prepared beside it, and the next one says whether that was of use", () => {
  assert.ok(rounds.length > 6 && rounds.every((round) => round.branches.length && round.fanout.length === round.drafted.length + 1));
  for (const [i, round] of rounds.slice(0, -1).entries()) {
    assert.equal(winner(round) !== undefined, rounds[i + 1].source === "hit", `round ${round.number}`);
  }
  assert.ok(rounds.some((round) => round.source === "hit") && rounds.some((round) => round.source === "miss"));
});

test("every branch stands in the column of its accepted count, and the columns cover all that could happen", () => {
  for (const round of rounds) {
    const columns = outcomes(round);
    assert.deepEqual(columns.map((column) => column.accepted), Array.from({ length: round.drafted.length + 1 }, (_, i) => i));
    assert.deepEqual(columns.map((column) => column.branches.length), round.fanout);
    assert.deepEqual(columns.filter((column) => column.isVerdict).map((column) => column.accepted), [round.accepted]);
    const won = columns.flatMap((column) => column.branches.filter((branch) => branch.isWinner));
    assert.equal(won.length, winner(round) ? 1 : 0);
  }
});
