// Draft and target on one clock: who worked when, who stood still, and whether what was prepared ahead was of use.

import { become, sketch } from "../core/become.js";
import { measured, set } from "../core/svg.js";
import { grouped, ticks } from "../core/stats.js";

const HEIGHT = 92, LEFT = 56, DRAFT = 14, TARGET = 44, BAR = 18;
const SHOWN = 24; // rounds; more would be too thin to tell apart

export class Duet {
  constructor(picture, onRound) {
    this.picture = picture;
    this.size = measured(picture);
    picture.addEventListener("click", (event) => {
      const round = event.target.closest?.("[data-round]");
      if (round) onRound(Number(round.dataset.round));
    });
  }

  /** The rounds around the chosen one. */
  draw(state, chosen) {
    const rounds = around(state.rounds, chosen);
    if (!rounds.length) return become(this.picture);
    const { width } = this.size;
    const from = Math.min(...rounds.map((round) => (round.drafted.length ? round.draftStart : round.verifyStart)));
    const to = Math.max(...rounds.map((round) => round.verifyEnd));
    const x = (ns) => LEFT + ((ns - from) / (to - from)) * (width - LEFT - 1);
    set(this.picture, { viewBox: `0 0 ${width} ${HEIGHT}` });
    become(this.picture,
      name("draft", DRAFT), name("target", TARGET),
      ...rounds.map((round) => pair(round, x, round.number === chosen)),
      ...ticks((to - from) / 1e6, Math.max(2, Math.round(width / 160))).map((ms, i) =>
        sketch("text", { x: x(from + ms * 1e6), y: HEIGHT - 4, "text-anchor": i ? "middle" : "start" }, i ? grouped(ms) : "0 ms")),
    );
  }
}

function around(rounds, chosen) {
  const at = Math.max(0, rounds.findIndex((round) => round.number === chosen));
  const first = Math.max(0, Math.min(at - SHOWN / 2, rounds.length - SHOWN));
  return rounds.slice(first, first + SHOWN);
}

const name = (text, y) => sketch("text", { class: "name", x: 0, y: y + 13 }, text);

function pair(round, x, isChosen) {
  const bar = (kind, y, from, to) =>
    sketch("rect", { class: kind, x: x(from), y, width: Math.max(0.75, x(to) - x(from) - 0.5), height: BAR });
  return sketch("g", { class: isChosen ? "open" : null, "data-round": round.number },
    round.drafted.length ? bar("drafting", DRAFT, round.draftStart, round.draftEnd) : null,
    round.anticipateEnd ? bar("ahead", DRAFT, round.anticipateStart, round.anticipateEnd) : null,
    bar("verifying", TARGET, round.verifyStart, round.verifyEnd),
    sketch("title", {}, `round ${round.number}`),
    LUCK[round.source] ? sketch("text", { class: `luck ${round.source}`, x: x(round.draftStart), y: DRAFT - 3, "text-anchor": "middle" }, LUCK[round.source]) : null);
}

const LUCK = { hit: "●", miss: "×" };
