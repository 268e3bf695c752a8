// Traces that the Python engine recorded, and what Python folded them to.
import { readFileSync, readdirSync } from "node:fs";

const folder = new URL("../golden/", import.meta.url);
const lines = (path) => readFileSync(new URL(path, folder), "utf8").trim().split("\n").map((line) => JSON.parse(line));

export const expected = JSON.parse(readFileSync(new URL("worlds/expected.json", folder), "utf8"));
export const traces = Object.fromEntries(
  readdirSync(new URL("worlds/", folder))
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => [name.slice(0, -".jsonl".length), lines(`worlds/${name}`)]),
);
export const twoRounds = lines("two_rounds.jsonl");
export const ssd = lines("ssd_rounds.jsonl");
