// Tokens over time, a line per strategy: the steeper, the faster.

import uPlot from "../../vendor/uplot.js";
import { roomOf } from "./room.js";
import { grouped } from "../core/stats.js";
import { mark, measured, set, svg } from "../core/svg.js";
import { begin, decodeNs, progress } from "./trace.js";

const HEIGHT = 220;
const MARK = 4;
const NOWHERE = [Infinity, 0];

export class Lines {
  constructor(place, runs) {
    this.place = place;
    this.size = measured(place);
    this.runs = runs;
    this.until = 1; // ms
    this.ends = runs.map(() => NOWHERE);
    const again = () => this.last && this.#make(); // a canvas takes its colours once
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  draw(states, chosen) {
    this.last = [states, chosen];
    if (this.plot?.width !== this.size.width) return this.#make();
    const stateOf = (run) => states.get(run.number) ?? begin();
    const known = this.runs.filter((run) => stateOf(run).rounds.length);
    this.plot.root.hidden = !known.length;
    if (!known.length) return;
    const tables = this.runs.map((run) => {
      const points = known.includes(run) ? progress(stateOf(run)) : [];
      return [points.map((point) => point[0]), points.map((point) => point[1])];
    });
    this.ends = tables.map(([ms, tokens]) => (ms.length ? [ms.at(-1), tokens.at(-1)] : NOWHERE));
    this.until = roomOf(known.map((run) => {
      const state = stateOf(run);
      return { ns: decodeNs(state), isOver: state.reason !== null, mayLeave: run.mayLeave };
    })).ns / 1e6;
    this.runs.forEach((run, i) => {
      this.plot.series[i + 1].width = run.number === chosen ? 2.5 : 1.25;
    });
    this.plot.setData(uPlot.join(tables, tables.map(() => [2, 2])));
  }

  /** Once for all heats that are watched: a canvas for each would be one more thing to sweep up. */
  #make() {
    this.plot?.destroy();
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    const dash = (name) => (name ? color(name).split(" ").map(Number) : undefined);
    const axis = { stroke: color("soft"), grid: { stroke: color("rule"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    this.plot = new uPlot({
      width: this.size.width, height: HEIGHT, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false, range: () => [0, this.until] } },
      axes: [{ ...axis, values: (_, values) => values.map((value, i) => (i ? grouped(value) : `${value} ms`)), size: 28 }, { ...axis, size: 40 }],
      series: [{}, ...this.runs.map((run) => ({
        label: run.label, stroke: color(run.strategy), spanGaps: true, dash: dash(run.dash), points: { show: false },
      }))],
      hooks: { draw: [(plot) => this.#place(plot)] },
    }, null, this.place);
    this.marks = this.runs.map((run) => svg("g", { class: `s-${run.strategy}` }, mark(run.strategy, MARK, 0, 0)));
    this.plot.over.append(svg("svg", { class: "ends" }, ...this.marks));
    this.draw(...this.last);
  }

  /** Each strategy's mark stands where its line ends; of a line that goes on, nowhere. */
  #place(plot) {
    this.marks.forEach((group, i) => {
      const [ms, tokens] = this.ends[i], isThere = ms <= this.until;
      const transform = isThere ? `translate(${plot.valToPos(ms, "x")},${plot.valToPos(tokens, "y")})` : "";
      set(group, { transform, visibility: isThere ? "visible" : "hidden" });
    });
  }
}
