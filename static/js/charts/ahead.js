// What was prepared while the target verified: a column for each number of tokens that might be accepted, in it the
// branches that were drafted on for that case, and which of them the verdict then chose.

import { become, sketch } from "../core/become.js";
import { table as made } from "../core/tables.js";
import { ms, percent } from "../core/words.js";

export const on = { text: 3 };
export const term = "branch";
export const element = "div";
export const title = "Prepared while the target verified";
export const everyMs = 500; // as the picture above it

/** The branch that holds what the verdict said; undefined where none does. */
export const winner = (round) => round.branches.find(([accepted, token]) => accepted === round.accepted && token === round.token);

/** A column per accepted count, each with its branches, the deepest first as they were prepared. */
export function outcomes(round) {
  const counts = Math.max(round.drafted.length, ...round.branches.map(([accepted]) => accepted));
  return Array.from({ length: counts + 1 }, (_, accepted) => ({
    accepted,
    isVerdict: accepted === round.accepted,
    branches: round.branches.filter(([count]) => count === accepted).map(([, token, depth]) => ({
      token, depth, isWinner: accepted === round.accepted && token === round.token,
    })),
  }));
}

const roundOf = ({ state, chosen }) => state.rounds.find((round) => round.number === chosen);

export function sentence({ word, ...data }) {
  const round = roundOf(data);
  if (!round?.branches.length) return "";
  const hit = winner(round);
  const said = `the target kept ${round.accepted} and said ${word(round.token)}`;
  return `Round ${round.number}: ${round.branches.length} branches prepared, with a predicted hit rate of ${percent(round.predictedHit)}; ` +
    `${said}, which was ${hit ? `among them: a hit, ${hit[2]} tokens deep.` : "not among them: a miss."}` +
    ` The draft worked ${ms(round.busy)} on them, then waited for ${ms(round.idle)}.`;
}

export const table = ({ word, ...data }) => made(["kept", "then", "tokens deep"],
  outcomes(roundOf(data)).flatMap(({ accepted, branches }) => branches.map(({ token, depth }) => [accepted, word(token), depth])));

export function draw(place, { word, ...data }) {
  const round = roundOf(data);
  become(place, sketch("ol", {}, ...outcomes(round).map((column) => columnOf(column, round, word))));
}

function columnOf(column, round, word) {
  const name = column.accepted === round.drafted.length ? `all ${column.accepted}` : String(column.accepted);
  return sketch("li", { class: column.isVerdict ? "came" : null },
    sketch("span", { class: "count" }, `${name} kept`),
    ...column.branches.map((branch) => sketch("span", { class: branch.isWinner ? "branch won" : "branch" },
      `${branch.isWinner ? "● " : ""}${word(branch.token)}`, sketch("span", { class: "depth" }, ` +${branch.depth}`))),
    column.isVerdict && !column.branches.some((branch) => branch.isWinner)
      ? sketch("span", { class: "branch missed" }, `× ${word(round.token)}`) : null);
}
