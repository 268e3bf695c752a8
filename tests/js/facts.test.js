import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { facts } from "../../static/js/live/facts.js";
import { ms } from "../../static/js/core/words.js";
import { foldAll } from "../../static/js/live/trace.js";
import { twoRounds } from "./golden.js";

const [first] = foldAll(twoRounds).rounds;

test("a round is told in one line", () => {
  assert.equal(facts(first), "Round 1 · 1 of 3 accepted · drafted in 0.00 ms, ended by: lookahead reached · " +
    "the target waited 0.00 ms and verified in 0.00 ms");
  const alone = { ...first, drafted: [], source: "none" };
  assert.match(facts(alone), /^Round 1 · no draft · the target waited/);
});

test("every reason to stop that a trace may give has words", () => {
  const declared = readFileSync(new URL("../../decoding/trace/events.py", import.meta.url), "utf8").match(/StopReason = Literal\[([^\]]*)\]/)[1];
  const reasons = [...declared.matchAll(/^ *"(\w+)"/gm)].map(([, reason]) => reason);
  assert.ok(reasons.includes("limit") && reasons.includes("early"));
  for (const stop of reasons) assert.doesNotMatch(facts({ ...first, stop }), new RegExp(`until ${stop}\\b`), stop);
});

test("a draft that is lost is told with the reason, on the round that goes without", () => {
  const lost = "The draft's process was ended by SIGKILL. The target went on alone.";
  const events = twoRounds.map((event) => (event.event === "verified" && event.round === 2 ? { ...event, lost } : event));
  const [before, after] = foldAll(events).rounds;
  assert.equal(before.lost, "");
  assert.ok(facts(after).endsWith(` · ${lost}`));
});

test("durations have one format, that of decoding/words.py", () => {
  assert.deepEqual([1.234, 45.64, 789.4, 3553].map((each) => ms(1e6 * each)), ["1.23 ms", "45.6 ms", "789 ms", "3,553 ms"]);
});
