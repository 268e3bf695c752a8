// Round by round: how far the draft looked ahead, how much it drafted, how much of that was kept, and how far it ought
// to have looked: the oracle's lookahead.

import { ticks } from "./stats.js";
import { measured, svg } from "./svg.js";

const HEIGHT = 120, LEFT = 24, BOTTOM = 20, TOP = 8;

export class Rounds {
  constructor(picture, onRound) {
    this.picture = picture;
    this.size = measured(picture);
    this.open = null;
    this.scale = "";
    this.drawn = []; // the rounds whose columns stand there
    picture.addEventListener("pointerover", (event) => {
      const column = event.target.closest?.("[data-round]");
      if (column) onRound(Number(column.dataset.round));
    });
  }

  /** `whole` is all that is known of the sample, so that a replay does not rescale under way. */
  draw(state, whole, oracle) {
    const { width } = this.size;
    const most = Math.max(3, ...whole.rounds.map((round) => Math.max(round.lookahead, round.accepted + 1, oracle(round).lookahead)));
    const step = (width - LEFT) / Math.max(whole.rounds.length, 24);
    const y = (count) => HEIGHT - BOTTOM - (count / most) * (HEIGHT - BOTTOM - TOP);
    this.#rescale(`${width} ${most} ${step}`, oracle, () => grid(most, y, width));
    let same = 0;
    while (same < this.drawn.length && this.drawn[same] === state.rounds[same]) same++;
    for (let i = this.drawn.length; i > same; i--) this.columns.lastChild.remove();
    this.columns.append(...state.rounds.slice(same).map((round, i) => column(round, LEFT + (same + i) * step, step, y, oracle(round))));
    this.drawn = state.rounds;
    this.choose(this.open);
  }

  choose(number) {
    this.open = number;
    this.picture.querySelector(".open")?.classList.remove("open");
    this.picture.querySelector(`[data-round="${number}"]`)?.classList.add("open");
  }

  #rescale(scale, oracle, grid) {
    if (scale === this.scale && oracle === this.oracle) return;
    this.scale = scale;
    this.oracle = oracle;
    this.drawn = [];
    this.columns = svg("g");
    this.picture.setAttribute("viewBox", `0 0 ${this.size.width} ${HEIGHT}`);
    this.picture.replaceChildren(...grid(), this.columns);
  }
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
