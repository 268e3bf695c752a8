import assert from "node:assert/strict";
import { test } from "node:test";
import { legend, table } from "../../static/js/charts/waterfall.js";

globalThis.document = {};

const step = (name, from, to) => ({ name, title: name, from, to, seconds: 0.5 });
const why = { refusal: "", bound: 100, steps: [step("others", 100, 80), step("overhead", 80, 60)], measured: 60, with_prompt: 50, end_to_end: 40,
  baseline: 30, largest: "" };
const data = (more, row) => ({ explained: { label: "static:4 @8", concurrency: 8, rate: null, why: { ...why, ...more }, ...row },
  roundsAt: "/rounds/" });
const bars = (shown) => table(shown).children[1].children.map(({ children: [name, to] }) =>
  [name.children[0].children?.[0] ?? name.children[0], to.children[0]]);

test("under load the waterfall goes on to the prompt and the queue", () => {
  assert.deepEqual(bars(data()), [["bound", "100"], ["others", "80.0"], ["overhead", "60.0"], ["measured", "60.0"],
    ["prompt reading", "50.0"], ["queue", "40.0"], ["end to end", "40.0"]]);
  assert.match(legend(data()).join(""), /one request.*bound is an oracle.*opens the rounds/);
});

test("with one user at a time there is no queue", () => {
  assert.deepEqual(bars(data({ end_to_end: 50 }, { concurrency: 1 })).at(-2), ["prompt reading", "50.0"]);
});

test("a run without rounds shows what was measured, and no bar leads to rounds", () => {
  const server = data({ refusal: "A server does not report its rounds.", bound: null, steps: [] });
  assert.deepEqual(bars(server).map(([name]) => name), ["measured", "prompt reading", "queue", "end to end"]);
  assert.equal(legend(server).filter(Boolean).length, 1);
});
