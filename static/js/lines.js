// Tokens over time, a line per strategy: the steeper, the faster.

import uPlot from "../vendor/uplot.js";
import { grouped } from "./stats.js";
import { measured } from "./svg.js";
import { progress } from "./trace.js";

const HEIGHT = 220;

export class Lines {
  constructor(place, runs) {
    this.place = place;
    this.size = measured(place);
    this.runs = runs;
    this.chosen = null;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#forget());
    new MutationObserver(() => this.#forget()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  draw(states, chosen) {
    const known = this.runs.filter((run) => states.get(run.number)?.rounds.length);
    const tables = known.map((run) => {
      const points = progress(states.get(run.number));
      return [points.map((point) => point[0]), points.map((point) => point[1])];
    });
    this.last = [states, chosen];
    if (!tables.length) return this.#forget();
    const signature = `${known.map((run) => run.number)} ${chosen} ${this.size.width}`;
    if (this.signature !== signature) this.#make(known, chosen, signature);
    this.plot.setData(uPlot.join(tables, tables.map(() => [2, 2])));
  }

  #make(known, chosen, signature) {
    this.#forget();
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    const axis = { stroke: color("soft"), grid: { stroke: color("rule"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    this.signature = signature;
    this.plot = new uPlot({
      width: this.size.width, height: HEIGHT, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false } },
      axes: [{ ...axis, values: (_, values) => values.map((value, i) => (i ? grouped(value) : `${value} ms`)), size: 28 }, { ...axis, size: 40 }],
      series: [{}, ...known.map((run) => ({
        label: run.label, stroke: color(run.strategy), width: run.number === chosen ? 2.5 : 1.25, spanGaps: true,
        dash: run.role === "ranked" || run.role === "baseline" ? undefined : [5, 3], points: { show: false },
      }))],
    }, [[]], this.place);
  }

  /** Colours are read once, so another theme or choice makes it anew. */
  #forget() {
    this.plot?.destroy();
    this.plot = null;
    this.signature = "";
  }
}
