// Round by round: how far the draft looked ahead, how much it drafted, how much of that was kept, and how far it ought
// to have looked: the oracle's lookahead.

import { ticks } from "./stats.js";
import { measured, svg } from "./svg.js";

const HEIGHT = 120, LEFT = 24, BOTTOM = 20, TOP = 8;
const FEWEST = 24; // columns there is room for

export class Rounds {
  constructor(picture, onRound) {
    this.picture = picture;
    this.size = measured(picture);
    this.open = null;
    this.scale = "";
    this.drawn = []; // per column that stands there: its round, and the oracle's word on it
    picture.addEventListener("pointerover", (event) => {
      const column = event.target.closest?.("[data-round]");
      if (column) onRound(Number(column.dataset.round));
    });
  }

  /** `whole` is all that is known of the sample, so that a replay does not rescale under way. */
  draw(state, whole, oracle) {
    const { width } = this.size;
    const bounds = whole.rounds.map(oracle);
    const most = Math.max(3, ...whole.rounds.map((round, i) => Math.max(round.lookahead, round.accepted + 1, bounds[i].lookahead)));
    const step = (width - LEFT) / roomFor(whole);
    const y = (count) => HEIGHT - BOTTOM - (count / most) * (HEIGHT - BOTTOM - TOP);
    this.#rescale(`${width} ${most} ${step}`, () => grid(most, y, width));
    for (let i = this.drawn.length; i > state.rounds.length; i--) this.columns.lastChild.remove();
    this.drawn.length = Math.min(this.drawn.length, state.rounds.length);
    for (const [i, round] of state.rounds.entries()) {
      const drawn = this.drawn[i], bound = bounds[i];
      if (drawn?.round === round && drawn.bound.lookahead === bound.lookahead && drawn.bound.isLeast === bound.isLeast) continue;
      const fresh = column(round, LEFT + i * step, step, y, bound);
      if (drawn) this.columns.children[i].replaceWith(fresh);
      else this.columns.append(fresh);
      this.drawn[i] = { round, bound };
    }
    this.choose(this.open);
  }

  choose(number) {
    this.open = number;
    this.picture.querySelector(".open")?.classList.remove("open");
    this.picture.querySelector(`[data-round="${number}"]`)?.classList.add("open");
  }

  #rescale(scale, grid) {
    if (scale === this.scale) return;
    this.scale = scale;
    this.drawn = [];
    this.columns = svg("g");
    this.picture.setAttribute("viewBox", `0 0 ${this.size.width} ${HEIGHT}`);
    this.picture.replaceChildren(...grid(), this.columns);
  }
}

/** Under way there is room for rounds to come, so that not each of them moves all columns. */
function roomFor({ rounds, reason }) {
  const least = Math.max(rounds.length, FEWEST);
  if (reason !== null) return least;
  const power = 2 ** Math.ceil(Math.log2(least));
  return least <= power * 0.75 ? power * 0.75 : power;
}

function grid(most, y, width) {
  return ticks(most, 3).filter(Number.isInteger).flatMap((count) => [
    svg("path", { class: "rule", d: `M${LEFT},${y(count)}H${width}` }),
    svg("text", { x: LEFT - 6, y: y(count) + 4, "text-anchor": "end" }, String(count)),
  ]);
}

function column(round, x, step, y, oracle) {
  const w = Math.max(1, step - Math.min(2, step / 4));
  const bar = (name, from, to) => svg("rect", { class: name, x, width: w, y: y(to), height: Math.max(0, y(from) - y(to)) });
  return svg("g", { "data-round": round.number },
    svg("rect", { class: "hit", x, width: step, y: 0, height: HEIGHT }),
    bar("drafted", 0, round.drafted.length),
    bar("kept", 0, round.accepted),
    round.lookahead ? svg("path", { class: "asked", d: `M${x},${y(round.lookahead)}h${w}` }) : null,
    oracle.lookahead ? svg("path", { class: oracle.isLeast ? "oracle least" : "oracle", d: `M${x},${y(oracle.lookahead)}h${w}` }) : null,
    round.drafted.length && round.outcome === "bonus"
      ? svg("circle", { class: "bonus", cx: x + w / 2, cy: y(round.accepted + 0.5), r: Math.min(3, w / 2) }) : null);
}
