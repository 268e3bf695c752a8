import assert from "node:assert/strict";
import { test } from "node:test";
import { lines } from "../../static/js/live/side.js";
import { foldAll } from "../../static/js/live/trace.js";
import { traces } from "./golden.js";

const WORDS = { 1: " one\n", 2: "two\n\n  three", 3: "xyz" };
const word = (id) => WORDS[id % 4] ?? " w";
const text = (found) => found.map((line) => line.map((piece) => piece.text).join(""));
const states = Object.fromEntries(Object.entries(traces).map(([name, trace]) => [name, foldAll(trace)]));

test("two that wrote the same words have the same lines, letter over letter", () => {
  for (const width of [5, 17, 96]) {
    const one = text(lines(states["static-4"], word, width));
    assert.deepEqual(text(lines(states["heuristic-5"], word, width)), one);
    assert.ok(one.every((line) => line.replace("⏎", "").length <= width));
    assert.equal(one.join(""), states["static-4"].tokens.map((token) => word(token.id)).join("").replaceAll("\n", "⏎"));
  }
});

test("each round begins once, and a cut token has one mark, be it a line break", () => {
  for (const state of Object.values(states)) {
    const pieces = lines(state, (id) => (id % 3 ? `word${id}` : "\n"), 3).flat();
    const begun = pieces.filter((piece) => piece.begins).map((piece) => piece.round);
    assert.deepEqual(begun, state.rounds.map((round) => round.number));
    const marked = pieces.filter((piece) => !["accepted", "rest"].includes(piece.fate)).length;
    assert.equal(marked, state.tokens.filter((token) => token.fate !== "accepted").length);
  }
});
