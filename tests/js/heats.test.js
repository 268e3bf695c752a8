import assert from "node:assert/strict";
import test from "node:test";
import { Heats } from "../../static/js/live/heats.js";

const RUNS = [{ number: 1, label: "autoregressive" }, { number: 2, label: "ssd:4,branches=8" }];
const PROMPTS = [{ number: 3, category: "function", text: "a" }, { number: 7, category: "", text: "b" }];
const once = new Heats({ prompts: PROMPTS, repeats: 1, runs: RUNS });
const twice = new Heats({ prompts: PROMPTS, repeats: 2, runs: RUNS });

test("a heat is a prompt and a repeat, and all prompts come before they are repeated", () => {
  assert.deepEqual(once.all, ["1.3", "1.7"]);
  assert.deepEqual(twice.all, ["1.3", "1.7", "2.3", "2.7"]);
  assert.equal(twice.beside("1.7", 1), "2.3");
  assert.equal(twice.beside("1.3", -1), undefined);
  assert.equal(twice.beside("2.7", 1), undefined);
});

test("it is called by its place among the prompts, and by its repeat where there are several", () => {
  assert.equal(once.nameOf("1.3"), "Prompt 1 of 2 · function");
  assert.equal(twice.nameOf("2.7"), "Prompt 2 of 2, repeat 2 of 2");
});

test("a later turn of a conversation says its number", () => {
  const prompts = [{ number: 1, category: "qa", turn: 1, text: "a" }, { number: 2, category: "qa", turn: 2, text: "b" }];
  const talk = new Heats({ prompts, repeats: 1, runs: RUNS });
  assert.deepEqual(talk.all.map((heat) => talk.nameOf(heat)), ["Prompt 1 of 2 · qa", "Prompt 2 of 2 · turn 2 · qa"]);
});

test("what is looked at is read from an address as it was written there", () => {
  for (const heats of [once, twice]) {
    const looked = { heat: heats.all.at(-1), run: 2, whatIf: "static:5" };
    assert.deepEqual(heats.read(heats.written(looked)), looked);
  }
  assert.equal(once.written({ heat: null, run: 1 }), "#strategy=autoregressive");
});

test("an address that names what is not there chooses nothing", () => {
  for (const hash of ["", "#", "#prompt=8&strategy=static:9", "#prompt=&repeat=x", "#%"]) {
    assert.deepEqual(twice.read(hash), { heat: undefined, run: undefined, whatIf: null });
  }
});
