// Draft and target on one clock: who worked when, who stood still, and whether what was prepared ahead was of use.

import { sketch } from "../core/become.js";
import { key } from "../core/picture.js";
import { plot } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { grouped, ms } from "../core/words.js";

export const on = { text: 2 };
export const term = "speculator";
export const title = "Draft and target on one clock";
export const everyMs = 500; // nobody reads what changes faster, unless they chose the round

export function sentence({ state, chosen }) {
  const rounds = around(state.rounds, chosen);
  if (!rounds.length) return "";
  const sum = (time) => ms(rounds.reduce((total, round) => total + time(round), 0));
  const wrote = hasDraft(rounds) ? `the draft worked for ${sum(drafting)}, ` : "without a draft, ";
  const named = rounds.length === 1 ? `Round ${rounds[0].number}` : `Rounds ${rounds[0].number} to ${rounds.at(-1).number}`;
  return `${named}: ${wrote}the target verified for ${sum(verifying)}.`;
}

export const table = ({ state, chosen }) => made(["round", "drafting", "preparing ahead", "verifying", "waiting"],
  around(state.rounds, chosen).map((round) => [round.number, ...[drafting, preparing, verifying, (one) => one.wait].map((time) => ms(time(round)))]));

export const legend = ({ state: { rounds } }) => [
  hasDraft(rounds) ? key("kept", "drafting") : null, rounds.some((round) => round.anticipateEnd) ? key("drafted", "preparing ahead") : null,
  key("verifying", "verifying"), rounds.some((round) => LUCK[round.source]) ? "● hit × miss" : null,
];

const hasDraft = (rounds) => rounds.some((round) => round.drafted.length);
const drafting = (round) => round.draftEnd - round.draftStart;
const preparing = (round) => round.anticipateEnd - round.anticipateStart;
const verifying = (round) => round.verifyEnd - round.verifyStart;

const BAR = 18;
const SHOWN = 24; // rounds; more would be too thin to tell apart
const LUCK = { hit: "●", miss: "×" };

/** Draw the rounds around the chosen one, or those of the part that somebody zoomed to. */
export function draw(picture, { state, chosen, onRound }) {
  const zero = state.prefillNs;
  plot(picture, {
    x: { ...spanOf(around(state.rounds, chosen), zero), link: "ms", format: (value) => `${grouped(value)} ms` },
    rows: [hasDraft(state.rounds) ? "draft" : "", "target"], height: 92, right: 1, isByColumn: true, head: (value) => `${value.toFixed(2)} ms`,
    layers: [({ x, y, left, right }) => {
      const at = (ns) => x((ns - zero) / 1e6);
      return state.rounds.filter((round) => at(round.verifyEnd) > left && at(beginOf(round)) < right).map((round) => pair(round, at, y, round.number === chosen));
    }],
    series: [{ name: "", points: state.rounds.map((round) => pointOf(round, zero, onRound)) }],
  });
}

const beginOf = (round) => (round.drafted.length ? round.draftStart : round.verifyStart);

/** From the first of these rounds to the last, in ms of decoding. */
const spanOf = (rounds, zero) => ({
  low: (Math.min(...rounds.map(beginOf)) - zero) / 1e6, high: (Math.max(...rounds.map((round) => round.verifyEnd)) - zero) / 1e6,
});

const pointOf = (round, zero, onRound) => ({
  x: ((round.verifyStart + round.verifyEnd) / 2 - zero) / 1e6, y: 1, open: () => onRound(round.number),
  text: `round ${round.number}: draft ${ms(drafting(round))}, target ${ms(verifying(round))}${LUCK[round.source] ? `, a ${round.source}` : ""}`,
});

function around(rounds, chosen) {
  const at = Math.max(0, rounds.findIndex((round) => round.number === chosen));
  const first = Math.max(0, Math.min(at - SHOWN / 2, rounds.length - SHOWN));
  return rounds.slice(first, first + SHOWN);
}

function pair(round, x, y, isChosen) {
  const bar = (kind, row, from, to) =>
    sketch("rect", { class: kind, x: x(from), y: y(row) - BAR / 2, width: Math.max(0.75, x(to) - x(from) - 0.5), height: BAR });
  return sketch("g", { class: isChosen ? "open" : null },
    round.drafted.length ? bar("drafting", 0, round.draftStart, round.draftEnd) : null,
    round.anticipateEnd ? bar("ahead", 0, round.anticipateStart, round.anticipateEnd) : null,
    bar("verifying", 1, round.verifyStart, round.verifyEnd),
    LUCK[round.source] ? sketch("text", { class: `luck ${round.source}`, x: x(round.draftStart), y: y(0) - BAR / 2 - 3, "text-anchor": "middle" }, LUCK[round.source]) : null);
}
