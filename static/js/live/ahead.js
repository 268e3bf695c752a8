// What SSD prepared while the target verified: a column for each number of tokens that might be accepted, in it the
// branches that were drafted on for that case, and which of them the verdict then chose. What is decided here is pure.

import { become, sketch } from "../core/become.js";
import { ms } from "./facts.js";

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

export function sentence(round, word) {
  const hit = winner(round);
  const said = `the target kept ${round.accepted} and said ${word(round.token)}`;
  const expected = `expected to hold the outcome at ${Math.round(100 * round.predictedHit)} %`;
  return `Round ${round.number}: ${round.branches.length} branches prepared, ${expected}; ${said}, which was ` +
    (hit ? `among them: a hit, ${hit[2]} tokens deep.` : "not among them: a miss.") +
    ` The draft worked ${ms(round.busy)} on them, then stood still for ${ms(round.idle)}.`;
}

/** The outcomes of the round that is looked at. Empty where nothing was prepared. */
export class Ahead {
  constructor(place, word) {
    this.place = place;
    this.word = word;
  }

  draw(round) {
    this.place.hidden = !round?.branches.length;
    if (this.place.hidden) return;
    become(this.place,
      sketch("p", {}, sentence(round, this.word)),
      sketch("ol", {}, ...outcomes(round).map((column) => this.#column(column, round))));
  }

  #column(column, round) {
    const name = column.accepted === round.drafted.length ? `all ${column.accepted}` : String(column.accepted);
    return sketch("li", { class: column.isVerdict ? "came" : null },
      sketch("span", { class: "count" }, `${name} kept`),
      ...column.branches.map((branch) => sketch("span", { class: branch.isWinner ? "branch won" : "branch" },
        `${branch.isWinner ? "● " : ""}${this.word(branch.token)}`, sketch("span", { class: "depth" }, ` +${branch.depth}`))),
      column.isVerdict && !column.branches.some((branch) => branch.isWinner)
        ? sketch("span", { class: "branch missed" }, `× ${this.word(round.token)}`) : null);
  }
}
